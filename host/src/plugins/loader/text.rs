//! Text of a plugin, made safe for a message: validated, and shortened to one line.

use hookrack_plugin_api::abi::HrStr;
use std::borrow::Cow;

/// Longer than any real name or manifest: a longer text means that the length was never set.
const LONGEST: usize = 16 << 20;
/// The longest foreign text in a message.
const LONGEST_QUOTE: usize = 300;

/// The text that a table lends for the process; `None` if it is not valid UTF-8.
///
/// # Safety
/// `lent.ptr` must point to `lent.len` bytes that stay as they are for the life of the process, unless the length is
/// 0 or absurd.
pub(super) unsafe fn lent(lent: HrStr) -> Option<&'static str> {
    if lent.len == 0 {
        return Some("");
    }
    if lent.ptr.is_null() || lent.len > LONGEST {
        return None;
    }
    // SAFETY: the caller vouches for pointer, length and life.
    std::str::from_utf8(unsafe { std::slice::from_raw_parts(lent.ptr, lent.len) }).ok()
}

/// `text` as part of a one-line message.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// `text` with its control characters escaped: the name of a file must not control a terminal, or look like lines of the host.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_text_is_one_line_however_it_was_written() {
        assert_eq!(one_line("\n  a\tb\r\n\u{1b}c  "), "a b c");
        assert_eq!(one_line(&"é".repeat(1000)).chars().count(), LONGEST_QUOTE + 1);
    }

    #[test]
    fn an_absent_text_is_not_read() {
        let absurd = HrStr { ptr: std::ptr::dangling(), len: usize::MAX };
        let null = HrStr { ptr: std::ptr::null(), len: 3 };
        let bytes = HrStr { ptr: [0xff_u8].as_ptr(), len: 1 };
        // SAFETY: the first two are refused by their look, the third is a static byte.
        let read = unsafe { [lent(absurd), lent(null), lent(bytes), lent(HrStr::new("ema"))] };
        assert_eq!(read, [None, None, None, Some("ema")]);
    }
}
