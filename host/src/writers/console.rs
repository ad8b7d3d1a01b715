//! What a person sees while a run goes on: one redrawn line on a terminal, plain lines elsewhere.

use super::{Writer, human};
use crate::events::{EventStorage, WINDOW};
use crate::run::RunDirError;
use hookrack_plugin_api::Phase;
use hookrack_plugin_api::abi::HrProgress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Writes to standard output.
pub struct Console {
    bar: Option<ProgressBar>,
    began: Instant,
    // Where the run was when it began: a resumed one has not done what is before that.
    first_iter: Option<u64>,
}

impl Console {
    /// A console for a run that begins now.
    pub fn new() -> Self {
        let bar = std::io::stdout().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
            let style = ProgressStyle::with_template("{bar:24.cyan/dim} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { bar, began: Instant::now(), first_iter: None }
    }

    fn print(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            // A closed pipe is no reason to end a training run.
            None => _ = writeln!(std::io::stdout(), "{line}"),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counters of a run stay far below 2^53")]
    fn eta(&mut self, progress: &HrProgress) -> Option<Duration> {
        let first = *self.first_iter.get_or_insert(progress.iter.saturating_sub(1));
        let (done, left) =
            (progress.iter - first, progress.max_iters.saturating_sub(progress.iter));
        let seconds = self.began.elapsed().as_secs_f64() * left as f64 / done.max(1) as f64;
        // Nobody waits for less than a second.
        Duration::try_from_secs_f64(seconds.ceil()).ok().filter(|_| left > 0)
    }

    fn train_line(&mut self, events: &EventStorage, progress: &HrProgress) -> String {
        let (epoch, iter) = (progress.epoch, progress.iter);
        let mut line =
            format!("epoch {epoch}/{}  iter {iter}/{}", progress.max_epochs, progress.max_iters);
        for name in ["train/loss", "train/lr"] {
            let Some(series) = events.named(name) else { continue };
            if let Some(value) = series.shown() {
                _ = write!(line, "  {} {}", &name["train/".len()..], short(value));
            }
        }
        if let Some(time) = events.named("train/time").and_then(|time| time.median(WINDOW)) {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a batch has far fewer samples than 2^53"
            )]
            let rate = progress.batch_size as f64 / time;
            _ = write!(line, "  {rate:.0} samples/s");
        }
        if let Some(eta) = self.eta(progress) {
            _ = write!(line, "  eta {}", human(eta));
        }
        line
    }
}

impl Default for Console {
    fn default() -> Self {
        Self::new()
    }
}

/// A number in as few digits as say it.
fn short(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.2e}") } else { format!("{value:.4}") }
}

/// The scalars of an evaluation that has just ended.
fn eval_line(events: &EventStorage, progress: &HrProgress, phase: Phase) -> Option<String> {
    let scope = format!("{}/", phase.name());
    let mut line = format!("epoch {}  {}", progress.epoch, phase.name());
    let empty = line.len();
    for series in events.pending().filter(|series| !series.is_smooth()) {
        if let (Some(name), Some(value)) = (series.name().strip_prefix(&scope), series.latest()) {
            _ = write!(line, "  {name} {}", short(value));
        }
    }
    (line.len() > empty).then_some(line)
}

impl Writer for Console {
    fn write(&mut self, events: &EventStorage, progress: &HrProgress) -> Result<(), RunDirError> {
        let phase = Phase::from_code(progress.phase);
        if phase != Phase::Train {
            if let Some(line) = eval_line(events, progress, phase) {
                self.print(&line);
            }
            return Ok(());
        }
        // At the ends of an epoch or a run nothing new was put: no second line says the same.
        if events.pending().next().is_none() {
            return Ok(());
        }
        let line = self.train_line(events, progress);
        match &self.bar {
            Some(bar) => {
                bar.set_length(progress.max_iters);
                bar.set_position(progress.iter);
                bar.set_message(line);
            }
            None => self.print(&line),
        }
        Ok(())
    }

    fn finish(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
