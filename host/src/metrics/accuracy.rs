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

#[metric(better = "higher")]
impl Metric for Accuracy {
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer samples than 2^53")]
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let samples = t.batch_size() as f64;
        let best = t.call(&ARGMAX, &[Arg::from(&t.output()?), Arg::from(1)])?.tensor()?;
        let same = t.call(&EQ, &[Arg::from(&best), Arg::from(&t.label()?)])?.tensor()?;
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
