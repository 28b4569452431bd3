//! The bytes of a batch, cut into payloads that fit a frame.

use super::settings::BATCH_BYTES;

/// A batch keeps this much memory once it is empty, in bytes.
const BYTES_KEPT: usize = 1024 * 1024;

/// Messages one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Where the payloads end, besides the last.
    cuts: Vec<usize>,
}

impl Batch {
    /// The bytes, to append one message: the payload before it ends here where it is long enough.
    pub(crate) fn next(&mut self) -> &mut Vec<u8> {
        let begun = self.cuts.last().copied().unwrap_or(0);
        if self.bytes.len() - begun >= BATCH_BYTES {
            self.cuts.push(self.bytes.len());
        }
        &mut self.bytes
    }

    /// The bytes of all messages.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(BYTES_KEPT);
        self.cuts.clear();
    }

    /// The payloads in order.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.cuts.iter().copied().chain(std::iter::once(self.bytes.len()));
        let mut begin = 0;
        ends.filter_map(move |end| {
            let payload = &self.bytes[begin..end];
            begin = end;
            (!payload.is_empty()).then_some(payload)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_batch_is_cut_between_messages() {
        let mut batch = Batch::default();
        for _ in 0..5 {
            let end = batch.len() + BATCH_BYTES / 2;
            batch.next().resize(end, 7);
        }
        let lengths: Vec<usize> = batch.payloads().map(<[u8]>::len).collect();
        assert_eq!(lengths, [BATCH_BYTES, BATCH_BYTES, BATCH_BYTES / 2]);
        batch.clear();
        assert_eq!(batch.payloads().count(), 0);
    }
}
