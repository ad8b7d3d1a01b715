//! Windows over a row of tokens, each token with the next one as its label.

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
    /// Splits a part of a row into windows. By default they do not overlap.
    ///
    /// # Errors
    /// The part is too short for one window.
    pub(super) fn cut(
        part: &Range<usize>,
        context: usize,
        stride: Option<usize>,
    ) -> Result<Self, String> {
        // The last token of a window needs a label too.
        let Some(spare) = context.checked_add(1).and_then(|all| part.len().checked_sub(all)) else {
            return Err(format!(
                "{} tokens in this part of the text are too few for a row of context = {context} and the token after it",
                part.len()
            ));
        };
        let stride = stride.unwrap_or(context);
        Ok(Self { start: part.start, count: spare / stride + 1, context, stride })
    }

    /// The number of windows.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The positions of a window's tokens, and of their labels.
    pub(super) fn at(&self, index: usize) -> (Range<usize>, Range<usize>) {
        let start = self.start + index * self.stride;
        (start..start + self.context, start + 1..start + 1 + self.context)
    }
}

/// The positions of one part of `len` tokens, or rows of tokens; the end is held out.
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
