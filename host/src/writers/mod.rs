//! Writers pull scalars, images and texts from the event storage and write them to the console or to files.
//!
//! Hooks decide: `PeriodicLogger` when all of them write; a hook for one writer (`TensorboardHook`)
//! opens it by its kind, and `ProgressBar` selects what the console's line shows. What is written is up to the writer.

mod console;
mod duration;
mod error;
mod evaluations;
mod json_lines;
mod line;
mod metrics_json;
mod record_file;
mod tensorboard;

pub use console::{Console, StderrAbove, leave_interrupted, leave_terminal};
pub use duration::human;
pub use error::OpenError;
pub use json_lines::JsonLines;
pub use metrics_json::MetricsJson;

use crate::events::{EventStorage, Media};
use crate::first_failure::first_failure;
use crate::progress::Progress;
use crate::run::{RunDirError, check_path, is_inside};
use serde_json::{Map, Value as Json};
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

/// A destination of scalars, images and texts.
pub trait Writer {
    /// Writes the scalars that are pending.
    fn write(&mut self, events: &EventStorage, progress: &Progress) -> Result<(), RunDirError>;

    /// Records the pending scalars, in a writer that keeps every value; they may be written later.
    fn record(&mut self, _events: &EventStorage, _progress: &Progress) -> Result<(), RunDirError> {
        Ok(())
    }

    /// Writes the pending images, histograms and texts, each with the iteration in which it was logged.
    fn write_media(&mut self, _media: &Media) -> Result<(), RunDirError> {
        Ok(())
    }

    /// Whether it takes images and histograms.
    fn takes_media(&self) -> bool {
        false
    }

    /// Sets the scalars that the progress line shows, in order.
    fn show(&mut self, _names: &[String]) {}

    /// Whether it has a progress line that can be redrawn.
    fn is_drawn(&self) -> bool {
        false
    }

    /// Redraws the progress line, without writing anything.
    fn redraw(&mut self, _events: &EventStorage, _progress: &Progress) {}

    /// Called when nothing more will be written.
    fn finish(&mut self) -> Result<(), RunDirError> {
        Ok(())
    }

    /// Called if the run did not start: existing files must stay unchanged.
    ///
    /// # Errors
    /// A file that it had created could not be removed.
    fn abandon(&mut self) -> Result<(), RunDirError> {
        self.finish()
    }

    /// The name under which checkpoints save its mark; empty for a writer that cannot be rewound.
    fn name(&self) -> &'static str {
        ""
    }

    /// Its position: everything accepted so far is before this mark. Called at each checkpoint, so it must not wait for
    /// the disk.
    fn mark(&mut self) -> Result<Json, RunDirError> {
        Ok(Json::Null)
    }

    /// The file that [`mark`](Self::mark) refers to. It is synced before a checkpoint with that mark is in place, by
    /// the thread that writes it.
    fn file(&self) -> Option<(&Path, &File)> {
        None
    }

    /// Truncates to a mark; without one, to the beginning. A resumed run
    /// writes those iterations again. Called before the first write.
    fn rewind(&mut self, _mark: Option<&Json>) -> Result<(), RunDirError> {
        Ok(())
    }
}

/// What a writer knows about its run.
#[derive(Default)]
pub struct RunFacts {
    /// The run directory; `None` if the run has none.
    pub run_dir: Option<PathBuf>,
    /// Whether it is removed at the end of the run; nothing is then written elsewhere either.
    pub is_temporary: bool,
    /// The resolved config, as TOML.
    pub config: String,
}

/// Opens a writer in a folder.
type Open = fn(&Path, &RunFacts) -> Result<Box<dyn Writer>, RunDirError>;

/// A kind of writer that a hook can open.
struct Kind {
    name: &'static str,
    /// Its default folder or file.
    folder: &'static str,
    /// Whether it may be outside the run directory, where other runs may write beside it.
    may_be_outside: bool,
    open: Open,
}

