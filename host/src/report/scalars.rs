//! The scalars of a run, read from its `metrics.json`, as charts.

use super::chart::{Chart, Curve};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Maximum number of charts on the page.
const MOST_CHARTS: usize = 60;

/// Keys of a line that are not scalars.
const FIXED: [&str; 4] = ["iter", "epoch", "phase", "samples"];

type Series = BTreeMap<String, Vec<(u64, f64)>>;

/// The values of each scalar. Incomplete lines are skipped.
fn read(lines: &str) -> Series {
    let mut series = Series::new();
    for line in lines.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok()) {
        let (Some(iter), Some(scalars)) = (line["iter"].as_u64(), line.as_object()) else {
            continue;
        };
        for (name, value) in scalars.iter().filter(|(name, _)| !FIXED.contains(&name.as_str())) {
            // Numbers that JSON lacks are strings: NaN, inf.
            let word = || value.as_str().and_then(|word| word.parse().ok());
            if let Some(value) = value.as_f64().or_else(word) {
                series.entry(name.clone()).or_default().push((iter, value));
            }
        }
    }
    series
}

/// The chart that a scalar belongs to, and its name there: `train/loss` and `val/loss` share one.
fn place(name: &str) -> (&str, &str) {
    match name.split_once('/') {
        Some((phase @ ("train" | "val" | "test" | "pred"), rest)) => {
            (rest.strip_suffix("_step").unwrap_or(rest), phase)
        }
        _ => (name, name),
    }
}

/// The loss comes first, then evaluated scalars, the learning rate, and everything else.
fn order(chart: &Chart) -> (u8, String) {
    let is_evaluated = chart.curves.iter().any(|curve| curve.name != "train");
    let rank = match chart.title.as_str() {
        "loss" => 0,
        title if title.starts_with("hook/") => 4,
        _ if is_evaluated => 1,
        "lr" => 2,
        _ => 3,
    };
    (rank, chart.title.clone())
}

/// The charts of a run, and the number of those omitted.
pub(super) fn charts(lines: &str) -> (Vec<Chart>, usize) {
    let mut charts: BTreeMap<String, Vec<Curve>> = BTreeMap::new();
    for (name, points) in read(lines) {
        let (title, curve) = place(&name);
        let curve = Curve { name: curve.to_owned(), points };
        charts.entry(title.to_owned()).or_default().push(curve);
    }
    let mut charts: Vec<_> = charts
        .into_iter()
        .map(|(title, curves)| Chart { title, curves })
        .filter(|chart| !chart.is_empty())
        .collect();
    charts.sort_by_cached_key(order);
    let left_out = charts.len().saturating_sub(MOST_CHARTS);
    charts.truncate(MOST_CHARTS);
    (charts, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_of_several_phases_is_one_chart_and_the_loss_comes_first() {
        let lines = "{\"iter\":1,\"phase\":\"train\",\"train/lr\":0.1,\"train/loss\":2.0,\"train/Accuracy_step\":0.5}\n\
                     {\"iter\":2,\"phase\":\"val\",\"val/loss\":\"NaN\",\"val/Accuracy\":0.6,\"hook/x/norm\":1}\n{\"iter\":3,\"tr";
        let (charts, left_out) = charts(lines);
        let names: Vec<_> = charts
            .iter()
            .map(|chart| {
                let curves: Vec<_> =
                    chart.curves.iter().map(|c| (c.name.as_str(), c.points.len())).collect();
                (chart.title.as_str(), curves)
            })
            .collect();
        assert_eq!(
            names,
            [
                ("loss", vec![("train", 1), ("val", 1)]),
                ("Accuracy", vec![("train", 1), ("val", 1)]),
                ("lr", vec![("train", 1)]),
                ("hook/x/norm", vec![("hook/x/norm", 1)]),
            ]
        );
        assert_eq!(left_out, 0);
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let scalars: Vec<_> = (0..70).map(|n| format!("\"val/F1.{n}\":0.5")).collect();
        let (charts, left_out) = charts(&format!("{{\"iter\":1,{}}}", scalars.join(",")));
        assert_eq!((charts.len(), left_out), (60, 10));
    }
}
