//! The weights alone, as a file of the run directory: what a checkpoint is to those who only want the model.

use super::lasting_folder;
use hookrack_plugin_api::prelude::*;

/// Writes parameters and buffers under their names to `weights/<name>.safetensors`; nothing where the run leaves nothing.
pub(super) fn save(t: &mut Trainer, name: &str) -> Result<()> {
    let Some(folder) = t.run_dir().map(|run| run.join("weights")) else { return Ok(()) };
    lasting_folder::create(&folder)
        .map_err(|error| Error::new(format!("cannot create {}: {error}", folder.display())))?;
    let mut names = t.param_names()?;
    names.extend(t.buffer_names()?);
    let mut all = TensorList::default();
    for tensor in t.params().iter().chain(t.buffers().iter()) {
        all.push(tensor)?;
    }
    t.save_tensors(&format!("weights/{name}.safetensors"), &names, &all)
}
