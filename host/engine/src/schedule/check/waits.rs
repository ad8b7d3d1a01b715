//! Checks that there is no deadlock.

use super::ScheduleError;
use super::messages::{channel, channels};
use crate::schedule::action::{Action, Message};
use crate::schedule::table::Table;

/// Advances every stage as far as possible: one that does not finish is deadlocked. Messages are matched by index, which
/// [`check_messages`] has made valid.
pub(super) fn check_waits(table: &Table) -> Result<(), ScheduleError> {
    let (stages, count) = (table.stages(), table.layout().stages);
    let (mut sent, mut received) = (vec![0_u32; channels(count)], vec![0_u32; channels(count)]);
    let mut at = vec![0; stages.len()];
    let mut ready: Vec<u32> = (0..count).collect();
    while let Some(stage) = ready.pop() {
        while let Some(action) = stages[stage as usize].get(at[stage as usize]) {
            match action {
                Action::Recv(Message { payload, peer, .. }) => {
                    let channel = channel(count, *peer, stage, *payload);
                    if received[channel] == sent[channel] {
                        break;
                    }
                    received[channel] += 1;
                }
                Action::Send(Message { payload, peer, .. }) => {
                    let channel = channel(count, stage, *peer, *payload);
                    sent[channel] += 1;
                    // It may have been waiting for this message.
                    if sent[channel] == received[channel] + 1 {
                        ready.push(*peer);
                    }
                }
                Action::Forward(_) | Action::Backward(_) | Action::Reduce => {}
            }
            at[stage as usize] += 1;
        }
    }
    circle(table, &at).map_or(Ok(()), |circle| Err(ScheduleError::Circle(circle)))
}

/// The stages that wait for each other, from the first unfinished one until one repeats.
fn circle(table: &Table, at: &[usize]) -> Option<String> {
    let waits = |stage: u32| {
        let action = table.stages()[stage as usize].get(at[stage as usize])?;
        let Action::Recv(Message { peer, .. }) = action else { return None };
        Some((*peer, format!("stage {stage} at {action}")))
    };
    let mut stage = (0..table.layout().stages).find(|stage| waits(*stage).is_some())?;
    let (mut seen, mut told) = (Vec::new(), Vec::new());
    while !seen.contains(&stage) {
        let (peer, wait) = waits(stage)?;
        seen.push(stage);
        told.push(wait);
        stage = peer;
    }
    let first = seen.iter().position(|known| *known == stage).unwrap_or(0);
    Some(told.split_off(first).join(", "))
}
