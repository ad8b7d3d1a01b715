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
use hookrack_plugin_api::view::Element;

static TO_COPY: CachedOp = CachedOp::new("aten::_to_copy");
static CONTIGUOUS: CachedOp = CachedOp::new("aten::contiguous");

/// Fraction of samples whose label is among the k largest outputs.
#[derive(Settings)]
pub struct TopK {
    /// Number of largest outputs to consider.
    #[param(default = 5, min = 1)]
    k: usize,
    /// Label to ignore; by default that of the loss.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    pass: Count,
    #[param(skip)]
    batch: Option<Count>,
}
/// The same tensor if its memory can be read as `T`; otherwise a copy on the CPU (another device, another
/// precision, a transposed view).
fn readable<T: Element>(t: &Trainer, mut tensor: Tensor, dtype: &str) -> Result<Tensor> {
    if tensor.view().is_ok_and(|view| view.elements::<T>().is_ok()) {
        return Ok(tensor);
    }
    let copied = [Arg::from(&tensor), Arg::from(dtype), Arg::NONE, Arg::from("cpu")];
    let copied = t.call(&TO_COPY, &copied)?.tensor()?;
    t.call(&CONTIGUOUS, &[Arg::from(&copied)])?.tensor()
}

#[metric(better = "higher")]
impl Metric for TopK {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let mut output = readable::<f32>(t, t.output()?, "float32")?;
        let mut label = readable::<i64>(t, t.label()?, "int64")?;
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
        self.pass += batch;
        self.batch = Some(batch);
        Ok(())
    }

    fn compute(&self) -> f64 {
        self.pass.share()
    }

    fn step_value(&self) -> Option<f64> {
        self.batch.map(Count::share)
    }

    fn reset(&mut self) {
        (self.pass, self.batch) = (Count::default(), None);
    }

    fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
        self.pass += Count { hits: other.value("hits")?, samples: other.value("samples")? };
        Ok(())
    }

    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("hits", self.pass.hits)?;
        state.put("samples", self.pass.samples)
    }
}

export_plugin! { metrics: [TopK] }
