//! Profiles for plugins.

use super::desk::Desk;
use crate::run::is_inside;
use crate::torch::profiler::{self, OpCost};
use hookrack_plugin_api::abi::{HrHeader, HrOpCost, HrStatus, HrStr, ProfilerTable};
use std::cell::RefCell;
use std::ffi::c_void;
use std::path::{Path, PathBuf};

/// The host's profiler table.
pub(super) static TABLE: ProfilerTable =
    ProfilerTable { header: HrHeader::of::<ProfilerTable>(0), prepare, start, stop, op_at };

thread_local! {
    // What the last profile found; its names are lent until the next one ends.
    static LAST: RefCell<Vec<OpCost>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn prepare(host: *mut c_void, flags: u32) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|_| profiler::prepare(flags))
}

unsafe extern "C" fn start(host: *mut c_void, flags: u32) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|_| profiler::start(flags))
}

unsafe extern "C" fn stop(host: *mut c_void, file: HrStr) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the name until this returns.
    let (desk, file) = unsafe { (Desk::of(host), file.to_lossy()) };
    desk.answer(|context| {
        let path = match file.as_ref() {
            "" => Ok(None),
            file => place(context.run_dir.as_deref(), file).map(Some),
        };
        // The profile ends whatever the name is.
        let (path, refused) = match path {
            Ok(path) => (path, None),
            Err(why) => (None, Some(why)),
        };
        let costs = profiler::stop(path.as_deref()).map_err(|error| error.to_string())?;
        LAST.set(costs);
        refused.map_or(Ok(()), Err)
    })
}

/// Where a trace goes; its folder is made.
fn place(run_dir: Option<&Path>, file: &str) -> Result<PathBuf, String> {
    let run_dir = run_dir.ok_or("this run has no directory for a trace")?;
    let given = Path::new(file);
    if !(is_inside(given) || given.is_absolute()) || given.extension() != Some("json".as_ref()) {
        return Err(format!(
            "`{file}`: give a name inside the run directory or an absolute path, ending in .json"
        ));
    }
    let path = run_dir.join(given);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    }
    Ok(path)
}

unsafe extern "C" fn op_at(host: *mut c_void, index: usize, out: *mut HrOpCost) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.serve(|_| {
        LAST.with_borrow(|costs| {
            let Some(cost) = costs.get(index) else {
                return Ok::<_, String>(HrStatus::ABSENT);
            };
            let OpCost { ref name, calls, self_ns, total_ns, flops } = *cost;
            // SAFETY: the caller gives a place for one cost; the name stays until the next profile ends.
            unsafe {
                out.write(HrOpCost { name: HrStr::new(name), calls, self_ns, total_ns, flops });
            }
            Ok(HrStatus::OK)
        })
    })
}
