//! `init`: the choice of initial values, one for all models.

use hookrack_plugin_api::prelude::Settings;

use super::initializer::Initializer;

/// Initialization of the weights of linear, convolution and embedding layers. Their biases are then set to 0; norms are not changed.
#[derive(Debug, Clone, Default, PartialEq, Settings)]
pub struct Init {
    /// Distribution; `default` is the model's own, biases included.
    #[param(default, name = "type")]
    pub kind: InitType,
    /// Standard deviation of `normal` and `trunc_normal`. Default: 0.02.
    #[param(min = 0.0, max = 5.0)]
    pub std: Option<f64>,
    /// Gain of `kaiming_*`, `xavier_*` and `orthogonal`. Default: √2 for `kaiming_*` (right for ReLU), else 1.
    #[param(min = 0.0)]
    pub gain: Option<f64>,
    /// Fan of `kaiming_*`: `in` preserves the variance of the forward pass, `out` that of the backward pass. Default:
    /// `"in"`.
    pub fan: Option<Fan>,
}

/// A distribution of initial values, as `torch.nn.init` names it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Settings)]
pub enum InitType {
    /// What the model's authors chose.
    #[default]
    Default,
    /// Evenly within ± gain √(3 / fan).
    KaimingUniform,
    /// Normal with deviation gain / √fan.
    KaimingNormal,
    /// Evenly within ± gain √(6 / (fan in + fan out)).
    XavierUniform,
    /// Normal with deviation gain √(2 / (fan in + fan out)).
    XavierNormal,
    /// Normal with deviation std.
    Normal,
    /// Normal with deviation std, drawn again beyond ± 2.
    TruncNormal,
    /// Rows or columns at right angles.
    Orthogonal,
}

/// Which fan of a weight is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub enum Fan {
    /// Numbers that flow into one output.
    In,
    /// Numbers that one input flows into.
    Out,
}

/// The fans of a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fans {
    /// Numbers that flow into one output.
    pub into: i64,
    /// Numbers that one input flows into.
    pub out: i64,
}

impl Init {
    /// Rejects a parameter that the chosen distribution does not have.
    pub fn check(&self) -> Result<(), String> {
        use InitType::{
            Default, KaimingNormal, KaimingUniform, Normal, Orthogonal, TruncNormal, XavierNormal,
            XavierUniform,
        };
        let (std, gain, fan) = match self.kind {
            Default => (false, false, false),
            KaimingUniform | KaimingNormal => (false, true, true),
            XavierUniform | XavierNormal | Orthogonal => (false, true, false),
            Normal | TruncNormal => (true, false, false),
        };
        let given = [("std", self.std.is_some(), std), ("gain", self.gain.is_some(), gain)];
        let given = given.into_iter().chain([("fan", self.fan.is_some(), fan)]);
        match given.into_iter().find(|(_, given, meant)| *given && !meant) {
            None => Ok(()),
            Some((key, ..)) => {
                Err(format!("init.{key} does not apply to an init of this type: remove it"))
            }
        }
    }

    /// How a weight is drawn; `None` for the model's own initialization.
    pub fn initializer(&self, fans: Fans) -> Option<Initializer> {
        let (std, one) = (self.std.unwrap_or(0.02), self.gain.unwrap_or(1.0));
        let kaiming = || {
            let fan = if self.fan == Some(Fan::Out) { fans.out } else { fans.into };
            self.gain.unwrap_or(std::f64::consts::SQRT_2) / root(fan)
        };
        let xavier = || one * std::f64::consts::SQRT_2 / root(fans.into + fans.out);
        Some(match self.kind {
            InitType::Default => return None,
            InitType::KaimingUniform => Initializer::Uniform(3.0_f64.sqrt() * kaiming()),
            InitType::KaimingNormal => Initializer::Normal(kaiming()),
            InitType::XavierUniform => Initializer::Uniform(3.0_f64.sqrt() * xavier()),
            InitType::XavierNormal => Initializer::Normal(xavier()),
            InitType::Normal => Initializer::Normal(std),
            InitType::TruncNormal => Initializer::TruncNormal(std),
            InitType::Orthogonal => Initializer::Orthogonal(one),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "layer widths are far below 2^53")]
pub(super) fn root(count: i64) -> f64 {
    (count.max(1) as f64).sqrt()
}
