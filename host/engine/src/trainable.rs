//! Which parameters are trained: frozen ones get no gradient and are not in the optimizer.

use tch::Tensor;

use super::Engine;
use super::data_parallel::DataParallel;
use super::error::{EngineError, PatternList, Result};
use super::name_pattern::NamePattern;
use super::named_tensor::NamedTensor;
use hookrack_torch::TensorList;
use hookrack_torch::autograd;

/// Freezes the parameters that the patterns match. Each must match one, and at least one must be left to train; in a stage of a
/// model, those may be on other stages.
pub(super) fn freeze(
    params: &[NamedTensor],
    patterns: &[NamePattern],
    is_staged: bool,
) -> Result<()> {
    if is_staged {
        let meant = |it: &&NamedTensor| patterns.iter().any(|pattern| pattern.matches(&it.name));
        return params.iter().filter(meant).try_for_each(|param| turn(&param.tensor, false));
    }
    patterns.iter().enumerate().try_for_each(|(index, pattern)| {
        let frozen = set(params, pattern, false).map(drop);
        frozen.map_err(|why| PatternList::Freeze.error_at(index, why))
    })
}

/// Freezes or unfreezes the parameters that a pattern matches; returns their number.
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
        // Otherwise a gradient of this iteration would be used again.
        autograd::clear_grads(&TensorList::from_iter([param]))?;
    }
    Ok(())
}

/// Freezing.
impl Engine {
    /// Freezes or unfreezes the parameters whose names match a pattern; returns their number.
    ///
    /// Frozen parameters keep their values and their optimizer state. Those frozen from the start get new
    /// state when they are unfrozen. A pattern without a match is an error, and so is freezing the last parameter.
    pub fn set_trainable(&mut self, pattern: &str, trainable: bool) -> Result<usize> {
        let pattern = NamePattern::parse(pattern)?;
        let count = if self.stage.is_some() {
            self.set_trainable_here(&pattern, trainable)?
        } else {
            set(self.params(), &pattern, trainable)?
        };
        if trainable {
            self.optimizer_mut().admit()?;
        }
        self.reset_parallel();
        Ok(count)
    }

    /// Freezes or unfreezes what a pattern matches in this stage; of all stages, something must match.
    fn set_trainable_here(&self, pattern: &NamePattern, trainable: bool) -> Result<usize> {
        let names = self.param_names();
        let count = names.iter().filter(|name| pattern.matches(name)).count();
        if count == 0 {
            return Err(pattern.unmatched(names.iter().map(String::as_str)));
        }
        let mut meant = self.params().iter().filter(|param| pattern.matches(&param.name));
        meant.try_for_each(|param| turn(&param.tensor, trainable))?;
        Ok(count)
    }

    /// The set of trained parameters has changed, and so has what ranks exchange.
    fn reset_parallel(&self) {
        self.parallel.iter().for_each(DataParallel::reset);
        self.reset_grad_sums();
    }

    /// The names of the parameters that are not trained, in order.
    pub fn frozen(&self) -> Vec<String> {
        let frozen = self.params().iter().filter(|param| !param.tensor.requires_grad());
        frozen.map(|param| param.name.clone()).collect()
    }

    /// Freezes exactly the named parameters, as on resume. Unknown names are ignored: the
    /// model's state is checked elsewhere.
    pub fn set_frozen(&mut self, names: &[String]) -> Result<()> {
        for param in self.params() {
            turn(&param.tensor, !names.contains(&param.name))?;
        }
        self.reset_parallel();
        self.optimizer_mut().admit()
    }
}
