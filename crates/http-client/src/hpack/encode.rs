//! The writing side of HPACK, RFC 7541, 6: fields become bytes, shorter the second time.
//!
//! Fields whose values seldom repeat are not kept in the table, where they would push out those that do; secrets are
//! marked as never to be indexed, 7.1.3.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::statics::{self, STATIC};
use super::table::Table;
use super::{FIELD_BYTES, TABLE_BYTES, huffman, integer};

/// Encodes the blocks of one connection, in order.
#[derive(Debug)]
pub(crate) struct Encoder {
    table: Table,
    /// The least size that the peer asked for since the last block, and whether it asked: announced
    /// at the next. 4.2.
    announce: Option<usize>,
    /// A name in lower case.
    name: Vec<u8>,
}

/// What becomes of a field in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Indexing {
    Kept,
    Passing,
    Never,
}

impl Encoder {
    pub(crate) fn new() -> Encoder {
        Encoder { table: Table::new(TABLE_BYTES), announce: None, name: Vec::new() }
    }

    /// The peer's SETTINGS_HEADER_TABLE_SIZE: how much it keeps for us.
    pub(crate) fn peer_table_bytes(&mut self, bytes: usize) {
        let size = bytes.min(TABLE_BYTES);
        if size != self.table.size_max() {
            self.announce = Some(self.announce.map_or(size, |least| least.min(size)));
            self.table.resize(size);
        }
    }

    /// Begins a block. Every block begun must reach the peer.
    pub(crate) fn begin(&mut self, out: &mut Vec<u8>) {
        let Some(least) = self.announce.take() else { return };
        let size = self.table.size_max();
        if least < size {
            integer::encode(least, 5, 0x20, out);
        }
        integer::encode(size, 5, 0x20, out);
    }

    /// Appends one field; its name may be in any case.
    pub(crate) fn field(&mut self, name: &str, value: &[u8], out: &mut Vec<u8>) {
        let mut lower = std::mem::take(&mut self.name);
        lower.clear();
        lower.extend(name.bytes().map(|byte| byte.to_ascii_lowercase()));
        self.lower_field(&lower, value, out);
        self.name = lower;
    }

    fn lower_field(&mut self, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        let indexing = indexing(name, value, self.table.size_max());
        let mut hash = 0;
        if indexing == Indexing::Kept {
            hash = FixedState::default().hash_one((name, value)) as u32;
            if let Some(age) = self.table.find(name, value, hash) {
                return integer::encode(STATIC.len() + 1 + age, 7, 0x80, out);
            }
        }
        let known = statics::find(name, value);
        if let Some((index, true)) = known {
            return integer::encode(index, 7, 0x80, out);
        }
        let named = known.map(|(index, _)| index);
        let named = named.or_else(|| self.table.find_name(name).map(|age| STATIC.len() + 1 + age));
        let (prefix, pattern) = match indexing {
            Indexing::Kept => (6, 0x40),
            Indexing::Passing => (4, 0x00),
            Indexing::Never => (4, 0x10),
        };
        integer::encode(named.unwrap_or(0), prefix, pattern, out);
        if named.is_none() {
            string(name, out);
        }
        string(value, out);
        if indexing == Indexing::Kept {
            self.table.insert(name, value, hash);
        }
    }
}

fn indexing(name: &[u8], value: &[u8], table_bytes: usize) -> Indexing {
    match name {
        b"authorization" | b"proxy-authorization" => Indexing::Never,
        // One that is short could be guessed by trying, 7.1.
        b"cookie" if value.len() < 20 => Indexing::Never,
        b":path" | b"content-length" | b"if-modified-since" | b"if-none-match" | b"etag" | b"location" => {
            Indexing::Passing
        }
        _ if name.len() + value.len() + FIELD_BYTES > table_bytes * 3 / 4 => Indexing::Passing,
        _ => Indexing::Kept,
    }
}

fn string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::encoded_len(text);
    if coded < text.len() {
        integer::encode(coded, 7, 0x80, out);
        huffman::encode(text, out);
    } else {
        integer::encode(text.len(), 7, 0x00, out);
        out.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::{Decoder, Fields, hex};

    fn block(encoder: &mut Encoder, fields: &[(&str, &str)]) -> Vec<u8> {
        let mut out = Vec::new();
        encoder.begin(&mut out);
        for (name, value) in fields {
            encoder.field(name, value.as_bytes(), &mut out);
        }
        out
    }

    /// Appendix C.4, byte for byte.
    #[test]
    fn requests_are_encoded_as_in_the_specification() {
        let mut encoder = Encoder::new();
        let common =
            [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")];
        assert_eq!(block(&mut encoder, &common), hex("828684418cf1e3c2e5f23a6ba0ab90f4ff"));
        let mut second = common.to_vec();
        second.push(("Cache-Control", "no-cache"));
        assert_eq!(block(&mut encoder, &second), hex("828684be5886a8eb10649cbf"));
        let third = [
            (":method", "GET"),
            (":scheme", "https"),
            (":path", "/index.html"),
            (":authority", "www.example.com"),
            ("Custom-Key", "custom-value"),
        ];
        assert_eq!(block(&mut encoder, &third), hex("828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"));
    }

    #[test]
    fn secrets_are_never_indexed() {
        let mut encoder = Encoder::new();
        for _ in 0..2 {
            assert_eq!(block(&mut encoder, &[("Authorization", "s")])[..2], hex("1f08"));
        }
    }

    #[test]
    fn a_peer_that_shrinks_and_grows_its_table_receives_both_sizes() {
        let mut encoder = Encoder::new();
        block(&mut encoder, &[("a", "1")]);
        encoder.peer_table_bytes(0);
        encoder.peer_table_bytes(100);
        let sizes = block(&mut encoder, &[("a", "1")]);
        assert_eq!(sizes[..3], hex("203f45"));
        assert!(sizes.len() > 4, "the field is written out anew");
        assert_eq!(block(&mut encoder, &[("a", "1")]), hex("be"));
    }

    #[test]
    fn what_is_encoded_is_decoded_while_tables_turn_over() {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(1 << 16));
        let mut fields = Fields::default();
        for round in 0..2000usize {
            if round % 300 == 299 {
                encoder.peer_table_bytes([0, 512, 100_000][round / 300 % 3]);
            }
            let own = format!("x-{}", round % 37);
            let value = "v\u{e9}".repeat(round % 61);
            let list =
                [(":path", &*value), (&*own, "constant"), ("cookie", &*value), ("authorization", &*own)];
            let bytes = block(&mut encoder, &list);
            decoder.decode(&bytes, &mut fields).expect("our own");
            let back: Vec<_> = fields.iter().collect();
            let sent: Vec<_> = list.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
            assert_eq!(back, sent);
        }
    }
}
