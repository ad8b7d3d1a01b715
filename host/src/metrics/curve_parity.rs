//! Every curve is scikit-learn's, point by point.

use super::kept_scores::KeptScores;
use super::numbers::Classified;
use crate::torch::rounding;
use serde_json::Value as Json;

/// Made by `scripts/golden/metrics.py`, which says with which versions.
const GOLDEN: &str = include_str!("../metric_parity/golden.json");

/// The scores of a pass, as metrics of curves keep them.
fn kept(batches: &[Json]) -> KeptScores {
    let mut kept = KeptScores::default();
    for batch in batches {
        let (output, label) = (&batch["output"], &batch["label"]);
        let numbers = |tensor: &Json| tensor["data"].as_array().unwrap().clone();
        #[expect(clippy::cast_possible_truncation, reason = "golden inputs are 32-bit numbers")]
        let scores: Vec<_> = numbers(output).iter().map(|n| n.as_f64().unwrap() as f32).collect();
        let labels: Vec<_> = numbers(label).iter().map(|n| n.as_i64().unwrap()).collect();
        let width = output["shape"][1].as_u64().map_or(1, |width| usize::try_from(width).unwrap());
        kept.add(Classified { scores: &scores, width, labels: &labels, ignored: -100 }, usize::MAX)
            .unwrap();
    }
    kept
}

#[test]
fn every_curve_is_scikit_learns_point_by_point() {
    let golden: Json = serde_json::from_str(GOLDEN).unwrap();
    let mut seen = 0;
    for case in golden["cases"].as_array().unwrap() {
        let points = match case["metric"].as_str() {
            Some("ROC") => super::roc::points,
            _ => super::precision_recall_curve::points,
        };
        let Some(curves) = case["curves"].as_array() else { continue };
        let pass = usize::try_from(case["pass"].as_u64().unwrap()).unwrap();
        let rankings = kept(golden["passes"][pass].as_array().unwrap()).rankings().unwrap();
        assert_eq!(rankings.len(), curves.len());
        for (ranking, curve) in rankings.iter().zip(curves) {
            let found = points(ranking).unwrap();
            let column = |at: usize| curve[at].as_array().unwrap().iter().filter_map(Json::as_f64);
            let wanted: Vec<(f64, f64)> = column(0).zip(column(1)).collect();
            let (name, metric) = (&case["case"], &case["metric"]);
            // scikit-learn's curve ends at full recall; later points add none.
            assert!(found.len() >= wanted.len(), "{metric} of {name}: {found:?}");
            for (found, wanted) in found.iter().zip(&wanted) {
                let off = (found.0 - wanted.0).abs().max((found.1 - wanted.1).abs());
                assert!(
                    off <= rounding::DOUBLES,
                    "{metric} of {name}: {found:?} is not {wanted:?}"
                );
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 14);
}
