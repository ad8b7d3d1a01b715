//! Inputs and labels as two arrays, wherever they come from: what `Npy`, `Npz` and `Safetensors` have in common.

use super::array::{Array, Number};
use super::{DataSpec, Dataset, SampleBuffer, Target};
use crate::error::{EngineError, Result};

/// A data set of two arrays with the same first dimension.
#[derive(Debug)]
pub(super) struct ArrayPair {
    inputs: Array,
    labels: Array,
    target: Target,
    has_ignored: bool,
}

impl ArrayPair {
    /// One-dimensional integers are classes; other labels are regression targets. One number per sample is a target of shape `[1]`, which
    /// is the output of a model with one output.
    pub(super) fn new(
        inputs: Array,
        labels: Array,
        classes: Option<i64>,
        ignored: Option<i64>,
    ) -> Result<Self> {
        if inputs.len() != labels.len() {
            let why = format!("{} labels, but {} inputs", labels.len(), inputs.len());
            return Err(labels.wrong(0, &why));
        }
        if inputs.sides.len() == 1 {
            let count = inputs.len();
            let why = format!(
                "inputs of shape [{count}] have no feature dimension: save `x[:, None]`, of shape [{count}, 1]"
            );
            return Err(inputs.wrong(0, &why));
        }
        let is_row = labels.sides[1..].iter().all(|side| *side == 1);
        let target = match classes {
            _ if labels.number.is_int() && is_row => {
                Target::Classes(count(&labels, classes, ignored)?)
            }
            Some(classes) => {
                let why = format!(
                    "classes = {classes}, but labels of shape {:?} are not class indices: expected one integer per sample",
                    labels.sides
                );
                return Err(EngineError::Data(why));
            }
            None if labels.sides.len() == 1 => Target::Values(vec![1]),
            None => Target::Values(labels.sample_shape()),
        };
        let is_ignored = |index| Some(labels.int(index)) == ignored;
        let has_ignored = matches!(target, Target::Classes(_)) && (0..labels.len()).any(is_ignored);
        Ok(Self { inputs, labels, target, has_ignored })
    }
}

/// The number of classes. Checks every label.
fn count(labels: &Array, classes: Option<i64>, ignored: Option<i64>) -> Result<i64> {
    let numbers = (0..labels.len()).map(|index| (index, labels.int(index)));
    let counting = numbers.filter(|(_, label)| Some(*label) != ignored);
    let largest = counting.clone().map(|(_, label)| label).max().unwrap_or(0);
    let classes = classes.unwrap_or(largest.saturating_add(1));
    let wrong = counting.into_iter().find(|(_, label)| !(0..classes).contains(label));
    match wrong {
        None => Ok(classes),
        Some((index, label)) => {
            let why = format!("label {label} of sample {index} is not one of {classes} classes");
            Err(labels.wrong(index, &why))
        }
    }
}

impl Dataset for ArrayPair {
    fn len(&self) -> usize {
        self.inputs.len()
    }

    fn spec(&self) -> DataSpec {
        DataSpec { input: self.inputs.sample_shape(), target: self.target.clone() }
    }

    fn read(&self, index: usize, sample: &mut SampleBuffer<'_>) -> Result<()> {
        if self.inputs.number == Number::U8 {
            sample.bytes(self.inputs.sample(index));
        } else {
            sample.floats(self.inputs.floats(index));
        }
        match self.target {
            Target::Classes(_) => sample.class(self.labels.int(index)),
            _ => sample.values(self.labels.floats(index)),
        }
        Ok(())
    }

    fn has_ignored(&self) -> bool {
        self.has_ignored
    }

    fn check(&self) -> Result<()> {
        self.inputs.check()?;
        self.labels.check()
    }
}

#[cfg(test)]
mod tests {
    //! The files are what NumPy and safetensors wrote: `scripts/golden/arrays.py`.

    use hookrack_plugin_api::Value;

    use super::super::{Batch, DATASETS};
    use super::*;
    use crate::registry::{Build as _, Choice};

    fn golden(name: &str) -> Value {
        Value::Str(format!("{}/src/data/golden/{name}", env!("CARGO_MANIFEST_DIR")))
    }

    fn build(
        name: &str,
        settings: &[(&str, Value)],
    ) -> std::result::Result<Box<dyn Dataset>, String> {
        let built = Choice::new(name, settings).build(DATASETS, &());
        let folder = format!("{}/src/data/golden/", env!("CARGO_MANIFEST_DIR"));
        built.map_err(|error| error.to_string().replace(&folder, ""))
    }

    fn npy(inputs: &str, labels: &str) -> std::result::Result<Box<dyn Dataset>, String> {
        build("Npy", &[("inputs", golden(inputs)), ("labels", golden(labels))])
    }

    fn last_and_first(data: &dyn Dataset) -> Batch {
        data.batch(&[2, 0]).unwrap()
    }

