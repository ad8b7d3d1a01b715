//! `GPT`: a decoder that predicts the next token at each position of a row of tokens.

mod block;

use std::ops::Range;

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use self::block::{Block, STD, Shape};
use super::init::Init;
use super::layer::{Embedding, LayerNorm};
use super::param_builder::{ModelInfo, ParamBuilder};
use super::{BuiltUnits, LayerOutput, Mode, Model, ModelContext, check_tokens, dropped};
use crate::data::Target;
use crate::error::Result;
use crate::memory;
use crate::registry::Component;

/// GPT-2 (Radford et al., 2019); the defaults are those of its smallest size.
///
/// Its tensors have the names of Hugging Face's `GPT2LMHeadModel` (`transformer.wte.weight`,
/// `transformer.h.0.attn.c_attn.weight`, …) and its layout: the weights of blocks are `[inputs, outputs]`. A head that shares
/// the embedding has no tensor of its own.
#[derive(Debug, Clone, Settings)]
pub struct GptSettings {
    /// Number of transformer blocks.
    #[param(default = 12, min = 1)]
    pub layers: i64,
    /// Attention heads; must divide the width.
    #[param(default = 12, min = 1)]
    pub heads: i64,
    /// Embedding width.
    #[param(default = 768, min = 1)]
    pub width: i64,
    /// Maximum context length in tokens. Default: the row length of the data.
    #[param(min = 1)]
    pub context: Option<i64>,
    /// Vocabulary size. Default: that of the data set.
    #[param(min = 1)]
    pub vocab: Option<i64>,
    /// Dropout probability.
    #[param(default, min = 0.0, max = 1.0)]
    pub dropout: f64,
    /// Tie the weight of the head to the embedding.
    #[param(default = true)]
    pub tied: bool,
    /// Use biases in linear layers and norms.
    #[param(default = true)]
    pub bias: bool,
    /// Weight initialization.
    #[param(default)]
    pub init: Init,
}

impl Component<ModelContext, dyn Model> for GptSettings {
    const NAME: &'static str = "GPT";

    fn build(self, context: &ModelContext) -> Result<Box<dyn Model>> {
        let sizes = self.sizes(context).map_err(Self::refuse)?;
        self.init.check().map_err(Self::refuse)?;
        if context.made == BuiltUnits::All {
            self.check_memory()?;
        }
        Ok(Box::new(Gpt::new(&self, sizes, context)?))
    }
}

/// The number of positions and of tokens.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    positions: i64,
    vocab: i64,
}

impl GptSettings {
    /// Whether the matrices of all blocks together fit into memory: each one alone might.
    fn check_memory(&self) -> Result<()> {
        let [layers, width] = [self.layers, self.width].map(|n| u128::from(n.unsigned_abs()));
        // Twelve squares of the width in a block: four in the attention, eight in what follows it.
        let bytes = (4 * 12 * width * width).saturating_mul(layers);
        memory::check("layers", format!("{} blocks of width {}", self.layers, self.width), bytes)
    }

    fn sizes(&self, context: &ModelContext) -> std::result::Result<Sizes, String> {
        let (Target::Tokens(known), &[row]) = (&context.data.target, context.data.input.as_slice())
        else {
            return Err("it expects tokens, which this data set does not have: use Text".into());
        };
        let Self { heads, width, .. } = *self;
        if width % heads != 0 {
            return Err(format!("width = {width} is not a multiple of heads = {heads}"));
        }
        let (positions, vocab) = (self.context.unwrap_or(row), self.vocab.unwrap_or(*known));
        if positions < row {
            return Err(format!("context = {positions}, but a row of the data has {row} tokens"));
        }
        if vocab < *known {
            return Err(format!("vocab = {vocab}, but the data has {known} different tokens"));
        }
        Ok(Sizes { positions, vocab })
    }
}

/// The model itself.
#[derive(Debug)]
struct Gpt {
    tokens: Embedding,
    positions: Embedding,
    blocks: Vec<Block>,
    norm: LayerNorm,
    head: Embedding,
    scores: LayerOutput,
    dropout: f64,
    info: ModelInfo,
}

