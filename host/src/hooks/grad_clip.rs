//! Clipping of the gradients' norm: what the two optimizer hooks share.

use hookrack_plugin_api::prelude::*;

static NORMS: CachedOp = CachedOp::new("aten::_foreach_norm.Scalar");
static SCALE: CachedOp = CachedOp::new("aten::_foreach_mul_.Tensor");

/// The name of the module that embeds a question in iMIX's models.
const QUESTION: &str = "question_embedding";

/// How gradients are clipped.
#[derive(Settings)]
pub(super) struct GradClip {
    /// Maximum norm.
    #[param(min = 0, alias = "max_grad_l2_norm")]
    max_norm: f64,
    /// Order of the norm: 2, 1, any other number, or `inf`.
    #[param(default = 2.0, min = 0, max = f64::INFINITY)]
    norm_type: f64,
    /// Which gradients are clipped by their norm: all, or those of parameters with `question_embedding` in their name.
    #[param(default)]
    clip_norm_mode: ClipMode,
    /// Accepted for configs of iMIX; has no effect, because gradients are always unscaled before they are clipped.
    #[param(default = true)]
    use_scale: bool,
    // Places among the parameters; `None` for all of them.
    #[param(skip)]
    chosen: Option<Vec<usize>>,
}

/// Which gradients are clipped.
#[derive(Clone, Copy, Default, PartialEq, Settings)]
enum ClipMode {
    /// Those of every parameter.
    #[default]
    All,
    /// Those of the parameters with `question_embedding` in their name.
    Question,
}

/// Clips if configured, and returns the norm before clipping. Synchronizes with the device.
pub(super) fn clipped(t: &mut Trainer, clip: Option<&GradClip>) -> Result<f64> {
    let norm = match clip {
        Some(clip) => clip.apply(t)?,
        None => t.grad_norm()?,
    };
    norm.item()
}

impl GradClip {
    /// Finds out whose gradients are clipped. Called before the first step.
    pub(super) fn prepare(&mut self, t: &Trainer) -> Result<()> {
        if self.clip_norm_mode == ClipMode::All {
            return Ok(());
        }
        let chosen = asked_about(&t.param_names()?);
        ensure!(
            !chosen.is_empty(),
            "clip_norm_mode = \"question\": no parameter has `{QUESTION}` in its name; write \"all\""
        );
        self.chosen = Some(chosen);
        Ok(())
    }

    /// Scales gradients so that their norm is at most the limit, as `torch.nn.utils.clip_grad_norm_` does.
    fn apply(&self, t: &Trainer) -> Result<Tensor> {
        let grads = self.present(t)?;
        let norm = norm(t, &grads, self.norm_type)?;
        let factor = ((&norm + 1e-6)?.reciprocal()? * self.max_norm)?.clamp_max(1.0)?;
        t.call(&SCALE, &[Arg::list(&grads), Arg::from(&factor)])?;
        Ok(norm)
    }

    /// The existing gradients among the selected ones.
    fn present(&self, t: &Trainer) -> Result<TensorList> {
        let counts = |index: &usize| self.chosen.as_ref().is_none_or(|some| some.contains(index));
        let mut list = TensorList::default();
        for (_, grad) in t.grads().iter().enumerate().filter(|(index, _)| counts(index)) {
            if !grad.is_absent() {
                list.push(grad)?;
            }
        }
        Ok(list)
    }
}

/// The places of the parameters that embed a question.
fn asked_about(names: &[String]) -> Vec<usize> {
    (0..names.len()).filter(|index| names[*index].contains(QUESTION)).collect()
}

/// The total norm of all gradients, as a tensor: its value is not read, so this does not synchronize.
fn norm(t: &Trainer, grads: &TensorList, norm_type: f64) -> Result<Tensor> {
    let each = t.call(&NORMS, &[Arg::list(grads), Arg::from(norm_type)])?.tensors()?;
    each.stack(0)?.norm_dim(norm_type, &[0], false)
}

#[cfg(test)]
mod tests {
    use super::asked_about;

    #[test]
    fn a_question_s_parameters_are_found_by_name() {
        let names = ["image.weight", "question_embedding.weight", "q.question_embedding.bias"];
        assert_eq!(asked_about(&names.map(str::to_owned)), [1, 2]);
        assert!(asked_about(&["fc.weight".to_owned()]).is_empty());
    }
}
