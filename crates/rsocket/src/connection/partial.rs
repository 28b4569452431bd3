//! Payloads that come in fragments, until they are whole (Fragmentation and Reassembly).
//!
//! All unfinished payloads of a connection together hold no more bytes than one may have, so a peer that
//! begins many gains nothing.

use std::collections::BTreeMap;

use crate::frame::{Completes, Payload, StreamId};

/// What an unfinished payload is taken to cost besides its bytes: empty fragments are not free.
const PARTIAL_BYTES: usize = 256;

/// A payload that is not whole.
#[derive(Debug)]
pub(super) struct Partial {
    pub metadata: Option<Vec<u8>>,
    pub data: Vec<u8>,
    pub completes: Completes,
    /// Whether it has been decided that the payload is handed out whole.
    pub is_whole: bool,
}

/// Together they would be too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

/// The unfinished payloads of a connection.
#[derive(Debug, Default)]
pub(super) struct Partials {
    list: BTreeMap<StreamId, Partial>,
    bytes: usize,
}

impl Partials {
    /// Bytes held.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Begins a payload.
    pub fn begin(&mut self, id: StreamId) {
        self.bytes += PARTIAL_BYTES;
        let partial = Partial { metadata: None, data: Vec::new(), completes: Completes::No, is_whole: false };
        self.list.insert(id, partial);
    }

    /// Adds a fragment to a payload that has begun, unless all of them would be too large together.
    pub fn add(
        &mut self,
        id: StreamId,
        fragment: &Payload<'_>,
        completes: Completes,
        bytes_max: usize,
    ) -> Result<Option<&mut Partial>, TooMuch> {
        let Some(partial) = self.list.get_mut(&id) else { return Ok(None) };
        let bytes = self.bytes + fragment.bytes();
        if bytes > bytes_max.saturating_add(PARTIAL_BYTES) {
            return Err(TooMuch);
        }
        self.bytes = bytes;
        if let Some(metadata) = fragment.metadata {
            partial.metadata.get_or_insert_default().extend_from_slice(metadata);
        }
        partial.data.extend_from_slice(fragment.data);
        if completes.is_yes() {
            partial.completes = completes;
        }
        Ok(Some(partial))
    }

    /// Takes a payload out.
    pub fn finish(&mut self, id: StreamId) -> Option<Partial> {
        let partial = self.list.remove(&id)?;
        self.bytes -= PARTIAL_BYTES + partial.data.len() + partial.metadata.as_ref().map_or(0, Vec::len);
        Some(partial)
    }

    /// Drops what has come of a payload.
    pub fn forget(&mut self, id: StreamId) {
        self.finish(id);
    }
}
