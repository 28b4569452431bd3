//! Fixture for tests of crashes: a journal on a disk in memory, and what was acknowledged of it.
//!
//! The book is kept apart from the journal: records that `durable` covered must be read again,
//! others may be.

#![allow(dead_code, reason = "each suite uses a part of it")]

use std::collections::BTreeMap;
use std::sync::Arc;

use stadium_journal::memory::MemoryDisk;
use stadium_journal::{Error, FileJournal, Opening, Options, Position, Reader, Stepper};

/// SplitMix64: small, and the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    pub fn body(&mut self) -> Vec<u8> {
        let length = match self.below(60) {
            // Longer than a segment of [`options`].
            0 => (64 << 10) + self.below(20 << 10),
            1..=3 => 1 + self.below(6000),
            4..=15 => 1 + self.below(900),
            _ => 1 + self.below(120),
        };
        let first = self.next();
        (0..length).map(|at| (first.wrapping_mul(at + 1) >> 56) as u8).collect()
    }
}

pub fn options() -> Options {
    Options {
        segment_bytes: 64 << 10,
        reserve_bytes: 64 << 10,
        record_bytes_max: 100 << 10,
        waiting_bytes_max: 24 << 10,
        tail_bytes: 48 << 10,
        spares_max: 1,
        ..Options::default()
    }
}

pub fn open(disk: &MemoryDisk, opening: Opening) -> Result<(FileJournal, Stepper), Error> {
    FileJournal::open_stepped(Arc::new(disk.clone()), &Options { opening, ..options() })
}

/// The appended records, and what is known of them.
#[derive(Default)]
pub struct Book {
    /// Acknowledged: must be there.
    pub kept: BTreeMap<Position, Vec<u8>>,
    /// Appended and not acknowledged: may be there.
    pub open: BTreeMap<Position, Vec<u8>>,
    /// In segments that were removed: may be there again after a crash.
    pub removed: BTreeMap<Position, Vec<u8>>,
}

impl Book {
    /// Records before `durable` are acknowledged.
    pub fn acknowledge(&mut self, durable: Position) {
        let rest = self.open.split_off(&durable);
        self.kept.append(&mut self.open);
        self.open = rest;
    }

    /// Reads the whole journal and compares. The records found are acknowledged from now on: they
    /// were served.
    pub fn check(&mut self, reader: &mut dyn Reader) -> Result<(), String> {
        reader.seek(Position::START).map_err(|error| error.to_string())?;
        let mut found = BTreeMap::new();
        let mut last = Position::START;
        while let Some(record) = reader.next().map_err(|error| error.to_string())? {
            if record.position <= last {
                return Err(format!("position {} follows {last}", record.position));
            }
            last = record.position;
            found.insert(record.position, record.body.to_vec());
        }
        for (position, body) in &self.kept {
            if found.get(position) != Some(body) {
                let what = if found.contains_key(position) { "differs" } else { "is lost" };
                return Err(format!("what was acknowledged at {position} {what}"));
            }
        }
        for (position, body) in &found {
            let known = self.kept.get(position).or(self.open.get(position)).or(self.removed.get(position));
            if known != Some(body) {
                return Err(format!("nobody appended what stands at {position}"));
            }
        }
        for (position, body) in found {
            if !self.removed.contains_key(&position) {
                self.kept.insert(position, body);
            }
        }
        self.open.clear();
        Ok(())
    }
}
