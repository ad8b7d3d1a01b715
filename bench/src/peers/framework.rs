//! The frameworks that are measured: hookrack, a hand-written loop, and the peers that a Python environment has.

use super::model::Model;

/// Who trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Framework {
    Hookrack,
    /// Without the settings that are about speed alone.
    HookrackDefaults,
    Tch,
    Torch,
    TorchFused,
    TorchChannelsLast,
    Ignite,
    Transformers,
    Lightning,
    MmEngine,
    Jax,
}

/// All, in the order of the tables.
const ALL: [Framework; 11] = [
    Framework::Hookrack,
    Framework::HookrackDefaults,
    Framework::Tch,
    Framework::Torch,
    Framework::TorchFused,
    Framework::TorchChannelsLast,
    Framework::Ignite,
    Framework::Transformers,
    Framework::Lightning,
    Framework::MmEngine,
    Framework::Jax,
];

impl Framework {
    /// Those that train a model.
    pub(crate) fn of(model: &Model) -> impl Iterator<Item = Self> + use<> {
        // The loop by hand keeps no average.
        let (has_layout, has_average) = (model.has_layout, model.name == "mlp_ema");
        ALL.into_iter().filter(move |it| match it {
            Self::TorchChannelsLast => has_layout,
            Self::Tch => !has_average,
            _ => true,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hookrack => "hookrack",
            Self::HookrackDefaults => "hookrack, defaults",
            Self::Tch => "tch, by hand",
            Self::Torch => "PyTorch",
            Self::TorchFused => "PyTorch, fused optimizer",
            Self::TorchChannelsLast => "PyTorch, fused, channels_last",
            Self::Ignite => "Ignite",
            Self::Transformers => "HF Trainer",
            Self::Lightning => "Lightning",
            Self::MmEngine => "MMEngine",
            Self::Jax => "JAX, jit and Optax",
        }
    }

    /// How it is started.
    pub(crate) fn program(self) -> Program {
        match self {
            Self::Hookrack => Program::Hookrack(&[]),
            Self::HookrackDefaults => Program::Hookrack(&[
                "train.kernels=\"default\"",
                "train.memory_format=\"contiguous\"",
            ]),
            Self::Tch => Program::Tch,
            Self::Torch => Program::Python("by_torch.py", &["--variant", "plain"]),
            Self::TorchFused => Program::Python("by_torch.py", &["--variant", "fused"]),
            Self::TorchChannelsLast => {
                Program::Python("by_torch.py", &["--variant", "channels_last"])
            }
            Self::Ignite => Program::Python("by_ignite.py", &[]),
            Self::Transformers => Program::Python("by_transformers.py", &[]),
            Self::Lightning => Program::Python("by_lightning.py", &[]),
            Self::MmEngine => Program::Python("by_mmengine.py", &[]),
            Self::Jax => Program::Python("by_jax.py", &[]),
        }
    }

    /// Whether it is one of those that users would choose between.
    pub(crate) fn is_rival(self) -> bool {
        !matches!(self, Self::Hookrack | Self::HookrackDefaults | Self::Tch)
    }
}

/// What trains.
pub(crate) enum Program {
    /// The release binary, and what is set beside the config.
    Hookrack(&'static [&'static str]),
    /// A subcommand of the benchmarks.
    Tch,
    /// A script in `scripts/bench/peers/`, and what it is told beside the task.
    Python(&'static str, &'static [&'static str]),
}
