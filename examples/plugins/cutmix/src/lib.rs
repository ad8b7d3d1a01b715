//! `CutMix`: changes the batch before it is used, with any model and loss.

#![expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "sides")]

use hookrack_plugin_api::prelude::*;
use std::ops::Range;

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

/// One side of the box: `share` of `side`, clipped at the edges, centered at the position `at`.
fn span(side: i64, share: f64, at: f64) -> Range<i64> {
    let (half, middle) = ((side as f64 * share) as i64 / 2, (side as f64 * at) as i64);
    (middle - half).max(0)..(middle + half).min(side)
}

#[hook(mutates = "input, label", writes = "nothing")]
impl Hook for CutMix {
    fn before_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let (x, y) = (t.input()?, t.label()?.one_hot(self.classes)?.to_dtype(DataType::FLOAT32)?);
        let [rows, _, height, width] = x.shape()?[..] else { bail!("images are [N, C, H, W]") };
        let share = (1.0 - t.beta(self.alpha, self.alpha)?).sqrt();
        let (down, across) = (span(height, share, t.random()?), span(width, share, t.random()?));
        let others = t.randperm(rows)?;
        let mixed = x.clone_detached()?;
        mixed.i((.., .., &down, &across))?.copy_(&x.i((&others, .., &down, &across))?)?;
        let kept = 1.0 - mixed.i((0, 0, &down, &across))?.numel()? as f64 / (height * width) as f64;
        t.set_input(&mixed)?;
        t.set_label(&y.i(&others)?.lerp(&y, kept)?)
    }
}

export_plugin! { hooks: [CutMix] }

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::settings;
    use hookrack_plugin_api::testing::{FakeTensor, FakeTrainer};

    #[test]
    fn images_change_with_their_labels_by_the_same_share() -> Result<()> {
        // Two images of one class each, whose pixels are the number of the class.
        let pixels: Vec<f64> = (0..128).map(|at| f64::from(at / 64)).collect();
        let mut t = FakeTrainer::new()
            .input(FakeTensor::new(&pixels, &[2, 1, 8, 8])?)
            .label([0_i64, 1])
            .hook::<MixSpy>(settings! {})?
            .hook::<CutMix>(settings! { classes = 2 })?;
        t.train_iter()?;
        let pixels = t.scalar("pixels").unwrap_or(f64::NAN);
        assert!(pixels > 0.0 && pixels < 1.0, "{pixels}");
        assert_eq!(t.scalar("share"), Some(pixels));
        Ok(())
    }

    /// Logs what of the first image, and of its label, is class 1.
    #[derive(Settings)]
    struct MixSpy;

    #[hook]
    impl Hook for MixSpy {
        fn after_forward(&mut self, t: &mut Trainer) -> Result<()> {
            t.put_scalar("pixels", t.input()?.select(0, 0)?.mean()?.item()?)?;
            t.put_scalar("share", t.label()?.select(0, 0)?.select(0, 1)?.item()?)
        }
    }

    #[test]
    fn a_box_stays_inside_the_image() {
        assert_eq!(span(8, 0.5, 0.5), 2..6);
        assert_eq!(span(8, 0.5, 0.0), 0..2);
        assert_eq!(span(8, 0.5, 0.999), 5..8);
        assert_eq!(span(8, 0.0, 0.3), 2..2);
    }
}
