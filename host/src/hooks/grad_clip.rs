//! Clipping of the gradients' norm: what the two optimizer hooks share.

use hookrack_plugin_api::prelude::*;

static NORMS: CachedOp = CachedOp::new("aten::_foreach_norm.Scalar");
static STACK: CachedOp = CachedOp::new("aten::stack");
static NORM: CachedOp = CachedOp::new("aten::linalg_vector_norm");
static ADD: CachedOp = CachedOp::new("aten::add.Scalar");
static RECIPROCAL: CachedOp = CachedOp::new("aten::reciprocal");
static MUL: CachedOp = CachedOp::new("aten::mul.Scalar");
static CLAMP: CachedOp = CachedOp::new("aten::clamp_max");
static SCALE: CachedOp = CachedOp::new("aten::_foreach_mul_.Tensor");

/// How gradients are clipped.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GradClip {
    /// The largest norm.
    #[serde(alias = "max_grad_l2_norm")]
    #[param(min = 0)]
    max_norm: f64,
    /// Which norm: 2, 1, `inf`.
    #[serde(default = "two")]
    #[param(min = 0)]
    norm_type: f64,
}

fn two() -> f64 {
    2.0
}

/// Clips where that is wanted, and gives the norm as it was before. Waits for the device.
pub(super) fn clipped(t: &mut Trainer, clip: Option<&GradClip>) -> Result<f64> {
    let norm = match clip {
        Some(clip) => clip.apply(t)?,
        None => t.grad_norm()?,
    };
    norm.item()
}

impl GradClip {
    /// Scales gradients so that their norm is at most the limit, as `torch.nn.utils.clip_grad_norm_` does.
    fn apply(&self, t: &Trainer) -> Result<Tensor> {
        let grads = present(t)?;
        let norm = norm(t, &grads, self.norm_type)?;
        let factor = t.call(&ADD, &[Arg::from(&norm), Arg::from(1e-6)])?.tensor()?;
        let factor = t.call(&RECIPROCAL, &[Arg::from(&factor)])?.tensor()?;
        let factor = t.call(&MUL, &[Arg::from(&factor), Arg::from(self.max_norm)])?.tensor()?;
        let factor = t.call(&CLAMP, &[Arg::from(&factor), Arg::from(1.0)])?.tensor()?;
        t.call(&SCALE, &[Arg::list(&grads), Arg::from(&factor)])?;
        Ok(norm)
    }
}

/// The gradients that are there.
fn present(t: &Trainer) -> Result<TensorList> {
    let mut list = TensorList::default();
    for grad in t.grads().iter().filter(|grad| !grad.is_absent()) {
        list.push(grad)?;
    }
    Ok(list)
}

/// The norm of all gradients together, as a tensor: nobody waits for its value.
fn norm(t: &Trainer, grads: &TensorList, norm_type: f64) -> Result<Tensor> {
    let each = t.call(&NORMS, &[Arg::list(grads), Arg::from(norm_type)])?.tensors()?;
    let each = t.call(&STACK, &[Arg::list(&each)])?.tensor()?;
    t.call(&NORM, &[Arg::from(&each), Arg::from(norm_type)])?.tensor()
}
