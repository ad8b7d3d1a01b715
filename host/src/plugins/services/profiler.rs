//! Profiles for plugins.

use super::service::{service, table};
use crate::run::{atomic, hook_file};
use crate::torch::profiler::{self, OpCost};
use hookrack_plugin_api::abi::{HrOpCost, HrStatus, HrStr};
use std::cell::RefCell;
use std::ffi::c_void;
use std::path::{Path, PathBuf};

table!(ProfilerTable { prepare, start, stop, op_at });

thread_local! {
    // What the last profile found; its names are lent until the next one ends.
    static LAST: RefCell<Vec<OpCost>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn prepare(host: *mut c_void, flags: u32) -> HrStatus {
    service!(host, |_| Ok(profiler::prepare(flags)?))
}

unsafe extern "C" fn start(host: *mut c_void, flags: u32) -> HrStatus {
    service!(host, |_| Ok(profiler::start(flags)?))
}

unsafe extern "C" fn stop(host: *mut c_void, file: HrStr) -> HrStatus {
    service!(host, text(file), |context| {
        let path = match file.as_ref() {
            "" => Ok(None),
            file => trace_file(context.run_dir.as_deref(), file).map(Some),
        };
        // The profile ends whatever the name is.
        LAST.set(profiler::stop(path.as_ref().ok().and_then(Option::as_deref))?);
        Ok(path.map(drop)?)
    })
}

/// The path of a trace, which may be outside the run directory; creates its folder.
fn trace_file(run_dir: Option<&Path>, file: &str) -> Result<PathBuf, String> {
    let path = Path::new(file);
    if path.extension() != Some("json".as_ref()) {
        return Err(format!("`{file}`: the name of a trace must end in .json"));
    }
    if run_dir.is_none() || path.is_relative() {
        return hook_file(run_dir, file);
    }
    atomic::create_folder(path.parent().unwrap_or(path)).map_err(|error| error.to_string())?;
    Ok(path.to_owned())
}

unsafe extern "C" fn op_at(host: *mut c_void, index: usize, out: *mut HrOpCost) -> HrStatus {
    service!(host, found(out), |_| LAST.with_borrow(|costs| {
        // The name stays until the next profile ends.
        Ok(costs.get(index).map(|OpCost { name, calls, self_ns, total_ns, flops }| HrOpCost {
            name: HrStr::new(name),
            calls: *calls,
            self_ns: *self_ns,
            total_ns: *total_ns,
            flops: *flops,
        }))
    }))
}
