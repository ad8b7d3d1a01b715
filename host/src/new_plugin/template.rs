//! The files of a new plugin, with places for its names.

use super::names::Names;
use std::fmt::Write as _;

/// One file of a new plugin. Its path and its text have places such as `{{name}}`.
pub(super) struct Template {
    /// Where it goes, from the plugin's folder.
    pub(super) file: &'static str,
    /// What goes into it.
    pub(super) text: &'static str,
}

macro_rules! templates {
    ($($file:literal from $template:literal),* $(,)?) => {
        &[$(Template { file: $file, text: include_str!($template) }),*]
    };
}

/// A crate.
pub(super) const RUST: &[Template] = templates! {
    "Cargo.toml" from "templates/rust/Cargo.toml.tmpl",
    "src/lib.rs" from "templates/rust/lib.rs.tmpl",
    "README.md" from "templates/rust/README.md.tmpl",
    ".gitignore" from "templates/rust/gitignore.tmpl",
};

/// A C file and what it needs. The header is a copy: the folder then builds on a machine without the project.
pub(super) const C: &[Template] = templates! {
    "{{library}}.c" from "templates/c/plugin.c.tmpl",
    "hookrack.h" from "../../../plugin-api/include/hookrack.h",
    "Makefile" from "templates/c/Makefile.tmpl",
    "README.md" from "templates/c/README.md.tmpl",
    ".gitignore" from "templates/c/gitignore.tmpl",
};

/// Puts the names into their places.
pub(super) fn fill(text: &str, names: &Names, api: &str) -> String {
    text.replace("{{name}}", &names.krate)
        .replace("{{library}}", &names.library)
        .replace("{{hook}}", &names.hook)
        .replace("{{api}}", api)
}

/// A text as TOML writes it.
pub(super) fn toml_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => _ = write!(out, "\\u{:04X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
