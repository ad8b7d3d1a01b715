//! Forward passes and losses in the precision of the run.

use tch::{Kind, Tensor};

use super::Engine;
use crate::error::{EngineError, Result};
use crate::loss_scaler::{LossScaler, LossScalerSettings};
use crate::model::Mode;
use crate::precision::Precision;
use hookrack_torch::autograd::GradMode;

impl Engine {
    /// The model's output. Gradients are recorded in training, whatever the caller's mode is.
    pub fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        self.run_model(input, mode, mode == Mode::Train)
    }

    /// The model's output without gradients being recorded, in either mode.
    pub fn infer(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        self.run_model(input, mode, false)
    }

    fn run_model(&self, input: &Tensor, mode: Mode, records_gradients: bool) -> Result<Tensor> {
        self.refuse_stage("a forward pass of its own")?;
        let _mode = GradMode::set(records_gradients);
        let arranged = self.memory_format.arrange(input)?;
        let input = arranged.as_ref().unwrap_or(input);
        self.precision.forward(self.device, input, |input| self.model.forward(input, mode))
    }

    /// Chooses the arithmetic of forward and backward passes; loss scaling restarts if it is needed.
    ///
    /// # Errors
    /// Parameters and the optimizer's state would need another type.
    pub fn set_precision(&mut self, precision: Precision) -> Result<()> {
        if precision.kind() != self.precision.kind() {
            return Err(EngineError::FixedPrecision);
        }
        self.precision = precision;
        self.begin_scaling();
        Ok(())
    }

    pub(super) fn begin_scaling(&mut self) {
        let is_scaled = self.precision == Precision::Fp16;
        self.loss_scaler = is_scaled.then(|| LossScaler::new(self.scaling));
    }

    /// Begins loss scaling anew, by another rule.
    pub fn set_loss_scaling(&mut self, scaling: LossScalerSettings) -> Result<()> {
        let scaler = self.loss_scaler.as_mut().ok_or(EngineError::NotScaled)?;
        (self.scaling, *scaler) = (scaling, LossScaler::new(scaling));
        Ok(())
    }

    /// The precision of forward and backward passes.
    pub(crate) fn precision(&self) -> Precision {
        self.precision
    }

    /// The type of parameters, outputs and losses.
    pub fn kind(&self) -> Kind {
        self.precision.kind()
    }

    /// A warning about this precision on this machine, if there is one.
    pub fn caution(&self) -> Option<String> {
        self.precision.caution(self.device)
    }

    /// The loss of an output.
    pub fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        let _mode = GradMode::set(true);
        let wide = self.precision.widened(label)?;
        self.criterion()?.loss(output, wide.as_ref().unwrap_or(label))
    }
}
