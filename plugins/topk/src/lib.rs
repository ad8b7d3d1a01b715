//! `TopK`: a metric that reads tensors' memory in a plain loop.
//!
//! ```toml
//! [[metrics]]
//! type = "TopK"
//! library = "libtopk.so"
//! k = 5
//! ```
//!
//! [`count`] does the counting on plain slices; this file reads the tensors.

pub mod count;

use count::{Count, IGNORED, Rows, count_hits};
use hookrack_plugin_api::prelude::*;

/// Fraction of samples whose label is among the k largest outputs.
#[derive(Settings)]
pub struct TopK {
    /// Number of largest outputs to consider.
    #[param(default = 5, min = 1)]
    k: usize,
    /// Label to ignore; by default that of the loss.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(state)]
    hits: u64,
    #[param(state)]
    samples: u64,
    #[param(skip)]
    batch: Option<Count>,
}

/// The tensor on the CPU, in this dtype and contiguous, so that its memory can be read; the same tensor if it is all that.
fn readable(tensor: &Tensor, dtype: DataType) -> Result<Tensor> {
    tensor.to_device("cpu")?.to_dtype(dtype)?.contiguous()
}

#[metric(better = "higher")]
impl Metric for TopK {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let mut output = readable(&t.output()?, DataType::FLOAT32)?;
        let mut label = readable(&t.label()?, DataType::INT64)?;
        let (scores, labels) = (output.view()?, label.view()?);
        let [samples, classes] = *scores.shape() else {
            bail!(
                "expected an output of shape [samples, classes], found shape {:?}",
                scores.shape()
            );
        };
        ensure!(
            labels.shape() == [samples],
            "expected {samples} labels, one for each sample, found shape {:?}",
            labels.shape()
        );
        let classes = usize::try_from(classes)?;
        let (scores, labels) = (scores.elements()?, labels.elements()?);
        let batch =
            count_hits(Rows { scores, classes, labels, ignored: self.ignore_index }, self.k)?;
        self.hits += batch.hits;
        self.samples += batch.samples;
        self.batch = Some(batch);
        Ok(())
    }

    fn compute(&self) -> f64 {
        Count { hits: self.hits, samples: self.samples }.share()
    }

    fn step_value(&self) -> Option<f64> {
        self.batch.map(Count::share)
    }

    fn reset(&mut self) {
        (self.hits, self.samples, self.batch) = (0, 0, None);
    }

    fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
        self.hits += other.value::<u64>("hits")?;
        self.samples += other.value::<u64>("samples")?;
        Ok(())
    }
}

export_plugin! { metrics: [TopK] }
