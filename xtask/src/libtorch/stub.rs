//! `libtorch.so` as a stub: the real one would pull in CUDA, and a linker script in its place breaks `dlopen`.

use std::path::Path;

use super::LibtorchError;
use crate::{compiler, process};

/// Makes `lib/libtorch.so`, 15 KB that need `libtorch_cpu.so` and `libc10.so` beside it.
pub(crate) fn make(lib: &Path) -> Result<(), LibtorchError> {
    let mut command = compiler::c()?;
    command.current_dir(lib).args(["-shared", "-o", "libtorch.so", "-Wl,-soname,libtorch.so"]);
    command.args(["-Wl,--no-as-needed", "-L.", "-ltorch_cpu", "-lc10"]);
    Ok(process::run(&mut command)?)
}
