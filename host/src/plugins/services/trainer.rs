//! The handle itself: log, errors, requests, extensions.

use super::endpoint::{Caller, Endpoint};
use super::log_limit::{self, Line, MOST};
use super::service::service;
use super::{
    artifacts, autograd, checkpoint_names, checkpoints, console, engine, events, files, gradients,
    history, layers, loss, lr, media, metrics, models, named_tensors, params, pass, precision,
    profiler, ranks, record, roles, states, step, tensors,
};
use crate::context::Context;
use hookrack_plugin_api::abi::{
    Extension, HrHeader, HrStatus, HrStr, LOG_DEBUG, LOG_ERROR, LOG_INFO, LOG_TRACE, LOG_WARN,
    REQUEST_SAVE, REQUEST_STOP, REQUEST_VALIDATE, TrainerHandle,
};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::level_filters::LevelFilter;

/// Creates the endpoint of an instance and the handle that points to it.
pub(in crate::plugins) fn handle_for(
    caller: &Caller<'_>,
    context: &Rc<Context>,
) -> (&'static Endpoint, &'static TrainerHandle) {
    let endpoint = Endpoint::open(caller, context);
    // The progress outlives the handle: it is kept alive for the process, as the handle is.
    let progress = context.progress.wire();
    std::mem::forget(Rc::clone(&context.progress));
    let handle = TrainerHandle {
        header: header(),
        host: std::ptr::from_ref(endpoint).cast_mut().cast(),
        progress,
        instance: HrStr::new(&endpoint.name),
        log_level: log_level(),
        tensors: &raw const tensors::TABLE,
        engine: &raw const engine::TABLE,
        events: &raw const events::TABLE,
        states: &raw const states::TABLE,
        extension,
        log,
        set_error,
        last_error,
        request,
        failure,
    };
    (endpoint, Box::leak(Box::new(handle)))
}

/// The filter that lets a level through.
fn level_filter(level: u32) -> LevelFilter {
    match level {
        LOG_ERROR => LevelFilter::ERROR,
        LOG_WARN => LevelFilter::WARN,
        LOG_INFO => LevelFilter::INFO,
        LOG_DEBUG => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    }
}

/// The most detailed log level in use, at a fixed address.
fn log_level() -> &'static u32 {
    let level = match LevelFilter::current() {
        LevelFilter::OFF => 0,
        LevelFilter::ERROR => LOG_ERROR,
        LevelFilter::WARN => LOG_WARN,
        LevelFilter::INFO => LOG_INFO,
        LevelFilter::DEBUG => LOG_DEBUG,
        _ => LOG_TRACE,
    };
    Box::leak(Box::new(level))
}

/// A table under the id of its type.
fn offer<T: Extension>(table: &'static T) -> (&'static str, *const c_void) {
    (T::ID, std::ptr::from_ref(table).cast())
}

/// Every extension of this host. A plugin looks each one up once per instance.
fn extensions() -> impl Iterator<Item = (&'static str, *const c_void)> {
    [
        offer(&artifacts::TABLE),
        offer(&autograd::TABLE),
        offer(&checkpoint_names::TABLE),
        offer(&checkpoints::TABLE),
        offer(&console::TABLE),
        offer(&files::TABLE),
        offer(&gradients::TABLE),
        offer(&history::TABLE),
        offer(&layers::TABLE),
        offer(&loss::TABLE),
        offer(&lr::TABLE),
        offer(&media::TABLE),
        offer(&metrics::TABLE),
        offer(&models::TABLE),
        offer(&named_tensors::TABLE),
        offer(&params::TABLE),
        offer(&pass::TABLE),
        offer(&precision::TABLE),
        offer(&profiler::TABLE),
        offer(&ranks::TABLE),
        offer(&record::TABLE),
        offer(&roles::TABLE),
        offer(&step::TABLE),
    ]
    .into_iter()
}

/// Whether extensions are hidden from plugins, as in a host of ABI 1.0.
static HIDDEN: AtomicBool = AtomicBool::new(false);

/// Hides all extensions from plugins, for the rest of the process: for tests of plugins with an old host.
pub fn hide_extensions() {
    HIDDEN.store(true, Ordering::Relaxed);
}

/// Whether plugins find a host of a later minor version.
static NEWER: AtomicBool = AtomicBool::new(false);

/// A flag that no version has defined: plugins ignore those that they do not know.
const LATER_FLAG: u64 = 1 << 63;

