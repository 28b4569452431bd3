//! Values of Kafka's protocol, written and read. Everything is big-endian.
//!
//! A length or count that an answer states never makes us reserve more than the answer has.

/// The answer is not what the protocol says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Malformed;

/// A request's body.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn i8(&mut self, value: i8) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    pub(super) fn i16(&mut self, value: i16) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    pub(super) fn i32(&mut self, value: i32) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    /// The number of elements that follow.
    pub(super) fn count(&mut self, count: usize) -> &mut Self {
        self.i32(i32::try_from(count).expect("requests have few elements"))
    }

    pub(super) fn string(&mut self, text: &str) -> &mut Self {
        self.i16(i16::try_from(text.len()).expect("names are short")).bytes(text.as_bytes())
    }

    /// A string of a flexible version.
    pub(super) fn compact_string(&mut self, text: &str) -> &mut Self {
        let length = u8::try_from(text.len() + 1).ok().filter(|length| *length < 0x80);
        self.bytes(&[length.expect("our own names are short")]).bytes(text.as_bytes())
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }
}

/// An answer, from where it was read to.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn i8(&mut self) -> Result<i8, Malformed> {
        Ok(i8::from_be_bytes(self.array()?))
    }

    pub(super) fn i16(&mut self) -> Result<i16, Malformed> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    pub(super) fn i32(&mut self) -> Result<i32, Malformed> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub(super) fn bool(&mut self) -> Result<bool, Malformed> {
        Ok(self.i8()? != 0)
    }

    pub(super) fn bytes(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// A string, or `None` for null.
    pub(super) fn string(&mut self) -> Result<Option<String>, Malformed> {
        match usize::try_from(self.i16()?) {
            Ok(length) => self.text(length).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// A string of a flexible version; null is empty.
    pub(super) fn compact_string(&mut self) -> Result<String, Malformed> {
        let length = self.unsigned_varint()?;
        self.text(length.saturating_sub(1))
    }

    fn text(&mut self, length: usize) -> Result<String, Malformed> {
        String::from_utf8(self.bytes(length)?.to_vec()).map_err(|_| Malformed)
    }

    pub(super) fn unsigned_varint(&mut self) -> Result<usize, Malformed> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let [byte] = self.array()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    /// The elements of an array. Null is empty.
    pub(super) fn elements<T>(
        &mut self,
        element: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = usize::try_from(self.i32()?).unwrap_or(0);
        self.repeat(count, element)
    }

    /// The elements of an array of a flexible version. Null is empty.
    pub(super) fn compact_elements<T>(
        &mut self,
        element: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = self.unsigned_varint()?.saturating_sub(1);
        self.repeat(count, element)
    }

    fn repeat<T>(
        &mut self,
        count: usize,
        mut element: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        // Each element has a byte at least: a count that cannot be true reserves nothing.
        if count > self.0.len() {
            return Err(Malformed);
        }
        (0..count).map(|_| element(self)).collect()
    }

    /// The tagged fields of a flexible version: a tag and its bytes each.
    pub(super) fn tagged(&mut self) -> Result<Vec<(usize, Reader<'a>)>, Malformed> {
        let count = self.unsigned_varint()?;
        self.repeat(count, |reader| {
            let (tag, length) = (reader.unsigned_varint()?, reader.unsigned_varint()?);
            Ok((tag, Reader(reader.bytes(length)?)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Malformed, Reader, Writer};

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::default();
        writer.i8(-1).i16(-2).i32(70_000).string("stadium").compact_string("log").count(2).i16(1).i16(2);
        let mut reader = Reader(&writer.0);
        assert_eq!((reader.i8(), reader.i16(), reader.i32()), (Ok(-1), Ok(-2), Ok(70_000)));
        assert_eq!(reader.string(), Ok(Some("stadium".into())));
        assert_eq!(reader.compact_string(), Ok("log".into()));
        assert_eq!(reader.elements(Reader::i16), Ok(vec![1, 2]));
        assert_eq!(reader.i8(), Err(Malformed), "it ends here");
    }

    #[test]
    fn counts_and_lengths_beyond_the_end_are_malformed() {
        assert_eq!(Reader(&[0x7f, 0xff, 0xff, 0xff]).elements(Reader::i8), Err(Malformed));
        assert_eq!(Reader(&[0, 9, b'a']).string(), Err(Malformed));
        assert_eq!(Reader(&[0xff; 9]).unsigned_varint(), Err(Malformed));
        assert_eq!(Reader(&[0xff, 0xff]).string(), Ok(None), "null");
        assert!(Reader(&[1, 0, 200]).tagged().is_err());
    }
}
