//! Writers pull scalars out of the event storage and put them where people look.

mod console;
mod duration;
mod metrics_json;

pub use console::Console;
pub use duration::human;
pub use metrics_json::MetricsJson;

use crate::events::EventStorage;
use crate::run::RunDirError;
use hookrack_plugin_api::abi::HrProgress;
use serde_json::{Map, Value as Json};

/// Somewhere scalars are written.
pub trait Writer {
    /// Writes the scalars that are pending.
    ///
    /// # Errors
    /// It could not write.
    fn write(&mut self, events: &EventStorage, progress: &HrProgress) -> Result<(), RunDirError>;

    /// Nothing more comes.
    fn finish(&mut self) {}

    /// The name under which checkpoints keep its mark; empty for a writer whose lines nobody takes back.
    fn name(&self) -> &'static str {
        ""
    }

    /// Where it stands: all that was written so far is before this mark. Asked for at each checkpoint, so it waits for
    /// no disk.
    ///
    /// # Errors
    /// What it writes to cannot be looked at.
    fn mark(&mut self) -> Result<Json, RunDirError> {
        Ok(Json::Null)
    }

    /// Goes back to a mark and drops what was written after it; without one, goes back to the beginning. A run that is
    /// taken up again writes those iterations once more. Called before its first write.
    ///
    /// # Errors
    /// What was written cannot be taken back.
    fn rewind(&mut self, _mark: Option<&Json>) -> Result<(), RunDirError> {
        Ok(())
    }
}

/// The writers of a run.
#[derive(Default)]
pub struct Writers(Vec<Box<dyn Writer>>);

impl Writers {
    /// Adds one.
    pub fn add(&mut self, writer: impl Writer + 'static) {
        self.0.push(Box::new(writer));
    }

    /// Has each write; the first failure is given, after all had their turn.
    pub fn write(
        &mut self,
        events: &EventStorage,
        progress: &HrProgress,
    ) -> Result<(), RunDirError> {
        let mut outcome = Ok(());
        for writer in &mut self.0 {
            outcome = outcome.and(writer.write(events, progress));
        }
        outcome
    }

    /// Nothing more comes.
    pub fn finish(&mut self) {
        self.0.iter_mut().for_each(|writer| writer.finish());
    }

    /// The marks of all writers by name, for a checkpoint.
    ///
    /// # Errors
    /// A writer does not know where it stands.
    pub fn marks(&mut self) -> Result<Map<String, Json>, RunDirError> {
        let named = self.0.iter_mut().filter(|writer| !writer.name().is_empty());
        named.map(|writer| Ok((writer.name().to_owned(), writer.mark()?))).collect()
    }

    /// Has each go back to its mark, or to the beginning where it has none.
    ///
    /// # Errors
    /// What was written cannot be taken back.
    pub fn rewind(&mut self, marks: &Map<String, Json>) -> Result<(), RunDirError> {
        self.0.iter_mut().try_for_each(|writer| writer.rewind(marks.get(writer.name())))
    }
}
