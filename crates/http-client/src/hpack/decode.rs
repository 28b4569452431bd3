//! The reading side of HPACK, RFC 7541, 3 and 6: a header block becomes a list of fields.
//! Every field is copied out, since the table may let go of it before the list is read.

use super::huffman;
use super::integer;
use super::statics::STATIC;
use super::table::Table;
use super::{FIELD_BYTES, TABLE_BYTES};

/// Why a block was refused; the connection cannot go on, since the tables differ from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It breaks RFC 7541.
    Malformed,
    /// The list is longer than the bound.
    TooLong,
}

/// A decoded list of fields; its memory is used again for the next.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    text: Vec<u8>,
    /// For each field, where its name and its value end in `text`.
    ends: Vec<(u32, u32)>,
}

impl Fields {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Names and values, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(name, value)| {
            let (from, name, value) = (start, name as usize, value as usize);
            start = value;
            (&self.text[from..name], &self.text[name..value])
        })
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }
}

/// Decodes the blocks of one connection, in order.
#[derive(Debug)]
pub(crate) struct Decoder {
    table: Table,
    list_bytes_max: usize,
}

impl Decoder {
    /// `list_bytes_max` bounds the sum of RFC 9113, 6.5.2 over a list.
    pub(crate) fn new(list_bytes_max: usize) -> Decoder {
        Decoder { table: Table::new(TABLE_BYTES), list_bytes_max }
    }

    /// Puts the fields of a whole block in place of those in `fields`.
    pub(crate) fn decode(&mut self, block: &[u8], fields: &mut Fields) -> Result<(), Refused> {
        fields.clear();
        let mut rest = block;
        while let Some(&first) = rest.first() {
            let start = fields.text.len();
            let name_end = if first & 0x80 != 0 {
                // 6.1: an indexed field.
                let (name, value) = self.indexed(take_integer(&mut rest, 7)?)?;
                fields.text.extend_from_slice(name);
                let name_end = fields.text.len();
                fields.text.extend_from_slice(value);
                name_end
            } else if first & 0xe0 == 0x20 {
                // 6.3: a new size, which stands before any field (4.2).
                let size = take_integer(&mut rest, 5)?;
                if size > TABLE_BYTES || !fields.ends.is_empty() {
                    return Err(Refused::Malformed);
                }
                self.table.resize(size);
                continue;
            } else {
                // 6.2: a literal, to be indexed or not, now or ever.
                let index = first & 0x40 != 0;
                match take_integer(&mut rest, if index { 6 } else { 4 })? {
                    0 => take_string(&mut rest, &mut fields.text)?,
                    name => fields.text.extend_from_slice(self.indexed(name)?.0),
                }
                let name_end = fields.text.len();
                take_string(&mut rest, &mut fields.text)?;
                if index {
                    let (name, value) = fields.text[start..].split_at(name_end - start);
                    self.table.insert(name, value, 0);
                }
                name_end
            };
            fields.ends.push((name_end as u32, fields.text.len() as u32));
            if fields.text.len() + fields.ends.len() * FIELD_BYTES > self.list_bytes_max {
                return Err(Refused::TooLong);
            }
        }
        Ok(())
    }

    /// 2.3.3.
    fn indexed(&self, index: usize) -> Result<(&[u8], &[u8]), Refused> {
        let at = index.checked_sub(1).ok_or(Refused::Malformed)?;
        match STATIC.get(at) {
            Some((name, value)) => Ok((name.as_bytes(), value.as_bytes())),
            None => self.table.field(at - STATIC.len()).ok_or(Refused::Malformed),
        }
    }
}

fn take_integer(rest: &mut &[u8], prefix: u32) -> Result<usize, Refused> {
    let (value, used) = integer::decode(rest, prefix).ok_or(Refused::Malformed)?;
    *rest = &rest[used..];
    Ok(value)
}

