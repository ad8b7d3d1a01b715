//! The guarantees of schedules, and what the checker rejects.

use crate::schedule::{
    Action, Durations, GPipe, Interleaved1F1B, Layout, Message, MicroPart, NoPipeline, OneFOneB,
    Order, Payload, ScheduleError, Table, check, simulate,
};

fn layout(stages: u32, micros: u32, chunks: u32) -> Layout {
    Layout { stages, micros, chunks, tied: false }
}

fn table(order: Order, stages: u32, micros: u32, chunks: u32) -> Table {
    Table::new(order, layout(stages, micros, chunks))
}

/// The passes of a stage as `f0 b0`, with the chunk after a dot if there are several.
fn passes(table: &Table, stage: usize) -> String {
    let name = |letter, part: &MicroPart| match table.layout().chunks {
        1 => format!("{letter}{}", part.micro),
        _ => format!("{letter}{}.{}", part.micro, part.chunk),
    };
    let passes = table.stages()[stage].iter().filter_map(|action| match action {
        Action::Forward(part) => Some(name('f', part)),
        Action::Backward(part) => Some(name('b', part)),
        _ => None,
    });
    passes.collect::<Vec<_>>().join(" ")
}

fn bubble(order: Order, stages: u32, micros: u32, chunks: u32) -> f64 {
    let table = table(order, stages, micros, chunks);
    simulate(&table, &Durations::equal(&table.layout())).unwrap().bubble()
}

#[test]
fn one_stage_goes_micro_batch_by_micro_batch() {
    let alone = table(NoPipeline::ORDER, 1, 3, 1);
    assert_eq!(passes(&alone, 0), "f0 b0 f1 b1 f2 b2");
    assert_eq!(alone.stages()[0].len(), 7, "nothing is sent");
    assert_eq!(alone, table(OneFOneB::ORDER, 1, 3, 1), "1F1B on one stage is the same");
}

#[test]
fn gpipe_runs_all_forward_passes_first() {
    let table = table(GPipe::ORDER, 2, 3, 1);
    assert_eq!(passes(&table, 0), "f0 f1 f2 b0 b1 b2");
    assert_eq!(passes(&table, 1), passes(&table, 0));
    assert_eq!(check(&table).unwrap().peak, [3, 3]);
}

#[test]
fn one_f_one_b_keeps_no_more_micro_batches_than_there_are_stages() {
    let table = table(OneFOneB::ORDER, 3, 5, 1);
    assert_eq!(passes(&table, 0), "f0 f1 f2 b0 f3 b1 f4 b2 b3 b4");
    assert_eq!(passes(&table, 1), "f0 f1 b0 f2 b1 f3 b2 f4 b3 b4");
    assert_eq!(passes(&table, 2), "f0 b0 f1 b1 f2 b2 f3 b3 f4 b4");
    assert_eq!(check(&table).unwrap().peak, [3, 2, 1]);
}

#[test]
fn interleaved_stages_take_their_chunks_in_turn() {
    let table = table(Interleaved1F1B::ORDER, 2, 4, 2);
    let first = "f0.0 f1.0 f0.1 f1.1 f2.0 b0.1 f3.0 b1.1 f2.1 b0.0 f3.1 b1.0 b2.1 b3.1 b2.0 b3.0";
    assert_eq!(passes(&table, 0), first);
    assert_eq!(check(&table).unwrap().peak, [5, 3]);
}

/// The papers' figures: (stages - 1) passes to fill the pipeline, out of all.
#[test]
fn the_bubble_is_the_one_that_the_papers_give() {
    for (stages, micros) in [(2, 2), (2, 8), (4, 4), (4, 16), (8, 64)] {
        let share = |chunks: u32| {
            let fill = f64::from(stages - 1);
            fill / (fill + f64::from(micros * chunks))
        };
        for order in [GPipe::ORDER, OneFOneB::ORDER] {
            let found = bubble(order, stages, micros, 1);
            assert!((found - share(1)).abs() < 1e-12, "{stages}x{micros}: {found}");
        }
        for chunks in [2, 4] {
            let found = bubble(Interleaved1F1B::ORDER, stages, micros, chunks);
            assert!((found - share(chunks)).abs() < 1e-12, "{stages}x{micros}x{chunks}: {found}");
        }
    }
}

#[test]
fn every_stage_sends_what_the_next_one_awaits() {
    let tied = Layout { tied: true, ..layout(2, 1, 1) };
    let table = Table::new(OneFOneB::ORDER, tied);
    let part = MicroPart { micro: 0, chunk: 0 };
    let message = |payload, peer| Message { payload, part, peer };
    let first = [
        Action::Forward(part),
        Action::Send(message(Payload::Activation, 1)),
        Action::Recv(message(Payload::Gradient, 1)),
        Action::Recv(message(Payload::Tied, 1)),
        Action::Backward(part),
        Action::Reduce,
    ];
    let last = [
        Action::Recv(message(Payload::Activation, 0)),
        Action::Forward(part),
        Action::Backward(part),
        Action::Send(message(Payload::Gradient, 0)),
        Action::Send(message(Payload::Tied, 0)),
        Action::Reduce,
    ];
    assert_eq!(table.stages(), [first.to_vec(), last.to_vec()]);
}

