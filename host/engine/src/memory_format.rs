//! The memory format of images: channel by channel, or with the channels of each pixel together.
//!
//! Only the input of a model is rearranged. Convolutions, norms and pooling keep the format of their input, so that all
//! activations follow it, while parameters, gradients, checkpoints and batches stay as they are.

use serde::{Deserialize, Serialize};
use tch::Tensor;

use super::error::Result;
use hookrack_torch::shape;

/// How a batch of images is laid out in memory while a model computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryFormat {
    /// Channel by channel, as batches are.
    Contiguous,
    /// The channels of each pixel together, which most kernels of convolutions prefer.
    ChannelsLast,
}

impl MemoryFormat {
    /// The name in configs and checkpoints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Contiguous => "contiguous",
            Self::ChannelsLast => "channels_last",
        }
    }

    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Contiguous, Self::ChannelsLast].into_iter().find(|it| it.name() == name)
    }

    /// The input in this format; `None` if it is already: other inputs than images have only one.
    pub(super) fn arrange(self, input: &Tensor) -> Result<Option<Tensor>> {
        if self == Self::Contiguous {
            return Ok(None);
        }
        let sides = shape::with_sides(input, |sides| <[i64; 4]>::try_from(sides).ok());
        let Some([rows, channels, height, width]) = sides else { return Ok(None) };
        if channels == 1 && input.is_contiguous() {
            // Both formats have the same bytes: a view whose strides say so is enough.
            let strides = [height * width, 1, width, 1];
            return Ok(Some(input.f_as_strided([rows, 1, height, width], strides, None)?));
        }
        Ok(Some(input.f_permute([0, 2, 3, 1])?.f_contiguous()?.f_permute([0, 3, 1, 2])?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Batch, DataSpec, Target};
    use crate::model::widen;
    use crate::{Choice, Engine};
    use hookrack_torch::autograd::GradMode;
    use hookrack_torch::{TensorList, foreach};
    use tch::{Device, Kind};

    /// The losses of three steps in a format, and the parameters after them.
    fn trained(engine: &mut Engine, batch: &Batch, format: MemoryFormat) -> Vec<f64> {
        engine.set_memory_format(format);
        let losses: Vec<_> =
            (0..3).map(|_| engine.train_batch(batch).unwrap().double_value(&[])).collect();
        let params = engine.params().iter().flat_map(|param| {
            assert!(param.tensor.is_contiguous(), "{}", param.name);
            assert!(param.tensor.grad().is_contiguous(), "{}", param.name);
            Vec::<f64>::try_from(param.tensor.detach().view(-1)).unwrap()
        });
        losses.into_iter().chain(params).collect()
    }

    #[test]
    fn a_model_learns_the_same_in_either_format() {
        for channels in [1, 3] {
            let data = DataSpec { input: vec![channels, 8, 8], target: Target::Classes(4) };
            let model = [("stem", "cifar".into()), ("width", 4_i64.into())];
            let sgd = Choice::new("SGD", &[("lr", 0.05.into())]);
            let builder = Engine::builder().model(Choice::new("ResNet", &model)).optimizer(sgd);
            let mut engine = builder.loss(Choice::new("CrossEntropy", &[])).build(&data).unwrap();
            widen(engine.model(), Kind::Double).unwrap();
            let input = Tensor::randn([6, channels, 8, 8], (Kind::Double, Device::Cpu));
            let batch = Batch { input, label: Tensor::from_slice(&[0_i64, 1, 2, 3, 0, 1]) };
            let state = engine.params().iter().chain(engine.buffers());
            let state: TensorList = state.map(|it| &it.tensor).collect();
            let initial = foreach::clone_detached(&state).unwrap();
            let contiguous = trained(&mut engine, &batch, MemoryFormat::Contiguous);
            let back = GradMode::set(false);
            foreach::copy_(&state, &initial).unwrap();
            drop(back);
            let channels_last = trained(&mut engine, &batch, MemoryFormat::ChannelsLast);
            assert!(contiguous.len() > 1000);
            for (one, other) in contiguous.iter().zip(&channels_last) {
                assert!((one - other).abs() < 1e-9 * one.abs().max(1.0), "{one}, {other}");
            }
        }
    }

    #[test]
    fn an_arranged_input_has_the_same_values_and_its_channels_together() {
        for channels in [1, 3] {
            let input = Tensor::arange(2 * channels * 20, (Kind::Float, Device::Cpu));
            let input = input.view([2, channels, 4, 5]);
            let arranged = MemoryFormat::ChannelsLast.arrange(&input).unwrap().unwrap();
            assert_eq!(arranged, input);
            assert_eq!(arranged.stride(), [20 * channels, 1, 5 * channels, channels]);
            let is_view = arranged.data_ptr() == input.data_ptr();
            assert_eq!(is_view, channels == 1, "one channel needs no copy");
            assert!(MemoryFormat::Contiguous.arrange(&input).unwrap().is_none());
        }
        let rows = Tensor::zeros([3, 7], (Kind::Float, Device::Cpu));
        assert!(MemoryFormat::ChannelsLast.arrange(&rows).unwrap().is_none());
    }
}
