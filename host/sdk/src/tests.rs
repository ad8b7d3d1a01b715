//! The SDK is complete, is brought up to date, and names nothing of the machine that built the program.

use super::{FILES, MARKER, Parts, SdkError, files, is_sdk, write};
use std::fs;
use std::path::Path;

/// The top of the source tree that is being tested.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Every file below a folder, relative to the top.
fn below(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() { found.extend(below(&name)) } else { found.push(name) }
    }
    found
}

#[test]
fn the_program_carries_every_source_file_header_and_page_as_it_is() {
    let folders = ["plugin-api/src", "plugin-api/macros/src", "plugin-api/include"];
    let pages = ["docs/plugin-guide.md", "docs/abi.md"].map(str::to_owned);
    for file in folders.into_iter().flat_map(below).chain(pages) {
        let carried = FILES.iter().find(|(name, _)| *name == file);
        let text = fs::read_to_string(root().join(&file)).unwrap();
        assert!(carried.is_some_and(|(_, carried)| *carried == text), "{file} is not carried");
    }
}

#[test]
fn nothing_in_it_names_a_path_of_this_machine_or_a_workspace() {
    let root = root().to_str().unwrap();
    for (file, text) in files(Parts::All).unwrap() {
        assert!(!text.contains(root), "{file} names {root}");
        let is_manifest = file.ends_with("Cargo.toml");
        assert!(!is_manifest || !text.contains("workspace"), "{file} needs a workspace:\n{text}");
    }
}

#[test]
fn headers_alone_have_no_crate() {
    let files = files(Parts::Headers).unwrap();
    for file in ["include/hookrack.hpp", "docs/plugin-guide.md", "docs/abi.md", "LICENSE-MIT"] {
        assert!(files.contains_key(file), "{file} is missing");
    }
    assert!(!files.keys().any(|file| file.starts_with("plugin-api")));
}

#[test]
fn an_sdk_is_brought_up_to_date_and_anything_else_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let sdk = dir.path().join("sdk");
    let count = write(&sdk, Parts::All).unwrap();
    assert!(is_sdk(&sdk) && count > 50, "{count} files");
    let (stale, header) = (sdk.join("plugin-api/src/gone.rs"), sdk.join("include/hookrack.h"));
    fs::write(&stale, "").unwrap();
    fs::write(&header, "old").unwrap();
    let untouched = fs::metadata(sdk.join("plugin-api/Cargo.toml")).unwrap().modified().unwrap();
    assert_eq!(write(&sdk, Parts::All).unwrap(), count);
    assert!(!stale.exists() && fs::read_to_string(&header).unwrap().contains("HR_MAGIC"));
    let again = fs::metadata(sdk.join("plugin-api/Cargo.toml")).unwrap().modified().unwrap();
    assert_eq!(untouched, again, "a file that is the same was written again");

    fs::remove_file(sdk.join(MARKER)).unwrap();
    assert!(matches!(write(&sdk, Parts::All), Err(SdkError::NotEmpty { .. })));
}
