//! An unknown library is first loaded by a child process, which crashes or hangs in the place of the host.
//!
//! The child is this program itself, started with a hidden argument. It is sent the bytes of each file, tries each in a fork
//! of its own that cannot write anything, and answers with a [`Verdict`]. Verdicts are kept in the index, by sha256.

mod ask;
mod child;
mod index;
mod sandbox;
mod verdict;

pub use index::forget_all;
pub use verdict::Verdict;

use super::loader::{Image, LibraryInfo, Refusal};
use super::plugin_set;
use std::sync::atomic::{AtomicBool, Ordering};

/// The first argument of a process that is a probe.
const ARGUMENT: &str = "__probe";

/// Whether this program can be started as a probe.
static IS_SERVED: AtomicBool = AtomicBool::new(false);

/// To be called first in `main`. If this process was started as a probe, it serves as one and returns `true`: then there
/// is nothing more to do. Without this call, unknown libraries are loaded by the process itself.
pub fn serve_if_asked() -> bool {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == ARGUMENT) {
        child::serve();
        return true;
    }
    IS_SERVED.store(true, Ordering::Relaxed);
    false
}

/// What libraries say about themselves. Those that the index does not know are probed, all by one child.
pub(super) fn library_infos(images: &[&Image]) -> Vec<Result<LibraryInfo, Refusal>> {
    if !IS_SERVED.load(Ordering::Relaxed) {
        let map = |image: &&Image| match plugin_set::map(image) {
            Ok(library) => Ok(library.about.info.clone()),
            Err(error) => Err(error.reason),
        };
        return images.iter().map(map).collect();
    }
    let mut probe = ask::Probe::default();
    let verdict = |image: &&Image| match index::lookup(&image.sha256) {
        Some(known) => known.into_result(),
        None => probe.verdict(image).and_then(|verdict| {
            index::store(&image.sha256, &verdict);
            verdict.into_result()
        }),
    };
    images.iter().map(verdict).collect()
}
