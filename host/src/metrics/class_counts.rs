//! True positives, predictions and labels of each class, for precision, recall and F1.

use super::numbers::{Classified, classified, predicted};
use hookrack_plugin_api::prelude::*;

/// How the values of all classes are averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Settings)]
pub(super) enum Average {
    /// The mean over the classes that occur, in labels or in outputs.
    #[default]
    Macro,
    /// The value of all samples together.
    Micro,
    /// The mean over classes, weighted by their number of labels.
    Weighted,
    /// The value of class 1 alone.
    Binary,
}

/// One class, or all together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// True positives.
    pub hits: f64,
    /// Samples predicted as this class.
    pub said: f64,
    /// Samples of this class.
    pub wanted: f64,
}

/// A ratio; 0 if the denominator is 0, as in scikit-learn.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

impl Counts {
    /// True positives per prediction.
    pub(super) fn precision(self) -> f64 {
        share(self.hits, self.said)
    }

    /// True positives per label.
    pub(super) fn recall(self) -> f64 {
        share(self.hits, self.wanted)
    }

    /// The harmonic mean of both.
    pub(super) fn f1(self) -> f64 {
        share(2.0 * self.hits, self.said + self.wanted)
    }

    fn add(&mut self, other: Self) {
        self.hits += other.hits;
        self.said += other.said;
        self.wanted += other.wanted;
    }
}

/// The counts of all classes, over the pass and over the last batch. Memory is that of the classes, not of their pairs.
#[derive(Default)]
pub(super) struct ClassCounts {
    pass: Vec<Counts>,
    batch: Vec<Counts>,
}

fn count(batch: Classified<'_>, threshold: f64, counts: &mut Vec<Counts>) -> Result<()> {
    counts.clear();
    counts.resize(batch.classes(), Counts::default());
    for row in batch.rows() {
        let (row, wanted) = row?;
        let said = predicted(row, threshold);
        counts[said].said += 1.0;
        counts[wanted].wanted += 1.0;
        counts[said].hits += f64::from(u8::from(said == wanted));
    }
    Ok(())
}

fn add(to: &mut Vec<Counts>, more: &[Counts]) {
    to.resize(to.len().max(more.len()), Counts::default());
    to.iter_mut().zip(more).for_each(|(counts, more)| counts.add(*more));
}

/// A value of some counts: [`Counts::precision`] and its like.
pub(super) type Rate = fn(Counts) -> f64;

fn average(counts: &[Counts], how: Average, rate: Rate) -> f64 {
    let mut all = Counts::default();
    for class in counts {
        all.add(*class);
    }
    if all.wanted <= 0.0 {
        return f64::NAN;
    }
    let weight = |class: &Counts| match how {
        Average::Weighted => class.wanted,
        _ => f64::from(u8::from(class.said + class.wanted > 0.0)),
    };
    match how {
        Average::Micro => rate(all),
        Average::Binary => rate(counts.get(1).copied().unwrap_or_default()),
        Average::Macro | Average::Weighted => {
            let sum: f64 = counts.iter().map(|class| weight(class) * rate(*class)).sum();
            sum / counts.iter().map(weight).sum::<f64>()
        }
    }
}

impl ClassCounts {
    /// Adds the current batch.
    pub(super) fn update(&mut self, t: &Trainer, ignored: i64, threshold: f64) -> Result<()> {
        classified(t, ignored, |batch| count(batch, threshold, &mut self.batch))?;
        add(&mut self.pass, &self.batch);
        Ok(())
    }

    /// The value of the pass; NaN without samples.
    pub(super) fn value(&self, how: Average, rate: Rate) -> f64 {
        average(&self.pass, how, rate)
    }

    /// The value of the last batch.
    pub(super) fn last(&self, how: Average, rate: Rate) -> Option<f64> {
        (!self.batch.is_empty()).then(|| average(&self.batch, how, rate))
    }

    /// The value of the pass and, if requested, that of each class.
    pub(super) fn put(
        &self,
        out: &mut Scalars<'_>,
        how: Average,
        rate: Rate,
        per_class: bool,
    ) -> Result<()> {
        out.put("", self.value(how, rate))?;
        for (class, counts) in self.pass.iter().enumerate().filter(|_| per_class) {
            out.put(&class.to_string(), rate(*counts))?;
        }
        Ok(())
    }

    pub(super) fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
        let read = |key| other.value::<Vec<f64>>(key);
        let (hits, said, wanted) = (read("hits")?, read("said")?, read("wanted")?);
        let more: Vec<_> = hits
            .into_iter()
            .zip(said)
            .zip(wanted)
            .map(|((hits, said), wanted)| Counts { hits, said, wanted })
            .collect();
        add(&mut self.pass, &more);
        Ok(())
    }

    pub(super) fn save(&self, state: &mut StateWriter<'_>) -> Result<()> {
        let column = |of: fn(&Counts) -> f64| self.pass.iter().map(of).collect::<Vec<_>>();
        state.put("hits", column(|counts| counts.hits))?;
        state.put("said", column(|counts| counts.said))?;
        state.put("wanted", column(|counts| counts.wanted))
    }
}
