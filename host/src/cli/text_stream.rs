//! A text that is written token by token, and never in the middle of a character.

use crate::engine::data::Vocabulary;

/// A prompt and its continuation as bytes to print; nothing is printed before the first token.
pub(super) struct TextStream<'a> {
    known: Vocabulary<'a>,
    // What is not printed yet: the prompt, or the beginning of a character.
    waiting: Vec<u8>,
    has_begun: bool,
}

impl<'a> TextStream<'a> {
    pub(super) fn new(known: Vocabulary<'a>, prompt: &[i64]) -> Self {
        Self { known, waiting: known.decode(prompt), has_begun: false }
    }

    /// Whether there was a token.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// What to print now that this token is known.
    pub(super) fn next(&mut self, token: i64) -> Vec<u8> {
        self.has_begun = true;
        if self.known == Vocabulary::Ids {
            self.waiting.push(b' ');
        }
        self.waiting.extend(self.known.decode(&[token]));
        let rest = self.waiting.split_off(whole(&self.waiting));
        std::mem::replace(&mut self.waiting, rest)
    }

    /// What to print at the end, with a line break.
    pub(super) fn end(&mut self) -> Vec<u8> {
        self.waiting.push(b'\n');
        std::mem::take(&mut self.waiting)
    }
}

/// The number of bytes before a character whose end is missing.
fn whole(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let is_begun = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    bytes.len() - if is_begun { last.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(known: Vocabulary<'_>, prompt: &[i64], tokens: &[i64]) -> Vec<Vec<u8>> {
        let mut text = TextStream::new(known, prompt);
        let mut pieces: Vec<_> = tokens.iter().map(|token| text.next(*token)).collect();
        pieces.push(text.end());
        pieces
    }

    #[test]
    fn a_character_is_printed_when_its_last_byte_is_known() {
        let tokens = "\u{e9}\u{1f600}".bytes().map(i64::from).collect::<Vec<_>>();
        let printed = pieces(Vocabulary::Bytes, &[97], &tokens);
        let wanted: [&[u8]; 7] =
            [b"a", "\u{e9}".as_bytes(), b"", b"", b"", "\u{1f600}".as_bytes(), b"\n"];
        assert_eq!(printed, wanted);
    }

    #[test]
    fn bytes_that_are_no_text_are_printed_as_they_are() {
        let printed = pieces(Vocabulary::Bytes, &[97], &[0xFF, 0xE2, 0x41, 0xE2, 0x82]);
        let wanted: [&[u8]; 6] = [b"a\xFF", b"", b"\xE2A", b"", b"", b"\xE2\x82\n"];
        assert_eq!(printed, wanted);
    }

    #[test]
    fn ids_are_separated_and_a_prompt_alone_is_printed_at_the_end() {
        assert_eq!(pieces(Vocabulary::Ids, &[5, 6], &[7, 10]), [&b"5 6 7"[..], b" 10", b"\n"]);
        assert_eq!(pieces(Vocabulary::Ids, &[5, 6], &[]), [b"5 6\n"]);
    }
}
