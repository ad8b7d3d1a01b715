//! One block of a GPT: attention, then two linear layers, each on the side of a residual path.

use tch::Tensor;

use crate::error::Result;
use crate::model::init::{Fans, root};
use crate::model::initializer::Initializer;
use crate::model::layer::{Activation, Attention, LayerNorm};
use crate::model::param_builder::ParamBuilder;
use crate::model::{LayerOutput, Mode, dropped};

/// The standard deviation of GPT-2's initial weights.
pub(super) const STD: f64 = 0.02;

/// What all blocks have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) layers: i64,
    pub(super) heads: i64,
    pub(super) width: i64,
    pub(super) dropout: f64,
    pub(super) bias: bool,
}

/// A linear layer whose weight is `[inputs, outputs]`: the layout of GPT-2's published files.
#[derive(Debug)]
struct Projection {
    weight: Tensor,
    bias: Option<Tensor>,
    output: LayerOutput,
}

impl Projection {
    fn new(
        builder: &mut ParamBuilder,
        path: &str,
        sides: [i64; 2],
        std: f64,
        bias: bool,
    ) -> Result<Self> {
        let fans = Fans { into: sides[0], out: sides[1] };
        let weight =
            builder.weight(format!("{path}.weight"), &sides, fans, Initializer::Normal(std))?;
        let bias =
            bias.then(|| builder.bias(format!("{path}.bias"), sides[1], fans, Initializer::Zeros));
        Ok(Self { weight, bias: bias.transpose()?, output: builder.layer(path) })
    }

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let weight = self.weight.f_transpose(0, 1)?;
        Ok(self.output.keep(input.f_linear(&weight, self.bias.as_ref())?))
    }
}

/// One block.
#[derive(Debug)]
pub(super) struct Block {
    ln_1: LayerNorm,
    attn_in: Projection,
    attn_out: Projection,
    ln_2: LayerNorm,
    mlp_in: Projection,
    mlp_out: Projection,
    attention: Attention,
    dropout: f64,
    outputs: Outputs,
}

/// Outputs of the parts that have layers inside them.
#[derive(Debug)]
struct Outputs {
    block: LayerOutput,
    attn: LayerOutput,
    mlp: LayerOutput,
}

impl Block {
    pub(super) fn new(builder: &mut ParamBuilder, path: &str, shape: &Shape) -> Result<Self> {
        let &Shape { layers, heads, width, dropout, bias } = shape;
        // The initial weights of residual projections shrink with the number of layers, as in GPT-2.
        let small = STD / root(2 * layers);
        let norm = |builder: &mut ParamBuilder, name: &str| {
            LayerNorm::new(builder, &format!("{path}.{name}"), &[width], bias)
        };
        let project = |builder: &mut ParamBuilder, name: &str, sides, std| {
            Projection::new(builder, &format!("{path}.{name}"), sides, std, bias)
        };
        let mut output = |name: &str| builder.layer(&format!("{path}{name}"));
        let outputs = Outputs { block: output(""), attn: output(".attn"), mlp: output(".mlp") };
        Ok(Self {
            outputs,
            ln_1: norm(builder, "ln_1")?,
            attn_in: project(builder, "attn.c_attn", [width, 3 * width], STD)?,
            attn_out: project(builder, "attn.c_proj", [width, width], small)?,
            ln_2: norm(builder, "ln_2")?,
            mlp_in: project(builder, "mlp.c_fc", [width, 4 * width], STD)?,
            mlp_out: project(builder, "mlp.c_proj", [4 * width, width], small)?,
            attention: Attention { heads, causal: true },
            dropout,
        })
    }

    pub(super) fn forward(&self, x: &Tensor, mode: Mode) -> Result<Tensor> {
        let dropout = if mode == Mode::Train { self.dropout } else { 0.0 };
        let joint = self.attn_in.forward(&self.ln_1.forward(x)?)?;
        let mixed = self.attn_out.forward(&self.attention.mix(&joint, dropout)?)?;
        let attended = self.outputs.attn.keep(dropped(mixed, self.dropout, mode)?);
        let x = x.f_add(&attended)?;
        let wide = self.mlp_in.forward(&self.ln_2.forward(&x)?)?;
        let narrow = self.mlp_out.forward(&Activation::GeluTanh.apply(&wide)?)?;
        let added = self.outputs.mlp.keep(dropped(narrow, self.dropout, mode)?);
        Ok(self.outputs.block.keep(x.f_add(&added)?))
    }
}
