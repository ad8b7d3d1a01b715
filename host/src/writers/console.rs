//! The console output of a run: one redrawn line on a terminal, plain lines elsewhere.

use super::line::{Field, Fields, Layout, whole};
use super::{Writer, human};
use crate::events::{EventStorage, Media, Series, WINDOW};
use crate::progress::Progress;
use crate::run::RunDirError;
use crate::stdio;
use console::Term;
use hookrack_plugin_api::Phase;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Writes to standard output.
pub struct Console {
    // A terminal that can draw over a line has one that is redrawn.
    bar: Option<ProgressBar>,
    layout: Layout,
    // The width of the bar beside the line.
    bar_width: Option<usize>,
    // When the first line was written, and the iteration then: a resumed run has not done the earlier ones.
    first: Option<(Instant, u64)>,
    // The scalars that the line shows.
    shown: Vec<String>,
    // Whether the note about medians was printed.
    told: bool,
}

/// The progress line on the terminal, for others that write there.
static LINE: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn set_line(bar: Option<ProgressBar>) {
    *LINE.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// Standard error, above the progress line if there is one, so that a log line does not break it.
#[derive(Clone, Copy, Debug, Default)]
pub struct StderrAbove;

impl Write for StderrAbove {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let print = || io::stderr().write_all(bytes).map(|()| bytes.len());
        let line = LINE.lock().unwrap_or_else(PoisonError::into_inner).clone();
        line.map_or_else(print, |line| line.suspend(print))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// What the line shows by default.
const SHOWN: [&str; 2] = ["loss", "lr"];

/// Restores the terminal: the progress line is cleared, the cursor is visible and at the start of a line.
/// For a process that is about to end, whatever its other threads are doing.
pub fn leave_terminal() {
    let line = LINE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(line) = line {
        line.finish_and_clear();
        let _ = Term::stdout().show_cursor();
    }
}

/// The same after a second interrupt.
pub fn leave_interrupted() {
    leave_terminal();
    stdio::complain(format_args!("interrupted twice: quitting without saving"));
}

/// Columns assumed for a terminal of unknown width.
const COLUMNS: usize = 80;

fn columns() -> usize {
    Term::stdout().size_checked().map_or(COLUMNS, |(_, columns)| columns.into())
}

/// A line with or without a progress bar. If it still does not fit, it is cut off.
fn style(bar: Option<usize>) -> ProgressStyle {
    let template = match bar {
        Some(width) => format!("{{bar:{width}.cyan/dim}} {{percent:>3}}%  {{wide_msg}}"),
        None => "{wide_msg}".to_owned(),
    };
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// One line that is redrawn; a terminal that cannot do that (`TERM=dumb`) gets plain lines, like a file.
fn bar() -> Option<ProgressBar> {
    let can_redraw = Term::stdout().is_term() && !console::is_dumb();
    let bar = || ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
    can_redraw.then(bar).map(|bar| bar.with_style(style(None)))
}

impl Console {
    /// A console for a run that starts now.
    pub fn new() -> Self {
        let bar = bar();
        set_line(bar.clone());
        Self { bar, ..Self::plain() }
    }

    /// A console for a command that prints nothing but its progress: `None` if there is no terminal to redraw a line on.
    pub fn on_terminal() -> Option<Self> {
        Some(Self::new()).filter(Self::is_drawn)
    }

    fn plain() -> Self {
        let shown = SHOWN.map(str::to_owned).into();
        Self {
            bar: None,
            layout: Layout::default(),
            bar_width: None,
            first: None,
            shown,
            told: false,
        }
    }

    fn print(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => stdio::print_line(format_args!("{line}")),
        }
    }

    fn eta(&mut self, progress: &Progress) -> Option<Duration> {
        let (began, first) = *self.first.get_or_insert_with(|| (Instant::now(), progress.iter));
        let ahead = progress.max_iters.saturating_sub(progress.iter);
        match progress.iter.saturating_sub(first) {
            0 => left(Duration::try_from_secs_f64(progress.iter_time).ok()?, 1, ahead),
            done => left(began.elapsed(), done, ahead),
        }
    }

    /// The scalars that the line shows, by their displayed names.
    fn shown_series<'a>(
        &'a self,
        events: &'a EventStorage,
    ) -> impl Iterator<Item = (&'a str, &'a Series)> {
        self.shown.iter().filter_map(|name| {
            let scoped = if name.contains('/') { name } else { &format!("train/{name}") };
            Some((name.as_str(), events.named(scoped)?))
        })
    }

    /// The scalars of the line that are medians; `None` if there are none.
    fn legend(&self, events: &EventStorage) -> Option<String> {
        let smooth = self.shown_series(events).filter(|(_, series)| series.is_smooth());
        let names: Vec<_> = smooth.map(|(name, _)| name).collect();
        let of = format!("median of the last {WINDOW} iterations");
        (!names.is_empty())
            .then(|| format!("{}: {of}; the files have the raw values", names.join(", ")))
    }

    /// The position of training.
    fn train_line(&mut self, events: &EventStorage, progress: &Progress) -> Fields {
        let (epoch, iter) = (progress.epoch, progress.iter);
        let mut line = vec![
            (Field::Epoch, format!("epoch {epoch}/{}", progress.max_epochs)),
            (Field::Iter, format!("iter {iter}/{}", progress.max_iters)),
        ];
        for (place, (name, series)) in self.shown_series(events).enumerate() {
            if let Some(value) = series.shown() {
                let part = if place == 0 { Field::First } else { Field::Scalar(place) };
                line.push((part, format!("{name} {}", short(value))));
            }
        }
        if let Some(rate) = throughput(events, progress) {
            line.push((Field::Throughput, format!("{rate:.0} samples/s")));
        }
        if let Some(eta) = self.eta(progress) {
            line.push((Field::Eta, format!("eta {}", human(eta))));
        }
        line
    }
}

impl Default for Console {
    fn default() -> Self {
        Self::new()
    }
}

/// The estimated time of the remaining iterations.
#[expect(clippy::cast_precision_loss, reason = "counters of a run stay far below 2^53")]
fn left(spent: Duration, done: u64, left: u64) -> Option<Duration> {
    let seconds = spent.as_secs_f64() * left as f64 / done as f64;
    // Less than a second is not shown.
    Duration::try_from_secs_f64(seconds.ceil()).ok().filter(|_| left > 0)
}

/// Samples a second, by the median of the last iterations' times.
#[expect(clippy::cast_precision_loss, reason = "a batch has far fewer samples than 2^53")]
fn throughput(events: &EventStorage, progress: &Progress) -> Option<f64> {
    let time = events.named("train/time")?.median(WINDOW)?;
    (time > 0.0).then(|| progress.batch_size as f64 / time)
}

/// A number with the digits it needs.
fn short(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.2e}") } else { format!("{value:.4}") }
}

