//! A tensor with the name under which it is saved, and loading one set of them into another.

use std::collections::HashSet;

use tch::Tensor;

use super::error::{EngineError, Result};
use super::tensor_shard::{SavedTensors, TensorShard};
use hookrack_torch::TensorList;
use hookrack_torch::autograd::GradMode;

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

/// Copies the values of `source` into `targets` by name, of each the range that the target is. Nothing is copied unless all names
/// and shapes agree.
pub fn load(what: &'static str, targets: &[TensorShard], source: &dyn SavedTensors) -> Result<()> {
    let mut problems = Problems::default();
    for target in targets {
        problems.compare(source, &target.name, &target.shape());
    }
    let known: HashSet<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    problems.unexpected(source, &known);
    problems.check(what)?;
    targets.iter().try_for_each(|target| copy(source, target))
}

/// Copies the saved values of a piece into it.
pub(crate) fn copy(source: &dyn SavedTensors, target: &TensorShard) -> Result<()> {
    let _no_grad = GradMode::set(false);
    let saved = source.elements(&target.name, target.range());
    let saved = saved.map_err(|why| EngineError::Unreadable { name: target.name.clone(), why })?;
    target.tensor.shallow_clone().f_copy_(&saved.f_view(target.tensor.size().as_slice())?)?;
    Ok(())
}

/// Collects every mismatch of a state, so that one message lists them all.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<String>);

impl Problems {
    /// A tensor that is missing from the state, or has another shape there.
    pub(crate) fn compare(&mut self, source: &dyn SavedTensors, name: &str, wanted: &[i64]) {
        match source.shape(name) {
            None => self.0.push(format!("`{name}` is missing")),
            Some(found) if found != wanted => {
                self.0.push(format!("`{name}` expects {wanted:?}, found {found:?}"));
            }
            Some(_) => {}
        }
    }

    /// Tensors with unknown names.
    pub(crate) fn unexpected(&mut self, source: &dyn SavedTensors, known: &HashSet<&str>) {
        let names = source.names().into_iter();
        let strange = names.filter(|name| !known.contains(name));
        self.0.extend(strange.map(|name| format!("`{name}` is unexpected")));
    }

    /// An error if there was a mismatch; it lists the first few.
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

    use crate::tensor_shard::{FlatRange, InMemory};

    fn named(name: &str, values: &[f32]) -> NamedTensor {
        NamedTensor::new(name, Tensor::from_slice(values))
    }

    fn piece(name: &str, values: &[f32]) -> TensorShard {
        named(name, values).into()
    }

    #[test]
    fn values_are_copied_by_name_not_by_place() {
        let targets = [piece("a", &[0.0]), piece("b", &[0.0, 0.0])];
        let source = [named("b", &[2.0, 3.0]), named("a", &[1.0])];
        load("model", &targets, &InMemory::new(&source)).unwrap();
        assert_eq!(targets[0].tensor, Tensor::from_slice(&[1.0_f32]));
        assert_eq!(targets[1].tensor, Tensor::from_slice(&[2.0_f32, 3.0]));
    }

    #[test]
    fn one_message_lists_all_differences_and_nothing_is_copied() {
        let targets = [piece("a", &[0.0]), piece("b", &[0.0, 0.0]), piece("c", &[0.0])];
        let source = [named("a", &[1.0]), named("b", &[2.0]), named("d", &[3.0])];
        let error = load("model", &targets, &InMemory::new(&source)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the saved model does not match: `b` expects [2], found [1], `c` is missing, `d` is unexpected"
        );
        assert_eq!(targets[0].tensor, Tensor::from_slice(&[0.0_f32]));
    }

    #[test]
    fn a_range_takes_its_numbers_of_the_whole_and_another_shape_is_refused() {
        let part = FlatRange { shape: vec![2, 2], range: 1..3 };
        let target = TensorShard { part: Some(part), ..piece("a", &[0.0, 0.0]) };
        let matrix = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0]).view([2, 2]);
        let load_from = |tensor: Tensor| {
            let source = [NamedTensor::new("a", tensor)];
            load("optimizer", std::slice::from_ref(&target), &InMemory::new(&source))
        };
        load_from(matrix.shallow_clone()).unwrap();
        assert_eq!(target.tensor, Tensor::from_slice(&[2.0_f32, 3.0]));
        let error = load_from(matrix.view([4])).unwrap_err().to_string();
        assert_eq!(error, "the saved optimizer does not match: `a` expects [2, 2], found [4]");
    }
}
