//! The norm of the gradients of all stages of a pipeline, and flags that any stage can set.

use tch::{Device, Kind, Tensor};

use super::error::Result;
use super::pipeline::Pipeline;
use hookrack_torch::autograd;
use hookrack_torch::dist::Reduction;
use hookrack_torch::{TensorList, foreach};

impl Pipeline {
    /// The norm of the gradients of all stages, from the norms of the single gradients in the order of the whole model: bit for bit that
    /// of one process.
    pub(super) fn total_norm(
        &self,
        params: &TensorList,
        grads: &TensorList,
        p: f64,
    ) -> Result<Tensor> {
        let mut own = Vec::new();
        if !grads.is_empty() {
            // Doubles hold the norms of floats exactly.
            let norms = foreach::norms(grads, p)?.f_to_kind(Kind::Double)?;
            let norms: Vec<f64> = Vec::try_from(norms)?;
            let mut norms = norms.into_iter();
            for (param, number) in params.iter().zip(self.param_numbers()) {
                if autograd::grad(&param)?.is_some() {
                    own.extend(u64::try_from(*number).unwrap_or(u64::MAX).to_le_bytes());
                    own.extend(norms.next().unwrap_or(f64::NAN).to_le_bytes());
                }
            }
        }
        let all = self.with_channel(|channel| channel.group().all_gather_bytes(&own))?;
        let mut norms: Vec<(u64, f64)> = all
            .iter()
            .flat_map(|bytes| bytes.as_chunks::<8>().0.as_chunks::<2>().0)
            .map(|&[number, norm]| (u64::from_le_bytes(number), f64::from_le_bytes(norm)))
            .collect();
        norms.sort_by_key(|(number, _)| *number);
        let norms: Vec<f64> = norms.into_iter().map(|(_, norm)| norm).collect();
        let kind = self.kind();
        if norms.is_empty() {
            return Ok(Tensor::f_zeros([0; 0], (kind, Device::Cpu))?);
        }
        let norms = Tensor::f_from_slice(&norms)?.f_to_kind(kind)?;
        Ok(norms.f_linalg_norm(p, None::<&[i64]>, false, kind)?)
    }

    /// Whether `own` is true on any stage.
    pub(super) fn any(&self, own: bool) -> Result<bool> {
        let flag = Tensor::f_from_slice(&[i64::from(own)])?;
        self.with_channel(|channel| channel.group().all_reduce(&flag, Reduction::Max))?;
        Ok(flag.f_int64_value(&[0])? > 0)
    }
}
