//! `ProgressBar`: what the progress line shows, and how often it is drawn.

use hookrack_plugin_api::prelude::*;
use std::time::{Duration, Instant};

/// The maximum number of redraws per second.
const SHORTEST: Duration = Duration::from_millis(100);

/// Selects the scalars of the console's progress line and redraws it after each iteration, evaluations included;
/// without this hook it is redrawn when scalars are written, and within evaluations.
#[derive(Settings)]
pub(super) struct ProgressBar {
    /// Iterations between redraws, of which there are at most ten per second.
    #[param(default = 1, min = 1)]
    refresh_rate: u64,
    /// Scalars in the progress line; a name without `/` is a scalar of training.
    #[param(default = ["loss", "lr"])]
    scalars: Vec<String>,
    #[param(skip)]
    drawn: Option<Instant>,
}

impl ProgressBar {
    fn draw(&mut self, t: &mut Trainer, count: u64) -> Result<()> {
        let is_soon = self.drawn.is_some_and(|drawn| drawn.elapsed() < SHORTEST);
        if is_soon || !count.is_multiple_of(self.refresh_rate) {
            return Ok(());
        }
        self.drawn = Some(Instant::now());
        t.redraw_progress()
    }
}

#[hook(level = 53, ranks = "main", aliases = "TqdmCallback", reads = "events")]
impl Hook for ProgressBar {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        t.show_progress(&self.scalars)
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.draw(t, t.iter())
    }

    fn after_eval_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.draw(t, t.inner_iter())
    }

    fn after_pred_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.draw(t, t.inner_iter())
    }
}
