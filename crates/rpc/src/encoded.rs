//! A message that is kept encoded, for code that knows the types only at run time or not at all.

use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, encode_key, encode_varint};
use prost::{DecodeError, Message};

/// The bytes of a Protocol Buffers message. As the type of a [`Method`](crate::Method)'s requests or
/// answers it hands the bytes on without reading them, so that bindings to other languages and
/// proxies can be served and called as typed code is.
///
/// Nothing checks that the bytes are a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded(pub Vec<u8>);

impl Message for Encoded {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        buf.put_slice(&self.0);
    }

    /// Appends the field as it was encoded. Only a message that has one of these inside needs it.
    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        _: DecodeContext,
    ) -> Result<(), DecodeError> {
        encode_key(tag, wire_type, &mut self.0);
        let bytes = match wire_type {
            WireType::Varint => {
                encode_varint(prost::encoding::decode_varint(buf)?, &mut self.0);
                return Ok(());
            }
            WireType::ThirtyTwoBit => 4,
            WireType::SixtyFourBit => 8,
            WireType::LengthDelimited => {
                let bytes = prost::encoding::decode_varint(buf)?;
                encode_varint(bytes, &mut self.0);
                usize::try_from(bytes).unwrap_or(usize::MAX)
            }
            WireType::StartGroup | WireType::EndGroup => return Ok(()),
        };
        if buf.remaining() < bytes {
            // The one way to make prost's own error of a message that is cut.
            return Err(u64::decode([0x08].as_slice()).expect_err("a key without its value is refused"));
        }
        self.0.put(buf.take(bytes));
        Ok(())
    }

    fn merge(&mut self, buf: impl Buf) -> Result<(), DecodeError> {
        self.0.put(buf);
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

impl From<Vec<u8>> for Encoded {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::Encoded;
    use prost::Message as _;
    use prost::encoding::{DecodeContext, decode_key};

    #[test]
    fn bytes_pass_as_they_are() {
        // No message: the key of a field, and nothing of it.
        let bytes = vec![0xFF, 0x08];
        let read = Encoded::decode(bytes.as_slice()).expect("nothing is read");
        assert_eq!(read.0, bytes);
        assert_eq!(read.encode_to_vec(), bytes);
        assert_eq!(read.encoded_len(), 2);
    }

    #[test]
    fn fields_inside_another_message_are_encoded_again_as_they_were() {
        let fields = [
            vec![0x08, 0x96, 0x01],
            vec![0x15, 1, 2, 3, 4],
            vec![0x19, 1, 2, 3, 4, 5, 6, 7, 8],
            vec![0x22, 2, b'o', b'k'],
        ];
        let bytes = fields.concat();
        let merge = |bytes: &[u8]| {
            let (mut read, mut left) = (Encoded::default(), bytes);
            while !left.is_empty() {
                let (tag, wire_type) = decode_key(&mut left)?;
                read.merge_field(tag, wire_type, &mut left, DecodeContext::default())?;
            }
            Ok::<_, prost::DecodeError>(read.0)
        };
        assert_eq!(merge(&bytes), Ok(bytes.clone()));
        for cut in &fields {
            assert!(merge(&cut[..cut.len() - 1]).is_err(), "{cut:?} without its last byte");
        }
    }
}
