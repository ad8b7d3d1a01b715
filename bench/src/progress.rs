//! Progress of a long measurement, on standard error.

/// Says what comes next, or what was found.
#[expect(clippy::print_stderr, reason = "progress of a long measurement")]
pub(crate) fn say(what: &str) {
    eprintln!("==> {what}");
}
