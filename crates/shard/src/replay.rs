//! Reads a shard's folder as a start does, and changes nothing: the newest whole checkpoint, and the
//! records after it, through every state machine.
//!
//! For `stadium journal verify`: right checksums do not prove that a record can be applied. Bounds
//! are the usual ones: records are applied whatever they are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use stadium_journal::inspect::Inspection;
use stadium_journal::{Checkpoints as _, FileCheckpoints, Position};
use stadium_queue::Place;

use crate::contents::Contents;
use crate::core::{CoreSettings, replay_all};
use crate::{Error, directory};

/// What a replay read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// Of the newest whole checkpoint; the start where there is none.
    pub checkpoint: Position,
    /// Records that were applied after it.
    pub records: u64,
    /// The contents of the state machines then.
    pub contents: Contents,
}

/// The time of a record, milliseconds since 1970, from its body; `None` where it is of a version that
/// is not known.
#[must_use]
pub fn record_time(body: &[u8]) -> Option<u64> {
    crate::frame::Header::parse(body).ok().map(|header| header.time.0)
}

/// Reads the shard `shard` of the directory of all shards. No server should have it open: it would
/// remove files meanwhile.
///
/// # Errors
///
/// What a start would refuse with: `Corrupt` names the record's position and the reason.
pub fn replay(directory: &Path, shard: u16) -> Result<Replayed, Error> {
    let shards = directory::count(directory)?;
    let folder = directory::shard(directory, shard);
    let checkpoints = folder.join("checkpoints");
    let newest = if checkpoints.is_dir() {
        FileCheckpoints::read_only(&checkpoints, u32::from(shard)).newest()?
    } else {
        None
    };
    let checkpoint = newest.as_ref().map_or(Position::START, |reader| reader.info().position);
    let mut reader = Inspection::open(&folder.join("journal"))?.reader()?;
    let settings = CoreSettings::for_shard(Place { shard, shards, hash_seed: 0 });
    let mut at = checkpoint;
    let applied = catch_unwind(AssertUnwindSafe(|| {
        replay_all(&settings, newest, checkpoint, &mut *reader, &mut |position| at = position)
    }));
    let (records, contents) = applied.unwrap_or_else(|_| {
        Err(Error::Corrupt { position: at, what: "applying it panicked: please report this".into() })
    })?;
    Ok(Replayed { checkpoint, records, contents })
}
