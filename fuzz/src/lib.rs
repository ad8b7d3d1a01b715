//! What all targets have in common: a reader of `hookrack-readers`, called by libFuzzer.

use hookrack_readers::{Prepared, reader};
use std::cell::OnceCell;
use std::path::PathBuf;
use std::{env, fs};

thread_local! {
    // libFuzzer starts and calls a target on one thread.
    static PREPARED: OnceCell<Prepared> = const { OnceCell::new() };
}

/// Prepares a reader, and puts its seeds into the first folder of the command line, from which libFuzzer starts.
///
/// # Panics
/// The reader is unknown, or cannot be prepared.
pub fn begin(name: &str) {
    let reader = reader(name).unwrap_or_else(|| panic!("unknown reader `{name}`"));
    let prepared = reader.prepare();
    let folder = env::args_os().skip(1).map(PathBuf::from).find(|path| path.is_dir());
    if let Some(folder) = folder {
        let kept = reader.kept().into_iter().map(|file| fs::read(file).expect("a fixture"));
        for (number, seed) in prepared.seeds.iter().cloned().chain(kept).enumerate() {
            fs::write(folder.join(format!("seed-{number}")), seed).expect("a seed");
        }
    }
    PREPARED.with(|cell| drop(cell.set(prepared)));
}

/// Gives the reader an input.
pub fn read(input: &[u8]) {
    PREPARED.with(|cell| {
        if let Some(prepared) = cell.get() {
            // An error is a good answer; its text is made and not shown.
            drop((prepared.read)(input));
        }
    });
}

/// The target of a reader.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        libfuzzer_sys::fuzz_target!(init: $crate::begin($name), |input: &[u8]| {
            $crate::read(input);
        });
    };
}
