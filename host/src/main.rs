//! The `hookrack` binary. Everything is in the library; this turns an ending into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    hookrack::cli::main()
}
