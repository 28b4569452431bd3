//! The wallets' part of one journal record while it is written.
//!
//! The buffer is reused: once warm, nothing is allocated. Bytes in front of the events belong to whoever frames
//! the record. The machine closes the section with its chain value before it returns.

/// Events of one record, encoded as docs/formats/wallet-events.md says.
#[derive(Debug, Default)]
pub struct Record {
    pub(crate) bytes: Vec<u8>,
    header_bytes: usize,
}

impl Record {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties it, and sets so many zero bytes aside in front.
    pub fn begin(&mut self, header_bytes: usize) {
        self.bytes.clear();
        self.bytes.resize(header_bytes, 0);
        self.header_bytes = header_bytes;
    }

    /// Whether it holds no event: then there is nothing to append.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == self.header_bytes
    }

    /// What was set aside in front, and then the section: events and chain value.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What was set aside in front.
    pub fn header_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.header_bytes]
    }
}
