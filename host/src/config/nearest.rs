//! The nearest of a set of names to one that was misspelt.

/// The name that was most likely meant, if any is near enough to be worth proposing.
pub(super) fn nearest<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted = fold(wanted);
    names
        .into_iter()
        .filter_map(|name| distance(&wanted, &fold(name)).map(|distance| (distance, name)))
        .min()
        .map(|(_, name)| name)
}

/// Case and the choice between `-` and `_` are never what two names really differ by.
fn fold(name: &str) -> String {
    name.chars().take(64).map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect()
}

fn distance(wanted: &str, name: &str) -> Option<usize> {
    let longest = wanted.chars().count().max(name.chars().count());
    let edits = strsim::damerau_levenshtein(wanted, name);
    let near = edits <= (longest / 3).max(1) && edits < longest;
    let begins = wanted.len() >= 3 && name.starts_with(wanted);
    (near || begins).then_some(edits)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_typing_mistake_finds_its_name() {
        assert_eq!(nearest("batchsize", ["seed", "batch_size"]), Some("batch_size"));
        assert_eq!(nearest("NROMAL", ["LOW", "NORMAL"]), Some("NORMAL"));
        assert_eq!(nearest("adamw", ["SGD", "AdamW"]), Some("AdamW"));
    }

    #[test]
    fn a_beginning_finds_its_name() {
        assert_eq!(
            nearest("Cosine", ["CosineAnnealingLR", "ConstantLR"]),
            Some("CosineAnnealingLR")
        );
    }

    #[test]
    fn an_unrelated_name_is_not_proposed() {
        assert_eq!(nearest("zebra", ["seed", "batch_size"]), None);
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest("", ["a"]), None);
    }
}