impl Gpt {
    fn new(settings: &GptSettings, sizes: Sizes, context: &ModelContext) -> Result<Self> {
        let (Sizes { positions, vocab }, mut builder) =
            (sizes, ParamBuilder::of(context, &settings.init));
        let GptSettings { layers, heads, width, dropout, bias, .. } = *settings;
        let shape = Shape { layers, heads, width, dropout, bias };
        builder.unit("transformer.wte");
        let tokens = Embedding::new(&mut builder, "transformer.wte", vocab, width, STD)?;
        let rows = Embedding::new(&mut builder, "transformer.wpe", positions, width, STD)?;
        let blocks = (0..layers)
            .map(|i| {
                let path = format!("transformer.h.{i}");
                builder.unit(&path);
                Block::new(&mut builder, &path, &shape)
            })
            .collect::<Result<_>>()?;
        builder.unit("lm_head");
        let norm = LayerNorm::new(&mut builder, "transformer.ln_f", &[width], bias)?;
        let head = if settings.tied {
            Embedding::shared(&mut builder, "transformer.wte", [vocab, width])?
        } else {
            Embedding::new(&mut builder, "lm_head", vocab, width, STD)?
        };
        Ok(Self {
            tokens,
            positions: rows,
            blocks,
            norm,
            head,
            scores: builder.layer("lm_head"),
            dropout,
            info: builder.finish(&[positions], &[positions, vocab]),
        })
    }
}

impl Gpt {
    fn embedded(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let row = check_tokens("model `GPT`", input, self.info.input_shape[0])?;
        let positions = self.positions.first(row)?;
        dropped(self.tokens.forward(input)?.f_add(&positions)?, self.dropout, mode)
    }
}

impl Model for Gpt {
    fn forward_units(&self, units: Range<usize>, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let mut x = input.shallow_clone();
        for unit in units {
            x = match unit.checked_sub(1) {
                None => self.embedded(&x, mode)?,
                Some(index) if index < self.blocks.len() => self.blocks[index].forward(&x, mode)?,
                Some(_) => self.scores.keep(self.head.scores(&self.norm.forward(&x)?)?),
            };
        }
        Ok(x)
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DataSpec;
    use crate::model::{MODELS, widen};
    use crate::registry::{Build as _, Choice};
    use hookrack_plugin_api::Value;
    use hookrack_torch::rounding;
    use tch::{Device, Kind};

    fn gpt(settings: &[(&str, Value)]) -> Result<Box<dyn Model>> {
        let small = [("layers", 2_i64.into()), ("heads", 2_i64.into()), ("width", 8_i64.into())];
        let unset = small.iter().filter(|(key, _)| settings.iter().all(|(set, _)| set != key));
        let settings: Vec<_> = unset.chain(settings).cloned().collect();
        let data = DataSpec { input: vec![6], target: Target::Tokens(11) };
        let context = ModelContext::new(data, Device::Cpu);
        Choice::new("GPT", &settings).build(MODELS, &context)
    }

    #[test]
    fn no_place_sees_what_comes_after_it() {
        let model = gpt(&[]).unwrap();
        widen(model.as_ref(), Kind::Double).unwrap();
        let scores = |tokens: &[i64]| {
            let input = Tensor::from_slice(tokens).view([1, -1]);
            model.forward(&input, Mode::Eval).unwrap()
        };
        let (a, b) = (scores(&[1, 2, 3, 4, 5, 6]), scores(&[1, 2, 3, 4, 5, 7]));
        let far =
            |place| (a.narrow(1, place, 1) - b.narrow(1, place, 1)).abs().max().double_value(&[]);
        assert!((0..5).all(|place| far(place) < rounding::DOUBLES), "an earlier place changed");
        assert!(far(5) > 1e-4);
        // A shorter row has the same scores.
        let short = scores(&[1, 2, 3]);
        let off = (short - a.narrow(1, 0, 3)).abs().max().double_value(&[]);
        assert!(off < rounding::DOUBLES, "{off:e}");
    }

    #[test]
    fn what_does_not_fit_is_reported() {
        let text = |settings: &[(&str, Value)]| gpt(settings).err().unwrap().to_string();
        let wanted = "model `GPT`: width = 8 is not a multiple of heads = 3";
        assert_eq!(text(&[("heads", 3_i64.into())]), wanted);
        let wanted = "model `GPT`: context = 4, but a row of the data has 6 tokens";
        assert_eq!(text(&[("context", 4_i64.into())]), wanted);
        let wanted = "model `GPT`: vocab = 9, but the data has 11 different tokens";
        assert_eq!(text(&[("vocab", 9_i64.into())]), wanted);
        let model = gpt(&[]).unwrap();
        let long = Tensor::zeros([2, 7], (Kind::Int64, Device::Cpu));
        let error = model.forward(&long, Mode::Eval).unwrap_err().to_string();
        assert!(error.contains("at most 6 tokens, found [2, 7]"), "{error}");
        let strange = Tensor::from_slice(&[11_i64]).view([1, 1]);
        assert!(model.forward(&strange, Mode::Eval).is_err());
    }
}