/// The scalars of an evaluation that has just ended.
fn eval_line(events: &EventStorage, progress: &Progress, phase: Phase) -> Option<String> {
    let scope = format!("{}/", phase.name());
    let mut line = format!("epoch {}  {}", progress.epoch, phase.name());
    if !events.set().is_empty() {
        _ = write!(line, " {}", events.set());
    }
    let empty = line.len();
    for series in events.pending().filter(|series| !series.is_smooth()) {
        if let (Some(name), Some(value)) = (series.name().strip_prefix(&scope), series.latest()) {
            _ = write!(line, "  {name} {}", short(value));
        }
    }
    (line.len() > empty).then_some(line)
}

/// The progress of an evaluation or a prediction.
fn pass_line(progress: &Progress, phase: Phase) -> String {
    let (epoch, name) = (progress.epoch, phase.name());
    format!("epoch {epoch}  {name} {}/{}", progress.inner_iter, progress.inner_len)
}

/// A text under its name.
fn titled(name: &str, text: &str) -> String {
    let indented = text.lines().map(|line| format!("  {line}"));
    std::iter::once(name.to_owned()).chain(indented).collect::<Vec<_>>().join("\n")
}

impl Writer for Console {
    fn write(&mut self, events: &EventStorage, progress: &Progress) -> Result<(), RunDirError> {
        let phase = progress.phase;
        if phase != Phase::Train {
            if let Some(line) = eval_line(events, progress, phase) {
                self.print(&line);
            }
            return Ok(());
        }
        // At the end of an epoch or a run nothing new was logged: the line is not repeated.
        if events.pending().next().is_none() {
            return Ok(());
        }
        if !std::mem::replace(&mut self.told, true)
            && let Some(legend) = self.legend(events)
        {
            self.print(&legend);
        }
        if self.bar.is_some() {
            self.redraw(events, progress);
        } else {
            let line = whole(&self.train_line(events, progress));
            self.print(&line);
        }
        Ok(())
    }

    fn write_media(&mut self, media: &Media) -> Result<(), RunDirError> {
        for (medium, text) in media.texts() {
            self.print(&titled(&medium.name, text));
        }
        Ok(())
    }

