//! Payloads that stay in the journal: where they stand, which are needed, and moving them.
//!
//! A machine keeps the place of a payload, never its bytes. The shard reads payloads for it, keeps
//! the accounts by which old segments are removed, and has the machine write payloads again.

use std::ops::Range;

/// Where a payload stands in the journal of its shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PayloadAt {
    /// The record's position.
    pub record: u64,
    /// Bytes into the record.
    pub offset: u32,
    /// Bytes of the payload.
    pub length: u32,
}

/// A payload that became needed, or unneeded: old segments are removed by these accounts. A payload
/// may be needed several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadChange {
    /// The record in which the payload stands.
    pub record: u64,
    /// Its bytes; negative where it is needed no more.
    pub bytes: i64,
}

/// How far a scan of a machine's payloads got. The machine alone knows what its tables are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MoveCursor {
    /// The table that is scanned; the scan begins with table 0.
    pub table: u8,
    /// The next place in the table.
    pub next: u64,
}

/// One step of a scan that writes the payloads of a range of the journal again.
pub struct MovePayloads<'a> {
    /// The range of positions; payloads of other records stay where they are.
    pub range: Range<u64>,
    /// Where the scan goes on.
    pub cursor: &'a mut MoveCursor,
    /// Appends the bytes of a payload to a buffer; false where it cannot be read, and stays where
    /// it is.
    pub read: &'a mut dyn FnMut(PayloadAt, &mut Vec<u8>) -> bool,
    /// About so many bytes of payloads are written, and at least one payload.
    pub bytes_max: usize,
}
