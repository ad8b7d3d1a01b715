//! The result of probing a library.

use super::super::loader::{LibraryInfo, Refusal};
use serde::{Deserialize, Serialize};

/// What became of a library in a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It loads, and says this.
    Accepted(LibraryInfo),
    /// A step of the loader refused it.
    Refused {
        /// The step.
        step: String,
        /// The message.
        reason: String,
    },
    /// It ended or hung the probe.
    Quarantined {
        /// How.
        reason: String,
    },
}

impl Verdict {
    pub(super) fn into_result(self) -> Result<LibraryInfo, Refusal> {
        match self {
            Self::Accepted(info) => Ok(info),
            Self::Refused { step, reason } => Err(Refusal::Probe { step, reason }),
            Self::Quarantined { reason } => Err(Refusal::Quarantined(reason)),
        }
    }
}