    fn show(&mut self, names: &[String]) {
        names.clone_into(&mut self.shown);
    }

    fn is_drawn(&self) -> bool {
        self.bar.is_some()
    }

    fn redraw(&mut self, events: &EventStorage, progress: &Progress) {
        if self.bar.is_none() {
            return;
        }
        let line = match progress.phase {
            Phase::Train => self.train_line(events, progress),
            phase => vec![(Field::First, pass_line(progress, phase))],
        };
        let (width, line) = self.layout.fit(&line, columns());
        if let Some(bar) = &self.bar {
            if self.bar_width != width {
                self.bar_width = width;
                bar.set_style(style(width));
            }
            bar.set_message(line);
            // A validation is a part of training; a test or a prediction is all that its command does.
            let (length, position) = match progress.phase {
                Phase::Train | Phase::Val => (progress.max_iters, progress.iter),
                Phase::Test | Phase::Pred => (progress.inner_len, progress.inner_iter),
            };
            bar.set_length(length);
            bar.set_position(position);
        }
    }

    fn finish(&mut self) -> Result<(), RunDirError> {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            set_line(None);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Sample;

    fn events(values: &[(&str, bool, f64)]) -> EventStorage {
        let mut events = EventStorage::default();
        for (name, smooth, value) in values {
            let key = events.key(name, *smooth);
            events.put(key, Sample { iter: 10, samples: 80, value: *value });
        }
        events
    }

    #[test]
    fn the_line_has_place_loss_rate_throughput_and_time_left() {
        let events = events(&[
            ("train/loss", true, 0.25),
            ("train/lr", false, 0.0005),
            ("train/time", true, 0.004),
            ("train/grad_norm", true, 3.0),
        ]);
        let (epoch, iter, max_epochs, max_iters) = (1, 10, 2, 20);
        let progress = Progress {
            epoch,
            iter,
            max_epochs,
            max_iters,
            batch_size: 8,
            iter_time: 0.5,
            ..Progress::default()
        };
        let mut console = Console::plain();
        assert_eq!(
            whole(&console.train_line(&events, &progress)),
            "epoch 1/2  iter 10/20  loss 0.2500  lr 5.00e-4  2000 samples/s  eta 5.0 s"
        );
        let legend = "loss: median of the last 20 iterations; the files have the raw values";
        assert_eq!(console.legend(&events).unwrap(), legend);
        console.show(&["lr".to_owned()]);
        assert_eq!(console.legend(&events), None);
        console.show(&["train/grad_norm".to_owned(), "nothing".to_owned()]);
        assert_eq!(
            whole(&console.train_line(&events, &progress)),
            "epoch 1/2  iter 10/20  train/grad_norm 3.0000  2000 samples/s  eta 5.0 s"
        );
    }

    #[test]
    fn remaining_time_follows_from_the_iterations_since_the_resume() {
        let minute = Duration::from_mins(1);
        assert_eq!(left(minute, 100, 300), Some(Duration::from_mins(3)));
        assert_eq!(left(minute, 1, 2), Some(Duration::from_mins(2)));
        assert_eq!(left(minute, 100, 0), None);
    }

    #[test]
    fn an_evaluation_has_a_line_of_its_own_values() {
        let mut events = events(&[
            ("val/loss", false, 0.5),
            ("val/Accuracy", false, 0.875),
            ("train/lr", false, 1.0),
        ]);
        let progress = Progress { epoch: 3, ..Progress::default() };
        assert_eq!(
            eval_line(&events, &progress, Phase::Val).unwrap(),
            "epoch 3  val  loss 0.5000  Accuracy 0.8750"
        );
        assert_eq!(eval_line(&events, &progress, Phase::Test), None);
        events.enter_set("night");
        assert_eq!(
            eval_line(&events, &progress, Phase::Val).unwrap(),
            "epoch 3  val night  loss 0.5000  Accuracy 0.8750"
        );
    }

    #[test]
    fn an_evaluation_shows_its_progress() {
        let (epoch, inner_iter, inner_len) = (3, 7, 15);
        let progress = Progress { epoch, inner_iter, inner_len, ..Progress::default() };
        assert_eq!(pass_line(&progress, Phase::Val), "epoch 3  val 7/15");
    }

    #[test]
    fn a_text_is_printed_under_its_name() {
        assert_eq!(titled("val/table", "| a |\n| b |"), "val/table\n  | a |\n  | b |");
    }
}
