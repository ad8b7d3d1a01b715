//! The cost of hooks on every rank, which shows stragglers in `run.json`.

use super::fit::Trainer;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Seconds in each hook, on each rank that has it.
type Seconds = BTreeMap<String, BTreeMap<usize, f64>>;

impl Trainer {
    /// Gathers the cost of hooks on all ranks. A collective: every rank calls it, at the end of a successful run.
    pub(super) fn gather_costs(&mut self) {
        let Some(world) = self.context.world.get() else { return };
        let costs = self.rack.costs();
        let own: BTreeMap<_, _> =
            costs.iter().map(|cost| (&cost.name, cost.total().as_secs_f64())).collect();
        let all = world.exchange(&serde_json::to_vec(&own).unwrap_or_default());
        let mut seconds = Seconds::new();
        for (rank, bytes) in all.iter().flatten().enumerate() {
            let costs: BTreeMap<String, f64> = serde_json::from_slice(bytes).unwrap_or_default();
            for (hook, spent) in costs {
                seconds.entry(hook).or_default().insert(rank, spent);
            }
        }
        self.rank_costs =
            Some(seconds.iter().map(|(hook, of)| (hook.clone(), summary(of))).collect());
    }

    /// The smallest, mean and largest cost of each hook over the ranks, and the rank with the largest; `None` for one process.
    pub fn rank_costs(&self) -> Option<&BTreeMap<String, Json>> {
        self.rank_costs.as_ref()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a run has far fewer ranks than 2^53")]
fn summary(seconds: &BTreeMap<usize, f64>) -> Json {
    let by_cost = |a: &(&usize, &f64), b: &(&usize, &f64)| a.1.total_cmp(b.1);
    let (least, most) = (seconds.iter().min_by(by_cost), seconds.iter().max_by(by_cost));
    let mean = seconds.values().sum::<f64>() / seconds.len().max(1) as f64;
    json!({
        "min_s": least.map(|(_, spent)| spent),
        "mean_s": mean,
        "max_s": most.map(|(_, spent)| spent),
        "slowest_rank": most.map(|(rank, _)| rank),
    })
}
