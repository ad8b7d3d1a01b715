//! What both hooks do: only when the average moves differs.

/// Implements a hook whose average moves at one point, from a given count on.
///
/// A macro, because a hook's points are the methods of its own `impl` block: `#[hook]` finds them there.
macro_rules! averaging_hook {
    ($hook:ident, level = $level:ident, moves at $point:ident, from $begin:ident by $count:ident) => {
        #[hook(level = $level, mutates = "params", writes = "nothing")]
        impl Hook for $hook {
            fn on_attach(&mut self, t: &mut Trainer) -> Result<()> {
                self.evaluate = self.evaluate && WeightAverage::claim_evaluation(t)?;
                Ok(())
            }

            fn after_load_checkpoint(&mut self, t: &mut Trainer) -> Result<()> {
                self.average.check_loaded(t)
            }

            fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
                // A resumed run has an average already.
                if self.init_ema && !self.average.is_begun() {
                    self.average.begin(t)
                } else {
                    Ok(())
                }
            }

            fn $point(&mut self, t: &mut Trainer) -> Result<()> {
                if t.$count() < self.$begin {
                    return Ok(());
                }
                let updates = self.average.updates();
                let stays = $crate::momentum::momentum(updates, self.momentum, self.warmup);
                self.average.update(t, 1.0 - stays)
            }

            fn before_eval(&mut self, t: &mut Trainer) -> Result<()> {
                if self.evaluate { self.average.lend(t) } else { Ok(()) }
            }

            fn after_eval(&mut self, t: &mut Trainer) -> Result<()> {
                self.average.take_back(t)
            }

            // Predictions use the evaluated weights.
            fn before_pred(&mut self, t: &mut Trainer) -> Result<()> {
                if self.evaluate { self.average.lend(t) } else { Ok(()) }
            }

            fn after_pred(&mut self, t: &mut Trainer) -> Result<()> {
                self.average.take_back(t)
            }

            fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
                self.average.export(t)
            }

            fn on_detach(&mut self, t: &mut Trainer) -> Result<()> {
                if self.evaluate { WeightAverage::release_evaluation(t) } else { Ok(()) }
            }
        }
    };
}
pub(crate) use averaging_hook;
