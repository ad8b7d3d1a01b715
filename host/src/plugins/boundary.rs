//! The boundary to the code of a plugin, which an exception must not cross.

/// Dropped only if an exception leaves a plugin's function. The host's frames must not be unwound by it: the process ends here, where it is still known who
/// was being called.
struct Boundary;

impl Drop for Boundary {
    fn drop(&mut self) {
        // A panic of the host is not an exception of the plugin.
        if !std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// Calls a plugin, or code of the host that does.
#[inline]
pub(super) fn within<T>(call: impl FnOnce() -> T) -> T {
    let boundary = Boundary;
    let result = call();
    std::mem::forget(boundary);
    result
}

/// A function of a plugin in a type that is prepared for an exception, which the rules forbid: `may_throw!(create: fn(A) -> B)`.
macro_rules! may_throw {
    ($function:expr, fn($($argument:ty),*) $(-> $result:ty)?) => {
        std::mem::transmute::<
            unsafe extern "C" fn($($argument),*) $(-> $result)?,
            unsafe extern "C-unwind" fn($($argument),*) $(-> $result)?,
        >($function)
    };
}

pub(super) use may_throw;
