//! `--baseline FILE`: the figures of this run beside those of an earlier one.

use crate::error::BenchError;
use crate::report::{Line, Report};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

/// A change by less than this is noise on most machines.
const NOISE: f64 = 0.1;

/// The figures of an earlier run, by section and name: what `--json` printed.
pub(crate) struct Baseline(HashMap<(String, String), f64>);

impl Baseline {
    /// Reads the output of `--json`.
    pub(crate) fn read(path: &Path) -> Result<Self, BenchError> {
        let text = std::fs::read(path).map_err(BenchError::file(path))?;
        let report: Json = serde_json::from_slice(&text)
            .map_err(|why| BenchError::Baseline { path: path.to_owned(), why: why.to_string() })?;
        let mut figures = HashMap::new();
        for section in report.as_array().into_iter().flatten() {
            for line in section["lines"].as_array().into_iter().flatten() {
                let figure = line["ratio"].as_f64().or(line["value"].as_f64());
                let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
                figures.extend(
                    figure.map(|figure| {
                        ((kind(&text(&section["title"])), text(&line["name"])), figure)
                    }),
                );
            }
        }
        if figures.is_empty() {
            let why =
                "it contains no results: write it with `cargo xtask bench -- --json`".to_owned();
            return Err(BenchError::Baseline { path: path.to_owned(), why });
        }
        Ok(Self(figures))
    }

    /// A table of both runs: ratios where there are any, since they depend less on the machine.
    pub(crate) fn compare(&self, report: &Report) -> String {
        let mut table = String::from("\ncompared with the baseline\n");
        let _ = writeln!(table, "  {:>9} {:>9} {:>8}", "before", "now", "change");
        for section in &report.sections {
            for line in &section.lines {
                let key = (kind(&section.title), line.name.clone());
                if let Some(before) = self.0.get(&key) {
                    let now = figure(line);
                    let change = now / before - 1.0;
                    let mark = if change.abs() > NOISE { "*" } else { " " };
                    let place = format!("{}: {}", key.0, key.1);
                    let _ = writeln!(
                        table,
                        "{mark} {before:>9.3} {now:>9.3} {:>+7.1}%  {place}",
                        change * 100.0
                    );
                }
            }
        }
        let _ = writeln!(table, "* changed by more than {:.0} %", NOISE * 100.0);
        table
    }
}

fn figure(line: &Line) -> f64 {
    line.ratio.unwrap_or(line.value)
}

/// What a section is about: its title without how it was measured.
fn kind(title: &str) -> String {
    title.split(" (").next().unwrap_or(title).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Section;

    fn report(ratio: f64) -> Report {
        let lines = vec![Line::new("the host", 2000.0).to(ratio), Line::new("alone", 3.0)];
        let title = "steps a second (medians of 5 rounds)".to_owned();
        Report { sections: vec![Section { title, unit: "steps/s", baseline: "x", lines }] }
    }

    #[test]
    fn ratios_of_two_runs_are_compared_and_large_changes_are_marked() {
        let file = std::env::temp_dir().join(format!("hookrack-baseline-{}", std::process::id()));
        std::fs::write(&file, report(1.0).to_json().to_string()).unwrap();
        let baseline = Baseline::read(&file).unwrap();
        let table = baseline.compare(&report(1.2));
        assert!(
            table.contains("*     1.000     1.200   +20.0%  steps a second: the host"),
            "{table}"
        );
        assert!(table.contains("      3.000     3.000    +0.0%  steps a second: alone"), "{table}");
        std::fs::write(&file, "[]").unwrap();
        assert!(Baseline::read(&file).is_err());
        std::fs::remove_file(&file).unwrap();
    }
}
