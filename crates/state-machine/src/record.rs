//! The events of one record while they are written.
//!
//! Room for the shard's header is set aside in front, so that the record is appended to the journal
//! from where it was encoded. A record may have several sections, one behind the other.

/// Events on their way into a record. Kept and used again: once warm it allocates nothing.
#[derive(Debug, Default)]
pub struct Record {
    bytes: Vec<u8>,
    /// Where the events of the section begin that is being written.
    section: usize,
}

impl Record {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties it, and sets so many zero bytes aside in front.
    pub fn begin(&mut self, header_bytes: usize) {
        self.bytes.clear();
        self.next_section(header_bytes);
    }

    /// Begins another section behind what was written, and sets so many zero bytes aside in front
    /// of it.
    pub fn next_section(&mut self, header_bytes: usize) {
        self.section = self.bytes.len() + header_bytes;
        self.bytes.resize(self.section, 0);
    }

    /// Whether its newest section holds no event. Without an earlier section there is nothing to
    /// append.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == self.section
    }

    /// Everything: what was set aside, and the events.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The events of the newest section.
    pub fn events(&self) -> &[u8] {
        &self.bytes[self.section..]
    }

    /// Where the next event is encoded to: append only.
    pub fn events_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Takes the events of the newest section back: nothing was decided.
    pub fn take_back(&mut self) {
        self.bytes.truncate(self.section);
    }

    /// The bytes in front of the newest section's events.
    pub fn header_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.section]
    }
}
