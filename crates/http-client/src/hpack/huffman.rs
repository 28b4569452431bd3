//! The Huffman code of HPACK, RFC 7541, 5.2 and appendix B.
//!
//! The code is canonical: codes of one length follow each other in the order of their symbols, and the lengths alone
//! give all of it. Decoding looks up eight bits at once, which is all that text needs; longer codes are found by their
//! length.

/// The length in bits of each symbol's code; the last is the end of a string, which no string holds.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// The symbol that pads a string: its leading ones.
const END: usize = 256;
const LENGTH_MAX: usize = 30;

/// What decoding and encoding look up.
struct Tables {
    /// Each symbol's code, in the low bits.
    codes: [u32; 257],
    /// For each eight bits: the symbol whose code they begin with and its length, or 0 if the code is longer.
    short: [(u8, u8); 256],
    /// Symbols by length, then by value.
    sorted: [u16; 257],
    /// For each length: its first code, and the place of that code's symbol in `sorted`.
    first: [(u32, u32); LENGTH_MAX + 1],
    /// For each length: one past its last code. Not above `first` if no code has that length.
    past: [u32; LENGTH_MAX + 1],
}

static TABLES: Tables = tables();

const fn tables() -> Tables {
    let mut tables = Tables {
        codes: [0; 257],
        short: [(0, 0); 256],
        sorted: [0; 257],
        first: [(0, 0); LENGTH_MAX + 1],
        past: [0; LENGTH_MAX + 1],
    };
    let (mut code, mut place, mut length) = (0u32, 0usize, 1usize);
    while length <= LENGTH_MAX {
        tables.first[length] = (code, place as u32);
        let mut symbol = 0;
        while symbol <= END {
            if LENGTHS[symbol] as usize == length {
                tables.codes[symbol] = code;
                tables.sorted[place] = symbol as u16;
                if length <= 8 {
                    let mut after = 0;
                    while after < 1 << (8 - length) {
                        tables.short[(code as usize) << (8 - length) | after] = (symbol as u8, length as u8);
                        after += 1;
                    }
                }
                code += 1;
                place += 1;
            }
            symbol += 1;
        }
        tables.past[length] = code;
        code <<= 1;
        length += 1;
    }
    tables
}

/// A string that no encoder writes: an end within it, or padding that is too long or not of ones.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotHuffman;

/// Appends what `bytes` decode to.
pub(super) fn decode(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), NotHuffman> {
    // The next `held` bits stand at the top of `bits`; below them, zeros.
    let (mut bits, mut held) = (0u64, 0usize);
    let mut bytes = bytes.iter();
    loop {
        while held <= 56 {
            let Some(&byte) = bytes.next() else { break };
            bits |= u64::from(byte) << (56 - held);
            held += 8;
        }
        let (symbol, length) = TABLES.short[(bits >> 56) as usize];
        let length = usize::from(length);
        if length != 0 && length <= held {
            out.push(symbol);
            bits <<= length;
            held -= length;
            continue;
        }
        if held < 8 && is_padding(bits, held) {
            return Ok(());
        }
        let (symbol, length) = long(bits, held)?;
        out.push(symbol);
        bits <<= length;
        held -= length;
    }
}

/// Whether what is left is the beginning of the end's code: ones, fewer than eight.
fn is_padding(bits: u64, held: usize) -> bool {
    bits == !(u64::MAX.checked_shr(held as u32).unwrap_or(0))
}

/// The symbol with a code of more than eight bits at the top of `bits`.
fn long(bits: u64, held: usize) -> Result<(u8, usize), NotHuffman> {
    for length in 9..=LENGTH_MAX.min(held) {
        let code = (bits >> (64 - length)) as u32;
        if code < TABLES.past[length] {
            let (first, place) = TABLES.first[length];
            let symbol = TABLES.sorted[(place + (code - first)) as usize];
            return u8::try_from(symbol).map(|symbol| (symbol, length)).map_err(|_| NotHuffman);
        }
    }
    Err(NotHuffman)
}

/// How many bytes `text` has when encoded.
pub(super) fn encoded_len(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|&byte| usize::from(LENGTHS[usize::from(byte)])).sum();
    bits.div_ceil(8)
}

/// Appends `text` encoded.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut held) = (0u64, 0u32);
    for &byte in text {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        bits = bits << length | u64::from(TABLES.codes[usize::from(byte)]);
        held += length;
        while held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    if held > 0 {
        out.push((bits << (8 - held)) as u8 | 0xff >> held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::hex;

    #[test]
    fn the_code_is_that_of_appendix_b() {
        for (symbol, code, length) in [
            (b'0' as usize, 0x0, 5),
            (b'a' as usize, 0x3, 5),
            (b'%' as usize, 0x15, 6),
            (b':' as usize, 0x5c, 7),
            (b'Z' as usize, 0xfd, 8),
            (b'!' as usize, 0x3f8, 10),
            (b'|' as usize, 0x7fc, 11),
            (b'\\' as usize, 0x7fff0, 19),
            (0, 0x1ff8, 13),
            (128, 0xfffe6, 20),
            (224, 0xfffec, 20),
            (249, 0xffffffe, 28),
            (255, 0x3ffffee, 26),
            (10, 0x3ffffffc, 30),
            (END, 0x3fffffff, 30),
        ] {
            assert_eq!((TABLES.codes[symbol], LENGTHS[symbol]), (code, length), "{symbol}");
        }
    }

    /// From appendix C.4 and C.6.
    #[test]
    fn strings_of_the_specification_encode_and_decode() {
        for (text, encoded) in [
            ("www.example.com", "f1e3c2e5f23a6ba0ab90f4ff"),
            ("no-cache", "a8eb10649cbf"),
            ("custom-key", "25a849e95ba97d7f"),
            ("custom-value", "25a849e95bb8e8b4bf"),
            ("302", "6402"),
            ("Mon, 21 Oct 2013 20:13:21 GMT", "d07abe941054d444a8200595040b8166e082a62d1bff"),
            ("https://www.example.com", "9d29ad171863c78f0b97c8e9ae82ae43d3"),
            ("", ""),
        ] {
            let (mut there, mut back) = (Vec::new(), Vec::new());
            encode(text.as_bytes(), &mut there);
            assert_eq!(there, hex(encoded), "{text}");
            assert_eq!(encoded_len(text.as_bytes()), there.len());
            decode(&there, &mut back).expect("well encoded");
            assert_eq!(back, text.as_bytes());
        }
    }

    #[test]
    fn every_byte_comes_back_in_any_neighbourhood() {
        let all: Vec<u8> =
            (0..=255u8).flat_map(|byte| [byte, byte.wrapping_mul(151), b'a', 255 - byte]).collect();
        for text in all.chunks(7).chain([&all[..]]) {
            let (mut there, mut back) = (Vec::new(), Vec::new());
            encode(text, &mut there);
            decode(&there, &mut back).expect("well encoded");
            assert_eq!(back, text);
        }
    }

    #[test]
    fn an_end_within_a_string_and_wrong_padding_are_refused() {
        for bad in ["ffffffff", "ff", "00", "1fff", "fffffffc", "3fffffffff"] {
            assert_eq!(decode(&hex(bad), &mut Vec::new()), Err(NotHuffman), "{bad}");
        }
        // `a` and three bits of ones; `0` and a zero among them.
        assert_eq!(decode(&[0x1f], &mut Vec::new()), Ok(()));
        assert_eq!(decode(&[0x03], &mut Vec::new()), Err(NotHuffman));
    }
}
