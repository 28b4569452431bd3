//! The parts that an archive and the archives of its shards share.
//!
//! All of them use one place and one bound on the bandwidth. Cuts stand here because the garbage
//! collection of a shard reads them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use stadium_objects::{Pace, Place};

use crate::layout::CUTS;
use crate::series::Series;
use crate::{Clock, Cut, Error};

/// The place of an archive, and how it is used.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) place: Place,
    pub(crate) pace: Pace,
    pub(crate) grace_ms: i64,
    pub(crate) patience: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) shards: u16,
    /// The moment that a cut shows, in place of now.
    pub(crate) moment_ms: Option<u64>,
}

impl Root {
    pub(crate) fn cuts(&self) -> Series<'_> {
        Series::new(&self.place, CUTS.0.to_owned(), CUTS.1)
    }

    pub(crate) async fn read_cut(&self, number: u64) -> Result<Cut, Error> {
        let cuts = self.cuts();
        Cut::decode(&cuts.name(number), &cuts.read(number).await?, self.shards, number)
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
