//! The engine of the fake trainer, without autograd.

use super::FakeValue;
use super::ops;
use super::tensor::FakeTensor;
use super::world::World;
use crate::abi::{SLOT_INPUT, SLOT_LABEL, SLOT_LOSS, SLOT_OUTPUT};
use crate::error::Result;

impl World {
    /// Runs the model: the configured function, the configured output, or the input itself.
    pub(crate) fn run_model(&mut self, input: &FakeTensor) -> Result<FakeTensor> {
        let params: Vec<_> = self.params.iter().map(|param| param.tensor.clone()).collect();
        match (&mut self.model, &self.batch[SLOT_OUTPUT as usize]) {
            (Some(model), _) => model(input, &params),
            (None, Some(output)) => Ok(output.clone()),
            (None, None) => Ok(input.clone()),
        }
    }

    pub(crate) fn forward(&mut self) -> Result<()> {
        let input = self.in_slot(SLOT_INPUT).unwrap_or_else(|| FakeTensor::from(0.0));
        let output = self.run_model(&input)?;
        self.put_slot(SLOT_OUTPUT, output);
        Ok(())
    }

    /// The loss: the configured function, the configured number, or the mean of the output.
    pub(crate) fn compute_loss(&mut self) -> Result<()> {
        let Some(output) = self.in_slot(SLOT_OUTPUT) else { crate::bail!("the output is not set") };
        let label = self.in_slot(SLOT_LABEL);
        let loss = self.loss_of(&output, label.as_ref())?;
        self.put_slot(SLOT_LOSS, loss);
        Ok(())
    }

    pub(crate) fn loss_of(
        &mut self,
        output: &FakeTensor,
        label: Option<&FakeTensor>,
    ) -> Result<FakeTensor> {
        if let Some(criterion) = &mut self.criterion {
            let Some(label) = label else { crate::bail!("the label is not set") };
            return criterion(output, label);
        }
        if let Some(loss) = &self.batch[SLOT_LOSS as usize] {
            return Ok(loss.clone());
        }
        match ops::call("aten::mean", &[output.clone().into()])?.into_iter().next() {
            Some(FakeValue::Tensor(loss)) => Ok(loss),
            _ => crate::bail!("the output has no mean"),
        }
    }

    /// Adds the configured gradients.
    pub(crate) fn backward(&mut self) -> Result<()> {
        crate::ensure!(self.in_slot(SLOT_LOSS).is_some(), "the loss is not set");
        let weights: Vec<_> = self.params.iter().map(|param| param.tensor.clone()).collect();
        if let Some(gradient) = &mut self.gradient {
            let given = gradient(&weights)?;
            let (found, wanted) = (given.len(), weights.len());
            crate::ensure!(found == wanted, "{found} gradients for {wanted} parameters");
            for (param, gradient) in self.params.iter_mut().zip(given) {
                param.gradient = Some(gradient);
            }
        }
        for param in self.params.iter_mut().filter(|param| param.trainable) {
            let Some(gradient) = &param.gradient else { continue };
            match &param.grad {
                None => param.grad = Some(gradient.expanded(param.tensor.shape())?.copy()),
                Some(grad) => {
                    ops::call("aten::add_", &[grad.clone().into(), gradient.clone().into()])?;
                }
            }
        }
        Ok(())
    }

    /// Plain gradient descent.
    pub(crate) fn optimizer_step(&mut self) -> Result<()> {
        for param in &self.params {
            if let Some(grad) = &param.grad {
                let args = [
                    param.tensor.clone().into(),
                    grad.clone().into(),
                    FakeValue::Float(-self.group.lr),
                ];
                ops::call("aten::add_", &args)?;
            }
        }
        Ok(())
    }

    /// Calls an operator: one added by the test, or one of the fake trainer.
    pub(crate) fn call_op(&mut self, name: &str, args: &[FakeValue]) -> Result<Vec<FakeValue>> {
        match self.own_ops.get_mut(name) {
            Some(own) => own(&ops::OpArgs::new(name, args)),
            None => ops::call(name, args),
        }
    }
}
