//! Renames tensors of another library's files: `transformer.h.*.mlp.*` to `blocks.*.mlp.*`.

/// A rule that renames tensors. What each `*` of `from` matches replaces the `*` of `to`
/// in the same order; the shortest match is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    from: Vec<String>,
    to: Vec<String>,
    transpose: bool,
}

impl Rename {
    /// A rule; `transpose` is for libraries that store matrices the other way round.
    ///
    /// # Errors
    /// The two have different numbers of `*`.
    pub fn new(from: &str, to: &str, transpose: bool) -> Result<Self, String> {
        let pieces = |text: &str| text.split('*').map(str::to_owned).collect::<Vec<_>>();
        let (from, to) = (pieces(from), pieces(to));
        if from.len() != to.len() {
            let (left, right) = (from.len() - 1, to.len() - 1);
            return Err(format!(
                "`from` has {left} `*` and `to` has {right}: use the same number in both"
            ));
        }
        Ok(Self { from, to, transpose })
    }

    /// The new name, and whether the tensor is transposed; `None` if the rule does not match.
    pub fn apply(&self, name: &str) -> Option<(String, bool)> {
        let runs = self.runs(name)?;
        let mut new = self.to[0].clone();
        for (run, piece) in runs.into_iter().zip(&self.to[1..]) {
            new.push_str(run);
            new.push_str(piece);
        }
        Some((new, self.transpose))
    }

    /// What each `*` of `from` matches in a name.
    fn runs<'a>(&self, name: &'a str) -> Option<Vec<&'a str>> {
        let [first, middle @ .., last] = self.from.as_slice() else {
            return (self.from[0] == name).then(Vec::new);
        };
        let mut rest = name.strip_prefix(first.as_str())?.strip_suffix(last.as_str())?;
        let mut runs = Vec::with_capacity(self.from.len() - 1);
        for piece in middle {
            let (run, after) = rest.split_once(piece.as_str())?;
            runs.push(run);
            rest = after;
        }
        runs.push(rest);
        Some(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(from: &str, to: &str, name: &str) -> Option<String> {
        Rename::new(from, to, false).unwrap().apply(name).map(|(name, _)| name)
    }

    #[test]
    fn stars_carry_their_text_over() {
        assert_eq!(apply("transformer.*", "*", "transformer.h.0.w").unwrap(), "h.0.w");
        assert_eq!(
            apply("h.*.attn.c_proj.*", "blocks.*.attention.out.*", "h.11.attn.c_proj.bias")
                .unwrap(),
            "blocks.11.attention.out.bias"
        );
        assert_eq!(
            apply("wte.weight", "embedding.weight", "wte.weight").unwrap(),
            "embedding.weight"
        );
        assert_eq!(apply("*", "model.*", "w").unwrap(), "model.w");
    }

    #[test]
    fn other_names_are_left_alone() {
        assert_eq!(apply("h.*.attn", "b.*", "g.0.attn"), None);
        assert_eq!(apply("h.*.attn", "b.*", "h.0.attn.w"), None);
        assert_eq!(apply("wte", "e", "wte.weight"), None);
        // Prefix and suffix must not overlap.
        assert_eq!(apply("ab*ba", "*", "aba"), None);
    }

    #[test]
    fn stars_without_a_partner_are_refused() {
        assert_eq!(
            Rename::new("h.*.w", "h.w", false).unwrap_err(),
            "`from` has 1 `*` and `to` has 0: use the same number in both"
        );
    }
}
