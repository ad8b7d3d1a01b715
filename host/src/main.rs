//! The `hookrack` binary. Everything is in the library; this turns an ending into an exit code.

use std::process::ExitCode;

/// Called before Rust's runtime, which opens `/dev/null` in place of a closed standard output: after that, lost output
/// cannot be distinguished from output that was discarded on purpose.
#[used]
#[unsafe(link_section = ".init_array")]
#[expect(
    unsafe_code,
    reason = "there is no other way to run before the runtime; it is one look at a path"
)]
static BEFORE_RUNTIME: extern "C" fn() = before_runtime;

extern "C" fn before_runtime() {
    hookrack::stdio::note_closed();
}

fn main() -> ExitCode {
    hookrack::cli::main()
}
