//! The cost of hooks on every rank, which shows stragglers in `run.json`, also of a run that failed.

use super::fit::Trainer;
use crate::world::World;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Seconds in each hook, on each rank that has it.
type Seconds = BTreeMap<String, BTreeMap<usize, f64>>;

impl Trainer {
    /// Gathers the cost of hooks on all ranks. A collective: every rank calls it, at the end of a successful run.
    pub(super) fn gather_costs(&mut self) {
        let Some(world) = self.context.world.get() else { return };
        let all = world.exchange(&self.own_costs()).ok();
        self.results.rank_costs =
            all.map(|all| merge(&all.into_iter().map(Some).collect::<Vec<_>>()));
    }

    /// Leaves the other ranks after a failure. Those that are still there leave their costs in the store.
    pub(super) fn leave_with_costs(&mut self, world: &World) {
        let all = world.leave_with(&self.own_costs());
        self.results.rank_costs = all.map(|all| merge(&all));
    }

    fn own_costs(&self) -> Vec<u8> {
        let costs = self.rack.costs();
        let own: BTreeMap<_, _> =
            costs.iter().map(|cost| (&cost.name, cost.total().as_secs_f64())).collect();
        serde_json::to_vec(&own).unwrap_or_default()
    }

    /// For `run.json`: the smallest, mean and largest cost of each hook over the ranks, the rank with the largest, and the ranks whose
    /// costs are missing; `None` for one process.
    pub fn rank_costs(&self) -> Option<&Json> {
        self.results.rank_costs.as_ref()
    }
}

/// Merges the costs of every rank; those of a rank that has died are missing.
fn merge(all: &[Option<Vec<u8>>]) -> Json {
    let mut seconds = Seconds::new();
    for (rank, bytes) in all.iter().enumerate() {
        let costs = bytes.as_ref().and_then(|bytes| serde_json::from_slice(bytes).ok());
        for (hook, spent) in costs.unwrap_or_else(BTreeMap::<String, f64>::new) {
            seconds.entry(hook).or_default().insert(rank, spent);
        }
    }
    let hooks: BTreeMap<_, _> = seconds.iter().map(|(hook, of)| (hook, summary(of))).collect();
    let missing = all.iter().enumerate().filter(|(_, costs)| costs.is_none());
    let missing: Vec<_> = missing.map(|(rank, _)| rank).collect();
    let mut merged = json!({ "world": all.len(), "hook_costs": hooks });
    if !missing.is_empty() {
        merged["missing_ranks"] = missing.into();
    }
    merged
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_left_no_costs_is_listed_and_counts_in_no_mean() {
        let of = |seconds: f64| serde_json::to_vec(&json!({ "a": seconds })).ok();
        let merged = merge(&[of(1.0), None, of(3.0)]);
        assert_eq!((&merged["world"], &merged["missing_ranks"]), (&json!(3), &json!([1])));
        let wanted = json!({ "min_s": 1.0, "mean_s": 2.0, "max_s": 3.0, "slowest_rank": 2 });
        assert_eq!(merged["hook_costs"]["a"], wanted);
        assert_eq!(merge(&[of(1.0), of(1.0)]).get("missing_ranks"), None);
    }
}
