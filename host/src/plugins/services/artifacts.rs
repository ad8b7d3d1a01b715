//! Files that hooks write to the run directory.

use super::service::{lent, service};
use crate::run::{atomic, is_inside, is_own, safetensors_file};
use hookrack_plugin_api::abi::{ArtifactTable, HrHeader, HrStatus, HrStr, HrTensor};
use std::ffi::c_void;
use std::path::Path;

/// The host's artifact table.
pub(super) static TABLE: ArtifactTable =
    ArtifactTable { header: HrHeader::of::<ArtifactTable>(0), run_dir, save_tensors };

unsafe extern "C" fn run_dir(host: *mut c_void) -> HrStr {
    let mut text = HrStr::EMPTY;
    service!(host, out(&raw mut text), |context| {
        // The path is the context's and does not change, so it can be lent for the run.
        Ok(context.run_dir.as_deref().and_then(Path::to_str).map_or(HrStr::EMPTY, HrStr::new))
    });
    text
}

unsafe extern "C" fn save_tensors(
    host: *mut c_void,
    file: HrStr,
    names: *const HrStr,
    tensors: *const HrTensor,
    count: usize,
) -> HrStatus {
    service!(host, text(file), |context| {
        let run_dir = context.run_dir.as_ref().ok_or("this run has no directory")?;
        if !is_inside(Path::new(file.as_ref())) || !file.ends_with(".safetensors") {
            return Err(format!(
                "`{file}`: give a name inside the run directory that ends in .safetensors"
            )
            .into());
        }
        if is_own(Path::new(file.as_ref())) {
            return Err(format!("`{file}` is written by the run itself: give another name").into());
        }
        // SAFETY: the caller lends `count` names and handles until this returns.
        let (names, tensors) = unsafe { (lent(names, count), lent(tensors, count)) };
        let mut saved = Vec::with_capacity(count);
        for (name, tensor) in names.iter().zip(tensors) {
            // SAFETY: the caller lends the names until this returns.
            let name = unsafe { name.to_lossy() }.into_owned();
            saved.push((name, context.tensor(*tensor)?));
        }
        let path = run_dir.join(file.as_ref());
        atomic::create_folder(path.parent().unwrap_or(run_dir))?;
        Ok(safetensors_file::write(&path, &saved)?)
    })
}
