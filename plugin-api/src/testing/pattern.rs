//! Patterns of names in the host's syntax: `*` any letters, `?` one letter, `{a,b}` either, `[ab]` one of them.

use crate::error::{Error, Result};

/// A pattern over the names of layers or parameters.
pub(crate) struct Pattern {
    // Without alternatives: the name matches one of these.
    either: Vec<Vec<Piece>>,
}

enum Piece {
    Letter(char),
    Any,
    One,
    Class { ranges: Vec<(char, char)>, is_negated: bool },
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// A bracket or a brace is not closed.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let letters: Vec<char> = text.chars().collect();
        let invalid = |why| Error::new(format!("`{text}` is not a valid pattern: unclosed {why}"));
        let plain = expanded(&letters).ok_or_else(|| invalid("alternate group; missing '}'"))?;
        let pieces = plain.iter().map(|letters| pieces(letters));
        let either = pieces.collect::<Option<_>>();
        Ok(Self { either: either.ok_or_else(|| invalid("character class; missing ']'"))? })
    }

    /// Whether a whole name matches.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        self.either.iter().any(|pieces| fits(pieces, &name))
    }
}

/// The end of the bracket or brace that opens at 0.
fn end(letters: &[char], open: char, close: char) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    while at < letters.len() {
        match letters[at] {
            '\\' => at += 1,
            letter if letter == open => depth += 1,
            letter if letter == close => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// One pattern for each choice of alternatives; `None` if a brace is not closed.
fn expanded(letters: &[char]) -> Option<Vec<Vec<char>>> {
    let mut at = 0;
    while at < letters.len() {
        match letters[at] {
            '\\' => at += 1,
            '[' => at += class_end(&letters[at..]).unwrap_or(0),
            '{' => {
                let close = at + end(&letters[at..], '{', '}')?;
                let mut all = Vec::new();
                for choice in choices(&letters[at + 1..close]) {
                    let whole = [&letters[..at], choice, &letters[close + 1..]].concat();
                    all.extend(expanded(&whole)?);
                }
                return Some(all);
            }
            _ => {}
        }
        at += 1;
    }
    Some(vec![letters.to_vec()])
}

/// What the commas of one brace separate.
fn choices(inner: &[char]) -> Vec<&[char]> {
    let (mut depth, mut start, mut at, mut found) = (0, 0, 0, Vec::new());
    while at < inner.len() {
        match inner[at] {
            '\\' => at += 1,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    found.push(&inner[start..]);
    found
}

/// The end of the class that opens at 0; a bracket right at its start is one of its letters.
fn class_end(letters: &[char]) -> Option<usize> {
    let first = 1 + usize::from(matches!(letters.get(1), Some('!' | '^')));
    letters.iter().skip(first + 1).position(|letter| *letter == ']').map(|at| at + first + 1)
}

fn pieces(letters: &[char]) -> Option<Vec<Piece>> {
    let (mut at, mut pieces) = (0, Vec::new());
    while let Some(letter) = letters.get(at) {
        pieces.push(match letter {
            '*' => Piece::Any,
            '?' => Piece::One,
            '[' => {
                let close = class_end(&letters[at..])?;
                let inner = &letters[at + 1..at + close];
                at += close;
                class(inner)
            }
            '\\' if at + 1 < letters.len() => {
                at += 1;
                Piece::Letter(letters[at])
            }
            letter => Piece::Letter(*letter),
        });
        at += 1;
    }
    Some(pieces)
}

fn class(inner: &[char]) -> Piece {
    let is_negated = matches!(inner.first(), Some('!' | '^'));
    let mut rest = &inner[usize::from(is_negated)..];
    let mut ranges = Vec::new();
    while let [first, after @ ..] = rest {
        let (last, after) = match after {
            ['-', last, after @ ..] => (last, after),
            after => (first, after),
        };
        ranges.push((*first, *last));
        rest = after;
    }
    Piece::Class { ranges, is_negated }
}

fn fits(pieces: &[Piece], name: &[char]) -> bool {
    match (pieces, name) {
        ([], rest) => rest.is_empty(),
        ([Piece::Any, after @ ..], _) => (0..=name.len()).any(|at| fits(after, &name[at..])),
        ([piece, after @ ..], [letter, rest @ ..]) => {
            let is_one = match piece {
                Piece::Letter(own) => own == letter,
                Piece::Class { ranges, is_negated } => {
                    let is_in = ranges.iter().any(|(from, to)| (from..=to).contains(&letter));
                    is_in != *is_negated
                }
                Piece::One | Piece::Any => true,
            };
            is_one && fits(after, rest)
        }
        (_, []) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    /// The same table as that of the host's patterns (`host/engine/src/name_pattern.rs`), and what they leave open.
    #[test]
    fn patterns_match_as_the_host_s_do() {
        for (pattern, name, is_match) in [
            ("layers.*", "layers.0.weight", true),
            ("*.bias", "layers.12.bias", true),
            ("layers.{0,2}.*", "layers.2.bias", true),
            ("layers.?.bias", "layers.1.bias", true),
            ("layers", "layers.0.weight", false),
            ("layers.{0,2}.*", "layers.1.bias", false),
            ("layers.?.bias", "layers.12.bias", false),
            ("{a,b{c,d}}.w", "bd.w", true),
            ("{a,b{c,d}}.w", "b.w", false),
            ("layers.[0-2].w", "layers.1.w", true),
            ("layers.[!0-2].w", "layers.1.w", false),
            (r"a\*", "ab", false),
            (r"a\*", "a*", true),
        ] {
            let found = Pattern::parse(pattern).unwrap().matches(name);
            assert_eq!(found, is_match, "{pattern} and {name}");
        }
    }

    #[test]
    fn what_is_not_closed_is_refused() {
        for (pattern, what) in
            [("a.[0", "unclosed character class"), ("{a,b", "unclosed alternate")]
        {
            let error = Pattern::parse(pattern).err().unwrap().to_string();
            assert!(
                error.contains(&format!("`{pattern}` is not a valid pattern: {what}")),
                "{error}"
            );
        }
    }
}
