//! The models that hookrack and its peers train.

/// A model, and how long it is trained. Its config is `bench/peers/NAME.toml`; the peers have it under the same name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) batch: usize,
    /// Steps of an epoch of hookrack, of which the first warms up.
    pub(crate) epoch: usize,
    /// Epochs that are counted.
    pub(crate) epochs: usize,
    /// Steps of a peer that are not counted.
    pub(crate) warmup: usize,
    pub(crate) is_text: bool,
    /// Whether the layout of images in memory matters to it.
    pub(crate) has_layout: bool,
}

impl Model {
    /// Steps that are counted.
    pub(crate) fn steps(&self) -> usize {
        self.epoch * self.epochs
    }
}

const MLP: Model = Model {
    name: "mlp",
    about: "MLP 784-64-10, batch 64",
    batch: 64,
    epoch: 900,
    epochs: 2,
    warmup: 100,
    is_text: false,
    has_layout: false,
};

/// All of them, the smallest first. Convolutions and attention are the same from step to step, so a few steps are enough.
pub(crate) const MODELS: [Model; 5] = [
    MLP,
    Model { name: "mlp_ema", about: "MLP 784-64-10 with EMA in every step, batch 64", ..MLP },
    Model {
        name: "cnn",
        about: "CNN 16-32-128 with 5x5 kernels, batch 64",
        epoch: 100,
        epochs: 1,
        warmup: 20,
        has_layout: true,
        ..MLP
    },
    Model {
        name: "resnet18",
        about: "ResNet-18, width 16, batch 64",
        epoch: 15,
        epochs: 1,
        warmup: 4,
        has_layout: true,
        ..MLP
    },
    Model {
        name: "gpt",
        about: "GPT, 4 layers, width 128, context 128, batch 16",
        batch: 16,
        epoch: 20,
        epochs: 1,
        warmup: 4,
        is_text: true,
        ..MLP
    },
];

/// The model of this name.
pub(crate) fn named(name: &str) -> Result<&'static Model, String> {
    MODELS.iter().find(|model| model.name == name).ok_or_else(|| {
        let names = MODELS.map(|model| model.name).join(", ");
        format!("must be one of {names}")
    })
}
