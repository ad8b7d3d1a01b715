//! Names of hooks, metrics and runs: they become file names, keys of checkpoints and parts of key paths.

/// The longest name, in bytes.
const LONGEST: usize = 128;

/// The rule for names, for messages.
pub const RULE: &str = "use letters, digits, `_`, `-` and `.`, and do not start with `.`";

/// Returns whether a character may be part of a name. Letters and digits are those of Unicode.
pub fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Returns whether a name is valid: letters, digits, `_`, `-` and `.`, not starting with `.`, at most 128
/// bytes.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= LONGEST
        && !name.starts_with('.')
        && name.chars().all(is_name_char)
}

/// Returns whether a name consists of digits only: in a key path that is the index of an entry.
pub fn is_number(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_digit())
}

/// Returns the name most similar to `wanted`, if any is similar enough for a "did you mean".
///
/// Case and the difference between `-` and `_` do not count. A name that begins with `wanted`, if that has
/// three characters or more, is similar. Compares the first 64 characters of every name: for error messages.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = fold(wanted);
    let near = |name: &'a str| distance(&wanted, &fold(name)).map(|distance| (distance, name));
    names.into_iter().filter_map(near).min().map(|(_, name)| name)
}

/// Ignores case and the difference between `-` and `_`.
fn fold(name: &str) -> Vec<char> {
    name.chars().take(64).map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect()
}

fn distance(wanted: &[char], name: &[char]) -> Option<usize> {
    let longest = wanted.len().max(name.len());
    let edits = edits(wanted, name);
    let near = edits <= (longest / 3).max(1) && edits < longest;
    let begins = wanted.len() >= 3 && name.starts_with(wanted);
    (near || begins).then_some(edits)
}

/// The number of insertions, deletions, replacements and swaps of neighbors.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(x != y);
            let mut fewest = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                fewest = fewest.min(before[j - 1] + 1);
            }
            row.push(fewest);
        }
        (before, last) = (last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_file_name_and_a_part_of_a_key_path() {
        for name in ["Ema", "val.top-5", "_x", "épo", "7a", &"a".repeat(128)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "a/b", ".a", "a b", "a\n", "a:b", &"a".repeat(129)] {
            assert!(!is_name(name), "{name}");
        }
        assert!(is_number("12") && !is_number("") && !is_number("1a"));
    }

    #[test]
    fn a_typing_mistake_finds_its_name() {
        assert_eq!(nearest("batchsize", ["seed", "batch_size"]), Some("batch_size"));
        assert_eq!(nearest("NROMAL", ["LOW", "NORMAL"]), Some("NORMAL"));
        assert_eq!(nearest("adamw", ["SGD", "AdamW"]), Some("AdamW"));
    }

    #[test]
    fn a_beginning_finds_its_name() {
        let names = ["CosineAnnealingLR", "ConstantLR"];
        assert_eq!(nearest("Cosine", names), Some("CosineAnnealingLR"));
    }

    #[test]
    fn an_unrelated_name_is_not_proposed() {
        assert_eq!(nearest("zebra", ["seed", "batch_size"]), None);
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest("", ["a"]), None);
    }
}
