//! Closures of a program that uses the library, in the place of a hook.

use super::instance::{Inner, Instance};
use super::services::{Caller, Endpoint, handle_for};
use crate::context::{Context, RunParts};
use crate::hooks::CallbackHook;
use hookrack_plugin_api::abi::{Host, HrStateReader, HrStateWriter, HrStatus, TrainerHandle};
use hookrack_plugin_api::{Point, Trainer, panics};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// What an instance of closures keeps.
struct CallbackHookInstance {
    hook: Rc<RefCell<CallbackHook>>,
    endpoint: &'static Endpoint,
    host: Host,
}

impl Instance {
    /// Makes an instance of closures.
    pub fn callback(hook: &Rc<RefCell<CallbackHook>>, context: &Rc<Context>) -> Self {
        // A program's own closures may do what it likes.
        let hook_name = hook.borrow().name.clone();
        let caller = Caller {
            name: &hook_name,
            source: "built in",
            mutates: RunParts::ALL,
            is_metric: false,
        };
        let (endpoint, handle) = handle_for(&caller, context);
        // SAFETY: the handle is ours and lives as long as the process.
        let host = unsafe { Host::from_raw(handle) };
        let spec = Box::new(CallbackHookInstance { hook: Rc::clone(hook), endpoint, host });
        Self::of(Inner {
            object: Box::into_raw(spec).cast(),
            on_point,
            save_state,
            load_state,
            destroy,
            endpoint,
            handle,
            has_panicked: Cell::new(false),
        })
    }
}

unsafe extern "C" fn on_point(
    object: *mut c_void,
    point: u32,
    _handle: *const TrainerHandle,
) -> HrStatus {
    // SAFETY: called by `Instance` alone, with its own object.
    let spec = unsafe { &*object.cast::<CallbackHookInstance>() };
    let Some(point) = Point::from_code(point) else { return HrStatus::OK };
    let call = || spec.hook.borrow_mut().call(point, &mut Trainer::of_host(spec.host));
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => HrStatus::OK,
        Ok(Err(error)) => {
            spec.endpoint.set_error(&error.to_string());
            HrStatus::ERROR
        }
        Err(payload) => {
            spec.endpoint.set_error(&panics::describe(payload.as_ref()));
            HrStatus::PANIC
        }
    }
}

/// What closures keep is the program's to save.
unsafe extern "C" fn save_state(_object: *mut c_void, _writer: *const HrStateWriter) -> HrStatus {
    HrStatus::OK
}

unsafe extern "C" fn load_state(_object: *mut c_void, _reader: *const HrStateReader) -> HrStatus {
    HrStatus::OK
}

unsafe extern "C" fn destroy(object: *mut c_void) {
    // SAFETY: made by `Box::into_raw` in `Instance::callback`; not used again.
    drop(unsafe { Box::from_raw(object.cast::<CallbackHookInstance>()) });
}
