//! `TorchScript`: a model that Python wrote with `torch.jit.script`, trained as it is.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use hookrack_plugin_api::prelude::Settings;
use tch::{Kind, Tensor};

use super::dry_run::{dry_run, input_shape, wanted_output};
use super::{Mode, Model, ModelContext, ModelInfo, widen};
use crate::error::{EngineError, Result};
use crate::named_tensor::NamedTensor;
use crate::registry::Component;
use hookrack_torch::script::{Named, Script};

/// A TorchScript model saved in Python by `torch.jit.script(model).save(path)`.
#[derive(Debug, Clone, Settings)]
pub struct TorchScriptSettings {
    /// The file.
    pub path: PathBuf,
}

impl Component<ModelContext, dyn Model> for TorchScriptSettings {
    const NAME: &'static str = "TorchScript";

    fn build(self, context: &ModelContext) -> Result<Box<dyn Model>> {
        let model = TorchScript::load(&self.path, context)?;
        let shown = self.path.display();
        widen(&model, context.kind)?;
        let output = dry_run(&model, context).map_err(|why| {
            let input = input_shape(context);
            let wide = if context.kind == Kind::Double { " in fp64" } else { "" };
            Self::refuse(format!("{shown} does not accept a batch of shape {input:?}{wide}: {why}"))
        })?;
        let wanted = wanted_output(context);
        if output != wanted {
            return Err(Self::refuse(format!(
                "{shown} returns {output:?} for a batch of {}, but the data needs {wanted:?}",
                wanted[0]
            )));
        }
        Ok(Box::new(model))
    }
}

/// The model itself.
#[derive(Debug)]
pub struct TorchScript {
    script: Script,
    mode: Cell<Option<Mode>>,
    info: ModelInfo,
}

impl TorchScript {
    fn load(path: &Path, context: &ModelContext) -> Result<Self> {
        let refuse = |why: String| TorchScriptSettings::refuse(why);
        let shown = path.display();
        if !path.is_file() {
            let what = if path.is_dir() { "a folder" } else { "no file" };
            return Err(refuse(format!("there is {what} at {shown}")));
        }
        let script = Script::load(path, context.device).map_err(|why| {
            refuse(format!(
                "{shown} is not a complete TorchScript file ({}): write it with \
                 torch.jit.script(model).save(path)",
                why.text()
            ))
        })?;
        if let Some(op) = script.frozen_op()? {
            return Err(refuse(format!(
                "{shown} was traced: its {op} stays in the mode that it was traced in, for both \
                 training and evaluation; write it with torch.jit.script instead of torch.jit.trace"
            )));
        }
        let (params, buffers) = script.tensors()?;
        if params.is_empty() {
            return Err(refuse(format!("{shown} has no parameters to train; was it frozen?")));
        }
        let info = ModelInfo {
            params: owned(params),
            buffers: owned(buffers),
            input_shape: context.data.input.clone(),
            output_shape: wanted_output(context)[1..].to_vec(),
            ..ModelInfo::default()
        };
        Ok(Self { script, mode: Cell::new(None), info })
    }

    fn switch(&self, mode: Mode) -> Result<()> {
        if self.mode.get() != Some(mode) {
            self.script.set_train(mode == Mode::Train)?;
            self.mode.set(Some(mode));
        }
        Ok(())
    }
}

fn owned(tensors: Named) -> Vec<NamedTensor> {
    tensors.into_iter().map(|(name, tensor)| NamedTensor { name, tensor }).collect()
}

impl Model for TorchScript {
    fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        self.switch(mode)?;
        self.script.forward(input).map_err(EngineError::from)
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn is_graph(&self) -> bool {
        true
    }
}
