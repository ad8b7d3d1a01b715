//! The `hookrack` binary. Everything is in the library; this turns an ending into an exit code.

use std::process::ExitCode;

/// Called before Rust's runtime, which opens `/dev/null` in place of a closed standard output: after that, lost output
/// cannot be distinguished from output that was discarded on purpose. And before the constructors of libraries: that of MKL
/// ends the process if there is no current directory.
#[used]
#[unsafe(link_section = ".preinit_array")]
#[expect(
    unsafe_code,
    reason = "there is no other way to run before the runtime and MKL; it looks at two paths"
)]
static BEFORE_RUNTIME: extern "C" fn() = before_runtime;

extern "C" fn before_runtime() {
    hookrack::stdio::note_closed();
    hookrack::cli::require_current_dir();
}

fn main() -> ExitCode {
    hookrack::cli::main()
}
