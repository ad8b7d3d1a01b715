//! What Rust's names are called in C, for the constants and in the comments that speak of them.

use std::collections::BTreeSet;

/// Constants that belong to a type, as cbindgen writes them, and what they are called here.
const OF_TYPES: [(&str, &str); 2] = [("HrStatus_", "HR_"), ("HrTensor_", "HR_TENSOR_")];

/// The names of the public constants. C has no modules, so each gets the prefix `HR_`.
#[derive(Default)]
pub(crate) struct CWords {
    constants: BTreeSet<String>,
}

impl CWords {
    /// Finds the constants of a source file; those of a type are indented.
    pub(crate) fn learn(&mut self, source: &str) {
        let names = source
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("pub const "))
            .filter_map(|rest| rest.split_once(':').map(|(name, _)| name.to_owned()));
        self.constants.extend(names.filter(|name| !name.contains("fn ")));
    }

    /// Rust's name and C's, for cbindgen.
    pub(crate) fn renames(&self) -> impl Iterator<Item = (String, String)> {
        self.constants.iter().map(|name| (name.clone(), format!("HR_{name}")))
    }

    /// A line of the header as a C programmer expects it.
    pub(crate) fn translate(&self, line: &str) -> String {
        if let Some(define) = line.strip_prefix("#define ") {
            let renamed = OF_TYPES.iter().find_map(|(rust, c)| {
                define.strip_prefix(rust).map(|rest| format!("#define {c}{rest}"))
            });
            return renamed.unwrap_or_else(|| line.to_owned());
        }
        if line.trim_start().starts_with("//") { self.comment(line) } else { line.to_owned() }
    }

    fn comment(&self, line: &str) -> String {
        let plain = line.replace("[`", "`").replace("`]", "`").replace("`int`", "`int_`");
        let mut out = String::new();
        let mut rest = plain.as_str();
        while !rest.is_empty() {
            let (word, after) = rest.split_at(word_length(rest));
            if self.is_constant(word, after) {
                out.push_str("HR_");
            }
            out.push_str(word);
            let gap = after.find(is_word).unwrap_or(after.len());
            out.push_str(&after[..gap]);
            rest = &after[gap..];
        }
        out
    }

    /// `SLOT_INPUT` is one, and so is `SLOT_` before a star.
    fn is_constant(&self, word: &str, after: &str) -> bool {
        let family = word.ends_with('_') && after.starts_with('*');
        self.constants.contains(word)
            || family && self.constants.iter().any(|name| name.starts_with(word))
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn word_length(text: &str) -> usize {
    text.find(|c| !is_word(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::CWords;

    #[test]
    fn comments_speak_of_constants_by_their_c_names() {
        let mut words = CWords::default();
        words.learn(
            "pub const SLOT_INPUT: u32 = 0;\nimpl X {\n    pub const OK: Self = Self(0);\n}\n",
        );
        words.learn("pub const fn of(name: &str) -> Self {");
        assert_eq!(
            words.translate("  // A `SLOT_*` such as [`SLOT_INPUT`]; OK, not OKAY. `int` (x)"),
            "  // A `HR_SLOT_*` such as `HR_SLOT_INPUT`; HR_OK, not OKAY. `int_` (x)"
        );
        assert_eq!(words.translate("#define HrStatus_OK 0"), "#define HR_OK 0");
        assert_eq!(words.translate("  uint32_t OK;"), "  uint32_t OK;");
    }
}
