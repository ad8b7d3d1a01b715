//! Files that hooks write to the run directory.

use super::desk::Desk;
use crate::run::{is_inside, safetensors_file};
use hookrack_plugin_api::abi::{ArtifactTable, HrHeader, HrStatus, HrStr, HrTensor};
use std::ffi::c_void;
use std::path::Path;

/// The host's artifact table.
pub(super) static TABLE: ArtifactTable =
    ArtifactTable { header: HrHeader::of::<ArtifactTable>(0), run_dir, save_tensors };

unsafe extern "C" fn run_dir(host: *mut c_void) -> HrStr {
    // SAFETY: the caller's handle is ours.
    let desk = unsafe { Desk::of(host) };
    let mut text = HrStr::EMPTY;
    desk.answer(|context| {
        // The path is the context's and does not change, so it can be lent for the run.
        text = context.run_dir.as_deref().and_then(Path::to_str).map_or(HrStr::EMPTY, HrStr::new);
        Ok::<_, String>(())
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
    // SAFETY: the caller's handle is ours; it lends file, names and handles until this returns.
    let (desk, file, names, tensors) = unsafe {
        let (names, tensors): (&[HrStr], &[HrTensor]) = match count {
            0 => (&[], &[]),
            _ => (
                std::slice::from_raw_parts(names, count),
                std::slice::from_raw_parts(tensors, count),
            ),
        };
        (Desk::of(host), file.to_lossy(), names, tensors)
    };
    desk.answer(|context| {
        let Some(run_dir) = &context.run_dir else {
            return Err("this run has no directory".to_owned());
        };
        if !is_inside(Path::new(file.as_ref())) || !file.ends_with(".safetensors") {
            return Err(format!(
                "`{file}`: give a name inside the run directory that ends in .safetensors"
            ));
        }
        let arena = context.arena.borrow();
        let mut saved = Vec::with_capacity(names.len());
        for (name, tensor) in names.iter().zip(tensors) {
            // SAFETY: the caller lends the names until this returns.
            let name = unsafe { name.to_lossy() }.into_owned();
            saved.push((name, arena.tensor(*tensor).map_err(|e| e.to_string())?.shallow_clone()));
        }
        safetensors_file::write(&run_dir.join(file.as_ref()), &saved).map_err(|e| e.to_string())
    })
}