static KINDS: &[Kind] = &[
    Kind {
        name: "evaluations",
        folder: "eval_result.json",
        may_be_outside: false,
        open: evaluations::open,
    },
    Kind { name: "json", folder: "json", may_be_outside: false, open: metrics_json::open_status },
    Kind { name: "tensorboard", folder: "tb", may_be_outside: true, open: tensorboard::open },
];

impl Kind {
    /// The requested folder relative to the run directory: empty selects the kind's default, `.` the run
    /// directory itself.
    fn place(&self, folder: &str) -> Result<PathBuf, OpenError> {
        let folder = Path::new(if folder.is_empty() { self.folder } else { folder });
        let parts = folder.components().filter(|part| *part != Component::CurDir);
        let folder: PathBuf = parts.collect();
        check_path(&folder, self.may_be_outside)?;
        Ok(folder)
    }
}

/// The names of all kinds, for messages.
fn kinds() -> String {
    KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

/// The writers of a run.
#[derive(Default)]
pub struct Writers {
    all: Vec<Box<dyn Writer>>,
    facts: RunFacts,
    // The marks of a resumed run, for writers that hooks open later.
    rewound_to: Option<Map<String, Json>>,
    // Nothing is written or truncated until the run has started.
    is_held: bool,
    // Kind and folder of the writers opened by hooks.
    opened: Vec<(&'static str, PathBuf)>,
    // When the progress line was last drawn in this pass, or when the pass began; `None` if there is no line.
    drawn: Option<Instant>,
    // Whether the line shows the progress of a pass.
    shows_pass: bool,
}

/// The shortest time between two drawings of the progress line in a pass.
const SHORTEST: Duration = Duration::from_millis(100);

impl Writers {
    /// No writers yet.
    pub fn new(facts: RunFacts) -> Self {
        Self { facts, ..Self::default() }
    }

    /// Adds a writer.
    pub fn add(&mut self, writer: impl Writer + 'static) {
        self.all.push(Box::new(writer));
    }

    /// Opens one by its kind, in a folder relative to the run directory, or an absolute one where the kind may be
    /// outside; an empty one selects the default. A run without a directory opens none, which is not an error.
    ///
    /// # Errors
    /// The kind is unknown, it is open in another folder, this folder is not allowed, or it could not be written.
    pub fn open(&mut self, kind: &str, folder: &str) -> Result<(), OpenError> {
        let Some(kind) = KINDS.iter().find(|known| known.name == kind) else {
            return Err(OpenError::Unknown { kind: kind.to_owned() });
        };
        let folder = match kind.place(folder)? {
            outside if self.facts.is_temporary && !is_inside(&outside) => kind.folder.into(),
            folder => folder,
        };
        match self.opened.iter().find(|(name, _)| *name == kind.name) {
            Some((_, open)) if *open == folder => return Ok(()),
            Some((name, open)) => return Err(OpenError::Elsewhere { name, open: open.clone() }),
            None => {}
        }
        if let Some(run_dir) = &self.facts.run_dir {
            let mut writer = (kind.open)(&run_dir.join(&folder), &self.facts)?;
            if let Some(marks) = self.rewound_to.as_ref().filter(|_| !self.is_held) {
                writer.rewind(marks.get(writer.name()))?;
            }
            self.all.push(writer);
            self.opened.push((kind.name, folder));
        }
        Ok(())
    }

    /// Whether any takes images and histograms.
    pub fn take_media(&self) -> bool {
        self.all.iter().any(|writer| writer.takes_media())
    }

    /// Calls `write` of each; returns the first error after all were called.
    pub fn write(&mut self, events: &EventStorage, progress: &Progress) -> Result<(), RunDirError> {
        let media = self.write_media(events.media());
        first_failure(media, self.each(|writer| writer.write(events, progress)))
    }

    /// Calls `record` of each; returns the first error after all were called.
    pub fn record(
        &mut self,
        events: &EventStorage,
        progress: &Progress,
    ) -> Result<(), RunDirError> {
        self.each(|writer| writer.record(events, progress))
    }

    /// Makes each write pending images, histograms and texts; returns the first error after all were called.
    pub fn write_media(&mut self, media: &Media) -> Result<(), RunDirError> {
        self.each(|writer| writer.write_media(media))
    }

    /// Sets the scalars that the progress line shows.
    pub fn show(&mut self, names: &[String]) {
        self.all.iter_mut().for_each(|writer| writer.show(names));
    }

    /// Redraws the progress line.
    pub fn redraw(&mut self, events: &EventStorage, progress: &Progress) {
        self.all.iter_mut().for_each(|writer| writer.redraw(events, progress));
    }

    /// Begins a pass without training: one that is over within a tenth of a second is not drawn.
    pub fn begin_pass(&mut self) {
        let is_drawn = self.all.iter().any(|writer| writer.is_drawn());
        self.drawn = is_drawn.then(Instant::now);
    }

    /// Redraws the progress line of a pass, at most ten times per second. Reads the clock only if there is such a line.
    pub fn draw_pass(&mut self, events: &EventStorage, progress: &Progress) {
        if self.drawn.is_some_and(|drawn| drawn.elapsed() >= SHORTEST) {
            (self.drawn, self.shows_pass) = (Some(Instant::now()), true);
            self.redraw(events, progress);
        }
    }

    /// Redraws the line as it was before a pass, if the pass was drawn.
    pub fn end_pass(&mut self, events: &EventStorage, progress: &Progress) {
        if std::mem::take(&mut self.shows_pass) {
            self.redraw(events, progress);
        }
    }

    /// Closes each; returns the first error after all were called.
    pub fn finish(&mut self) -> Result<(), RunDirError> {
        let is_held = self.is_held;
        self.each(|writer| if is_held { writer.abandon() } else { writer.finish() })
    }

    /// Calls each writer even if one fails; returns the first error.
    fn each(
        &mut self,
        mut call: impl FnMut(&mut dyn Writer) -> Result<(), RunDirError>,
    ) -> Result<(), RunDirError> {
        let mut outcome = Ok(());
        for writer in &mut self.all {
            outcome = first_failure(outcome, call(writer.as_mut()));
        }
        outcome
    }

    /// The marks of all writers by name, for a checkpoint.
    ///
    /// # Errors
    /// A writer does not know its position.
    pub fn marks(&mut self) -> Result<Map<String, Json>, RunDirError> {
        let named = self.all.iter_mut().filter(|writer| !writer.name().is_empty());
        named.map(|writer| Ok((writer.name().to_owned(), writer.mark()?))).collect()
    }

    /// The files that the marks are about, to sync them.
    pub fn files(&self) -> Result<Vec<(PathBuf, File)>, RunDirError> {
        let files = self.all.iter().filter_map(|writer| writer.file());
        let again = |(path, file): (&Path, &File)| {
            Ok((path.to_owned(), file.try_clone().map_err(RunDirError::io("open", path))?))
        };
        files.map(again).collect()
    }

    /// Sets the marks to rewind to, also for writers opened later; one without a mark rewinds to the beginning. Until
    /// [`Self::begin`] nothing is written and nothing truncated: the run may fail before that.
    pub fn hold(&mut self, marks: Map<String, Json>) {
        (self.rewound_to, self.is_held) = (Some(marks), true);
    }

    /// Whether writing has not begun: pending data waits.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Rewinds each writer to its mark, where the run continues.
    pub fn begin(&mut self) -> Result<(), RunDirError> {
        if std::mem::take(&mut self.is_held) {
            let marks = self.rewound_to.clone().unwrap_or_default();
            self.all.iter_mut().try_for_each(|writer| writer.rewind(marks.get(writer.name())))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
