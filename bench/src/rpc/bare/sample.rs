//! The message of bench/proto/echo.proto, behind its length, for the bare loop that decodes.

use anyhow::{Result, ensure};
use prost::Message as _;

/// Bytes of a message's length, most significant first.
pub(super) const LENGTH_BYTES: usize = 4;

/// See bench/proto/echo.proto.
#[derive(Clone, PartialEq, prost::Message)]
struct Sample {
    #[prost(fixed64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "2")]
    elements: Vec<Element>,
    #[prost(fixed32, tag = "3")]
    source: u32,
    #[prost(uint32, tag = "4")]
    kind: u32,
}

/// See bench/proto/echo.proto.
#[derive(Clone, Copy, PartialEq, prost::Message)]
struct Element {
    #[prost(fixed64, tag = "1")]
    value: u64,
    #[prost(fixed32, tag = "2")]
    weight: u32,
}

/// The next sample to send and the last one that came; each is used again and again.
pub(super) struct Codec {
    next: Sample,
    came: Sample,
}

impl Codec {
    /// Of samples with so many elements.
    pub(super) fn new(elements: usize) -> Self {
        let element = |value| Element { value, weight: 7 };
        let elements = (1..=elements as u64).map(element).collect();
        Self { next: Sample { id: 0, elements, source: 9, kind: 3 }, came: Sample::default() }
    }

    /// Encodes the next message behind `to`.
    pub(super) fn next(&mut self, to: &mut Vec<u8>) -> Result<()> {
        self.next.id += 1;
        put(&self.next, to)
    }

    /// Decodes each message that `read` completes, and encodes it again behind `to`. `partial` has
    /// the bytes before, and then those of a message whose end has not arrived.
    pub(super) fn echo(&mut self, partial: &mut Vec<u8>, read: &[u8], to: &mut Vec<u8>) -> Result<()> {
        self.take(partial, read, |came| put(came, to))
    }

    /// Decodes each message that `read` completes, and checks that it is as it was sent.
    pub(super) fn check(&mut self, partial: &mut Vec<u8>, read: &[u8]) -> Result<()> {
        let elements = self.next.elements.len();
        self.take(partial, read, |came| {
            ensure!(came.id != 0 && came.elements.len() == elements, "another message came back");
            Ok(())
        })
    }

    fn take(
        &mut self,
        partial: &mut Vec<u8>,
        read: &[u8],
        with: impl FnMut(&Sample) -> Result<()>,
    ) -> Result<()> {
        if partial.is_empty() {
            let taken = self.each(read, with)?;
            partial.extend_from_slice(&read[taken..]);
            return Ok(());
        }
        partial.extend_from_slice(read);
        let taken = self.each(partial, with)?;
        partial.drain(..taken);
        Ok(())
    }

    /// Returns the bytes of the whole messages.
    fn each(&mut self, bytes: &[u8], mut with: impl FnMut(&Sample) -> Result<()>) -> Result<usize> {
        let mut rest = bytes;
        while let Some((length, behind)) = rest.split_first_chunk::<LENGTH_BYTES>() {
            let length = u32::from_be_bytes(*length) as usize;
            let Some((message, behind)) = behind.split_at_checked(length) else { break };
            self.came.clear();
            self.came.merge(message)?;
            with(&self.came)?;
            rest = behind;
        }
        Ok(bytes.len() - rest.len())
    }
}

fn put(sample: &Sample, to: &mut Vec<u8>) -> Result<()> {
    to.extend_from_slice(&u32::try_from(sample.encoded_len())?.to_be_bytes());
    Ok(sample.encode(to)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_whole_from_any_pieces() {
        let (mut client, mut server) = (Codec::new(2), Codec::new(2));
        let (mut sent, mut back) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            client.next(&mut sent).expect("it is encoded");
        }
        assert_eq!(sent.len(), 3 * (48 + LENGTH_BYTES));
        let mut partial = Vec::new();
        server.echo(&mut partial, &sent[..70], &mut back).expect("it is read");
        assert_eq!((back.len(), &partial[..]), (52, &sent[52..70]));
        server.echo(&mut partial, &sent[70..], &mut back).expect("it is read");
        assert_eq!((&partial[..], &back), (&[][..], &sent));
        client.check(&mut partial, &back).expect("they are the same");
        assert!(partial.is_empty());
        assert!(Codec::new(3).check(&mut partial, &back).is_err());
    }
}
