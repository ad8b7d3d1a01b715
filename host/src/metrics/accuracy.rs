//! `Accuracy`: the share of samples whose largest output is at the label.

use hookrack_plugin_api::prelude::*;

static ARGMAX: CachedOp = CachedOp::new("aten::argmax");
static EQ: CachedOp = CachedOp::new("aten::eq.Tensor");
static SUM: CachedOp = CachedOp::new("aten::sum");

/// The share of samples whose largest output is at the label.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Accuracy {
    #[serde(skip)]
    hits: f64,
    #[serde(skip)]
    samples: f64,
    #[serde(skip)]
    last: Option<f64>,
}

fn share(hits: f64, samples: f64) -> f64 {
    if samples > 0.0 { hits / samples } else { f64::NAN }
}

/// Along which dimension of the output the classes lie, whether labels are shares of classes, as mixing makes them, and
/// how many labels there are: one for a sample, or one for each token.
#[expect(clippy::cast_precision_loss, reason = "a batch has far fewer labels than 2^53")]
fn layout(output: &[i64], label: &[i64]) -> (i64, bool, f64) {
    let is_tokens = output.len() == 3 && label == &output[..2];
    let classes = if is_tokens { 2 } else { 1 };
    let labels: i64 =
        output.iter().enumerate().filter(|(at, _)| *at != classes).map(|(_, n)| n).product();
    (if is_tokens { 2 } else { 1 }, label == output, labels as f64)
}

#[metric(better = "higher")]
impl Metric for Accuracy {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let (output, label) = (t.output()?, t.label()?);
        let (classes, is_shares, samples) = layout(output.view()?.shape(), label.view()?.shape());
        let best = t.call(&ARGMAX, &[Arg::from(&output), Arg::from(classes)])?.tensor()?;
        let truth = if is_shares {
            t.call(&ARGMAX, &[Arg::from(&label), Arg::from(classes)])?.tensor()?
        } else {
            label
        };
        let same = t.call(&EQ, &[Arg::from(&best), Arg::from(&truth)])?.tensor()?;
        let hits = t.call(&SUM, &[Arg::from(&same)])?.tensor()?.item()?;
        self.hits += hits;
        self.samples += samples;
        self.last = Some(share(hits, samples));
        Ok(())
    }

    fn compute(&self) -> f64 {
        share(self.hits, self.samples)
    }

    fn step_value(&self) -> Option<f64> {
        self.last
    }

    fn reset(&mut self) {
        (self.hits, self.samples, self.last) = (0.0, 0.0, None);
    }

    fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
        self.hits += other.value::<f64>("hits")?;
        self.samples += other.value::<f64>("samples")?;
        Ok(())
    }

    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("hits", self.hits)?;
        state.put("samples", self.samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_shares_and_tokens_are_told_apart() {
        assert_eq!(layout(&[8, 10], &[8]), (1, false, 8.0));
        assert_eq!(layout(&[8, 10], &[8, 10]), (1, true, 8.0));
        assert_eq!(layout(&[8, 5, 256], &[8, 5]), (2, false, 40.0));
    }
}
