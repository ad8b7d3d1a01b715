//! The last service that a hook has called: for the report of a crash, at the cost of one store per call.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Returns the path of a function in the service: a constant, so that a handler of signals may ask for it.
pub(in crate::plugins) type ServicePath = fn() -> &'static str;

static LAST: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// A service is called.
#[inline]
pub(super) fn at(path: ServicePath) {
    LAST.store(path as *mut (), Ordering::Relaxed);
}

/// A call to a hook begins: it has called no service yet.
#[inline]
pub(super) fn clear() {
    LAST.store(ptr::null_mut(), Ordering::Relaxed);
}

/// The table and the name of the last service: `tensors` and `view`.
pub(in crate::plugins) fn last() -> Option<(&'static str, &'static str)> {
    let function = LAST.load(Ordering::Relaxed);
    if function.is_null() {
        return None;
    }
    // SAFETY: only `at` writes to it, a `ServicePath`.
    let function = unsafe { std::mem::transmute::<*mut (), ServicePath>(function) };
    let (path, _) = function().rsplit_once("::")?;
    let (path, name) = path.rsplit_once("::")?;
    let (_, table) = path.rsplit_once("::")?;
    Some((table, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_service() {
        fn place() {}
        at(|| std::any::type_name_of_val(&place));
    }

    #[test]
    fn a_service_is_known_by_its_module_and_its_name() {
        a_service();
        assert_eq!(last(), Some(("tests", "a_service")));
    }
}
