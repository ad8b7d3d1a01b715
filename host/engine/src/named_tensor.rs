//! A tensor with the name under which it is saved, and loading one set of them into another.

use std::collections::HashMap;

use tch::Tensor;

use super::error::{EngineError, Result};
use hookrack_torch::autograd::GradMode;
use hookrack_torch::{TensorList, foreach};

/// A tensor and its name. A clone shares the memory.
#[derive(Debug)]
pub struct NamedTensor {
    /// As in a PyTorch state dict, for example `layers.0.weight`.
    pub name: String,
    /// The tensor.
    pub tensor: Tensor,
}

impl NamedTensor {
    /// Names a tensor.
    pub fn new(name: impl Into<String>, tensor: Tensor) -> Self {
        Self { name: name.into(), tensor }
    }
}

impl Clone for NamedTensor {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), tensor: self.tensor.shallow_clone() }
    }
}

/// The tensors alone, as a list for list operators.
pub fn tensor_list(named: &[NamedTensor]) -> TensorList {
    named.iter().map(|named| &named.tensor).collect()
}

/// Copies the values of `source` into `targets` by name. Nothing is copied unless all names and shapes agree.
pub fn load(what: &'static str, targets: &[NamedTensor], source: &[NamedTensor]) -> Result<()> {
    let by_name: HashMap<&str, &Tensor> =
        source.iter().map(|named| (named.name.as_str(), &named.tensor)).collect();
    let mut problems = Problems::default();
    let mut values = TensorList::with_capacity(targets.len());
    for target in targets {
        match by_name.get(target.name.as_str()) {
            None => problems.missing(&target.name),
            Some(found) if found.size() != target.tensor.size() => {
                problems.shape(&target.name, &target.tensor, found);
            }
            Some(found) => values.push(found),
        }
    }
    problems.unexpected(source, |name| targets.iter().any(|target| target.name == name));
    problems.check(what)?;
    let _no_grad = GradMode::set(false);
    Ok(foreach::copy_(&tensor_list(targets), &values)?)
}

/// Collects every way in which a state does not fit, so that one message tells all.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<String>);

impl Problems {
    /// A tensor that the state lacks.
    pub(crate) fn missing(&mut self, name: &str) {
        self.0.push(format!("`{name}` is missing"));
    }

    /// A tensor of another shape.
    pub(crate) fn shape(&mut self, name: &str, wanted: &Tensor, found: &Tensor) {
        self.0.push(format!("`{name}` expects {:?}, found {:?}", wanted.size(), found.size()));
    }

    /// Tensors that nothing here is called after.
    pub(crate) fn unexpected(&mut self, source: &[NamedTensor], known: impl Fn(&str) -> bool) {
        let strange = source.iter().filter(|named| !known(&named.name));
        self.0.extend(strange.map(|named| format!("`{}` is unexpected", named.name)));
    }

    /// An error when there was a problem; it tells the first few.
    pub(crate) fn check(self, what: &'static str) -> Result<()> {
        const SHOWN: usize = 5;
        if self.0.is_empty() {
            return Ok(());
        }
        let mut why = self.0[..self.0.len().min(SHOWN)].join(", ");
        if self.0.len() > SHOWN {
            why = format!("{why} and {} more", self.0.len() - SHOWN);
        }
        Err(EngineError::State { what, why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, values: &[f32]) -> NamedTensor {
        NamedTensor::new(name, Tensor::from_slice(values))
    }

    #[test]
    fn values_are_copied_by_name_not_by_place() {
        let targets = [named("a", &[0.0]), named("b", &[0.0, 0.0])];
        load("model", &targets, &[named("b", &[2.0, 3.0]), named("a", &[1.0])]).unwrap();
        assert_eq!(targets[0].tensor, Tensor::from_slice(&[1.0_f32]));
        assert_eq!(targets[1].tensor, Tensor::from_slice(&[2.0_f32, 3.0]));
    }

    #[test]
    fn one_message_tells_all_differences_and_nothing_is_copied() {
        let targets = [named("a", &[0.0]), named("b", &[0.0, 0.0]), named("c", &[0.0])];
        let source = [named("a", &[1.0]), named("b", &[2.0]), named("d", &[3.0])];
        let error = load("model", &targets, &source).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the saved model does not match: `b` expects [2], found [1], `c` is missing, `d` is unexpected"
        );
        assert_eq!(targets[0].tensor, Tensor::from_slice(&[0.0_f32]));
    }
}
