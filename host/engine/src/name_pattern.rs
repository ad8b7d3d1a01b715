//! A pattern over parameter names, such as `layers.*.bias`.

use globset::{GlobBuilder, GlobMatcher};

use super::error::{EngineError, Result};

/// A glob over names: `*` matches any characters, dots included; `?` one character; `{a,b}` either; `[ab]` one of them.
#[derive(Debug, Clone)]
pub struct NamePattern {
    text: String,
    matcher: GlobMatcher,
}

impl NamePattern {
    /// Parses a pattern.
    pub fn parse(text: &str) -> Result<Self> {
        let glob = GlobBuilder::new(text).backslash_escape(true).build().map_err(|error| {
            let why = error.kind().to_string();
            EngineError::Pattern { pattern: text.to_owned(), why }
        })?;
        Ok(Self { text: text.to_owned(), matcher: glob.compile_matcher() })
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a name matches.
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }

    /// The error for a pattern that no name matches.
    pub fn unmatched<'a>(&self, names: impl Iterator<Item = &'a str>) -> EngineError {
        EngineError::NoMatch { pattern: self.text.clone(), nearest: self.nearest(names) }
    }

    /// The error for a pattern that no layer matches.
    pub fn no_layer<'a>(&self, names: impl Iterator<Item = &'a str>) -> EngineError {
        EngineError::NoLayer { pattern: self.text.clone(), nearest: self.nearest(names) }
    }

    /// The names most similar to the pattern, nearest first.
    fn nearest<'a>(&self, names: impl Iterator<Item = &'a str>) -> String {
        const SHOWN: usize = 3;
        let bare: String = self.text.chars().filter(|c| !"*?[]{}".contains(*c)).collect();
        let mut names: Vec<_> =
            names.map(|name| (strsim::jaro_winkler(&bare, name), name)).collect();
        names.sort_by(|a, b| b.0.total_cmp(&a.0));
        let shown: Vec<_> = names.iter().take(SHOWN).map(|(_, name)| format!("`{name}`")).collect();
        shown.join(", ")
    }
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        NamePattern::parse(pattern).unwrap().matches(name)
    }

    #[test]
    fn a_star_goes_over_dots_and_the_whole_name_counts() {
        assert!(matches("layers.*", "layers.0.weight"));
        assert!(matches("*.bias", "layers.12.bias"));
        assert!(matches("layers.{0,2}.*", "layers.2.bias"));
        assert!(matches("layers.?.bias", "layers.1.bias"));
        assert!(!matches("layers", "layers.0.weight"));
        assert!(!matches("layers.{0,2}.*", "layers.1.bias"));
    }

    #[test]
    fn an_invalid_pattern_and_one_without_a_match_are_reported() {
        let error = NamePattern::parse("layers.[0").unwrap_err().to_string();
        assert!(
            error.starts_with("`layers.[0` is not a valid pattern: unclosed character class"),
            "{error}"
        );
        let names = ["layers.0.weight", "layers.0.bias", "head.weight", "head.bias"];
        let error = NamePattern::parse("layer.0.*").unwrap().unmatched(names.into_iter());
        assert_eq!(
            error.to_string(),
            "no parameter matches `layer.0.*`: the nearest are `layers.0.bias`, `layers.0.weight`, `head.bias`"
        );
    }
}