/// 5.2.
fn take_string(rest: &mut &[u8], text: &mut Vec<u8>) -> Result<(), Refused> {
    let coded = rest.first().ok_or(Refused::Malformed)? & 0x80 != 0;
    let length = take_integer(rest, 7)?;
    let (string, behind) = rest.split_at_checked(length).ok_or(Refused::Malformed)?;
    *rest = behind;
    if coded {
        return huffman::decode(string, text).map_err(|huffman::NotHuffman| Refused::Malformed);
    }
    text.extend_from_slice(string);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::hex;

    fn decoded(decoder: &mut Decoder, block: &str) -> Result<String, Refused> {
        let mut fields = Fields::default();
        decoder.decode(&hex(block), &mut fields)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let lines: Vec<String> =
            fields.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect();
        Ok(lines.join("\n"))
    }

    #[track_caller]
    fn blocks(table_bytes: usize, blocks: &[(&str, &str)]) {
        let mut decoder = Decoder::new(1 << 16);
        decoder.table.resize(table_bytes);
        for (block, expected) in blocks {
            assert_eq!(decoded(&mut decoder, block).as_deref(), Ok(*expected));
        }
    }

    #[test]
    fn the_single_fields_of_appendix_c_2() {
        let literal = "400a637573746f6d2d6b65790d637573746f6d2d686561646572";
        blocks(TABLE_BYTES, &[(literal, "custom-key: custom-header"), ("be", "custom-key: custom-header")]);
        blocks(TABLE_BYTES, &[("040c2f73616d706c652f70617468", ":path: /sample/path")]);
        blocks(
            TABLE_BYTES,
            &[("100870617373776f726406736563726574", "password: secret"), ("82", ":method: GET")],
        );
    }

    const REQUESTS: [&str; 3] = [
        ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com",
        ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\ncache-control: no-cache",
        ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value",
    ];

    #[test]
    fn the_requests_of_appendix_c_3_and_c_4() {
        let plain = [
            "828684410f7777772e6578616d706c652e636f6d",
            "828684be58086e6f2d6361636865",
            "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
        ];
        let coded = [
            "828684418cf1e3c2e5f23a6ba0ab90f4ff",
            "828684be5886a8eb10649cbf",
            "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        ];
        for round in [plain, coded] {
            blocks(TABLE_BYTES, &[(round[0], REQUESTS[0]), (round[1], REQUESTS[1]), (round[2], REQUESTS[2])]);
        }
    }

    #[test]
    fn the_responses_of_appendix_c_5_and_c_6_in_a_table_of_256_bytes() {
        let (date, location) = ("Mon, 21 Oct 2013 20:13:21 GMT", "https://www.example.com");
        let later = "Mon, 21 Oct 2013 20:13:22 GMT";
        let cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
        let first = format!(":status: 302\ncache-control: private\ndate: {date}\nlocation: {location}");
        let second = first.replace("302", "307");
        let third = format!(
            ":status: 200\ncache-control: private\ndate: {later}\nlocation: {location}\n\
             content-encoding: gzip\nset-cookie: {cookie}"
        );
        let plain = [
            "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470\
             733a2f2f7777772e6578616d706c652e636f6d",
            "4803333037c1c0bf",
            "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b\
             48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
        ];
        let coded = [
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82\
             ae43d3",
            "4883640effc1c0bf",
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5\
             af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
        ];
        for round in [plain, coded] {
            blocks(256, &[(round[0], &first), (round[1], &second), (round[2], &third)]);
        }
    }

    #[test]
    fn what_breaks_the_rules_is_refused() {
        for bad in [
            "80",           // index 0
            "be",           // beyond both tables
            "ff",           // a cut integer
            "ffffffffffff", // a great one
            "400a6375",     // a cut string
            "40",           // no string
            "8220",         // a size behind a field
            "3fe2ff03",     // a size above what we announced
            "0081ff0000",   // Huffman padding of eight ones
        ] {
            let refused = decoded(&mut Decoder::new(1 << 16), bad);
            assert_eq!(refused, Err(Refused::Malformed), "{bad}");
        }
    }

    #[test]
    fn a_short_block_cannot_become_a_long_list() {
        let mut decoder = Decoder::new(500);
        // A field of 100 bytes, then its index over and over.
        let field = format!("40017861{}", "78".repeat(97));
        assert!(decoded(&mut decoder, &field).is_ok());
        assert_eq!(decoded(&mut decoder, &"be".repeat(100)), Err(Refused::TooLong));
    }
}
