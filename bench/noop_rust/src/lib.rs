//! A hook that counts its calls and does nothing else, so that a bench measures the call itself.

use hookrack_plugin_api::prelude::*;

/// Counts its calls.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noop {
    #[serde(skip)]
    calls: u64,
}

#[hook]
impl Hook for Noop {
    fn after_train_iter(&mut self, _t: &mut Trainer) -> Result<()> {
        self.calls = self.calls.wrapping_add(1);
        Ok(())
    }
}

export_plugin! { hooks: [Noop] }
