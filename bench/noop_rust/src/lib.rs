//! Hooks that count their calls and do nothing else, so that a bench measures the call itself.

use hookrack_plugin_api::prelude::*;

/// Counts its calls.
#[derive(Settings)]
pub struct Noop {
    #[param(skip)]
    calls: u64,
}

#[hook]
impl Hook for Noop {
    fn after_train_iter(&mut self, _t: &mut Trainer) -> Result<()> {
        self.calls = self.calls.wrapping_add(1);
        Ok(())
    }
}

/// Counts its calls by two: another type, whose code cannot be that of [`Noop`].
#[derive(Settings)]
pub struct NoopByTwo {
    #[param(skip)]
    calls: u64,
}

#[hook]
impl Hook for NoopByTwo {
    fn after_train_iter(&mut self, _t: &mut Trainer) -> Result<()> {
        self.calls = self.calls.wrapping_add(2);
        Ok(())
    }
}

export_plugin! { hooks: [Noop, NoopByTwo] }
