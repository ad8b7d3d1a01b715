//! The framing of event files: each message between its length and a checksum.

/// TensorFlow's format masks checksums, because the checksum of data that contains its own checksum is weak.
fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// A message as a record of the file.
pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u64).to_le_bytes();
    let mut out = Vec::with_capacity(message.len() + 16);
    out.extend(length);
    out.extend(masked_crc(&length).to_le_bytes());
    out.extend(message);
    out.extend(masked_crc(message).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_length_checksum_message_checksum() {
        // What TensorFlow writes at the beginning of every event file, but for the time.
        let out = framed(b"\x1a\x0dbrain.Event:2");
        assert_eq!(out.len(), 8 + 4 + 15 + 4);
        assert_eq!(out[..8], [15, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283, "the checksum of the standard");
        assert_eq!(
            masked_crc(b"123456789"),
            0xe306_9283u32.rotate_right(15).wrapping_add(0xa282_ead8)
        );
    }
}
