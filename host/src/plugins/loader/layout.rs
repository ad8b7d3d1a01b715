//! The comparison of both sides' tables, field by field, before the host looks inside.
//!
//! abi_stable lets the *implementation* have more than the *interface*, and calls the library the implementation:
//! a library that is older than its host would be refused. Here the older side is always the interface.

use super::text::one_line;
use abi_stable::StableAbi;
use abi_stable::abi_stability::abi_checking::{
    AbiInstabilityErrors, CheckingGlobals, check_layout_compatibility_with_globals,
};
use abi_stable::library::LibHeader;
use abi_stable::sabi_types::VersionNumber;
use abi_stable::type_layout::TLFieldOrFunction;
use hookrack_plugin_api::abi::PluginRootRef;

/// The tables of the two sides differ, although their versions are compatible.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the layout of its tables differs from plugin-api {ours} ({difference}; details are in the debug log): \
     rebuild it against plugin-api {ours}"
)]
pub struct LayoutMismatch {
    /// The host's version.
    pub ours: String,
    /// The innermost difference.
    pub difference: String,
}

/// Compares the layout that `header` carries with the host's own.
pub(super) fn check(
    header: &'static LibHeader,
    theirs: VersionNumber,
    ours: VersionNumber,
) -> Result<(), LayoutMismatch> {
    let refused = |difference| LayoutMismatch { ours: ours.to_string(), difference };
    let library =
        header.layout().ok_or_else(|| refused("it has no layout information".to_owned()))?;
    let host = <PluginRootRef as StableAbi>::LAYOUT;
    let (older, newer) = if age(theirs) < age(ours) { (library, host) } else { (host, library) };
    // Fresh globals for each check: abi_stable's own remember the first library's tables, and then refuse a newer
    // one that comes after.
    check_layout_compatibility_with_globals(older, newer, &CheckingGlobals::new()).map_err(
        |errors| {
            tracing::debug!("the layout check failed: {errors}");
            refused(deepest(&errors))
        },
    )
}

fn age(version: VersionNumber) -> (u32, u32, u32) {
    (version.major, version.minor, version.patch)
}

/// The innermost difference: those around it only say that something inside them differs.
fn deepest(errors: &AbiInstabilityErrors) -> String {
    let Some(error) = errors.errors.iter().max_by_key(|error| error.stack_trace.len()) else {
        return "no details".to_owned();
    };
    let place = error.stack_trace.last().map(|step| match &step.found {
        TLFieldOrFunction::Field(field) => field.layout().name(),
        TLFieldOrFunction::Function(function) => function.name.as_str(),
    });
    format!("{}: {}", one_line(place.unwrap_or("root")), clearest(&error.to_string()))
}

/// One "Error: Expected: Found:" of abi_stable's report on a type, which may have hundreds of lines: the first field
/// that differs, where one does.
fn clearest(report: &str) -> String {
    let mut parts = report.split("\nError:").skip(1);
    let last = parts.clone().last().unwrap_or(report);
    let report = parts.find(|part| part.starts_with("unexpected field")).unwrap_or(last);
    let mut lines = report.lines().map(str::trim);
    let what = lines.next().unwrap_or_default();
    let mut after = |mark| lines.by_ref().skip_while(|line| *line != mark).nth(1).unwrap_or("?");
    let (expected, found) = (after("Expected:"), after("Found:"));
    one_line(&format!("{what}, expected {expected}, found {found}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_report_is_cut_down_to_the_first_field_that_differs() {
        let report = "2 error(s)\n lots\n\nError:incompatible type size\nExpected:\n    88\nFound:\n    96\n\n\
                      Error:unexpected field\nExpected:\n    a: u8\n    more\nFound:\n    b: u8\n    more\n";
        let line = "unexpected field, expected a: u8, found b: u8";
        assert_eq!(super::clearest(report), line);
    }
}
