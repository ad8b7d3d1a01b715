//! The names of a plugin's parts, derived from the given name.

use super::Kind;

/// Words that cannot name a library: Rust's own, its standard crates', and the project's.
const TAKEN: [&str; 49] = [
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "hook",
    "hookrack",
    "hookrack_plugin_api",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "priv",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "use",
    "while",
];

/// A name that is not valid for a library.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a valid plugin name: {why}")]
pub struct BadName {
    name: String,
    why: String,
}

/// The names of a plugin's parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The crate, as it was typed: `loss-logger`.
    pub krate: String,
    /// The library, between `lib` and `.so`: `loss_logger`.
    pub library: String,
    /// The type of the hook or metric: `LossLoggerHook`, or `LossLogger` for a metric.
    pub type_name: String,
}

impl Names {
    /// The names that follow from `name`, for what the plugin has.
    ///
    /// # Errors
    /// It is empty, too long, taken, or has characters that a library's name cannot have.
    pub fn new(name: &str, kind: Kind) -> Result<Self, BadName> {
        let library = name.replace('-', "_");
        if let Some(why) = fault(name, &library) {
            return Err(BadName { name: name.to_owned(), why });
        }
        let camel: String = library.split('_').map(capitalized).collect();
        let is_said = kind == Kind::Metric || camel.ends_with("Hook");
        let type_name = if is_said { camel } else { camel + "Hook" };
        Ok(Self { krate: name.to_owned(), library, type_name })
    }
}

fn fault(name: &str, library: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name.is_empty() {
        Some("it is empty".to_owned())
    } else if name.len() > 64 {
        Some("it is longer than 64 characters".to_owned())
    } else if let Some(c) = name.chars().find(|c| !allowed(*c)) {
        Some(format!("it contains `{c}`; use lowercase letters, digits, `-` and `_`"))
    } else if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        Some("it must begin with a letter".to_owned())
    } else if TAKEN.contains(&library) {
        Some("the name is reserved".to_owned())
    } else {
        None
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