    #[test]
    fn all_formats_and_types_give_the_same_samples() {
        let all = [
            npy("x_f4.npy", "y_i8.npy"),
            npy("x_f8.npy", "y_u1.npy"),
            build("Npz", &[("path", golden("arrays.npz"))]),
            build("Safetensors", &[("path", golden("arrays.safetensors"))]),
        ];
        for data in all {
            let data = data.unwrap();
            assert_eq!(data.spec(), DataSpec { input: vec![2, 2], target: Target::Classes(3) });
            let Batch { input, label } = last_and_first(data.as_ref());
            let input: Vec<f32> = Vec::try_from(input.reshape([-1])).unwrap();
            assert_eq!(input, [1.0, 1.25, 1.5, 1.75, -1.0, -0.75, -0.5, -0.25]);
            assert_eq!(Vec::<i64>::try_from(label).unwrap(), [1, 2]);
        }
    }

    #[test]
    fn bytes_are_scaled_and_labels_may_be_numbers() {
        let data = npy("x_u1.npy", "v_f8.npy").unwrap();
        assert_eq!(data.spec().target, Target::Values(vec![2]));
        let Batch { input, label } = last_and_first(data.as_ref());
        assert!((input.double_value(&[0, 1, 1]) - 187.0 / 255.0).abs() < 1e-7);
        assert_eq!(Vec::<f32>::try_from(label.reshape([-1])).unwrap(), [-4.0, 0.25, 0.5, -1.0]);
        let settings = [("path", golden("arrays.npz")), ("labels", "v".into())];
        assert_eq!(build("Npz", &settings).unwrap().spec().target, Target::Values(vec![2]));
    }

    #[test]
    fn one_number_per_sample_is_a_target_for_one_output() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        file.extend(b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
        file.resize(127, b' ');
        file.push(b'\n');
        file.extend([0.5_f32, 1.5, -2.0].iter().flat_map(|value| value.to_le_bytes()));
        let path = folder.path().join("y.npy");
        std::fs::write(&path, file).unwrap();
        let labels = Value::Str(path.display().to_string());
        let data = build("Npy", &[("inputs", golden("x_f4.npy")), ("labels", labels)]).unwrap();
        assert_eq!(data.spec().target, Target::Values(vec![1]));
        let label = last_and_first(data.as_ref()).label;
        assert_eq!(label.size(), [2, 1]);
        assert_eq!(Vec::<f32>::try_from(label.reshape([-1])).unwrap(), [-2.0, 0.5]);
    }

    #[test]
    fn what_does_not_fit_is_reported() {
        let error = |data: std::result::Result<Box<dyn Dataset>, String>| data.err().unwrap();
        assert!(error(npy("x_fortran.npy", "y_i8.npy")).contains("Fortran order"));
        assert!(error(npy("x_c8.npy", "y_i8.npy")).contains("type <c8 is not supported"));
        assert_eq!(
            error(npy("arrays.npz", "y_i8.npy")),
            "data: arrays.npz, byte 0: not a NumPy file: it must begin with \\x93NUMPY"
        );
        let classes = [
            ("inputs", golden("x_f4.npy")),
            ("labels", golden("y_i8.npy")),
            ("classes", Value::Int(2)),
        ];
        assert_eq!(
            error(build("Npy", &classes)),
            "data: y_i8.npy, byte 128: label 2 of sample 0 is not one of 2 classes"
        );
        let settings = [("path", golden("arrays.npz")), ("labels", "z".into())];
        assert_eq!(
            error(build("Npz", &settings)),
            "data: arrays.npz, byte 0: no array `z` in the archive: there are x, y, v"
        );
        let settings = [("path", golden("arrays.safetensors")), ("inputs", "z".into())];
        assert!(
            error(build("Safetensors", &settings)).contains("there are inputs, labels, values")
        );
        assert!(error(npy("y_i8.npy", "nowhere.npy")).contains("cannot read nowhere.npy"));
        assert_eq!(
            error(npy("y_i8.npy", "y_i8.npy")),
            "data: y_i8.npy, byte 128: inputs of shape [3] have no feature dimension: save `x[:, None]`, of shape [3, 1]"
        );
    }

    #[test]
    fn cut_off_files_are_reported_with_the_byte() {
        let folder = tempfile::tempdir().unwrap();
        for (name, kind) in
            [("x_f4.npy", "Npy"), ("arrays.npz", "Npz"), ("arrays.safetensors", "Safetensors")]
        {
            let Value::Str(whole) = golden(name) else { continue };
            let whole = std::fs::read(whole).unwrap();
            let path = folder.path().join(name);
            for len in [3, 50, whole.len() - 3] {
                std::fs::write(&path, &whole[..len]).unwrap();
                let path = Value::Str(path.display().to_string());
                let settings = match kind {
                    "Npy" => vec![("inputs", path), ("labels", golden("y_i8.npy"))],
                    _ => vec![("path", path)],
                };
                let error = build(kind, &settings).err().unwrap();
                assert!(error.contains(", byte "), "{error}");
            }
        }
    }
}
