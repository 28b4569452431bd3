//! The records of the simulated server, and the state that follows from them.
//!
//! A record puts an item or removes one. The state is the number of records, a root over all of
//! them, and the position of each item's record: the payload stays in the journal.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};

/// Bytes of a record before its payload: time, kind and id.
const HEAD_BYTES: usize = 17;

/// The change that a record makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// An item is there.
    Put(u64),
    /// An item is gone.
    Remove(u64),
}

/// The body of a record.
pub fn record(time_ms: u64, change: Change, payload_bytes: usize) -> Vec<u8> {
    let (kind, id) = match change {
        Change::Put(id) => (0, id),
        Change::Remove(id) => (1, id),
    };
    let mut body = Vec::with_capacity(HEAD_BYTES + payload_bytes);
    body.extend_from_slice(&time_ms.to_le_bytes());
    body.push(kind);
    body.extend_from_slice(&id.to_le_bytes());
    body.extend((0..payload_bytes).map(|at| (id as usize * 31 + at * 7) as u8));
    body
}

/// The time of a record.
pub fn time_of(body: &[u8]) -> Option<u64> {
    body.first_chunk().map(|time| u64::from_le_bytes(*time))
}

fn change_of(body: &[u8]) -> Option<Change> {
    let id = u64::from_le_bytes(*body.get(9..)?.first_chunk()?);
    match body.get(8)? {
        0 => Some(Change::Put(id)),
        _ => Some(Change::Remove(id)),
    }
}

/// The state of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    /// Records.
    pub records: u64,
    /// Over all records, in their order.
    pub root: u64,
    /// The position of each item's record.
    pub items: BTreeMap<u64, u64>,
}

impl State {
    /// Applies a record.
    pub fn apply(&mut self, position: u64, body: &[u8]) {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.root);
        hasher.write_u64(position);
        hasher.write(body);
        self.root = hasher.finish();
        self.records += 1;
        match change_of(body) {
            Some(Change::Put(id)) => drop(self.items.insert(id, position)),
            Some(Change::Remove(id)) => drop(self.items.remove(&id)),
            None => {}
        }
    }

    /// The state as a checkpoint has it.
    pub fn encode(&self) -> Vec<u8> {
        let items = self.items.iter().flat_map(|(id, position)| [*id, *position]);
        let all = [self.records, self.root].into_iter().chain(items);
        all.flat_map(u64::to_le_bytes).collect()
    }

    /// Reads it.
    pub fn decode(bytes: &[u8]) -> Self {
        let numbers: Vec<u64> =
            bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)).collect();
        let [records, root, items @ ..] = &numbers[..] else { return Self::default() };
        let items = items.as_chunks::<2>().0.iter().map(|[id, position]| (*id, *position)).collect();
        Self { records: *records, root: *root, items }
    }
}
