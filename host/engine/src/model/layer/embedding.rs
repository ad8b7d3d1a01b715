//! An embedding: a vector for each token.

use tch::Tensor;

use crate::error::Result;
use crate::model::LayerOutput;
use crate::model::init::Fans;
use crate::model::initializer::Initializer;
use crate::model::param_builder::ParamBuilder;

/// A table with a row for each token; the weight is `[tokens, width]`.
#[derive(Debug)]
pub struct Embedding {
    weight: Tensor,
    output: LayerOutput,
}

impl Embedding {
    /// Draws the rows normally with deviation `std`; PyTorch's own is 1.
    pub fn new(
        builder: &mut ParamBuilder,
        path: &str,
        tokens: i64,
        width: i64,
        std: f64,
    ) -> Result<Self> {
        let (name, fans) = (format!("{path}.weight"), Fans { into: tokens, out: width });
        let weight = builder.weight(name, &[tokens, width], fans, Initializer::Normal(std))?;
        Ok(Self { weight, output: builder.layer(path) })
    }

    /// The table of another layer, for a unit that uses it too.
    pub fn shared(builder: &mut ParamBuilder, path: &str, shape: [i64; 2]) -> Result<Self> {
        let weight = builder.share(&format!("{path}.weight"), &shape)?;
        Ok(Self { weight, output: LayerOutput::new(path) })
    }

    /// The rows of a batch of tokens.
    pub fn forward(&self, tokens: &Tensor) -> Result<Tensor> {
        Ok(self.output.keep(Tensor::f_embedding(&self.weight, tokens, -1, false, false)?))
    }

    /// The first rows of the table, for a positional embedding.
    pub fn first(&self, rows: i64) -> Result<Tensor> {
        Ok(self.output.keep(self.weight.f_narrow(0, 0, rows)?))
    }

    /// The product of each vector with each row: the scores of a head that shares the table.
    pub fn scores(&self, vectors: &Tensor) -> Result<Tensor> {
        Ok(vectors.f_linear::<&Tensor>(&self.weight, None)?)
    }
}
