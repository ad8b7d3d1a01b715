//! Which parameters are trained: frozen ones take no gradient and have no place in the optimizer.

use tch::Tensor;

use super::Engine;
use super::data_parallel::DataParallel;
use super::error::{EngineError, Result};
use super::name_pattern::NamePattern;
use super::named_tensor::NamedTensor;
use hookrack_torch::TensorList;
use hookrack_torch::autograd;

/// Freezes what the patterns match. Each must match something, and something must be left.
pub(super) fn freeze(params: &[NamedTensor], patterns: &[NamePattern]) -> Result<()> {
    patterns.iter().try_for_each(|pattern| set(params, pattern, false).map(|_| ()))
}

/// Freezes or unfreezes the parameters that a pattern matches; returns how many they are.
fn set(params: &[NamedTensor], pattern: &NamePattern, trainable: bool) -> Result<usize> {
    let meant = |param: &&NamedTensor| pattern.matches(&param.name);
    let count = params.iter().filter(meant).count();
    if count == 0 {
        return Err(pattern.unmatched(params.iter().map(|param| param.name.as_str())));
    }
    let is_left = |param: &NamedTensor| param.tensor.requires_grad() && !meant(&param);
    if !trainable && !params.iter().any(is_left) {
        return Err(EngineError::AllFrozen { pattern: pattern.text().to_owned() });
    }
    params.iter().filter(meant).try_for_each(|param| turn(&param.tensor, trainable))?;
    Ok(count)
}

fn turn(param: &Tensor, trainable: bool) -> Result<()> {
    let _same = param.f_set_requires_grad(trainable)?;
    if !trainable {
        // A gradient of this iteration would be stepped once more.
        autograd::clear_grads(&TensorList::from_iter([param]))?;
    }
    Ok(())
}

/// Freezing.
impl Engine {
    /// Freezes or unfreezes the parameters whose names match a pattern; returns how many they are.
    ///
    /// What is frozen keeps its values and its state in the optimizer. What was frozen from the start gets fresh
    /// state. A pattern that matches nothing is an error, and so is one that would freeze the last.
    pub fn set_trainable(&mut self, pattern: &str, trainable: bool) -> Result<usize> {
        let count = set(self.params(), &NamePattern::parse(pattern)?, trainable)?;
        if trainable {
            self.optimizer_mut().admit()?;
        }
        self.reset_parallel();
        Ok(count)
    }

    /// Other parameters are trained from here on: what ranks exchange changes.
    fn reset_parallel(&self) {
        self.parallel.iter().for_each(DataParallel::reset);
    }

    /// The names of the parameters that are not trained, in order.
    pub fn frozen(&self) -> Vec<String> {
        let frozen = self.params().iter().filter(|param| !param.tensor.requires_grad());
        frozen.map(|param| param.name.clone()).collect()
    }

    /// Freezes exactly the named parameters, as a resumed run does. A name that is not there is passed over: the
    /// model's state is compared elsewhere.
    pub fn set_frozen(&mut self, names: &[String]) -> Result<()> {
        for param in self.params() {
            turn(&param.tensor, !names.contains(&param.name))?;
        }
        self.reset_parallel();
        self.optimizer_mut().admit()
    }
}
