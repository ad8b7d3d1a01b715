//! Lists the files of the SDK, so that the program carries them: `hookrack-plugin-api`, its macros, the headers and the guide.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders and files of the repository that an author needs.
const PARTS: [&str; 8] = [
    "plugin-api/src",
    "plugin-api/macros/src",
    "plugin-api/include",
    "plugin-api/Cargo.toml",
    "plugin-api/macros/Cargo.toml",
    "Cargo.toml",
    "docs/plugin-guide.md",
    "docs/abi.md",
];

/// Writes `sdk_files.rs`: a table of paths, from the top of the repository, and texts.
fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let mut files = Vec::new();
    for part in PARTS {
        println!("cargo:rerun-if-changed={}", root.join(part).display());
        collect(&root.join(part), &mut files)?;
    }
    files.sort();
    let mut table = String::from("&[\n");
    for file in &files {
        let utf8 = "a path is not UTF-8";
        let name = file.strip_prefix(&root)?.to_str().ok_or(utf8)?;
        let file = file.to_str().ok_or(utf8)?;
        writeln!(table, "    ({name:?}, include_str!({file:?})),")?;
    }
    table.push_str("]\n");
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("sdk_files.rs"), table)?;
    Ok(())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}
