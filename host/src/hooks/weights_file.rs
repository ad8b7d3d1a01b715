//! The model alone, as a file in the run directory.

use hookrack_plugin_api::prelude::*;

/// Writes parameters and buffers under their names to `weights/<name>.safetensors`; nothing if the run has no directory.
pub(super) fn save(t: &mut Trainer, name: &str) -> Result<()> {
    if t.run_dir().is_none() {
        return Ok(());
    }
    let mut names = t.param_names()?;
    names.extend(t.buffer_names()?);
    let mut all = TensorList::default();
    for tensor in t.params().iter().chain(t.buffers().iter()) {
        all.push(tensor)?;
    }
    t.save_tensors(&format!("weights/{name}.safetensors"), &names, &all)
}
