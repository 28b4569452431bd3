//! A cut: one manifest of each shard, which together are one state of a server.
//!
//! Shards send each other messages that they remember until these are confirmed. So manifests of
//! different times do not fit together, and only a cut is imported. Cuts are numbered; the newest
//! counts.

use crate::Error;
use crate::wire::{Reader, Writer};

const MAGIC: &[u8; 8] = b"STADACUT";

/// The manifests of all shards that belong together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    pub(crate) number: u64,
    pub(crate) random: u64,
    pub(crate) stored_ms: u64,
    pub(crate) manifests: Vec<u64>,
}

impl Cut {
    /// Its number; the newest has the greatest.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// When its writer stored it, milliseconds since 1970.
    #[must_use]
    pub fn stored_ms(&self) -> u64 {
        self.stored_ms
    }

    /// The number of each shard's manifest, in the order of the shards.
    #[must_use]
    pub fn manifests(&self) -> &[u64] {
        &self.manifests
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut to = Writer::new(MAGIC);
        to.u32(u32::try_from(self.manifests.len()).expect("shards are bounded"));
        to.u64(self.number);
        to.u64(self.random);
        to.u64(self.stored_ms);
        for manifest in &self.manifests {
            to.u64(*manifest);
        }
        to.end()
    }

    pub(crate) fn decode(name: &str, object: &[u8], shards: u16, number: u64) -> Result<Self, Error> {
        let mut from = Reader::new(name, MAGIC, object)?;
        if from.u32()? != u32::from(shards) {
            return Err(from.wrong("it has another number of shards than the archive"));
        }
        if from.u64()? != number {
            return Err(from.wrong("it has another number than its name"));
        }
        let (random, stored_ms) = (from.u64()?, from.u64()?);
        let manifests = (0..shards).map(|_| from.u64()).collect::<Result<_, _>>()?;
        from.end()?;
        Ok(Self { number, random, stored_ms, manifests })
    }
}
