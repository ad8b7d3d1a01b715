//! Writes predictions as safetensors, npy or JSON lines, depending on the file name.

use std::io::Write as _;
use std::path::Path;

use serde_json::{Value as Json, json};
use tch::{Kind, Tensor};

use super::error::RunDirError;
use super::{atomic, safetensors_file};

/// The format of a file of predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictionFormat {
    /// Tensors `output` and `index`, and `class` for classification.
    Safetensors,
    /// The outputs as one array.
    Npy,
    /// `{"index": 0, "output": […], "class": 3}`, a line for each sample.
    JsonLines,
}

impl PredictionFormat {
    /// The format for a file name.
    pub fn of(path: &Path) -> Result<Self, String> {
        match path.extension().and_then(std::ffi::OsStr::to_str) {
            Some("safetensors") => Ok(Self::Safetensors),
            Some("npy") => Ok(Self::Npy),
            Some("jsonl") => Ok(Self::JsonLines),
            _ => Err(format!(
                "{}: the file name must end in .safetensors, .npy or .jsonl",
                path.display()
            )),
        }
    }
}

/// A model's outputs for samples, in the order of the data.
#[derive(Debug)]
pub struct Predictions {
    /// A row for each sample.
    pub output: Tensor,
    /// The class of each sample, for classification.
    pub class: Option<Tensor>,
}

impl Predictions {
    /// Concatenates the outputs of batches; for classes, the largest score is the prediction.
    pub fn new(outputs: &[Tensor], classifies: bool) -> Result<Self, tch::TchError> {
        let output = Tensor::f_cat(outputs, 0)?;
        let is_scores = classifies && output.dim() == 2;
        let class = is_scores.then(|| output.f_argmax(1, false)).transpose()?;
        Ok(Self { output, class })
    }

    /// How many samples there are.
    pub fn len(&self) -> i64 {
        self.output.size().first().copied().unwrap_or_default()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes them atomically.
    pub fn write(&self, path: &Path, format: PredictionFormat) -> Result<(), RunDirError> {
        let wrong = |error: tch::TchError| RunDirError::tensor("write", "output", &error);
        match format {
            PredictionFormat::Safetensors => {
                let index = Tensor::f_arange(self.len(), tch::kind::INT64_CPU).map_err(wrong)?;
                let mut tensors = vec![
                    ("output".to_owned(), self.output.shallow_clone()),
                    ("index".to_owned(), index),
                ];
                let class = self.class.as_ref().map(Tensor::shallow_clone);
                tensors.extend(class.map(|class| ("class".to_owned(), class)));
                safetensors_file::write(path, &tensors)
            }
            PredictionFormat::Npy => atomic::write(path, &self.npy().map_err(wrong)?),
            PredictionFormat::JsonLines => {
                atomic::write(path, self.json_lines().map_err(wrong)?.as_bytes())
            }
        }
    }

    /// Version 1.0 of NumPy's format: a header that is a Python literal, padded to 64 bytes, then the numbers.
    fn npy(&self) -> Result<Vec<u8>, tch::TchError> {
        const PREAMBLE: usize = 10;
        let sizes: Vec<_> = self.output.size().iter().map(ToString::to_string).collect();
        let comma = if sizes.len() == 1 { "," } else { "" };
        let shape = sizes.join(", ") + comma;
        let is_wide = self.output.f_kind()? == Kind::Double;
        let (kind, descr) = if is_wide { (Kind::Double, "<f8") } else { (Kind::Float, "<f4") };
        let mut header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
        let padded = (PREAMBLE + header.len() + 1).next_multiple_of(64) - PREAMBLE;
        header = format!("{header:<width$}\n", width = padded - 1);
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend(header.as_bytes());
        let numbers = self.output.f_detach()?.f_to_kind(kind)?.f_contiguous()?;
        let start = bytes.len();
        bytes.resize(start + numbers.numel() * kind.elt_size_in_bytes(), 0);
        numbers.f_copy_data_u8(&mut bytes[start..], numbers.numel())?;
        Ok(bytes)
    }

    fn json_lines(&self) -> Result<String, tch::TchError> {
        let mut text = Vec::new();
        let outputs = self.output.f_detach()?.f_to_kind(Kind::Double)?;
        for index in 0..self.len() {
            let mut line = json!({ "index": index, "output": nested(&outputs.f_get(index)?)? });
            if let Some(class) = &self.class {
                line["class"] = class.f_int64_value(&[index])?.into();
            }
            // Writing to memory cannot fail.
            let _ = writeln!(text, "{line}");
        }
        Ok(String::from_utf8(text).unwrap_or_default())
    }
}

/// A tensor as nested lists; numbers that are not finite become null.
fn nested(tensor: &Tensor) -> Result<Json, tch::TchError> {
    if tensor.dim() == 0 {
        return Ok(tensor.f_double_value(&[])?.into());
    }
    if tensor.dim() == 1 {
        return Ok(Vec::<f64>::try_from(tensor.f_contiguous()?)?.into());
    }
    let rows = (0..tensor.size()[0]).map(|row| nested(&tensor.f_get(row)?));
    Ok(Json::Array(rows.collect::<Result<_, tch::TchError>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predictions(classifies: bool) -> Predictions {
        let batches = [
            Tensor::from_slice2(&[[0.5_f32, 1.5, -1.0], [2.0, 0.0, 0.25]]),
            Tensor::from_slice2(&[[0.0_f32, f32::NAN, 1.0]]),
        ];
        Predictions::new(&batches, classifies).unwrap()
    }

    #[test]
    fn the_file_name_selects_the_format() {
        let of = |name: &str| PredictionFormat::of(Path::new(name));
        assert_eq!(of("a.npy"), Ok(PredictionFormat::Npy));
        assert_eq!(of("a.b.jsonl"), Ok(PredictionFormat::JsonLines));
        assert!(of("a.csv").unwrap_err().contains(".safetensors, .npy or .jsonl"));
        assert!(of("npy").is_err());
    }

    #[test]
    fn a_line_has_index_output_and_class() {
        let lines = predictions(true).json_lines().unwrap();
        let lines: Vec<_> = lines.lines().collect();
        assert_eq!(lines[0], r#"{"index":0,"output":[0.5,1.5,-1.0],"class":1}"#);
        assert_eq!(lines[1], r#"{"index":1,"output":[2.0,0.0,0.25],"class":0}"#);
        assert!(lines[2].contains("[0.0,null,1.0]"), "{}", lines[2]);
        assert!(!predictions(false).json_lines().unwrap().contains("class"));
    }

    #[test]
    fn rows_of_more_dimensions_are_lists_of_lists() {
        let output = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0]).view([1, 2, 2]);
        let predictions = Predictions::new(&[output], true).unwrap();
        let line = predictions.json_lines().unwrap();
        assert_eq!(line, "{\"index\":0,\"output\":[[1.0,2.0],[3.0,4.0]]}\n");
    }

    /// The header is what `numpy.save` writes, byte for byte.
    #[test]
    fn an_array_has_numpys_header() {
        let bytes = predictions(false).npy().unwrap();
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }";
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(std::str::from_utf8(&bytes[10..128]).unwrap(), format!("{header:<117}\n"));
        assert_eq!(bytes.len(), 128 + 9 * 4);
        assert_eq!(bytes[128..132], 0.5_f32.to_le_bytes());
    }
}
