//! `train.memory_format = "auto"`: which memory format a run trains in.

use super::build::Parts;
use super::build_engine::refused;
use super::grid::schedule;
use crate::config::{ConfigErrors, FormatChoice, ResolvedConfig};
use crate::engine::{FormatTrial, MemoryFormat};
use crate::ranks::Ranks;

impl Parts {
    /// Trains in the format that the run was begun with, if the config leaves the choice to the host.
    pub fn keep_memory_format(&mut self, config: &ResolvedConfig, saved: Option<MemoryFormat>) {
        if let (FormatChoice::Auto, Some(format)) = (config.train.memory_format, saved) {
            self.engine.set_memory_format(format);
        }
    }

    /// Chooses the faster format for a new run, if the config leaves the choice to the host and the model has one.
    ///
    /// # Errors
    /// The model does not run on samples like those of the data.
    pub fn choose_memory_format(
        &mut self,
        config: &ResolvedConfig,
        ranks: &Ranks,
    ) -> Result<Option<FormatTrial>, ConfigErrors> {
        if config.train.memory_format != FormatChoice::Auto {
            return Ok(None);
        }
        let shares = ranks.world.max(1) * schedule(config)?.parts();
        let rows = (*config.data.train.loading.batch_size / shares).max(1);
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        let tried = self.engine.try_memory_formats(rows);
        let trial = tried.map_err(refused(config, "train.memory_format"))?;
        if let Some(trial) = &trial {
            self.engine.set_memory_format(trial.chosen);
        }
        Ok(trial)
    }
}
