//! `BLEU`: the n-grams that output and label have in common.

use super::gathered::gathered;
use super::numbers::{IGNORED, tokens};
use hookrack_plugin_api::prelude::*;
use std::collections::HashMap;

/// The maximum n-gram length.
const LONGEST: usize = 4;

/// Corpus BLEU of the most likely tokens against the labels, from 0 to 1, without smoothing.
#[derive(Settings)]
pub(super) struct Bleu {
    /// Maximum n-gram length.
    #[param(default = LONGEST, min = 1, max = 4)]
    max_n: usize,
    /// Padding token, ignored in outputs and labels.
    #[param(default)]
    pad: i64,
    /// Label to ignore; by default that of the loss.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    counts: Counts,
}
/// Sums over all samples of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    /// Matching n-grams, by length.
    matches: [f64; LONGEST],
    /// All n-grams of the output, by length.
    runs: [f64; LONGEST],
    output: f64,
    label: f64,
}

#[expect(clippy::cast_precision_loss, reason = "a corpus has far fewer tokens than 2^53")]
fn real(count: usize) -> f64 {
    count as f64
}

impl Counts {
    fn add(&mut self, output: &[i64], label: &[i64], max_n: usize) {
        self.output += real(output.len());
        self.label += real(label.len());
        for n in 1..=max_n.min(LONGEST) {
            let mut wanted: HashMap<&[i64], usize> = HashMap::new();
            label.windows(n).for_each(|run| *wanted.entry(run).or_default() += 1);
            for run in output.windows(n) {
                self.runs[n - 1] += 1.0;
                // An n-gram counts at most as often as it occurs in the label.
                if let Some(left) = wanted.get_mut(run).filter(|left| **left > 0) {
                    *left -= 1;
                    self.matches[n - 1] += 1.0;
                }
            }
        }
    }

    fn value(&self, max_n: usize) -> f64 {
        if self.label <= 0.0 {
            return f64::NAN;
        }
        let lengths = 0..max_n.min(LONGEST);
        if lengths.clone().any(|n| self.matches[n] <= 0.0) {
            return 0.0;
        }
        let logs: f64 = lengths.clone().map(|n| (self.matches[n] / self.runs[n]).ln()).sum();
        // The brevity penalty for outputs that are too short.
        let brevity = (1.0 - self.label / self.output).min(0.0);
        (logs / real(lengths.len()) + brevity).exp()
    }

    fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
        for (counts, key) in [(&mut self.matches, "matches"), (&mut self.runs, "runs")] {
            let more = other.value::<Vec<f64>>(key)?;
            counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
        self.output += other.value::<f64>("output")?;
        self.label += other.value::<f64>("label")?;
        Ok(())
    }

    fn save(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("matches", self.matches.to_vec())?;
        state.put("runs", self.runs.to_vec())?;
        state.put("output", self.output)?;
        state.put("label", self.label)
    }
}

#[metric(better = "higher", aliases = "Bleu4, CaptionBleu4")]
impl Metric for Bleu {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let (pad, ignored, max_n) = (self.pad, self.ignore_index, self.max_n);
        tokens(t, |output, label, length| {
            let length = length.max(1);
            for (output, label) in output.chunks_exact(length).zip(label.chunks_exact(length)) {
                // Positions with an ignored label are skipped.
                let asked = |row: &[i64]| {
                    let places = row.iter().zip(label).filter(|(_, label)| **label != ignored);
                    places.map(|(token, _)| *token).filter(|t| *t != pad).collect::<Vec<_>>()
                };
                self.counts.add(&asked(output), &asked(label), max_n);
            }
            Ok(())
        })
    }

    fn compute(&self) -> f64 {
        self.counts.value(self.max_n)
    }

    gathered!(counts);
}
