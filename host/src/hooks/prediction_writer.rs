//! `PredictionWriter`: writes the model's output for each sample of a pass to a file.

use super::gathered_batches::gathered;
use hookrack_plugin_api::prelude::*;

static CAT: CachedOp = CachedOp::new("aten::cat");

/// Writes the outputs and labels of each evaluation to the run directory.
#[derive(Settings)]
pub(super) struct PredictionWriter {
    /// Epochs between validations to write; a new file of a phase replaces the previous one.
    #[param(default = 1, min = 1)]
    interval: u64,
    // Decided for all ranks at the start of a pass: only the main one has a run directory.
    #[param(skip)]
    is_due: bool,
    #[param(skip)]
    outputs: TensorList,
    #[param(skip)]
    labels: TensorList,
}

impl PredictionWriter {
    fn begin(&mut self, t: &Trainer) -> Result<()> {
        self.forget();
        let is_epoch = t.phase() != Phase::Val || t.epoch().is_multiple_of(self.interval);
        let mut has_folder = [f64::from(u8::from(t.run_dir().is_some()))];
        t.all_reduce_numbers(&mut has_folder, Reduction::Max)?;
        self.is_due = is_epoch && has_folder[0] > 0.0;
        Ok(())
    }

    fn forget(&mut self) {
        (self.outputs, self.labels) = (TensorList::default(), TensorList::default());
    }

    fn write(&mut self, t: &mut Trainer) -> Result<()> {
        if !self.is_due {
            return Ok(());
        }
        if t.world_size() > 1 {
            self.outputs = gathered(t, &self.outputs)?;
            if t.phase() != Phase::Pred {
                self.labels = gathered(t, &self.labels)?;
            }
        }
        if !t.is_main() {
            self.forget();
            return Ok(());
        }
        let (mut names, mut all) = (Vec::new(), TensorList::default());
        for (name, parts) in [("output", &self.outputs), ("label", &self.labels)] {
            if !parts.is_empty() {
                all.push(t.call(&CAT, &[Arg::list(parts), Arg::from(0)])?.tensor()?)?;
                names.push(name.to_owned());
            }
        }
        let file = format!("{}-{}.safetensors", t.instance(), t.phase().name());
        t.save_tensors(&file, &names, &all)?;
        self.forget();
        Ok(())
    }
}

#[hook(level = 45, reads = "output", ops = [CAT])]
impl Hook for PredictionWriter {
    fn before_eval_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        self.begin(t)
    }

    fn after_eval_iter(&mut self, t: &mut Trainer) -> Result<()> {
        if self.is_due {
            self.outputs.push(t.output()?.clone_detached()?)?;
            self.labels.push(t.label()?.keep()?)?;
        }
        Ok(())
    }

    fn after_eval_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        self.write(t)
    }

    fn before_pred_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        self.begin(t)
    }

    fn after_pred_iter(&mut self, t: &mut Trainer) -> Result<()> {
        if self.is_due { self.outputs.push(t.output()?.clone_detached()?) } else { Ok(()) }
    }

    fn after_pred_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        self.write(t)
    }
}
