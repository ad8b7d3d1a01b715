//! Writers pull scalars out of the event storage and put them where people look.

mod console;
mod duration;
mod metrics_json;

pub use console::Console;
pub use duration::human;
pub use metrics_json::MetricsJson;

use crate::events::EventStorage;
use hookrack_plugin_api::abi::HrProgress;

/// Somewhere scalars are written.
pub trait Writer {
    /// Writes the scalars that are pending.
    ///
    /// # Errors
    /// It could not write.
    fn write(
        &mut self,
        events: &EventStorage,
        progress: &HrProgress,
    ) -> Result<(), crate::run::RunDirError>;

    /// Nothing more comes.
    fn finish(&mut self) {}
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
    ) -> Result<(), crate::run::RunDirError> {
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
}