/// Shows plugins a host of a later minor version, for the rest of the process: for tests of plugins with a newer host. Its tables are as long as
/// those of this one, because tables never change within a major version.
pub fn appear_newer() {
    NEWER.store(true, Ordering::Relaxed);
}

/// The header of a handle.
fn header() -> HrHeader {
    let own = HrHeader::of::<TrainerHandle>(0);
    if NEWER.load(Ordering::Relaxed) {
        return HrHeader { abi_minor: own.abi_minor + 1, flags: LATER_FLAG, ..own };
    }
    own
}

unsafe extern "C" fn extension(_host: *mut c_void, id: HrStr) -> *const c_void {
    if HIDDEN.load(Ordering::Relaxed) {
        return std::ptr::null();
    }
    // SAFETY: the caller lends the id until this returns.
    let id = unsafe { id.to_lossy() };
    extensions().find(|(offered, _)| *offered == id).map_or(std::ptr::null(), |(_, table)| table)
}

unsafe extern "C" fn log(host: *mut c_void, level: u32, target: HrStr, message: HrStr) {
    // SAFETY: the caller's handle is ours; it lends both texts until this returns.
    let (endpoint, target, message) =
        unsafe { (Endpoint::of(host), target.to_lossy(), message.to_lossy()) };
    // All hooks of a library log through one handle; on the training thread, the line belongs to the one being called.
    let speaker = Endpoint::calling().unwrap_or(endpoint);
    let hook = speaker.name.as_str();
    let counts = LevelFilter::current() >= level_filter(level);
    match if counts { speaker.log_limit.count() } else { Line::Logged } {
        Line::Logged => {}
        Line::LeftOut => return,
        Line::FirstLeftOut => {
            tracing::warn!(
                "{hook} logs more than {MOST} lines per second: further lines in this second are dropped"
            );
            return;
        }
    }
    let message = log_limit::cut(message);
    let write = || match level {
        LOG_ERROR => tracing::error!(target: "plugin", "{hook}: {message}"),
        LOG_WARN => tracing::warn!(target: "plugin", "{hook}: {message}"),
        LOG_INFO => tracing::info!(target: "plugin", "{hook}: {message}"),
        LOG_DEBUG => tracing::debug!(target: "plugin", %target, "{hook}: {message}"),
        _ => tracing::trace!(target: "plugin", %target, "{hook}: {message}"),
    };
    // Not through the endpoint, because any thread may log. A lost line cannot be reported.
    let _ = catch_unwind(AssertUnwindSafe(write));
}

unsafe extern "C" fn set_error(host: *mut c_void, message: HrStr) {
    // SAFETY: the caller's handle is ours; it lends the text until this returns.
    let (endpoint, message) = unsafe { (Endpoint::of(host), message.to_lossy()) };
    endpoint.guard(|| {
        endpoint.set_error(&message);
        Ok(HrStatus::OK)
    });
}

unsafe extern "C" fn last_error(host: *mut c_void) -> HrStr {
    // SAFETY: the caller's handle is ours.
    unsafe { Endpoint::of(host) }.refusal()
}

unsafe extern "C" fn request(host: *mut c_void, what: u32, why: HrStr) -> HrStatus {
    service!(host, text(why), |context, endpoint| {
        let mut requests = context.requests.borrow_mut();
        match what {
            REQUEST_STOP => requests.stop(&endpoint.name, &why),
            REQUEST_VALIDATE => requests.validate = true,
            REQUEST_SAVE => requests.save(&endpoint.name),
            _ => return Err(format!("this host does not support request {what}").into()),
        }
        Ok(())
    })
}

unsafe extern "C" fn failure(host: *mut c_void) -> HrStr {
    let mut text = HrStr::EMPTY;
    // The text changes only between points, so it can be lent until the point returns.
    service!(host, out(&raw mut text), |context| Ok(HrStr::new(&context.failure.borrow())));
    text
}

#[cfg(test)]
mod tests {
    use super::extensions;
    use hookrack_plugin_api::abi::EXTENSIONS;

    #[test]
    fn the_host_offers_every_extension_of_its_plugin_api() {
        let offered: Vec<_> = extensions().map(|(id, _)| id).collect();
        assert_eq!(offered, EXTENSIONS.iter().map(|it| it.id).collect::<Vec<_>>());
    }
}
