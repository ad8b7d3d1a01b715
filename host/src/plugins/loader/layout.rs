//! The comparison of both sides' tables, field by field, before the host looks inside.
//!
//! abi_stable lets the *implementation* have more than the *interface*, and calls the library the implementation:
//! a library that is older than its host would be refused. Here the older side is always the interface.

use super::text::one_line;
use abi_stable::StableAbi;
use abi_stable::abi_stability::abi_checking::{
    CheckingGlobals, check_layout_compatibility_with_globals,
};
use abi_stable::library::LibHeader;
use abi_stable::sabi_types::VersionNumber;
use hookrack_plugin_api::abi::PluginRootRef;

/// The tables of the two sides are not the same, although their versions say so.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "its tables are not laid out as plugin-api {ours} has them ({difference}; the debug log has all of it): \
     rebuild it against plugin-api {ours}"
)]
pub struct LayoutMismatch {
    /// The host's version.
    pub ours: String,
    /// The first difference.
    pub difference: String,
}

/// Compares the layout that `header` carries with the host's own.
pub(super) fn check(
    header: &'static LibHeader,
    theirs: VersionNumber,
    ours: VersionNumber,
) -> Result<(), LayoutMismatch> {
    let refused = |difference| LayoutMismatch { ours: ours.to_string(), difference };
    let library = header.layout().ok_or_else(|| refused("it carries no layout".to_owned()))?;
    let host = <PluginRootRef as StableAbi>::LAYOUT;
    let (older, newer) = if age(theirs) < age(ours) { (library, host) } else { (host, library) };
    // Fresh globals for each check: abi_stable's own remember the first library's tables, and then refuse a newer
    // one that comes after.
    check_layout_compatibility_with_globals(older, newer, &CheckingGlobals::new()).map_err(
        |errors| {
            let text = errors.to_string();
            tracing::debug!("the layout check failed: {text}");
            refused(first_difference(&text))
        },
    )
}

fn age(version: VersionNumber) -> (u32, u32, u32) {
    (version.major, version.minor, version.patch)
}

/// The first "Error: Expected: Found:" of abi_stable's report, which may have thousands of lines.
fn first_difference(report: &str) -> String {
    let mut lines = report.lines().map(str::trim).skip_while(|line| !line.starts_with("Error:"));
    let what = lines.next().and_then(|line| line.strip_prefix("Error:")).unwrap_or("no details");
    let mut after = |mark| lines.by_ref().skip_while(|line| *line != mark).nth(1).unwrap_or("?");
    let (expected, found) = (after("Expected:"), after("Found:"));
    one_line(&format!("{what}: expected {expected}, found {found}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_report_is_cut_down_to_its_first_difference() {
        let report = "Compared <this>:\n  lots\n\nError:unexpected field\nExpected:\n    field_name:a\n    more\n\
                      Found:\n    field_name:b\n    more\n\nError:too many fields\n";
        let line = "unexpected field: expected field_name:a, found field_name:b";
        assert_eq!(super::first_difference(report), line);
    }
}
