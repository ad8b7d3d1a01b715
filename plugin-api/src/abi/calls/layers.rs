//! Outputs of layers.

use super::Host;
use super::wire::call;
use crate::abi::{HrStr, HrTensor, LayerTable};
use crate::error::Result;

impl Host {
    /// Keeps outputs of layers; returns the layers' indices.
    pub fn watch_layers(self, pattern: &str) -> Result<Vec<usize>> {
        let table = self.require::<LayerTable>()?;
        let watch = |indices: &mut [usize]| {
            let mut count = 0;
            // SAFETY: the pattern is lent until the call returns; the host writes at most so many indices and one number.
            self.check(unsafe {
                let (row, len) = (indices.as_mut_ptr(), indices.len());
                (table.watch)(self.raw(), HrStr::new(pattern), row, len, &raw mut count)
            })?;
            Ok::<usize, crate::Error>(count)
        };
        let mut indices = vec![0; watch(&mut [])?];
        watch(&mut indices)?;
        Ok(indices)
    }

    /// A layer's name.
    pub fn layer_name(self, index: usize) -> Result<String> {
        let name = call!(self, self.require::<LayerTable>()?, name(index) -> HrStr::EMPTY)?;
        // SAFETY: the text is lent for the run and copied here.
        Ok(unsafe { name.to_lossy() }.into_owned())
    }

    /// A layer's output.
    pub fn layer_output(self, index: usize) -> Result<Option<HrTensor>> {
        call!(self, self.require::<LayerTable>()?, output(index) -> Option(HrTensor::NONE))
    }
}
