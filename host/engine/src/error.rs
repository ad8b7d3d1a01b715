//! What can go wrong while an engine is built or used.

use crate::registry::ComponentKind;
use hookrack_torch::TorchError;

/// What the engine's functions return.
pub type Result<T> = std::result::Result<T, EngineError>;

/// An error of the engine: what failed, which thing, why, what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum EngineError {
    /// libtorch refused.
    #[error(transparent)]
    Torch(#[from] TorchError),
    /// A schedule whose table cannot be run.
    #[error("the schedule cannot be run: {0}; report this as a bug")]
    Schedule(String),
    /// A pass or a message that the schedule of this process does not have.
    #[error(
        "each pass of a pipeline runs once, in the order of the schedule: this pass is not the next one"
    )]
    NoStage,
    /// A tensor that cannot be sent from stage to stage.
    #[error(
        "a tensor of {kind:?} with {sides} dimensions cannot be sent from one stage to the next"
    )]
    NotSendable { kind: tch::Kind, sides: usize },
    /// Work that needs the whole model, in a process that has a stage of it.
    #[error(
        "{what} needs the whole model, but this process has stage {stage} of {stages} of a pipeline: use [schedule] type = \"NoPipeline\""
    )]
    Staged { what: &'static str, stage: u32, stages: u32 },
    /// The norm of gradients that other stages have too, before they have met.
    #[error("in a pipeline the gradient norm is available from before_optimizer_step on")]
    EarlyNorm,
    /// A model that cannot be split into stages.
    #[error(
        "this model cannot be split into stages: TorchScript and `train.mode = \"graph\"` run as one graph; use a built-in model in eager mode"
    )]
    NoUnits,
    /// A learning rate schedule that cannot be changed as requested.
    #[error(
        "the learning rate schedule cannot change between epochs and iterations: it has started, or was set by the program"
    )]
    LrCount,
    /// An unknown `type =`.
    #[error("no {kind} is named `{name}`: {hint}")]
    UnknownType { kind: ComponentKind, name: String, hint: String },
    /// Invalid settings of a component.
    #[error("{kind} `{name}`: {}", at_key(key, why))]
    Settings {
        kind: ComponentKind,
        name: &'static str,
        /// The setting that is wrong, such as `class_weights`; empty if none in particular.
        key: String,
        why: String,
    },
    /// A model with fewer outputs than the labels have classes.
    #[error("the model has {outputs} outputs, but the labels have {classes} classes")]
    FewOutputs { outputs: i64, classes: i64 },
    /// A model whose output the loss does not take.
    #[error(
        "the loss does not accept an output of shape {output:?} for labels that are {labels}: {why}"
    )]
    Misfit { output: Vec<i64>, labels: String, why: String },
    /// More memory than there is.
    #[error("{what}: {bytes} bytes are needed, more than this machine has")]
    TooLarge {
        /// The setting that requires it; empty if there is no single one.
        key: &'static str,
        what: String,
        bytes: u128,
    },
    /// A layer whose input has a shape that it does not accept.
    #[error("{path} ({name}): {why}")]
    Layer {
        /// Its key below `[model]`, such as `layers.2`.
        path: String,
        name: String,
        why: String,
    },
    /// A tensor of the wrong shape.
    #[error("{what} expects shape {wanted}, found {found:?}")]
    Shape {
        what: &'static str,
        /// The shape it can take; the first number is the batch.
        wanted: String,
        found: Vec<i64>,
    },
    /// An invalid pattern.
    #[error("`{pattern}` is not a valid pattern: {why}")]
    Pattern { pattern: String, why: String },
    /// A pattern that no parameter's name matches.
    #[error("no parameter matches `{pattern}`: the nearest are {nearest}")]
    NoMatch { pattern: String, nearest: String },
    /// A pattern that no layer's name matches.
    #[error("no layer is named `{pattern}`: the nearest are {nearest}")]
    NoLayer { pattern: String, nearest: String },
    /// A model whose layer outputs cannot be read.
    #[error(
        "this model does not provide layer outputs: TorchScript and `train.mode = \"graph\"` run as one graph; use a built-in model in eager mode"
    )]
    NoLayers,
    /// A pattern of a parameter group whose matches all belong to earlier groups.
    #[error("earlier patterns already match every parameter of `{pattern}`: move it up")]
    Shadowed { pattern: String },
    /// No parameter would be left to train.
    #[error("`{pattern}` would freeze the last trainable parameters: leave at least one")]
    AllFrozen { pattern: String },
    /// A pattern of a list in the config that cannot be used.
    #[error("{why}")]
    ListedPattern {
        list: PatternList,
        /// Its place there, counted from 0.
        index: usize,
        why: Box<EngineError>,
    },
    /// A saved state that does not match what it is loaded into.
    #[error("the saved {what} does not match: {why}")]
    State { what: &'static str, why: String },
    /// A saved tensor that matches but cannot be read.
    #[error("the saved `{name}` could not be read: {why}")]
    Unreadable { name: String, why: String },
    /// Weights whose names cannot be mapped to the model's.
    #[error("weights: {0}")]
    Weights(String),
    /// A role requested a tensor that does not exist at this point.
    #[error("no {name} is available at this point")]
    NoTensor { name: &'static str },
    /// A parameter that the loss does not depend on; other ranks wait for its gradient.
    #[error(
        "parameter `{name}` received no gradient, which the other ranks wait for: freeze it with train.freeze, or set \
         distributed.find_unused_parameters = true"
    )]
    Unused { name: String },
    /// A model that cannot run as a graph.
    #[error("it cannot run as a graph: {why}")]
    NoGraph { why: String },
    /// A device that cannot be used here.
    #[error("{device} cannot be used: {why}")]
    Device { device: String, why: String },
    /// The loss scale cannot be reduced any further.
    #[error(
        "the loss scale underflowed after too many steps with non-finite gradients: the loss \
         itself is not finite; lower the learning rate, or train with precision = \"bf16\" or \"fp32\""
    )]
    LossScale,
    /// Loss scaling was to be changed in a run without it.
    #[error("the loss is not scaled in this precision: choose fp16 first")]
    NotScaled,
    /// A change between 64 bits and another precision, in a run whose tensors are made.
    #[error(
        "the precision cannot change to or from fp64 during a run, because parameters and optimizer state have another type: \
         set train.precision in the config"
    )]
    FixedPrecision,
    /// The loss was requested, but none is configured.
    #[error("the config has no [loss]: add one, or let the hook that runs the model set the loss")]
    NoLoss,
    /// A part that every engine needs.
    #[error("an engine needs a {kind}: pass one to the builder")]
    NoPart { kind: ComponentKind },
    /// A parameter group that does not exist.
    #[error("parameter group {group} does not exist: the optimizer has {count}, counted from 0")]
    NoGroup { group: usize, count: usize },
    /// A parameter that does not exist.
    #[error("the model has no parameter {index}, counted from 0")]
    NoParam { index: usize },
    /// A momentum was set for an optimizer without one.
    #[error("the optimizer has no momentum; choose one that has, or give it a momentum above 0")]
    NoMomentum,
    /// A data set or a loader that cannot return batches.
    #[error("data: {0}")]
    Data(String),
}

/// A list of patterns in the config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternList {
    /// The parameters that are frozen from the start.
    Freeze,
    /// The parameter groups of the optimizer.
    Groups,
}

impl PatternList {
    /// Adds to an error which pattern of the list it is about.
    pub(crate) fn error_at(self, index: usize, why: EngineError) -> EngineError {
        EngineError::ListedPattern { list: self, index, why: Box::new(why) }
    }
}

impl EngineError {
    /// The message without its subject, for places that already show it, such as a line of the config.
    pub fn reason(&self) -> String {
        match self {
            Self::Settings { why, .. } | Self::Data(why) | Self::Weights(why) => why.clone(),
            Self::Layer { name, why, .. } => format!("{name}: {why}"),
            other => other.to_string(),
        }
    }
}

/// What is wrong, preceded by the key of the invalid setting.
fn at_key(key: &str, why: &str) -> String {
    if key.is_empty() { why.to_owned() } else { format!("{key}: {why}") }
}

impl From<tch::TchError> for EngineError {
    fn from(error: tch::TchError) -> Self {
        Self::Torch(error.into())
    }
}
