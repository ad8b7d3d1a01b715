//! Whether gradients are recorded, and gradients of any tensor.

use super::Trainer;
use crate::abi::Host;
use crate::error::Result;
use crate::tensor::Tensor;
use std::borrow::Borrow;

/// Restores the mode when dropped, also after a panic.
struct Restore {
    host: Host,
    was: bool,
}

impl Drop for Restore {
    fn drop(&mut self) {
        // A host that has switched it once does it again; it restores the mode itself when the hook returns.
        let _ = self.host.set_recording(self.was);
    }
}

/// Gradient recording (extension `hookrack.autograd/1`). It is on in roles of the training phase, except
/// `on_optimizer_step`, and off at all other points.
///
/// It applies to operators that the hook calls. The model and the configured loss choose for themselves:
/// [`forward`](Self::forward) and [`model`](Self::model) record gradients in the training phase and never in
/// others, [`criterion`](Self::criterion) and [`criterion_of`](Self::criterion_of) always do,
/// [`forward_in`](Self::forward_in) and [`FrozenModel::forward`](crate::FrozenModel::forward) never.
impl Trainer {
    /// Runs `body` with gradient recording off. Use it in a role to change parameters in place, or for values
    /// that the loss must not depend on.
    ///
    /// The previous mode is restored when `body` returns or panics. Switching takes two short calls to the
    /// host. At a point that is not a role, recording is off already.
    ///
    /// # Errors
    /// `body` returns an error, or the host is older than ABI 1.2; then `body` is not run.
    pub fn no_grad<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.recording(false, body)
    }

    /// Runs `body` with gradient recording on, at a point that is not a role. The previous mode is restored
    /// afterwards.
    ///
    /// What `body` computes keeps its graph, and with it the tensors that it was computed from, until the
    /// result is dropped or detached.
    ///
    /// # Errors
    /// As for [`no_grad`](Self::no_grad).
    pub fn enable_grad<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.recording(true, body)
    }

    /// Returns the gradient of `of`, a tensor with one element, with respect to each input: PyTorch's
    /// `autograd.grad`. For adversarial examples, saliency maps, gradient penalties.
    ///
    /// An input is a tensor that `of` was computed from while it recorded gradients: a parameter, or the
    /// hook's own tensor after [`requires_grad_`](Tensor::requires_grad_). The gradient of one that `of` does
    /// not depend on is [absent](Tensor::is_absent). Gradients of parameters do not change, and the graph
    /// stays, so that [`backward`](Self::backward) may follow. Takes as long as a backward pass.
    ///
    /// ```
    /// # use hookrack_plugin_api::prelude::*;
    /// # #[derive(Settings)]
    /// # struct Fgsm;
    /// # #[hook(mutates = "output, loss")]
    /// # impl Hook for Fgsm {
    /// fn on_train_forward(&mut self, t: &mut Trainer) -> Result<()> {
    ///     let x = t.input()?.clone_detached()?;
    ///     x.requires_grad_(true)?;
    ///     let loss = t.criterion_of(&t.model(&x)?, &t.label()?)?;
    ///     let grads = t.gradients(&loss, [&x])?;
    ///     let output = t.model(&(x.detach()? + (grads[0].sign()? * 0.03)?)?)?;
    /// #   Ok(())
    /// # }
    /// # }
    /// ```
    ///
    /// # Errors
    /// `of` has several elements or no graph, or an input does not record gradients. Needs a host of
    /// plugin-api 1.2.
    pub fn gradients(
        &self,
        of: &Tensor,
        inputs: impl IntoIterator<Item = impl Borrow<Tensor>>,
    ) -> Result<Vec<Tensor>> {
        self.gradients_by(of, inputs, false)
    }

    /// As [`gradients`](Self::gradients), for a loss that depends on gradients: the results record how they
    /// were computed, as with PyTorch's `create_graph=True`.
    ///
    /// # Errors
    /// As for [`gradients`](Self::gradients).
    pub fn gradients_with_graph(
        &self,
        of: &Tensor,
        inputs: impl IntoIterator<Item = impl Borrow<Tensor>>,
    ) -> Result<Vec<Tensor>> {
        self.gradients_by(of, inputs, true)
    }

    fn gradients_by(
        &self,
        of: &Tensor,
        inputs: impl IntoIterator<Item = impl Borrow<Tensor>>,
        create_graph: bool,
    ) -> Result<Vec<Tensor>> {
        // The tensors live through the call.
        let inputs: Vec<_> = inputs.into_iter().collect();
        let ids: Vec<_> = inputs.iter().map(|input| input.borrow().id()).collect();
        let found = self.host.gradients(of.id(), &ids, create_graph)?;
        Ok(found.into_iter().map(|id| Tensor::owned_or_absent(self.host, id)).collect())
    }

    fn recording<T>(&mut self, on: bool, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let was = self.host.set_recording(on)?;
        let _restore = Restore { host: self.host, was };
        body(self)
    }
}
