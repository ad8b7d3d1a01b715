//! `FreezeUnfreezeHook`: parts of a model that begin, or stop, to learn at a given epoch.

use super::freezing;
use hookrack_plugin_api::prelude::*;

/// Freezes parameters by name from one epoch on, and frees them again at another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FreezeUnfreezeHook {
    /// Names of parameters; `*` stands for anything: `["backbone.*"]`.
    #[serde(default)]
    params: Vec<String>,
    /// The first epoch in which they are frozen.
    #[serde(default = "one")]
    #[param(min = 1)]
    freeze_at_epoch: u64,
    /// The epoch in which they learn again; 0 for never.
    #[serde(default)]
    unfreeze_at_epoch: u64,
    #[serde(skip)]
    frozen: Option<bool>,
}

fn one() -> u64 {
    1
}

fn is_frozen(epoch: u64, from: u64, until: u64) -> bool {
    epoch >= from && (until == 0 || epoch < until)
}

#[hook(level = HIGHER, mutates = "params")]
impl Hook for FreezeUnfreezeHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        let names = t.param_names()?;
        for pattern in &self.params {
            ensure!(
                names.iter().any(|name| freezing::fits(pattern, name)),
                "no parameter is named `{pattern}`; this model has {}",
                names.join(", ")
            );
        }
        Ok(())
    }

    fn before_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        let frozen = is_frozen(t.epoch(), self.freeze_at_epoch, self.unfreeze_at_epoch);
        if self.params.is_empty() || self.frozen == Some(frozen) {
            return Ok(());
        }
        let patterns = &self.params;
        let chosen = |name: &str| patterns.iter().any(|pattern| freezing::fits(pattern, name));
        let count = freezing::apply(t, |name| frozen && chosen(name))?;
        if self.frozen.is_some() || frozen {
            info!("epoch {}: {count} parameters are frozen", t.epoch());
        }
        self.frozen = Some(frozen);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::is_frozen;

    #[test]
    fn epochs_between_the_two_are_frozen() {
        let frozen = |from, until| (1..=5).filter(|epoch| is_frozen(*epoch, from, until)).collect();
        let cases: [Vec<u64>; 3] = [frozen(1, 3), frozen(4, 0), frozen(3, 3)];
        assert_eq!(cases, [vec![1, 2], vec![4, 5], vec![]]);
    }
}
