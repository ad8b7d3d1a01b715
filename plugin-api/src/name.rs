//! What hooks, metrics and runs may be called: names become file names, keys of a checkpoint and parts of key paths.

/// The longest name, in bytes.
const LONGEST: usize = 128;

/// Which characters a name has, for messages.
pub const RULE: &str = "use letters, digits, `_`, `-` and `.`, and do not start with `.`";

/// Whether a character may be part of a name.
pub fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Whether something may be called so: letters, digits, `_`, `-` and `.`, without a `.` in front.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= LONGEST
        && !name.starts_with('.')
        && name.chars().all(is_name_char)
}

/// Whether a name is a number: in a key path that is the number of an entry.
pub fn is_number(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_digit())
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
}
