//! Proves that a table can be run, for all stages together: sends and receives match in order, there is no
//! deadlock, every micro-batch passes every chunk once in each direction, and gradients are summed in micro-batch order.

mod messages;
mod passes;
mod waits;

use self::messages::check_messages;
use self::passes::Passes;
use self::waits::check_waits;
use super::action::{Action, MicroPart};
use super::table::Table;

/// The result for a valid table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The maximum number of parts with live activations, for each stage.
    pub peak: Vec<u32>,
}

/// Why a table cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ScheduleError {
    /// Two stages do not agree on what is sent between them.
    #[error(
        "message {number} from stage {from} to stage {to} of its kind: sent {sent}, expected {awaited}"
    )]
    Crossed {
        from: u32,
        to: u32,
        /// Which of their messages, from 0.
        number: usize,
        sent: String,
        awaited: String,
    },
    /// A deadlock: stages that wait for each other.
    #[error("the stages deadlock: {0}")]
    Circle(String),
    /// An action at an invalid position.
    #[error("stage {stage}: {action} {why}")]
    Misplaced { stage: u32, action: Action, why: &'static str },
    /// A part without a forward or backward pass.
    #[error("stage {stage}: {part} has no {pass} pass")]
    Missing { stage: u32, part: MicroPart, pass: &'static str },
}

/// Checks a table, in time proportional to its length.
///
/// # Errors
/// The first error found.
pub fn check(table: &Table) -> Result<Checked, ScheduleError> {
    let stages = (0..).zip(table.stages());
    let peak = stages.map(|(stage, actions)| Passes::check(table.layout(), stage, actions));
    let peak = peak.collect::<Result<_, _>>()?;
    check_messages(table)?;
    check_waits(table)?;
    Ok(Checked { peak })
}
