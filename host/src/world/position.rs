//! The position of a rank: written by the loop at every hook call, read by another thread.

use hookrack_plugin_api::Point;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The position of a rank: iteration, point and hook.
#[derive(Debug, Default)]
pub struct Position {
    iter: AtomicU64,
    // The point's code in the upper half, the hook's number plus one in the lower.
    call: AtomicU64,
    hooks: OnceLock<Vec<String>>,
}

impl Position {
    /// Sets the names of the hooks.
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

    /// As text: iteration, point and hook.
    pub fn describe(&self) -> String {
        let (iter, call) = (self.iter.load(Ordering::Relaxed), self.call.load(Ordering::Relaxed));
        let code = u32::try_from(call >> 32).unwrap_or(0);
        let hook = usize::try_from(call & u64::from(u32::MAX)).unwrap_or(0);
        let hooks = self.hooks.get();
        let hook = hook.checked_sub(1).and_then(|index| hooks?.get(index));
        match (Point::from_code(code), hook) {
            (Some(point), Some(hook)) => format!("iteration {iter}, {point}, hook `{hook}`"),
            _ => format!("iteration {iter}"),
        }
    }
}
