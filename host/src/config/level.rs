//! Levels: the order in which hooks run at one point, lower first.

use super::nearest::nearest;

/// The names a level may be written by, in any case, and the number each stands for.
pub const LEVELS: [(&str, i64); 7] = [
    ("HIGHEST", 0),
    ("HIGHER", 10),
    ("HIGH", 20),
    ("NORMAL", 30),
    ("LOW", 40),
    ("LOWER", 50),
    ("LOWEST", 60),
];

/// The number that a level's name stands for.
pub(super) fn level_of_name(name: &str) -> Option<i64> {
    LEVELS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, level)| *level)
}

pub(super) fn nearest_level_name(name: &str) -> Option<&'static str> {
    nearest(name, LEVELS.iter().map(|(known, _)| *known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_case() {
        assert_eq!(level_of_name("normal"), Some(30));
        assert_eq!(level_of_name("Highest"), Some(0));
        assert_eq!(level_of_name("HIGHER"), Some(10));
        assert_eq!(level_of_name("very high"), None);
    }

    #[test]
    fn a_misspelt_name_has_a_nearest() {
        assert_eq!(nearest_level_name("nomal"), Some("NORMAL"));
    }
}
