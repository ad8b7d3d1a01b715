//! `Safetensors`: inputs and labels as two tensors of one safetensors file.

use std::path::PathBuf;
use std::sync::Arc;

use ::safetensors::tensor::Metadata;
use ::safetensors::{Dtype, SafeTensors};
use hookrack_plugin_api::prelude::Settings;

use super::Dataset;
use super::array::{Array, Number};
use super::array_pair::ArrayPair;
use super::file_bytes::FileBytes;
use crate::error::Result;
use crate::registry::Component;

/// Inputs and labels as two tensors of a safetensors file, memory-mapped; uint8 inputs are scaled to 0..1.
#[derive(Debug, Clone, Settings)]
pub struct SafetensorsSettings {
    /// The file.
    pub path: PathBuf,
    /// Name of the inputs, `[samples, …]`.
    #[param(default = "inputs")]
    pub inputs: String,
    /// Name of the labels: integers of shape `[samples]` are classes; others are regression targets.
    #[param(default = "labels")]
    pub labels: String,
    /// Number of classes. Default: one more than the largest label.
    #[param(min = 1)]
    pub classes: Option<i64>,
    /// Label to ignore; it may be out of range. Default: that of the loss.
    pub ignore_index: Option<i64>,
}

impl Component<(), dyn Dataset> for SafetensorsSettings {
    const NAME: &'static str = "Safetensors";

    fn build(self, _context: &()) -> Result<Box<dyn Dataset>> {
        let file = Arc::new(FileBytes::open(&self.path)?);
        let (header, tensors) = SafeTensors::read_metadata(&file[..])
            .map_err(|error| file.wrong(0, format!("not a complete safetensors file ({error})")))?;
        // The length of the header stands before it, in eight bytes.
        let array = |name: &str| array(&file, &tensors, header + 8, name);
        let (inputs, labels) = (array(&self.inputs)?, array(&self.labels)?);
        Ok(Box::new(ArrayPair::new(inputs, labels, self.classes, self.ignore_index)?))
    }
}

fn array(file: &Arc<FileBytes>, tensors: &Metadata, start: usize, name: &str) -> Result<Array> {
    let all = tensors.tensors();
    let Some(tensor) = all.get(name) else {
        let mut names: Vec<_> = all.keys().map(String::as_str).collect();
        names.sort_unstable();
        return Err(file
            .wrong(8, format!("no tensor `{name}` in the file: there are {}", names.join(", "))));
    };
    let number = match tensor.dtype {
        Dtype::U8 => Number::U8,
        Dtype::I8 => Number::I8,
        Dtype::U16 => Number::U16,
        Dtype::I16 => Number::I16,
        Dtype::U32 => Number::U32,
        Dtype::I32 => Number::I32,
        Dtype::U64 => Number::U64,
        Dtype::I64 => Number::I64,
        Dtype::F32 => Number::F32,
        Dtype::F64 => Number::F64,
        other => {
            let why = format!(
                "tensor `{name}` is of type {other:?}: save it as U8 to U64, I8 to I64, F32 or F64"
            );
            return Err(file.wrong(8, why));
        }
    };
    Array::new(Arc::clone(file), number, tensor.shape.clone(), start + tensor.data_offsets.0)
}
