//! The parts of a run that a hook can change, in the words of `mutates`.

use hookrack_plugin_api::Point;
use std::fmt;
use std::ops::BitOr;

/// A set of parts of the run: what a hook declares that it changes, or what a tensor belongs to. An empty set is a tensor of the
/// hook's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunParts(u16);

/// Each word of `mutates`, with its description in messages.
const WORDS: [(RunParts, &str, &str); 8] = [
    (RunParts::PARAMS, "params", "a parameter or buffer of the model"),
    (RunParts::GRADS, "grads", "a gradient"),
    (RunParts::INPUT, "input", "the input of the batch"),
    (RunParts::LABEL, "label", "the label of the batch"),
    (RunParts::OUTPUT, "output", "the output of the model"),
    (RunParts::LOSS, "loss", "the loss"),
    (RunParts::LR, "lr", "the learning rate"),
    (RunParts::MOMENTUM, "momentum", "the momentum"),
];

impl RunParts {
    /// Nothing of the run.
    pub const NONE: Self = Self(0);
    /// Parameters and buffers.
    pub const PARAMS: Self = Self(1);
    /// Gradients and their norm.
    pub const GRADS: Self = Self(1 << 1);
    /// The input of the batch.
    pub const INPUT: Self = Self(1 << 2);
    /// The label of the batch.
    pub const LABEL: Self = Self(1 << 3);
    /// The output of the model.
    pub const OUTPUT: Self = Self(1 << 4);
    /// The loss.
    pub const LOSS: Self = Self(1 << 5);
    /// The learning rate.
    pub const LR: Self = Self(1 << 6);
    /// The momentum of the optimizer.
    pub const MOMENTUM: Self = Self(1 << 7);
    /// The output of a layer, whose memory the model still uses: no word of `mutates` covers it.
    pub const LAYER: Self = Self(1 << 8);
    /// Everything.
    pub const ALL: Self = Self(u16::MAX);

    /// What a manifest declares. Words that this host does not know are ignored.
    pub fn declared(words: &[String]) -> Self {
        let known = WORDS.iter().filter(|(_, word, _)| words.iter().any(|own| own == word));
        known.fold(Self::NONE, |all, (part, ..)| all | *part)
    }

    /// What a hook may change in its role without declaring it.
    pub fn of_role(point: Point) -> Self {
        match point {
            Point::OnOptimizerStep => Self::PARAMS | Self::GRADS,
            Point::OnIterBackward => Self::GRADS,
            Point::OnLrAdjust => Self::LR | Self::MOMENTUM,
            point if point.is_role() => Self::OUTPUT | Self::LOSS,
            _ => Self::NONE,
        }
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub fn beyond(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether both sets have something in common.
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The words of `mutates`, such as `"params", "grads"`, with a separator between them.
    pub fn words(self, separator: &str) -> String {
        let words: Vec<_> = self.rows().map(|(_, word, _)| format!("\"{word}\"")).collect();
        words.join(separator)
    }

    fn rows(self) -> impl Iterator<Item = &'static (Self, &'static str, &'static str)> {
        WORDS.iter().filter(move |(part, ..)| self.meets(*part))
    }
}

impl BitOr for RunParts {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for RunParts {
    /// In words: `a gradient`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layer = self.meets(Self::LAYER).then_some("the output of a layer");
        let things: Vec<_> = self.rows().map(|(.., thing)| *thing).chain(layer).collect();
        f.write_str(&things.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_manifest_declares_and_what_a_role_allows_are_sets_of_words() {
        let words = ["grads", "params", "weather"].map(str::to_owned);
        let declared = RunParts::declared(&words);
        assert_eq!(declared, RunParts::PARAMS | RunParts::GRADS);
        assert_eq!(declared.words(", "), "\"params\", \"grads\"");
        assert_eq!((RunParts::LOSS | RunParts::GRADS).beyond(declared).to_string(), "the loss");
        assert!(RunParts::of_role(Point::AfterTrainIter).is_empty());
        assert!(RunParts::of_role(Point::OnValForward).meets(RunParts::OUTPUT));
    }

    #[test]
    fn the_output_of_a_layer_has_a_name_and_no_word() {
        assert_eq!(RunParts::LAYER.to_string(), "the output of a layer");
        assert_eq!(RunParts::LAYER.words(", "), "");
        assert!(!RunParts::declared(&["layer".to_owned(), String::new()]).meets(RunParts::LAYER));
    }
}
