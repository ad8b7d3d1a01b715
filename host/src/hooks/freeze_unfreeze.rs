//! `FreezeUnfreezeHook`: freezes and unfreezes parts of a model at given epochs.

use hookrack_plugin_api::prelude::*;

/// Freezes parameters by name at one epoch and unfreezes them at a later one.
#[derive(Settings)]
pub(super) struct FreezeUnfreezeHook {
    /// Patterns of parameter names; `*` matches any characters: `["backbone.*"]`.
    #[param(default)]
    params: Vec<String>,
    /// First epoch in which they are frozen.
    #[param(default = 1, min = 1)]
    freeze_at_epoch: u64,
    /// Epoch in which they are trained again; 0 for never.
    #[param(default)]
    unfreeze_at_epoch: u64,
    #[param(skip)]
    frozen: Option<bool>,
}

/// What is due in an epoch: freezing, unfreezing, or nothing.
fn due(epoch: u64, from: u64, until: u64) -> Option<bool> {
    let is_over = until > 0 && epoch >= until;
    if is_over { Some(false) } else { (epoch >= from).then_some(true) }
}

#[hook(level = HIGHER, mutates = "params")]
impl Hook for FreezeUnfreezeHook {
    fn before_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        let (from, until) = (self.freeze_at_epoch, self.unfreeze_at_epoch);
        if until > 0 && until <= from {
            bail!(
                "unfreeze_at_epoch = {until} must be greater than freeze_at_epoch = {from}: nothing would ever be frozen"
            );
        }
        let due = due(t.epoch(), from, until);
        let Some(frozen) = due.filter(|_| self.frozen != due && !self.params.is_empty()) else {
            return Ok(());
        };
        let mut count = 0;
        for pattern in &self.params {
            count += t.set_trainable(pattern, !frozen)?;
        }
        let now = if frozen { "are frozen" } else { "are unfrozen" };
        info!("epoch {}: {count} parameters {now}", t.epoch());
        self.frozen = due;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::due;

    #[test]
    fn epochs_between_the_two_are_frozen() {
        let all = |from, until| (1..=4).map(|epoch| due(epoch, from, until)).collect();
        let (freeze, free) = (Some(true), Some(false));
        let cases: [Vec<_>; 2] = [all(1, 3), all(3, 0)];
        assert_eq!(cases[0], [freeze, freeze, free, free]);
        assert_eq!(cases[1], [None, None, freeze, freeze]);
    }
}
