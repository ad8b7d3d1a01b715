//! Whether every send has its receive, both in the same order.

use super::ScheduleError;
use crate::schedule::action::{Action, MicroPart, Payload};
use crate::schedule::table::Table;

/// The channel from one stage to another for one kind of message: channels do not wait for each other.
pub(super) fn channel(stages: u32, from: u32, to: u32, payload: Payload) -> usize {
    (from as usize * stages as usize + to as usize) * Payload::ALL.len() + payload as usize
}

/// The number of channels.
pub(super) fn channels(stages: u32) -> usize {
    stages as usize * stages as usize * Payload::ALL.len()
}

/// Checks that every send has its receive, both in the same order.
pub(super) fn check_messages(table: &Table) -> Result<(), ScheduleError> {
    let stages = table.layout().stages;
    let mut sends = vec![Vec::new(); channels(stages)];
    let mut recvs = sends.clone();
    for (stage, actions) in (0..).zip(table.stages()) {
        for action in actions {
            match action {
                Action::Send(it) => {
                    sends[channel(stages, stage, it.peer, it.payload)].push(it.part);
                }
                Action::Recv(it) => {
                    recvs[channel(stages, it.peer, stage, it.payload)].push(it.part);
                }
                Action::Forward(_) | Action::Backward(_) | Action::Reduce => {}
            }
        }
    }
    let differs = |(sends, recvs): (&Vec<MicroPart>, &Vec<MicroPart>)| sends != recvs;
    let Some(index) = sends.iter().zip(&recvs).position(differs) else { return Ok(()) };
    let (sends, recvs) = (&sends[index], &recvs[index]);
    let payload = Payload::ALL[index % Payload::ALL.len()];
    let pair = u32::try_from(index / Payload::ALL.len()).unwrap_or(u32::MAX);
    let number = sends.iter().zip(recvs).take_while(|(sent, awaited)| sent == awaited).count();
    let describe = |part: Option<&MicroPart>| {
        part.map_or("nothing".to_owned(), |part| format!("the {payload} of {part}"))
    };
    Err(ScheduleError::Crossed {
        from: pair / stages,
        to: pair % stages,
        number,
        sent: describe(sends.get(number)),
        awaited: describe(recvs.get(number)),
    })
}
