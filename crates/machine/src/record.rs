//! The events of one record while they are written.
//!
//! Room for the shard's header is set aside in front, so that the record is appended to the journal from where it was encoded.

/// Events on their way into a record. Kept and used again: once warm it allocates nothing.
#[derive(Debug, Default)]
pub struct Record {
    bytes: Vec<u8>,
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

    /// What was set aside in front, and then the events.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The events alone.
    pub fn events(&self) -> &[u8] {
        &self.bytes[self.header_bytes..]
    }

    /// Where the next event is encoded to: append only.
    pub fn events_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// What was set aside in front.
    pub fn header_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.header_bytes]
    }
}
