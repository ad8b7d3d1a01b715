//! Runs model and loss once on made-up samples before training: checks that the loss accepts the model's output.

use tch::{Kind, Tensor};

use super::data::{DataSpec, Target};
use super::error::{EngineError, Result};
use super::{Engine, Mode};
use hookrack_torch::autograd::GradMode;
use hookrack_torch::rng;

/// As many as a norm over the batch needs.
const ROWS: i64 = 2;

impl Engine {
    /// Runs model and loss on samples in the shape of the data, without side effects: random numbers are restored.
    ///
    /// # Errors
    /// The model does not run on such samples, or the loss does not accept its output with such labels.
    pub fn dry_run(&self, data: &DataSpec) -> Result<()> {
        let random = rng::state(self.device())?;
        let outcome = self.run_once(data);
        rng::set_state(&random, self.device())?;
        outcome
    }

    fn run_once(&self, data: &DataSpec) -> Result<()> {
        let kind = if data.has_tokens() { Kind::Int64 } else { Kind::Float };
        let rows = |shape: &[i64]| [&[ROWS], shape].concat();
        let input = Tensor::f_zeros(rows(&data.input), (kind, self.device()))?;
        let output = if self.stage().is_some() {
            let shape = &self.model().info().output_shape;
            Tensor::f_zeros(rows(shape), (self.kind(), self.device()))?
        } else {
            self.infer(&input, Mode::Eval)?
        };
        let label = self.label(data)?;
        let _recorded = GradMode::set(false);
        self.loss(&output, &label).map(drop).map_err(|why| {
            if let Some((outputs, classes)) = few_outputs(&output, &data.target) {
                return EngineError::FewOutputs { outputs, classes };
            }
            let (found, labels) = (output.size(), data.target.to_string());
            EngineError::Misfit {
                output: found[1.min(found.len())..].to_vec(),
                labels,
                why: why.to_string(),
            }
        })
    }

    /// Labels of the last class, or numbers that any loss accepts.
    fn label(&self, data: &DataSpec) -> Result<Tensor> {
        let whole = (Kind::Int64, self.device());
        let real = (Kind::Float, self.device());
        Ok(match &data.target {
            Target::Classes(count) => Tensor::f_full([ROWS], count - 1, whole)?,
            Target::Tokens(count) => {
                Tensor::f_full([&[ROWS], data.input.as_slice()].concat(), count - 1, whole)?
            }
            Target::Shares(count) => Tensor::f_ones([ROWS, *count], real)?.f_div_scalar(*count)?,
            Target::Values(shape) => Tensor::f_zeros([&[ROWS], shape.as_slice()].concat(), real)?,
        })
    }
}

/// Outputs and classes, if an output has fewer scores than there are classes.
fn few_outputs(output: &Tensor, target: &Target) -> Option<(i64, i64)> {
    let size = output.size();
    let (outputs, classes) = match target {
        Target::Classes(count) | Target::Shares(count) => (*size.get(1)?, *count),
        Target::Tokens(count) => (*size.last()?, *count),
        Target::Values(_) => return None,
    };
    (outputs < classes).then_some((outputs, classes))
}
