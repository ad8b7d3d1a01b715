//! `CutMix`: changes the batch before it is used, whoever runs the model and whatever the loss is.

use hookrack_plugin_api::prelude::*;

static GAMMA: CachedOp = CachedOp::new("aten::_standard_gamma");

/// Puts a box of another image into each one, and mixes the labels by its share of the area (arXiv 1905.04899).
#[derive(Settings)]
pub struct CutMix {
    /// How many classes there are.
    #[param(min = 1)]
    classes: i64,
    /// The share is drawn from Beta(alpha, alpha); 1 is uniform.
    #[param(default = 1.0, min = 0.01)]
    alpha: f64,
}

/// Start and length of a box's side: `share` of `side`, cut off at the edges, around a place that `at` says.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "sides of images")]
fn span(side: i64, share: f64, at: f64) -> (i64, i64) {
    let (half, middle) = ((side as f64 * share) as i64 / 2, (side as f64 * at) as i64);
    let (start, end) = ((middle - half).max(0), (middle + half).min(side));
    (start, end - start)
}

#[hook(ops = [GAMMA], writes = "nothing", on_error = "abort")]
impl Hook for CutMix {
    #[expect(clippy::cast_precision_loss, reason = "sides of images")]
    fn before_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let (input, label) = (t.input()?, t.label()?.one_hot(self.classes)?);
        let [rows, _, height, width] = input.shape()?[..] else { bail!("images are [N, C, H, W]") };
        let draws = t.call(&GAMMA, &[(&t.full(&[2], self.alpha)?).into()])?.tensor()?;
        let [stays, goes] = draws.to_vec::<f64>()?[..] else { bail!("two numbers were drawn") };
        let [at_y, at_x] = t.rand(&[2])?.to_vec::<f64>()?[..] else { bail!("two numbers") };
        let share = (goes / (stays + goes)).sqrt();
        let ((top, high), (left, wide)) = (span(height, share, at_y), span(width, share, at_x));
        let others = t.randperm(rows)?;
        let mixed = input.clone_detached()?;
        let hole = |image: &Tensor| image.narrow(2, top, high)?.narrow(3, left, wide);
        hole(&mixed)?.copy_(&hole(&input.index_select(0, &others)?)?)?;
        t.set_input(&mixed)?;
        let kept = 1.0 - (high * wide) as f64 / (height * width) as f64;
        let label = label.to_dtype(DataType::FLOAT32)?;
        t.set_label(&label.index_select(0, &others)?.lerp(&label, kept)?)
    }
}

export_plugin! { hooks: [CutMix] }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_stays_inside_the_image() {
        assert_eq!(span(8, 0.5, 0.5), (2, 4));
        assert_eq!(span(8, 0.5, 0.0), (0, 2));
        assert_eq!(span(8, 0.5, 0.999), (5, 3));
        assert_eq!(span(8, 0.0, 0.3), (2, 0));
    }
}
