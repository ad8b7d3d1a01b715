//! Who is measured: hookrack, and the peers that a Python environment has.

use super::model::Model;

/// Who trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Hookrack,
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
const ALL: [Subject; 9] = [
    Subject::Hookrack,
    Subject::Torch,
    Subject::TorchFused,
    Subject::TorchChannelsLast,
    Subject::Ignite,
    Subject::Transformers,
    Subject::Lightning,
    Subject::MmEngine,
    Subject::Jax,
];

impl Subject {
    /// Those that train a model.
    pub(crate) fn of(model: &Model) -> impl Iterator<Item = Self> + use<> {
        let has_layout = model.has_layout;
        ALL.into_iter().filter(move |it| has_layout || *it != Self::TorchChannelsLast)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hookrack => "hookrack",
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

    /// The script in `scripts/bench/peers/` and what it is told beside the task; `None` for hookrack itself.
    pub(crate) fn script(self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Self::Hookrack => None,
            Self::Torch => Some(("by_torch.py", &["--variant", "plain"])),
            Self::TorchFused => Some(("by_torch.py", &["--variant", "fused"])),
            Self::TorchChannelsLast => Some(("by_torch.py", &["--variant", "channels_last"])),
            Self::Ignite => Some(("by_ignite.py", &[])),
            Self::Transformers => Some(("by_transformers.py", &[])),
            Self::Lightning => Some(("by_lightning.py", &[])),
            Self::MmEngine => Some(("by_mmengine.py", &[])),
            Self::Jax => Some(("by_jax.py", &[])),
        }
    }
}