/// A table whose action at a place of a stage is changed, removed or exchanged with another.
fn changed(table: &Table, stage: usize, change: impl FnOnce(&mut Vec<Action>)) -> Table {
    let mut stages = table.stages().to_vec();
    change(&mut stages[stage]);
    Table::of(table.layout(), stages)
}

fn refusal(table: &Table) -> String {
    check(table).unwrap_err().to_string()
}

#[test]
fn a_table_with_one_change_is_refused_with_the_stage_and_the_action() {
    let good = table(GPipe::ORDER, 2, 2, 1);
    let position = |stage: usize, found: &dyn Fn(&Action) -> bool| {
        good.stages()[stage].iter().position(found).unwrap()
    };
    let sends = |action: &Action| matches!(action, Action::Send(_));
    let first = position(0, &sends);

    let lost = changed(&good, 0, |actions| {
        actions.remove(first);
    });
    let wanted = "message 0 from stage 0 to stage 1 of its kind: sent the activation of micro-batch 1, chunk 0, expected \
                  the activation of micro-batch 0, chunk 0";
    assert_eq!(refusal(&lost), wanted);

    let early = changed(&good, 0, |actions| actions.swap(first, first - 1));
    let wanted = "stage 0: send of the activation of micro-batch 0, chunk 0 to stage 1 comes before the forward pass";
    assert_eq!(refusal(&early), wanted);

    let astray = changed(&good, 0, |actions| {
        let Action::Send(message) = actions[first] else { return };
        actions[first] = Action::Send(Message { peer: 0, ..message });
    });
    assert!(refusal(&astray).contains("is not to an adjacent stage"), "{}", refusal(&astray));

    let backward = position(1, &|action| matches!(action, Action::Backward(_)));
    let twice = changed(&good, 1, |actions| actions.insert(backward, actions[backward]));
    assert!(refusal(&twice).ends_with("occurs twice"), "{}", refusal(&twice));

    let cut = changed(&good, 1, |actions| drop(actions.drain(backward..actions.len() - 1)));
    assert_eq!(refusal(&cut), "stage 1: micro-batch 0, chunk 0 has no backward pass");

    let endless = changed(&good, 1, |actions| {
        actions.pop();
    });
    assert!(refusal(&endless).contains("must be the reduction"), "{}", refusal(&endless));
}

#[test]
fn a_send_that_changes_places_with_another_is_refused() {
    let good = table(OneFOneB::ORDER, 3, 6, 1);
    let of = |stage: usize, payload| {
        let sends = good.stages()[stage].iter().enumerate().filter_map(move |(place, action)| {
            matches!(action, Action::Send(it) if it.payload == payload).then_some(place)
        });
        sends.collect::<Vec<_>>()
    };
    for stage in 0..3 {
        for payload in [Payload::Activation, Payload::Gradient] {
            for pair in of(stage, payload).windows(2) {
                let swapped = changed(&good, stage, |actions| actions.swap(pair[0], pair[1]));
                assert!(check(&swapped).is_err(), "stage {stage}, {payload} {pair:?}");
            }
        }
    }
}

#[test]
fn backward_passes_out_of_micro_batch_order_are_refused() {
    let good = table(GPipe::ORDER, 1, 2, 1);
    let swapped = changed(&good, 0, |actions| actions.swap(2, 3));
    assert!(refusal(&swapped).contains("is not in micro-batch order"), "{}", refusal(&swapped));
}

#[test]
fn stages_that_wait_for_each_other_are_named_with_what_they_wait_for() {
    // The first stage runs its two micro-batches one by one, the second both forward passes first.
    let [alone, all] = [OneFOneB::ORDER as Order, GPipe::ORDER].map(|order| table(order, 2, 2, 1));
    let mut first = alone.stages()[0].clone();
    // f0 s r b0 f1 s r b1: without the warm-up of 1F1B.
    let wanted = |action: &Action| matches!(action, Action::Forward(part) if part.micro == 1);
    let place = first.iter().position(wanted).unwrap();
    let moved: Vec<_> = first.drain(place..place + 2).collect();
    let end = first.iter().position(|action| matches!(action, Action::Backward(_))).unwrap() + 1;
    first.splice(end..end, moved);
    let stuck = Table::of(alone.layout(), vec![first, all.stages()[1].clone()]);
    assert!(simulate(&stuck, &Durations::equal(&stuck.layout())).is_none());
    let Err(ScheduleError::Circle(told)) = check(&stuck) else { panic!("it was not refused") };
    assert_eq!(
        told,
        "stage 0 at receive of the gradient of micro-batch 0, chunk 0 from stage 1, stage 1 at receive of the \
         activation of micro-batch 1, chunk 0 from stage 0"
    );
}
