//! The macro behind all calls: which types can be passed, and how a status is converted to a result.

use crate::abi::{HrStr, HrTensor};

/// A type that can be passed to the host: a plain number, or a text that is borrowed until the call returns.
pub(super) trait Wire {
    /// Its type in the ABI.
    type Raw;
    /// Converts it.
    fn wire(self) -> Self::Raw;
}

macro_rules! plain {
    ($($ty:ty),*) => { $(impl Wire for $ty {
        type Raw = Self;
        fn wire(self) -> Self { self }
    })* };
}
plain!(u32, u64, i64, usize, f64, HrTensor);

impl Wire for bool {
    type Raw = u32;
    fn wire(self) -> u32 {
        u32::from(self)
    }
}

impl Wire for &str {
    type Raw = HrStr;
    fn wire(self) -> HrStr {
        HrStr::new(self)
    }
}

/// Calls a function of one of the host's tables.
///
/// `call!(host, table, f(args))` is a `Result<()>`; `f(args) -> empty` a `Result<T>` of what the host wrote to its last
/// parameter, which is `empty` before; `f(args) -> Option(empty)` a `Result<Option<T>>`, with `None` for ABSENT.
macro_rules! call {
    ($host:expr, $table:expr, $function:ident($($arg:expr),*) -> Option($empty:expr)) => {{
        let (host, table, mut out) = ($host, $table, $empty);
        // SAFETY: the table is the host's; `Wire` passes plain numbers and texts that are lent until the call returns;
        // the host writes one value of this type to a place that is there for it.
        let status = unsafe {
            (table.$function)(host.raw() $(, $crate::abi::calls::wire::Wire::wire($arg))*, &raw mut out)
        };
        host.present(status, out)
    }};
    ($host:expr, $table:expr, $function:ident($($arg:expr),*) -> $empty:expr) => {{
        let (host, table, mut out) = ($host, $table, $empty);
        // SAFETY: as above.
        let status = unsafe {
            (table.$function)(host.raw() $(, $crate::abi::calls::wire::Wire::wire($arg))*, &raw mut out)
        };
        host.check(status).map(|()| out)
    }};
    ($host:expr, $table:expr, $function:ident($($arg:expr),*)) => {{
        let (host, table) = ($host, $table);
        // SAFETY: as above; nothing is written.
        let status = unsafe {
            (table.$function)(host.raw() $(, $crate::abi::calls::wire::Wire::wire($arg))*)
        };
        host.check(status)
    }};
}
pub(super) use call;
