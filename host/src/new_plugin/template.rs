//! The files of a new plugin, with placeholders for its names.

use super::names::Names;
use super::{Kind, Lang};
use std::fmt::Write as _;

/// One file of a new plugin. Its path and its text have placeholders such as `{{name}}`.
pub(super) struct Template {
    /// Where it goes, from the plugin's folder.
    pub(super) file: &'static str,
    /// What goes into it.
    pub(super) text: &'static str,
}

macro_rules! templates {
    ($($file:literal from $template:literal),* $(,)?) => {
        &[$(Template { file: $file, text: include_str!(concat!("templates/", $template)) }),*]
    };
}

/// The files of a language that are the same for every kind.
fn shared(lang: Lang) -> &'static [Template] {
    match lang {
        Lang::Rust => templates! {
            "Cargo.toml" from "rust/Cargo.toml.tmpl",
            "README.md" from "rust/README.md.tmpl",
            ".gitignore" from "rust/gitignore.tmpl",
        },
        Lang::C => templates! {
            "Makefile" from "c/Makefile.tmpl",
            "README.md" from "c/README.md.tmpl",
            ".gitignore" from "c/gitignore.tmpl",
        },
        Lang::Cpp => templates! {
            "Makefile" from "cpp/Makefile.tmpl",
            "README.md" from "cpp/README.md.tmpl",
            ".gitignore" from "cpp/gitignore.tmpl",
        },
    }
}

/// The source file, by language and kind.
fn source(lang: Lang, kind: Kind) -> &'static [Template] {
    match (lang, kind) {
        (Lang::Rust, Kind::Hook) => templates! { "src/lib.rs" from "rust/hook.rs.tmpl" },
        (Lang::Rust, Kind::Metric) => templates! { "src/lib.rs" from "rust/metric.rs.tmpl" },
        (Lang::Rust, Kind::Role) => templates! { "src/lib.rs" from "rust/role.rs.tmpl" },
        (Lang::C, Kind::Hook) => templates! { "{{library}}.c" from "c/hook.c.tmpl" },
        (Lang::C, Kind::Metric) => templates! { "{{library}}.c" from "c/metric.c.tmpl" },
        (Lang::C, Kind::Role) => templates! { "{{library}}.c" from "c/role.c.tmpl" },
        (Lang::Cpp, Kind::Hook) => templates! { "{{library}}.cpp" from "cpp/hook.cpp.tmpl" },
        (Lang::Cpp, Kind::Metric) => templates! { "{{library}}.cpp" from "cpp/metric.cpp.tmpl" },
        (Lang::Cpp, Kind::Role) => templates! { "{{library}}.cpp" from "cpp/role.cpp.tmpl" },
    }
}

/// All files of a plugin.
pub(super) fn of(lang: Lang, kind: Kind) -> impl Iterator<Item = &'static Template> {
    source(lang, kind).iter().chain(shared(lang))
}

/// The values of the placeholders.
pub(super) struct Placeholders<'a> {
    pub(super) names: &'a Names,
    pub(super) kind: Kind,
    /// The SDK's folder, relative to the plugin's.
    pub(super) sdk: &'a str,
}

impl Placeholders<'_> {
    /// Replaces the placeholders.
    pub(super) fn fill(&self, text: &str) -> String {
        let Names { krate, library, type_name } = self.names;
        text.replace("{{config}}", &self.config())
            .replace("{{kind}}", if self.kind == Kind::Metric { "metric" } else { "hook" })
            .replace("{{name}}", krate)
            .replace("{{library}}", library)
            .replace("{{type}}", type_name)
            .replace("{{api}}", &toml_text(&format!("{}/plugin-api", self.sdk)))
            .replace("{{sdk}}", self.sdk)
    }

    /// The entry of a config that uses it.
    fn config(&self) -> String {
        let (list, setting) = match self.kind {
            Kind::Hook => ("custom_hooks", "\nevery = \"100it\"\ndigits = 6"),
            Kind::Role => ("custom_hooks", "\nlimit = 5.0"),
            Kind::Metric => ("metrics", ""),
        };
        format!("[[{list}]]\ntype = \"{{{{type}}}}\"\nlibrary = \"lib{{{{library}}}}.so\"{setting}")
    }
}

/// A string in TOML syntax.
fn toml_text(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::toml_text;

    #[test]
    fn a_path_is_quoted_as_toml_wants_it() {
        assert_eq!(toml_text("/a \"b\"\\c"), r#""/a \"b\"\\c""#);
    }
}
