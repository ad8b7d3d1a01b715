//! A table of the most expensive operators.

use hookrack_plugin_api::OpCost;
use std::fmt::Write as _;

/// The table: the `rows` operators with the largest self time, and the total.
pub fn table(costs: &[OpCost], rows: usize) -> String {
    let all: u64 = costs.iter().map(|cost| cost.self_ns).sum();
    let mut out = String::new();
    _ = writeln!(
        out,
        "{:<40} {:>8} {:>12} {:>7} {:>12} {:>12}",
        "operator", "calls", "self ms", "self %", "total ms", "GFLOP"
    );
    for cost in costs.iter().take(rows) {
        let flops =
            if cost.flops > 0 { format!("{:.3}", real(cost.flops) / 1e9) } else { "-".into() };
        _ = writeln!(
            out,
            "{:<40} {:>8} {:>12.3} {:>7.2} {:>12.3} {flops:>12}",
            cost.name,
            cost.calls,
            ms(cost.self_ns),
            if all > 0 { real(cost.self_ns) / real(all) * 100.0 } else { 0.0 },
            ms(cost.total_ns),
        );
    }
    let left = costs.len().saturating_sub(rows);
    if left > 0 {
        _ = writeln!(out, "and {left} more");
    }
    _ = writeln!(out, "all operators: {:.3} ms", ms(all));
    out
}

fn ms(ns: u64) -> f64 {
    real(ns) / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a profile is far shorter than 2^53 nanoseconds")]
fn real(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_and_the_rest_is_counted() {
        let cost = |name: &str, self_ns, flops| OpCost {
            name: name.into(),
            calls: 2,
            self_ns,
            total_ns: self_ns * 2,
            flops,
        };
        let costs = [cost("aten::mm", 3_000_000, 2_000_000), cost("aten::add", 1_000_000, 0)];
        let text = table(&costs, 1);
        let lines: Vec<_> = text.lines().collect();
        let words: Vec<_> = lines[1].split_whitespace().collect();
        assert_eq!(words, ["aten::mm", "2", "3.000", "75.00", "6.000", "0.002"]);
        assert_eq!(&lines[2..], ["and 1 more", "all operators: 4.000 ms"]);
        assert!(table(&[], 5).ends_with("all operators: 0.000 ms\n"));
    }
}
