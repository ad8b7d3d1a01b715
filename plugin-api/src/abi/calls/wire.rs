//! The macros behind all calls: which types can be passed and returned, and how a status is converted to a result.

use crate::abi::{
    DLTensor, HrMetricReading, HrOp, HrOpCost, HrScalarReading, HrStr, HrTensor, HrTensors,
};

/// A type that can be passed to the host: a plain number, or something that is borrowed until the call returns.
pub(super) trait Wire {
    /// Its type in the ABI.
    type Raw;
    /// Converts it.
    fn wire(self) -> Self::Raw;
}

/// A type that the host can return.
pub(super) trait Unwire {
    /// What the host writes, for which zeros are a value.
    type Raw;
    /// Converts it.
    ///
    /// # Safety
    /// The host wrote it just now: its texts are lent until the next call.
    unsafe fn unwire(raw: Self::Raw) -> Self;
}

macro_rules! plain {
    ($($ty:ty),*) => { $(
        impl Wire for $ty {
            type Raw = Self;
            fn wire(self) -> Self { self }
        }
        impl Unwire for $ty {
            type Raw = Self;
            unsafe fn unwire(raw: Self) -> Self { raw }
        }
    )* };
}
plain!(u32, u64, i64, usize, f64, HrTensor, HrTensors, HrOp, DLTensor);

impl Wire for bool {
    type Raw = u32;
    fn wire(self) -> u32 {
        u32::from(self)
    }
}

impl Unwire for bool {
    type Raw = u32;
    unsafe fn unwire(raw: u32) -> Self {
        raw != 0
    }
}

impl Wire for &str {
    type Raw = HrStr;
    fn wire(self) -> HrStr {
        HrStr::new(self)
    }
}

impl Wire for &DLTensor {
    type Raw = *const DLTensor;
    fn wire(self) -> *const DLTensor {
        self
    }
}

impl Unwire for String {
    type Raw = HrStr;
    unsafe fn unwire(raw: HrStr) -> Self {
        // SAFETY: by the contract.
        unsafe { raw.to_lossy() }.into_owned()
    }
}

/// What has a name comes with a copy of it.
macro_rules! named {
    ($($ty:ty),*) => { $(impl Unwire for ($ty, String) {
        type Raw = $ty;
        unsafe fn unwire(raw: $ty) -> Self {
            // SAFETY: by the contract.
            (raw, unsafe { String::unwire(raw.name) })
        }
    })* };
}
named!(HrMetricReading, HrScalarReading, HrOpCost);

/// Calls a function of one of the host's tables.
///
/// `call!(host, table, f(args))` is a `Result<()>`; `f(args) -> T` a `Result<T>` of what the host wrote to its last
/// parameter; `f(args) -> Option<T>` a `Result<Option<T>>`, with `None` for ABSENT.
macro_rules! call {
    ($host:expr, $table:expr, $function:ident($($arg:expr),*) -> Option<$out:ty>) => {{
        let (host, table) = ($host, $table);
        let mut out = std::mem::MaybeUninit::<<$out as $crate::abi::calls::wire::Unwire>::Raw>::zeroed();
        // SAFETY: the table is the host's; `Wire` passes plain numbers and what is lent until the call returns;
        // the host writes one value of this type to a place that is there for it.
        let status = unsafe {
            (table.$function)(host.raw() $(, $crate::abi::calls::wire::Wire::wire($arg))*, out.as_mut_ptr())
        };
        // SAFETY: zeros are a value of every such type, and what the host has written is another.
        let read = || unsafe { <$out as $crate::abi::calls::wire::Unwire>::unwire(out.assume_init()) };
        host.present(status).map(|is_present| is_present.then(read))
    }};
    ($host:expr, $table:expr, $function:ident($($arg:expr),*) -> $out:ty) => {{
        let (host, table) = ($host, $table);
        let mut out = std::mem::MaybeUninit::<<$out as $crate::abi::calls::wire::Unwire>::Raw>::zeroed();
        // SAFETY: as above.
        let status = unsafe {
            (table.$function)(host.raw() $(, $crate::abi::calls::wire::Wire::wire($arg))*, out.as_mut_ptr())
        };
        // SAFETY: as above.
        host.check(status).map(|()| unsafe {
            <$out as $crate::abi::calls::wire::Unwire>::unwire(out.assume_init())
        })
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

/// Methods of [`Host`](super::Host), each a call of the function of a table that has its name, or the one after the colon.
///
/// `call` is a `Result<()>`, `read … -> T` a `Result<T>`, `find … -> T` a `Result<Option<T>>`, and `remove` a `Result<bool>`, false
/// where there was nothing.
macro_rules! calls {
    ($($table:ident { $($(#[$doc:meta])+ $kind:ident $method:ident $(: $function:ident)? ($($arg:ident: $ty:ty),*) $(-> $out:ty)?;)+ })+) => {
        impl Host {
            $($(calls!(@named $table [$(#[$doc])+] $kind $method [$($function)?] ($($arg: $ty),*) $(-> $out)?);)+)+
        }
    };
    (@named $table:ident $docs:tt $kind:ident $method:ident [] $($rest:tt)*) => {
        calls!(@$kind $table $docs $method $method $($rest)*);
    };
    (@named $table:ident $docs:tt $kind:ident $method:ident [$function:ident] $($rest:tt)*) => {
        calls!(@$kind $table $docs $method $function $($rest)*);
    };
    (@call $table:ident [$($doc:tt)+] $method:ident $function:ident($($arg:ident: $ty:ty),*)) => {
        $($doc)+
        pub fn $method(self $(, $arg: $ty)*) -> Result<()> {
            call!(self, self.table::<$table>()?, $function($($arg),*))
        }
    };
    (@read $table:ident [$($doc:tt)+] $method:ident $function:ident($($arg:ident: $ty:ty),*) -> $out:ty) => {
        $($doc)+
        pub fn $method(self $(, $arg: $ty)*) -> Result<$out> {
            call!(self, self.table::<$table>()?, $function($($arg),*) -> $out)
        }
    };
    (@find $table:ident [$($doc:tt)+] $method:ident $function:ident($($arg:ident: $ty:ty),*) -> $out:ty) => {
        $($doc)+
        pub fn $method(self $(, $arg: $ty)*) -> Result<Option<$out>> {
            call!(self, self.table::<$table>()?, $function($($arg),*) -> Option<$out>)
        }
    };
    (@remove $table:ident [$($doc:tt)+] $method:ident $function:ident($($arg:ident: $ty:ty),*)) => {
        $($doc)+
        pub fn $method(self $(, $arg: $ty)*) -> Result<bool> {
            let table = self.table::<$table>()?;
            // SAFETY: as in `call!`; nothing is written.
            self.present(unsafe {
                (table.$function)(self.raw() $(, $crate::abi::calls::wire::Wire::wire($arg))*)
            })
        }
    };
}
pub(super) use calls;
