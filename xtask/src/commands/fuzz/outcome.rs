//! What libFuzzer says about a run, as a row of a table.

use std::time::Duration;

/// The runs of one reader.
#[derive(Debug)]
pub(super) struct Outcome {
    name: String,
    executions: u64,
    /// Edges of the code that inputs reached.
    coverage: u64,
    /// Inputs of the corpus, each of which reaches something that no other does.
    corpus: u64,
    pub(super) took: Duration,
    /// The files that the findings are in.
    pub(super) findings: Vec<String>,
    panic: String,
}

impl Outcome {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            executions: 0,
            coverage: 0,
            corpus: 0,
            took: Duration::ZERO,
            findings: Vec::new(),
            panic: String::new(),
        }
    }

    /// Adds what libFuzzer wrote in one run: `#8192 pulse  cov: 512 ft: 1022 corp: 93/10Kb …` and `stat::number_of_executed_units: 9000`.
    pub(super) fn add(&mut self, log: &str) {
        let mut executed = 0;
        let mut lines = log.lines();
        while let Some(line) = lines.next() {
            if let Some(count) = line.strip_prefix("stat::number_of_executed_units:") {
                executed = count.trim().parse().unwrap_or(executed);
            } else if let Some(status) = line.strip_prefix('#') {
                executed = executed.max(leading(status));
                self.coverage = self.coverage.max(after(line, "cov: "));
                self.corpus = self.corpus.max(after(line, "corp: "));
            } else if line.contains("panicked at") {
                let message = lines.next().unwrap_or_default();
                self.panic = format!("{}: {}", line.trim(), message.trim());
            } else if line.contains("ERROR: ") {
                line.trim().clone_into(&mut self.panic);
            }
        }
        self.executions += executed;
    }

    /// The message of the last finding.
    pub(super) fn said(&self) -> &str {
        &self.panic
    }

    fn cells(&self) -> [String; 6] {
        let seconds = self.took.as_secs_f64().max(f64::MIN_POSITIVE);
        #[expect(clippy::cast_precision_loss, reason = "a rate, rounded for a table")]
        let rate = self.executions as f64 / seconds;
        [
            self.name.clone(),
            self.executions.to_string(),
            format!("{rate:.0}"),
            self.coverage.to_string(),
            self.corpus.to_string(),
            self.findings.len().to_string(),
        ]
    }
}

fn leading(text: &str) -> u64 {
    text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

fn after(line: &str, key: &str) -> u64 {
    line.split_once(key).map_or(0, |(_, rest)| leading(rest))
}

/// A reader in one line.
pub(super) fn row(outcome: &Outcome) -> String {
    let [name, executions, rate, coverage, corpus, findings] = outcome.cells();
    format!(
        "{name}: {executions} inputs, {rate}/s, coverage {coverage}, corpus {corpus}, findings {findings}"
    )
}

/// All readers, as a Markdown table.
pub(super) fn table(outcomes: &[Outcome]) -> Vec<String> {
    let head = ["reader", "inputs", "inputs/s", "coverage", "corpus", "findings"];
    let head = format!("| {} |\n|---|--:|--:|--:|--:|--:|", head.join(" | "));
    let rows = outcomes.iter().map(|outcome| format!("| {} |", outcome.cells().join(" | ")));
    let total: u64 = outcomes.iter().map(|outcome| outcome.executions).sum();
    let findings: usize = outcomes.iter().map(|outcome| outcome.findings.len()).sum();
    let last = format!("| all | {total} | | | | {findings} |");
    std::iter::once(head).chain(rows).chain([last]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
INFO: seed corpus: files: 3
#4\tINITED cov: 400 ft: 500 corp: 3/1Kb exec/s: 0 rss: 300Mb
#8192\tpulse  cov: 512 ft: 1022 corp: 93/10Kb lim: 80 exec/s: 4096 rss: 400Mb
thread '<unnamed>' (7) panicked at host/src/x.rs:3:4:
attempt to add with overflow
stat::number_of_executed_units: 9000
stat::average_exec_per_sec:     3000
";

    #[test]
    fn runs_of_a_reader_add_up_to_a_row() {
        let mut outcome = Outcome::new("npy");
        outcome.add(LOG);
        assert!(outcome.said().ends_with("x.rs:3:4:: attempt to add with overflow"));
        outcome.add("#1000\tDONE   cov: 500 ft: 1 corp: 90/9Kb\n");
        outcome.took = Duration::from_secs(2);
        outcome.findings.push("f".to_owned());
        let said = "npy: 10000 inputs, 5000/s, coverage 512, corpus 93, findings 1";
        assert_eq!(row(&outcome), said);
        let table = table(&[outcome]);
        assert_eq!(table[1], "| npy | 10000 | 5000 | 512 | 93 | 1 |");
        assert_eq!(table[2], "| all | 10000 | | | | 1 |");
    }
}
