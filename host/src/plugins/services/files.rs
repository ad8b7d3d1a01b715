//! Any file of the run directory, for plugins.

use super::service::{lent, service};
use crate::run::{atomic, is_inside, is_own};
use hookrack_plugin_api::abi::{FileTable, HrHeader, HrStatus, HrStr};
use std::ffi::c_void;
use std::path::Path;

/// The host's file table.
pub(super) static TABLE: FileTable = FileTable { header: HrHeader::of::<FileTable>(0), write };

unsafe extern "C" fn write(
    host: *mut c_void,
    file: HrStr,
    bytes: *const u8,
    len: usize,
) -> HrStatus {
    service!(host, text(file), |context| {
        let run_dir = context.run_dir.as_ref().ok_or("this run has no directory")?;
        if !is_inside(Path::new(file.as_ref())) {
            return Err(format!("`{file}`: give a name inside the run directory").into());
        }
        if is_own(Path::new(file.as_ref())) {
            return Err(format!("`{file}` is written by the run itself: give another name").into());
        }
        let path = run_dir.join(file.as_ref());
        atomic::create_folder(path.parent().unwrap_or(run_dir))?;
        // SAFETY: the caller lends `len` bytes until this returns.
        Ok(atomic::write(&path, unsafe { lent(bytes, len) })?)
    })
}
