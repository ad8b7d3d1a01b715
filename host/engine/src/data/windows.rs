//! Windows over a row of tokens: so many tokens, and for each the one that follows it.

use std::ops::Range;

use super::Split;

/// Windows of one size, cut from a part of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    start: usize,
    count: usize,
    /// Tokens in a window.
    pub(super) context: usize,
    stride: usize,
}

impl Windows {
    /// Cuts a part of a row. Unless `stride` says otherwise no token comes twice.
    ///
    /// # Errors
    /// The part is too short for one window.
    pub(super) fn cut(
        part: &Range<usize>,
        context: usize,
        stride: Option<usize>,
    ) -> Result<Self, String> {
        // The last token of a window has a label, too.
        let Some(spare) = context.checked_add(1).and_then(|all| part.len().checked_sub(all)) else {
            return Err(format!(
                "{} tokens in this part of the text are too few for a row of context = {context} and the token after it",
                part.len()
            ));
        };
        let stride = stride.unwrap_or(context);
        Ok(Self { start: part.start, count: spare / stride + 1, context, stride })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The places of a window's tokens, and of those that follow them.
    pub(super) fn at(&self, index: usize) -> (Range<usize>, Range<usize>) {
        let start = self.start + index * self.stride;
        (start..start + self.context, start + 1..start + 1 + self.context)
    }
}

/// The places of one part of `len` tokens, or rows of tokens; what is held out is the end.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a length, rounded down"
)]
pub(super) fn part(len: usize, split: Split, val_share: f64) -> Range<usize> {
    let held_out = ((len as f64 * val_share) as usize).min(len);
    match split {
        Split::All => 0..len,
        Split::Train => 0..len - held_out,
        Split::Val => len - held_out..len,
    }
}
