//! The common part of all services: arguments, results, and conversion of errors and panics to a status.

use hookrack_plugin_api::abi::HrStatus;
use std::fmt::Display;

/// The error message of a failed call. `?` converts any error or text.
pub(super) struct Refusal(String);

impl<E: Display> From<E> for Refusal {
    fn from(why: E) -> Self {
        Self(why.to_string())
    }
}

impl Refusal {
    pub(super) fn into_text(self) -> String {
        self.0
    }
}

/// The result of a service: done, or nothing found.
pub(super) trait Answer {
    fn status(self) -> HrStatus;
}

impl Answer for () {
    fn status(self) -> HrStatus {
        HrStatus::OK
    }
}

impl Answer for Option<()> {
    fn status(self) -> HrStatus {
        self.map_or(HrStatus::ABSENT, Answer::status)
    }
}

/// The body of a C function: `service!(host, text(name), out(count), |context, endpoint| …)`.
///
/// `text(…)` reads the parameters of type `HrStr`. The closure returns a `Result` whose error may be anything that can be
/// displayed: it becomes the status and the text of `last_error`, as does a panic. Its value is `()`; with `out(…)` it is
/// written there, with `found(…)` it is an `Option`, and `None` is `HrStatus::ABSENT`.
macro_rules! service {
    (
        $host:ident, $(text($($text:ident),+),)? $(out($out:expr),)? $(found($found:expr),)?
        |$context:pat_param $(, $endpoint:ident)?| $body:expr
    ) => {{
        fn this_service() {}
        $crate::plugins::services::breadcrumb::at(|| ::std::any::type_name_of_val(&this_service));
        // SAFETY: a plugin passes the pointer of its own handle.
        let endpoint = unsafe { $crate::plugins::services::Endpoint::of($host) };
        $($(
            // SAFETY: the caller lends its texts until this returns.
            let $text = unsafe { $text.to_lossy() };
        )+)?
        $(let $endpoint = endpoint;)?
        let body = |$context: &$crate::context::Context| -> Result<_, $crate::plugins::services::service::Refusal> { $body };
        endpoint.answer(|context| {
            let answer = body(context)?;
            $(
                // SAFETY: the caller gives a place for one value.
                let answer: () = unsafe { $out.write(answer) };
            )?
            $(
                // SAFETY: the caller gives a place for one value.
                let answer: Option<()> = answer.map(|value| unsafe { $found.write(value) });
            )?
            Ok(answer)
        })
    }};
}

pub(super) use service;

/// The host's table of a service, made of the functions of the same names.
macro_rules! table {
    ($table:ident { $($function:ident),+ }) => {
        pub(super) static TABLE: hookrack_plugin_api::abi::$table = hookrack_plugin_api::abi::$table {
            header: hookrack_plugin_api::abi::HrHeader::of::<hookrack_plugin_api::abi::$table>(0),
            $($function),+
        };
    };
}
pub(super) use table;

/// An array that the caller lends.
///
/// # Safety
/// `first` points to `len` values that stay until the call returns, or `len` is 0.
pub(super) unsafe fn lent<'a, T>(first: *const T, len: usize) -> &'a [T] {
    if len == 0 {
        return &[];
    }
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts(first, len) }
}

/// As [`lent`], for the callee to write to.
///
/// # Safety
/// As for [`lent`]; and nothing else uses the array.
pub(super) unsafe fn lent_mut<'a, T>(first: *mut T, len: usize) -> &'a mut [T] {
    if len == 0 {
        return &mut [];
    }
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts_mut(first, len) }
}
