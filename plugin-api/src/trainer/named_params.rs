//! Parameters by name.

use super::Trainer;
use crate::abi::LIST_PARAMS;
use crate::error::{Error, Result};
use crate::name::nearest;
use crate::tensor::{AsTensors, Tensor};

/// A parameter of the model with its name and its gradient.
pub struct NamedParam {
    /// Its name, as in a checkpoint: `fc.weight`.
    pub name: String,
    /// The parameter, valid for the whole run. Not a copy: it changes with each step.
    pub param: Tensor,
    /// Its gradient, valid until the iteration ends; `None` if it is frozen, or before the first backward pass.
    pub grad: Option<Tensor>,
}

/// Parameters by name. Both methods go through all parameters and allocate their names.
impl Trainer {
    /// All parameters in their fixed order, each with its name and its gradient. In a pipeline these are the parameters of this rank's stage.
    ///
    /// Allocates the names; a hook that needs single parameters often should [look them up](Self::param) once and keep the handles.
    ///
    /// ```
    /// # use hookrack_plugin_api::prelude::*;
    /// # fn noisy(t: &mut Trainer) -> Result<()> {
    /// for p in t.named_params()? {
    ///     if let Some(grad) = p.grad.filter(|_| p.name.ends_with(".weight")) {
    ///         grad.mul_(0.1)?;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn named_params(&self) -> Result<Vec<NamedParam>> {
        let (params, grads) = (self.params(), self.grads());
        let named = |(index, param)| {
            let grad = grads.at(index).filter(|grad| !grad.is_absent());
            Ok(NamedParam { name: self.host.name(LIST_PARAMS, index)?, param, grad })
        };
        params.iter().enumerate().map(named).collect()
    }

    /// Returns the parameter of this name, such as `fc.weight`. Its handle is valid for the whole run: look
    /// it up once, in `before_train`.
    ///
    /// # Errors
    /// There is none; the message has the nearest name. In a pipeline only the parameters of this rank's
    /// stage are here.
    pub fn param(&self, name: &str) -> Result<Tensor> {
        let names = self.param_names()?;
        let found = names.iter().position(|own| own == name);
        found.and_then(|index| self.params().at(index)).ok_or_else(|| {
            let near = nearest(name, names.iter().map(String::as_str));
            let hint = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
            Error::new(format!("the model has no parameter `{name}`{hint}"))
        })
    }
}
