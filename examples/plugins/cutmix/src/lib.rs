//! `CutMix`: changes the batch before it is used, with any model and loss.

#![expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "sides")]

use hookrack_plugin_api::prelude::*;

/// Pastes a box of another image into each one, and mixes the labels by its share of the area (arXiv 1905.04899).
#[derive(Settings)]
pub struct CutMix {
    /// Number of classes.
    #[param(min = 1)]
    classes: i64,
    /// The share is drawn from Beta(alpha, alpha); 1 is uniform.
    #[param(default = 1.0, min = 0.01)]
    alpha: f64,
}

/// Start and length of one side of the box: `share` of `side`, clipped at the edges, centered at the position `at`.
fn span(side: i64, share: f64, at: f64) -> (i64, i64) {
    let (half, middle) = ((side as f64 * share) as i64 / 2, (side as f64 * at) as i64);
    let (start, end) = ((middle - half).max(0), (middle + half).min(side));
    (start, end - start)
}

#[hook(mutates = "input, label", writes = "nothing")]
impl Hook for CutMix {
    fn before_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let (x, y) = (t.input()?, t.label()?.one_hot(self.classes)?.to_dtype(DataType::FLOAT32)?);
        let [rows, _, height, width] = x.shape()?[..] else { bail!("images are [N, C, H, W]") };
        let share = (1.0 - t.beta(self.alpha, self.alpha)?).sqrt();
        let (top, high) = span(height, share, t.random()?);
        let (left, wide) = span(width, share, t.random()?);
        let others = t.randperm(rows)?;
        let hole = |image: &Tensor| image.narrow(2, top, high)?.narrow(3, left, wide);
        let mixed = x.clone_detached()?;
        hole(&mixed)?.copy_(&hole(&x.index_select(0, &others)?)?)?;
        let kept = 1.0 - (high * wide) as f64 / (height * width) as f64;
        t.set_input(&mixed)?;
        t.set_label(&y.index_select(0, &others)?.lerp(&y, kept)?)
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
