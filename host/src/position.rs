//! Where the training thread is: the iteration, and which hook is being called at which point.
//!
//! Written at every call of a hook, read by other threads (reports to other ranks, the watchdog) and by the handler of fatal signals. It is a few
//! numbers in static memory: writing costs a store, and reading needs no lock.

use hookrack_plugin_api::Point;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The iteration in progress.
static ITER: AtomicU64 = AtomicU64::new(0);
/// The call in progress, see [`pack`]; 0 for none.
static CALL: AtomicU64 = AtomicU64::new(0);
/// The number of calls so far. Only the training thread writes it.
static CALLS: AtomicU64 = AtomicU64::new(0);
/// The hooks by their numbers. A process with more than this many different ones does not name the rest.
static HOOKS: [OnceLock<Hook>; 4096] = [const { OnceLock::new() }; 4096];
/// Held while a hook gets its number.
static NUMBERING: Mutex<()> = Mutex::new(());

/// The code in place of a point's while an instance is made, saved, restored or destroyed.
const LIFE: u64 = 0xfff;

/// A hook or metric of this process.
#[derive(Debug, PartialEq, Eq)]
pub struct Hook {
    /// The name of the instance.
    pub name: String,
    /// The file name of its library, or "built in".
    pub source: String,
}

/// The number of a hook; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookNumber(u32);

/// The call that was in progress before another one began, to restore it.
#[derive(Clone, Copy, Debug)]
pub struct PreviousCall(u64);

/// A position of the training thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The iteration in progress; 0 before the first.
    pub iter: u64,
    /// Tells one call from the next.
    pub call: u64,
    /// The hook that is being called.
    pub hook: Option<&'static Hook>,
    /// The point that it is called at; `None` while it is made, saved, restored or destroyed.
    pub point: Option<Point>,
}

/// Gives a hook its number. The same name and source have the same one.
pub fn number(name: &str, source: &str) -> HookNumber {
    let _numbering = NUMBERING.lock().unwrap_or_else(PoisonError::into_inner);
    for (index, place) in HOOKS.iter().enumerate() {
        let make = || Hook { name: name.to_owned(), source: source.to_owned() };
        let hook = place.get_or_init(make);
        if hook.name == name && hook.source == source {
            return HookNumber(u32::try_from(index + 1).unwrap_or(0));
        }
    }
    HookNumber::default()
}

/// A training iteration begins.
#[inline]
pub fn at_iter(iter: u64) {
    ITER.store(iter, Relaxed);
}

/// A call to a hook begins; returns the call that it interrupts.
#[inline]
pub fn enter(hook: HookNumber, point: Option<Point>) -> PreviousCall {
    let count = CALLS.load(Relaxed) + 1;
    CALLS.store(count, Relaxed);
    let before = PreviousCall(CALL.load(Relaxed));
    CALL.store(pack(count, hook, point), Relaxed);
    before
}

/// A call to a hook has ended.
#[inline]
pub fn leave(before: PreviousCall) {
    CALL.store(before.0, Relaxed);
}

/// A count in the upper half, then 12 bits for the point and 20 for the hook.
#[inline]
fn pack(count: u64, hook: HookNumber, point: Option<Point>) -> u64 {
    let point = point.map_or(LIFE, |point| u64::from(point.code()));
    count << 32 | point << 20 | u64::from(hook.0)
}

/// The current position.
pub fn current() -> Position {
    let call = CALL.load(Relaxed);
    let index = usize::try_from(call & 0xf_ffff).unwrap_or(0).checked_sub(1);
    let hook = index.and_then(|index| HOOKS.get(index)?.get());
    let code = u32::try_from(call >> 20 & 0xfff).unwrap_or(0);
    let point = if call == 0 { None } else { Point::from_code(code) };
    Position { iter: ITER.load(Relaxed), call, hook, point }
}

impl fmt::Display for Position {
    /// `iteration 812, after_train_iter, hook `EMA``.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "iteration {}", self.iter)?;
        if let Some(point) = self.point {
            write!(f, ", {point}")?;
        }
        match self.hook {
            Some(hook) => write!(f, ", hook `{}`", hook.name),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_has_one_number_and_a_packed_call_tells_all_of_it() {
        let (ema, other) = (number("EMA", "libema.so"), number("EMA", "libother.so"));
        assert_ne!(ema, other);
        assert_eq!(number("EMA", "libema.so"), ema);
        let call = pack(7, ema, Some(Point::AfterTrainIter));
        assert_eq!(call >> 32, 7);
        assert_eq!(call & 0xf_ffff, u64::from(ema.0));
        assert_eq!(call >> 20 & 0xfff, u64::from(Point::AfterTrainIter.code()));
        assert!(Point::ALL.iter().all(|point| u64::from(point.code()) < LIFE));
    }

    #[test]
    fn a_position_is_told_in_words() {
        let hook = Hook { name: "EMA".into(), source: "libema.so".into() };
        let hook = Some(&*Box::leak(Box::new(hook)));
        let mut position =
            Position { iter: 812, call: 1, hook, point: Some(Point::AfterTrainIter) };
        assert_eq!(position.to_string(), "iteration 812, after_train_iter, hook `EMA`");
        (position.hook, position.point) = (None, None);
        assert_eq!(position.to_string(), "iteration 812");
    }
}
