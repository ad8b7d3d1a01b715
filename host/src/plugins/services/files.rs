//! Any file of the run directory, for plugins.

use super::service::{lent, service, table};
use crate::run::{atomic, hook_file};
use hookrack_plugin_api::abi::{HrStatus, HrStr};
use std::ffi::c_void;

table!(FileTable { write });

unsafe extern "C" fn write(
    host: *mut c_void,
    file: HrStr,
    bytes: *const u8,
    len: usize,
) -> HrStatus {
    service!(host, text(file), |context| {
        let path = hook_file(context.run_dir.as_deref(), &file)?;
        // SAFETY: the caller lends `len` bytes until this returns.
        Ok(atomic::write(&path, unsafe { lent(bytes, len) })?)
    })
}
