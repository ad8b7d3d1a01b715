//! The progress line, for plugins.

use super::service::{lent, service, table};
use hookrack_plugin_api::abi::{HrStatus, HrStr};
use std::ffi::c_void;

table!(ConsoleTable { show, redraw });

unsafe extern "C" fn show(host: *mut c_void, names: *const HrStr, count: usize) -> HrStatus {
    service!(host, |context| {
        // SAFETY: the caller lends `count` names until this returns.
        let names = unsafe { lent(names, count).iter().map(|name| name.to_lossy().into_owned()) };
        context.writers.borrow_mut().show(&names.collect::<Vec<_>>());
        Ok(())
    })
}

unsafe extern "C" fn redraw(host: *mut c_void) -> HrStatus {
    service!(host, |context| {
        let events = context.events.borrow();
        context.writers.borrow_mut().redraw(&events, &context.progress.get());
        Ok(())
    })
}
