//! How a run ended.

use super::error::TrainError;
use super::interrupt::Signal;
use crate::context::Stop;
use hookrack_plugin_api::Outcome;

/// How a run ended.
#[derive(Debug)]
pub enum Ending {
    /// It completed.
    Completed,
    /// A hook requested a stop.
    Stopped(Stop),
    /// A signal interrupted it.
    Interrupted(Signal),
    /// Something failed.
    Failed(TrainError),
}

impl Ending {
    /// As hooks see it.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Completed => Outcome::Completed,
            Self::Stopped(_) => Outcome::Stopped,
            Self::Interrupted(_) => Outcome::Interrupted,
            Self::Failed(_) => Outcome::Failed,
        }
    }

    /// Its name, and the reason if there is one.
    pub fn describe(&self) -> (&'static str, String) {
        match self {
            Self::Completed => ("completed", String::new()),
            Self::Stopped(stop) => ("stopped", format!("by `{}`: {}", stop.who, stop.why)),
            Self::Interrupted(signal) => ("interrupted", signal.name().to_owned()),
            Self::Failed(error) => ("failed", error.to_string()),
        }
    }
}
