//! The current directory, without which libtorch's MKL ends the process with an error of its own.

use super::exit::{self, Failure};
use signal_hook::low_level;
use std::io::ErrorKind;

/// Ends the process if there is no current directory. Called before constructors and the runtime: it uses nothing that they set up, and calls none of what they
/// register for the end.
pub fn require_current_dir() {
    let why = match std::env::current_dir() {
        Ok(_) => return,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            "the current directory no longer exists: change to another one".to_owned()
        }
        Err(error) => {
            format!("the current directory cannot be read ({error}): change to another one")
        }
    };
    Failure::usage(why).report(false);
    low_level::exit(exit::CONFIG.into());
}
