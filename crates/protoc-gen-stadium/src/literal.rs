//! Bytes as literals in the source of a program.

/// Encodes by RFC 4648, section 4, with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            match digit <= three.len() {
                true => text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize])),
                false => text.push('='),
            }
        }
    }
    text
}

/// The escape of a byte that stands for no character in a literal.
#[derive(Clone, Copy)]
pub(crate) enum Escape {
    /// `\012`: three digits, whatever follows.
    Octal,
    /// `\x0a`: two digits, where a language ends the escape behind them.
    Hexadecimal,
}

/// The bytes as the insides of literals, none longer than `width` unless an escape is.
pub(crate) fn lines(bytes: &[u8], escape: Escape, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for &byte in bytes {
        let text = match (byte, escape) {
            (b'"' | b'\\', _) => format!("\\{}", char::from(byte)),
            // C++ had trigraphs, and compilers warn of them.
            (b'?', Escape::Octal) => "\\?".to_owned(),
            (b' '..=b'~', _) => char::from(byte).to_string(),
            (_, Escape::Octal) => format!("\\{byte:03o}"),
            (_, Escape::Hexadecimal) => format!("\\x{byte:02x}"),
        };
        if lines.last().is_some_and(|line| !line.is_empty() && line.len() + text.len() > width) {
            lines.push(String::new());
        }
        lines.last_mut().expect("there is one from the start").push_str(&text);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_has_the_vectors_of_its_rfc() {
        // RFC 4648, section 10.
        for (plain, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn literals_have_escapes_and_a_width() {
        assert_eq!(lines(b"a\"\\?\n\xff7", Escape::Octal, 80), ["a\\\"\\\\\\?\\012\\3777"]);
        assert_eq!(lines(b"a\"\\?\n\xff7", Escape::Hexadecimal, 80), ["a\\\"\\\\?\\x0a\\xff7"]);
        assert_eq!(lines(b"abc\n", Escape::Octal, 4), ["abc", "\\012"]);
        assert_eq!(lines(b"", Escape::Octal, 4), [""]);
    }
}
