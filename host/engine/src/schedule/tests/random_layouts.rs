//! Tables of random layouts, of which `cargo xtask schedules` checks ten thousand.

use crate::data::Prng;
use crate::schedule::{
    Action, Durations, GPipe, Interleaved1F1B, Layout, OneFOneB, Order, Table, check, simulate,
};

/// How many layouts, and the largest of each size.
const FEW: (u64, [u64; 3]) = (200, [16, 64, 4]);
const LARGEST: [u64; 3] = [64, 512, 8];

/// A size up to `most`; small ones are as likely as large ones.
fn size(random: &mut Prng, most: u64) -> u32 {
    let bits = u64::from(most.ilog2() + 1);
    let top = (1_u64 << (1 + random.next_u64() % bits)).min(most);
    u32::try_from(1 + random.next_u64() % top).unwrap()
}

/// The table with two sends of a random stage exchanged, which go to the same stage; `None` if there are no such two.
fn with_swapped_sends(table: &Table, random: &mut Prng) -> Option<Table> {
    let mut stages = table.stages().to_vec();
    let mut below = |end: usize| usize::try_from(random.next_u64() % end as u64).unwrap();
    let stage = below(stages.len());
    let actions = &mut stages[stage];
    let is_send = |at: &usize| matches!(actions[*at], Action::Send(_));
    let sends: Vec<_> = (0..actions.len()).filter(is_send).collect();
    let first = *sends.get(below(sends.len().max(1)))?;
    let channel = |action: &Action| match action {
        Action::Send(it) => Some((it.peer, it.payload)),
        _ => None,
    };
    let is_like = |at: &usize| *at != first && channel(&actions[*at]) == channel(&actions[first]);
    let like: Vec<_> = sends.into_iter().filter(is_like).collect();
    let second = *like.get(below(like.len().max(1)))?;
    actions.swap(first, second);
    Some(Table::of(table.layout(), stages))
}

#[test]
fn every_table_runs_to_its_end_with_the_promised_number_of_live_activations_and_none_with_swapped_sends()
 {
    let asked = std::env::var("HOOKRACK_LAYOUTS").ok().map(|count| count.parse().unwrap());
    let (count, most) = asked.map_or(FEW, |count| (count, LARGEST));
    let mut refused = 0;
    for number in 0..count {
        let mut random = Prng::new(&[13, number]);
        let [stages, micros, chunks] = most.map(|most| size(&mut random, most));
        let tied = random.next_u64().is_multiple_of(2);
        let orders: [(Order, u32); 3] =
            [(GPipe::ORDER, 1), (OneFOneB::ORDER, 1), (Interleaved1F1B::ORDER, chunks.max(2))];
        for (order, chunks) in orders {
            let layout = Layout { stages, micros, chunks, tied };
            let table = Table::new(order, layout);
            let checked = check(&table).unwrap_or_else(|error| panic!("{layout:?}: {error}"));
            let promised: Vec<_> = (0..stages).map(|stage| order.peak(&layout, stage)).collect();
            assert_eq!(checked.peak, promised, "{layout:?}");
            let run = simulate(&table, &Durations::equal(&layout)).unwrap();
            assert_eq!(run.peak, promised, "{layout:?}");
            if let Some(swapped) = with_swapped_sends(&table, &mut random) {
                assert!(check(&swapped).is_err(), "{layout:?} with two sends exchanged");
                refused += 1;
            }
        }
        let layout = Layout { stages, micros, chunks: 1, tied };
        let peak = |order: Order| (0..stages).map(|it| order.peak(&layout, it)).max();
        assert_eq!(peak(GPipe::ORDER), Some(micros));
        assert!(peak(OneFOneB::ORDER) <= Some(stages));
    }
    assert!(refused > count, "most tables have two sends to exchange: {refused}");
}
