//! Integers with a prefix of some bits, RFC 7541, 5.1.
//!
//! None above 32 bits is taken: every one of them is a length or an index.

/// The integer whose prefix is the low `prefix` bits of the first byte, and how many bytes it takes. None if it is
/// cut off or too great.
pub(super) fn decode(bytes: &[u8], prefix: u32) -> Option<(usize, usize)> {
    let mask = (1u8 << prefix) - 1;
    let first = bytes.first()? & mask;
    if first < mask {
        return Some((usize::from(first), 1));
    }
    let mut value = u64::from(mask);
    for (at, &byte) in bytes[1..].iter().enumerate().take(5) {
        value += u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return u32::try_from(value).ok().map(|value| (value as usize, at + 2));
        }
    }
    None
}

/// Appends `value`; `pattern` holds the bits above the prefix.
pub(super) fn encode(value: usize, prefix: u32, pattern: u8, out: &mut Vec<u8>) {
    let mask = (1usize << prefix) - 1;
    if value < mask {
        out.push(pattern | value as u8);
        return;
    }
    out.push(pattern | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appendix C.1, and the edges.
    #[test]
    fn integers_of_the_specification_encode_and_decode() {
        for (value, prefix, bytes) in [
            (10, 5, &[0b01010][..]),
            (1337, 5, &[0b11111, 0b10011010, 0b1010]),
            (42, 8 - 1, &[42]),
            (30, 5, &[30]),
            (31, 5, &[31, 0]),
            (u32::MAX as usize, 7, &[127, 0x80, 0xff, 0xff, 0xff, 0x0f]),
        ] {
            let mut out = Vec::new();
            encode(value, prefix, 0, &mut out);
            assert_eq!(out, bytes);
            assert_eq!(decode(bytes, prefix), Some((value, bytes.len())));
            assert_eq!(decode(&bytes[..bytes.len() - 1], prefix), None);
        }
        let (above, endless) =
            ([127, 0x81, 0xff, 0xff, 0xff, 0x0f], [127, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0]);
        assert_eq!(decode(&above, 7), None);
        assert_eq!(decode(&endless, 7), None);
    }
}
