//! Initial weights: from any safetensors file, or from a checkpoint.

use super::build::Parts;
use super::build_engine::{patterns, refused};
use crate::config::{ConfigErrors, RenameEntry, ResolvedConfig, WeightsSection};
use crate::engine::NamedTensor;
use crate::engine::rename::Rename;
use crate::engine::weights::LoadReport;
use crate::run::named_tensors;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

impl Parts {
    /// Loads the weights that `[weights]` or `train.load_from` names into the model; `None` if neither is set.
    ///
    /// # Errors
    /// The file cannot be read, no tensor matches, or, with `strict`, not all of them do.
    pub fn load_weights(
        &mut self,
        config: &ResolvedConfig,
    ) -> Result<Option<LoadReport>, ConfigErrors> {
        let Some(section) = &config.weights else { return Ok(None) };
        let source = read(config, section)?;
        let renames = renames(config, &section.rename)?;
        let loaded = self.engine.load_weights(source, &renames, section.strict);
        let report = loaded.map_err(refused(config, "weights.rename"))?;
        judge(config, section, &report, self.engine.stage().is_some())?;
        Ok(Some(report))
    }
}

/// Refuses weights of which too few tensors matched.
fn judge(
    config: &ResolvedConfig,
    section: &WeightsSection,
    report: &LoadReport,
    is_staged: bool,
) -> Result<(), ConfigErrors> {
    let key = config.weights_key();
    let rename = "[[weights.rename]] maps names to the model's";
    if section.strict && !report.fits() {
        let why = format!("the weights do not match the model: {report}");
        let place = if key == "train.load_from" { "give the path in [weights] and " } else { "" };
        let help = format!("{place}set strict = false to load what matches; {rename}");
        return Err(config.refuse(key, why, help));
    }
    // Those that match may be on other stages.
    if report.loaded == 0 && !is_staged {
        let why = format!("no tensor of the file matches the model: {report}");
        return Err(config.refuse(key, why, rename));
    }
    Ok(())
}

/// The tensors of the file, without those that the config leaves out.
fn read(
    config: &ResolvedConfig,
    section: &WeightsSection,
) -> Result<Vec<NamedTensor>, ConfigErrors> {
    let ignored = patterns(config, "weights.ignore", &section.ignore)?;
    let tensors = named_tensors::read(&section.path).map_err(|error| {
        let help = if is_torch_file(&section.path) {
            "this is a file of torch.save: convert it in Python with safetensors.torch.save_file(torch.load(PATH), \"weights.safetensors\")"
        } else {
            "expected a safetensors file, its index, a checkpoint or a run directory"
        };
        config.refuse(config.weights_key(), error.to_string(), help)
    })?;
    let kept = |name: &str| !ignored.iter().any(|pattern| pattern.matches(name));
    let tensors = tensors.into_iter().filter(|(name, _)| kept(name));
    Ok(tensors.map(|(name, tensor)| NamedTensor { name, tensor }).collect())
}

/// Whether a file is an archive, as `torch.save` writes them.
fn is_torch_file(path: &Path) -> bool {
    let mut start = [0; 2];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"PK"
}

fn renames(config: &ResolvedConfig, entries: &[RenameEntry]) -> Result<Vec<Rename>, ConfigErrors> {
    let read = |(index, entry): (usize, &RenameEntry)| {
        Rename::new(&entry.from, &entry.to, entry.transpose).map_err(|why| {
            let key = format!("weights.rename.{index}.to");
            config.refuse(&key, why, "each `*` in `from` corresponds to one in `to`, in order")
        })
    };
    entries.iter().enumerate().map(read).collect()
}
