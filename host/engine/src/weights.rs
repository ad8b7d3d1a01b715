//! Weights from files: tensors are renamed, those that match are loaded, the others are reported.

use std::collections::HashMap;
use std::fmt;

use super::Engine;
use super::error::{EngineError, Result};
use super::named_tensor::{NamedTensor, tensor_list};
use super::rename::Rename;
use hookrack_torch::autograd::GradMode;
use hookrack_torch::{TensorList, foreach};

/// The result of loading weights.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// The number of tensors of the model that were loaded.
    pub loaded: usize,
    /// Tensors of the model that the file does not have.
    pub missing: Vec<String>,
    /// Tensors of the file that the model does not have, under their new names if they were renamed.
    pub unexpected: Vec<String>,
    /// Tensors with another shape in the file, with both shapes.
    pub mismatched: Vec<String>,
}

impl LoadReport {
    /// Whether file and model have the same tensors.
    pub fn fits(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty() && self.mismatched.is_empty()
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} loaded", self.loaded)?;
        for (names, what) in [
            (&self.missing, "missing"),
            (&self.unexpected, "unexpected"),
            (&self.mismatched, "of another shape"),
        ] {
            if !names.is_empty() {
                write!(out, ", {} {what} ({})", names.len(), shortened(names))?;
            }
        }
        Ok(())
    }
}

fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}

/// Tensors under the names of the model.
fn renamed(source: Vec<NamedTensor>, rules: &[Rename]) -> Result<Vec<NamedTensor>> {
    let mut taken: HashMap<String, String> = HashMap::new();
    let mut tensors = Vec::with_capacity(source.len());
    for NamedTensor { name, tensor } in source {
        let found = rules.iter().find_map(|rule| rule.apply(&name));
        let (new, is_transposed) = found.unwrap_or_else(|| (name.clone(), false));
        if let Some(other) = taken.insert(new.clone(), name.clone()) {
            let why = format!("both `{other}` and `{name}` become `{new}`: correct the renaming");
            return Err(EngineError::Weights(why));
        }
        let tensor = if is_transposed && tensor.dim() == 2 { tensor.f_tr()? } else { tensor };
        tensors.push(NamedTensor { name: new, tensor });
    }
    Ok(tensors)
}

/// Weights from elsewhere.
impl Engine {
    /// Loads the tensors of `source` that match the model in name and shape, and reports the rest.
    /// With `strict`, nothing is loaded unless everything matches. Values are converted to the model's dtypes.
    pub fn load_weights(
        &mut self,
        source: Vec<NamedTensor>,
        renames: &[Rename],
        strict: bool,
    ) -> Result<LoadReport> {
        let source = renamed(source, renames)?;
        let by_name: HashMap<&str, &NamedTensor> =
            source.iter().map(|named| (named.name.as_str(), named)).collect();
        let mut report = LoadReport::default();
        let (mut targets, mut values) = (Vec::new(), TensorList::default());
        let state = self.model_state();
        for target in &state {
            let NamedTensor { name, tensor } = target;
            match by_name.get(name.as_str()) {
                None => report.missing.push(name.clone()),
                Some(found) if found.tensor.size() != tensor.size() => {
                    let (wanted, found) = (tensor.size(), found.tensor.size());
                    report.mismatched.push(format!("{name}: expects {wanted:?}, found {found:?}"));
                }
                Some(found) => {
                    values.push(&found.tensor);
                    targets.push(target.clone());
                }
            }
        }
        // Other stages of a pipeline take theirs.
        let elsewhere = &self.model().info().elsewhere;
        let known = |name: &str| {
            state.iter().map(|target| &target.name).chain(elsewhere).any(|known| known == name)
        };
        let strange = source.iter().filter(|named| !known(&named.name));
        report.unexpected = strange.map(|named| named.name.clone()).collect();
        if !strict || report.fits() {
            let _no_grad = GradMode::set(false);
            foreach::copy_(&tensor_list(&targets), &values)?;
            report.loaded = targets.len();
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Tensor;

    fn named(name: &str, tensor: Tensor) -> NamedTensor {
        NamedTensor::new(name, tensor)
    }

    #[test]
    fn names_go_by_the_first_rule_and_kernels_are_turned() {
        let source = vec![
            named("gpt.h.0.fc.weight", Tensor::from_slice2(&[[1.0_f32, 2.0]])),
            named("gpt.h.0.fc.bias", Tensor::from_slice(&[1.0_f32])),
            named("other", Tensor::from_slice(&[1.0_f32])),
        ];
        let renames = [
            Rename::new("gpt.h.*.fc.weight", "layers.*.weight", true).unwrap(),
            Rename::new("gpt.h.*.fc.*", "layers.*.*", false).unwrap(),
        ];
        let found = renamed(source, &renames).unwrap();
        let names: Vec<_> = found.iter().map(|named| named.name.as_str()).collect();
        assert_eq!(names, ["layers.0.weight", "layers.0.bias", "other"]);
        assert_eq!(found[0].tensor.size(), [2, 1]);
    }

    #[test]
    fn two_tensors_cannot_become_one() {
        let source = vec![named("a.w", Tensor::from(1.0)), named("b.w", Tensor::from(2.0))];
        let renames =
            [Rename::new("*.w", "*", false).unwrap(), Rename::new("b", "a", false).unwrap()];
        assert!(renamed(source, &renames).is_ok());
        let source = vec![named("a.w", Tensor::from(1.0)), named("a", Tensor::from(2.0))];
        assert_eq!(
            renamed(source, &renames).unwrap_err().to_string(),
            "weights: both `a.w` and `a` become `a`: correct the renaming"
        );
    }

    #[test]
    fn a_long_list_is_shortened() {
        let missing = (0..14).map(|index| format!("w{index}")).collect();
        let report = LoadReport { loaded: 3, missing, ..LoadReport::default() };
        let text = report.to_string();
        assert!(text.starts_with("3 loaded, 14 missing (w0, w1, "), "{text}");
        assert!(text.ends_with("w11 and 2 more)"), "{text}");
    }
}
