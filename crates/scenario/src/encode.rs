//! Ways to write text so that it is safe where it goes: into JSON, a URL, a request line, a header.
//!
//! Each appends to bytes that are given and allocates nothing of its own.

const DIGITS: &[u8; 16] = b"0123456789abcdef";
const DIGITS_UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// The inside of a JSON string (RFC 8259, 7), without the quotes.
pub(crate) fn json_text(text: &[u8], out: &mut Vec<u8>) {
    let mut from = 0;
    for (at, byte) in text.iter().enumerate() {
        if !matches!(byte, 0..=0x1f | b'"' | b'\\') {
            continue;
        }
        out.extend_from_slice(&text[from..at]);
        from = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.push(DIGITS[usize::from(byte >> 4)]);
                out.push(DIGITS[usize::from(byte & 15)]);
            }
        }
    }
    out.extend_from_slice(&text[from..]);
}

/// Everything but unreserved characters (RFC 3986, 2.3) as `%XX`.
pub(crate) fn percent(text: &[u8], out: &mut Vec<u8>) {
    escape(text, out, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
}

/// What cannot stand in a request's target (RFC 9112, 3.2) as `%XX`: blanks, control characters, what is not ASCII.
pub(crate) fn request_target(text: &[u8], out: &mut Vec<u8>) {
    escape(text, out, |byte| byte.is_ascii_graphic());
}

fn escape(text: &[u8], out: &mut Vec<u8>, stays: impl Fn(u8) -> bool) {
    for byte in text {
        if stays(*byte) {
            out.push(*byte);
        } else {
            out.push(b'%');
            out.push(DIGITS_UPPER[usize::from(byte >> 4)]);
            out.push(DIGITS_UPPER[usize::from(byte & 15)]);
        }
    }
}

/// A header's value: control characters, which would end it, become blanks (RFC 9110, 5.5).
pub(crate) fn header_value(text: &[u8], out: &mut Vec<u8>) {
    let from = out.len();
    out.extend_from_slice(text);
    for byte in &mut out[from..] {
        if byte.is_ascii_control() && *byte != b'\t' {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    fn done(with: fn(&[u8], &mut Vec<u8>), text: &str) -> String {
        let mut out = Vec::new();
        with(text.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_place_has_its_escapes() {
        assert_eq!(done(super::json_text, "a\"b\\c\n\u{1}é"), "a\\\"b\\\\c\\n\\u0001é");
        assert_eq!(done(super::percent, "a b&c=é~"), "a%20b%26c%3D%C3%A9~");
        assert_eq!(done(super::request_target, "/a b?c=d&é"), "/a%20b?c=d&%C3%A9");
        assert_eq!(done(super::header_value, "x\r\nEvil: 1"), "x  Evil: 1");
        assert_eq!(super::hex(&[0, 0xab]), "00ab");
    }
}
