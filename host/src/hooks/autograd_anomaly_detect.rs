//! `AutogradAnomalyDetectHook`: which operator produced a NaN loss or gradient, and where it was used.

use hookrack_plugin_api::prelude::*;

/// Detects an infinite or NaN loss or gradient, repeats that step in anomaly mode, and ends the run with the name of
/// the operator and of the first parameter affected. Each check synchronizes with the device.
#[derive(Settings)]
pub(super) struct AutogradAnomalyDetectHook {
    /// As `torch.autograd.set_detect_anomaly`: true keeps anomaly mode on for the whole run, which is about 150 times
    /// slower; false turns it on only for the repeated step.
    #[param(default, alias = "mode")]
    always: bool,
    /// Check the gradient norm as well as the loss.
    #[param(default = true)]
    grads: bool,
}

/// The function of libtorch's message, such as `LogSoftmaxBackward0`.
fn culprit(message: &str) -> Option<&str> {
    message.split_once("Function '")?.1.split_once('\'').map(|(name, _)| name)
}

/// The first tensor with a number that is infinite or NaN.
fn first_bad(tensors: &impl AsTensors) -> Result<Option<usize>> {
    for (index, tensor) in tensors.iter().enumerate().filter(|(_, tensor)| !tensor.is_absent()) {
        if tensor.isfinite()?.all()?.item()? < 0.5 {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// Repeats the step in anomaly mode; returns libtorch's error, if there is one.
fn again(t: &mut Trainer) -> Result<Option<String>> {
    t.set_anomaly_mode(true)?;
    let step = t.train_forward().and_then(|()| t.backward());
    t.set_anomaly_mode(false)?;
    Ok(step.err().map(|error| error.to_string()))
}

/// The message about a step.
fn verdict(operator: Option<&str>, param: Option<&str>, grad: Option<&str>) -> String {
    let operator = operator
        .map_or("no operator's gradient was NaN when the step was repeated".to_owned(), |name| {
            format!("repeated in anomaly mode, {name} is the first whose gradient is NaN")
        });
    match (param, grad) {
        (Some(param), _) => format!("{operator}; parameter `{param}` is not finite itself"),
        (None, Some(grad)) => {
            format!("{operator}; the gradient of `{grad}` is the first that is not finite")
        }
        (None, None) => format!("{operator}; all parameters are finite"),
    }
}

fn diagnose(t: &mut Trainer, what: &str, value: f64) -> Result<()> {
    let names = t.param_names()?;
    let param = first_bad(&t.params())?;
    let message = again(t)?;
    let grad = first_bad(&t.grads())?;
    let name = |index: Option<usize>| index.and_then(|index| names.get(index)).map(String::as_str);
    let verdict = verdict(message.as_deref().and_then(culprit), name(param), name(grad));
    bail!("the {what} is {value} in iteration {} of epoch {}: {verdict}", t.iter(), t.epoch())
}

impl AutogradAnomalyDetectHook {
    fn checks(&self, t: &Trainer) -> bool {
        !self.always && t.phase() == Phase::Train
    }
}

#[hook(level = 2, every = "1it", mutates = "output, loss, grads", reads = "loss, grads", ops = [ops::isfinite, ops::all], on_error = "abort")]
impl Hook for AutogradAnomalyDetectHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        if self.always { t.set_anomaly_mode(true) } else { Ok(()) }
    }

    fn after_forward(&mut self, t: &mut Trainer) -> Result<()> {
        if self.checks(t) {
            let loss = t.loss()?.item()?;
            if !loss.is_finite() {
                return diagnose(t, "loss", loss);
            }
        }
        Ok(())
    }

    fn before_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        if self.grads && self.checks(t) {
            let norm = t.grad_norm()?.item()?;
            if !norm.is_finite() {
                return diagnose(t, "gradients' norm", norm);
            }
        }
        Ok(())
    }

    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        if self.always { t.set_anomaly_mode(false) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operator_is_the_one_that_libtorch_names() {
        let message = "libtorch: Function 'SqrtBackward0' returned nan values in its 0th output.";
        assert_eq!(culprit(message), Some("SqrtBackward0"));
        assert_eq!(culprit("size mismatch"), None);
    }

    #[test]
    fn a_verdict_names_operator_and_parameter() {
        let said = verdict(Some("SqrtBackward0"), None, Some("net.0.weight"));
        assert!(
            said.contains("SqrtBackward0") && said.contains("gradient of `net.0.weight`"),
            "{said}"
        );
        let said = verdict(None, Some("net.0.bias"), None);
        assert!(said.contains("parameter `net.0.bias` is not finite"), "{said}");
    }
}
