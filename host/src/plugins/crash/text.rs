//! FixedText formatting without allocation.

use std::fmt::{self, Write};

/// A text of at most `N` bytes; what goes beyond is cut off.
pub(super) struct FixedText<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> FixedText<N> {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push(&mut self, bytes: &[u8]) {
        let room = N - self.len;
        let taken = &bytes[..bytes.len().min(room)];
        self.bytes[self.len..self.len + taken.len()].copy_from_slice(taken);
        self.len += taken.len();
    }

    /// Appends a JSON string.
    pub(super) fn push_json(&mut self, text: &str) {
        self.push(b"\"");
        self.push_escaped(text);
        self.push(b"\"");
    }

    /// Appends the inside of a JSON string.
    pub(super) fn push_escaped(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                b'"' => self.push(b"\\\""),
                b'\\' => self.push(b"\\\\"),
                0..0x20 => {
                    let _ = write!(self, "\\u{byte:04x}");
                }
                byte => self.push(&[byte]),
            }
        }
    }
}

/// Numbers and texts are formatted in place; `core::fmt` does not allocate for them.
impl<const N: usize> Write for FixedText<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_for_json_and_cut_at_its_end() {
        let mut text = FixedText::<40>::new();
        text.push_json("a \"b\"\\\n\u{e9}");
        assert_eq!(text.as_bytes(), "\"a \\\"b\\\"\\\\\\u000a\u{e9}\"".as_bytes());
        let mut text = FixedText::<40>::new();
        let _ = write!(text, "{:#x} {}", 255, "x".repeat(100));
        assert_eq!(text.as_bytes().len(), 40);
        assert!(text.as_bytes().starts_with(b"0xff xxx"));
    }
}
