//! Where a rank is: written by the loop at every call of a hook, read by another thread.

use crate::torch::dist::Activity;
use hookrack_plugin_api::Point;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Where a rank is: the iteration, the point, the hook, the collective.
#[derive(Debug, Default)]
pub struct Position {
    iter: AtomicU64,
    // The point's code in the upper half, the hook's number plus one in the lower.
    call: AtomicU64,
    hooks: OnceLock<Vec<String>>,
    activity: Arc<Activity>,
}

impl Position {
    /// Gives the hooks their names.
    pub fn name_hooks(&self, names: Vec<String>) {
        let _ = self.hooks.set(names);
    }

    /// A training iteration begins.
    #[inline]
    pub fn at_iter(&self, iter: u64) {
        self.iter.store(iter, Ordering::Relaxed);
    }

    /// A hook is called at a point.
    #[inline]
    pub fn at_call(&self, point: Point, hook: u32) {
        let call = u64::from(point.code()) << 32 | (u64::from(hook) + 1);
        self.call.store(call, Ordering::Relaxed);
    }

    /// Where the collectives of this rank are noted.
    pub(super) fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// In words: iteration, point, hook, and the collective that it waits in.
    pub fn describe(&self) -> String {
        let (iter, call) = (self.iter.load(Ordering::Relaxed), self.call.load(Ordering::Relaxed));
        let code = u32::try_from(call >> 32).unwrap_or(0);
        let hook = usize::try_from(call & u64::from(u32::MAX)).unwrap_or(0);
        let hooks = self.hooks.get();
        let hook = hook.checked_sub(1).and_then(|index| hooks?.get(index));
        let mut text = match (Point::from_code(code), hook) {
            (Some(point), Some(hook)) => format!("iteration {iter}, {point}, hook `{hook}`"),
            _ => format!("iteration {iter}"),
        };
        if let Some(collective) = self.activity.current() {
            let _ = write!(text, ", {collective}");
        }
        text
    }
}
