//! Writes `hookrack.h`, the plugin ABI for C, from the Rust that defines it.
//!
//! cbindgen turns the structs and numbers of `plugin-api/src/abi` into C. What it cannot see (the points, which a
//! macro makes, and constants that are computed) comes from the crate itself, so the header cannot disagree with it.

mod c_words;
pub mod layout;

use c_words::CWords;
use hookrack_plugin_api::Point;
use hookrack_plugin_api::abi::{EXTENSIONS, ExtensionInfo, MAGIC};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The entry point, and inline functions that spare a C plugin some lines.
const SHORTHANDS: &str = include_str!("shorthands.h");

/// What the header ends with.
const GUARD_END: &str = "\n#endif // HOOKRACK_H";

/// The files of `plugin-api/src/abi` that are Rust's own half of it. All others define the wire.
const RUST_ONLY: [&str; 3] = ["extension.rs", "mod.rs", "thunks.rs"];

/// Why the header could not be made.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// A source file could not be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The header could not be written.
    #[error("cannot write {path}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// `cbindgen.toml` is not as cbindgen wants it.
    #[error("cbindgen.toml: {0}")]
    Config(String),
    /// cbindgen did not understand a source file.
    #[error("cbindgen failed")]
    Bindgen(#[from] cbindgen::Error),
    /// cbindgen wrote something that is not UTF-8.
    #[error("the generated header is not text")]
    Text(#[from] std::string::FromUtf8Error),
}

/// The folder of `hookrack-plugin-api`.
fn api_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Where the header is checked in.
pub fn header_path() -> PathBuf {
    api_dir().join("include/hookrack.h")
}

/// Where the layout of every struct is kept.
pub fn layout_path() -> PathBuf {
    api_dir().join("abi-layout.txt")
}

/// The header's text.
///
/// # Errors
/// A source file is missing or is beyond cbindgen.
pub fn generate() -> Result<String, HeaderError> {
    let path = layout_path();
    let kept = std::fs::read_to_string(&path);
    let kept = kept.map_err(|source| HeaderError::Read { path, source })?;
    let header = generate_unchecked()?;
    // Within the guard, so that they are read once.
    let (body, end) = header.rsplit_once(GUARD_END).unwrap_or((&header, ""));
    Ok(format!("{body}{}{GUARD_END}{end}", layout::assertions(&kept)))
}

/// The header's text without its assertions.
///
/// # Errors
/// As for [`generate`].
pub fn generate_unchecked() -> Result<String, HeaderError> {
    let api = api_dir();
    let config = cbindgen::Config::from_file(api.join("cbindgen.toml"));
    let mut config = config.map_err(HeaderError::Config)?;
    // Each extension's table is part of the header; its id, a text, is written by hand below.
    let words =
        |of: fn(&ExtensionInfo) -> &'static str| EXTENSIONS.iter().map(of).map(str::to_owned);
    config.export.include.extend(words(|extension| extension.table));
    config.export.exclude.extend(words(|extension| extension.name));
    let sources = sources(&api.join("src/abi"))?;
    let mut words = CWords::default();
    for path in &sources {
        let read = std::fs::read_to_string(path);
        words.learn(&read.map_err(|source| HeaderError::Read { path: path.clone(), source })?);
    }
    config.export.rename.extend(words.renames());
    config.after_includes = Some(computed_constants());
    config.trailer = Some(SHORTHANDS.replace("// POINT NAMES\n", &point_names()).trim_end().into());
    let builder = sources.iter().fold(cbindgen::Builder::new(), cbindgen::Builder::with_src);
    let mut out = Vec::new();
    builder.with_config(config).generate()?.write(&mut out);
    Ok(tidy(&String::from_utf8(out)?, &words))
}

/// The files that define the wire, by name.
fn sources(abi: &Path) -> Result<Vec<PathBuf>, HeaderError> {
    let failed = |source| HeaderError::Read { path: abi.to_owned(), source };
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(abi).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_file() && !RUST_ONLY.contains(&name) {
            sources.push(path);
        }
    }
    sources.sort();
    Ok(sources)
}

/// Writes the header to where it is checked in, and says where that is.
///
/// # Errors
/// As for [`generate`], or the file cannot be written.
pub fn refresh() -> Result<PathBuf, HeaderError> {
    let (text, path) = (generate()?, header_path());
    match std::fs::write(&path, text) {
        Ok(()) => Ok(path),
        Err(source) => Err(HeaderError::Write { path, source }),
    }
}

/// What cbindgen cannot read out of the source: what is computed, texts, and the points.
fn computed_constants() -> String {
    let mut out = String::new();
    let mut define = |doc: &str, name: &str, value: &str| {
        _ = writeln!(out, "\n// {doc}\n#define HR_{name} {value}");
    };
    define(
        "\"HOOKRACK\" read as a little-endian number.",
        "MAGIC",
        &format!("UINT64_C({MAGIC:#x})"),
    );
    for extension in EXTENSIONS {
        let doc = format!("The id of the extension whose table is {}.", extension.table);
        define(&doc, extension.name, &format!("{:?}", extension.id));
    }
    for point in Point::ALL {
        let name = format!("POINT_{}", point.name().to_uppercase());
        define(point.doc(), &name, &point.code().to_string());
    }
    out.trim_end().into()
}

/// The names of the points as rows of a C array, in the order of their codes, which have no gaps.
fn point_names() -> String {
    let mut points: Vec<_> = Point::ALL.iter().map(|point| (point.code(), point.name())).collect();
    points.sort_unstable();
    let rows = points.iter().map(|(_, name)| format!("      \"{name}\",\n"));
    rows.collect()
}

/// Comments in C's words, no blanks at the ends of lines, one empty line at most.
fn tidy(text: &str, words: &CWords) -> String {
    let mut out = String::new();
    for line in text.trim_start().lines().map(str::trim_end) {
        if line.is_empty() && out.ends_with("\n\n") {
            continue;
        }
        out.push_str(&words.translate(line));
        out.push('\n');
    }
    out
}
