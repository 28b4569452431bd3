//! Goes through the wallets' sections of all shards, from the first record to the last, and checks what does not depend on their meaning.
//!
//! That is: the journal's checksums, the frame, and the chain. An unreadable part is reported and
//! skipped, so that one run finds all mistakes.

use stadium_journal::Position;

use crate::chain;
use crate::problem::{Kind, Problem, Spot};
use crate::section::Section;
use crate::source::{NotedSeal, Opened, Source};
use crate::tree::Hash;
use crate::{Error, Progress};

/// What stands in the way of a walk, or on it.
pub(crate) enum Seen<'a> {
    /// A record with a section of the wallets.
    Record {
        spot: Spot,
        section: &'a Section<'a>,
        /// The chain value before it.
        before: Hash,
    },
    /// Something is wrong.
    Problem(Problem),
}

/// The journals, as long as they are now.
pub(crate) struct Walk {
    shards: Vec<Shard>,
    /// The number of all shards; `None` for a replica of one.
    count: Option<u16>,
    bytes_all: u64,
    bytes_done: u64,
}

struct Shard {
    opened: Opened,
    /// From where to where records stand.
    ranges: Vec<(u64, u64)>,
    problems: Vec<Problem>,
    in_use: bool,
    /// Where a commit that is not whole begins, and its bytes.
    torn: Option<(Position, u64)>,
}

impl Walk {
    pub(crate) fn open(source: &Source) -> Result<Self, Error> {
        let (opened, count) = source.open()?;
        let shards = opened.into_iter().map(Shard::open).collect::<Result<Vec<_>, _>>()?;
        let bytes_all = shards.iter().flat_map(|shard| &shard.ranges).map(|(start, end)| end - start).sum();
        Ok(Self { shards, count, bytes_all, bytes_done: 0 })
    }

    /// The shards that can be walked, in their order.
    pub(crate) fn shards(&self) -> Vec<u16> {
        self.shards.iter().map(|one| one.opened.shard).collect()
    }

    /// The number of all shards, which are all here; `None` for a replica of one.
    pub(crate) fn count(&self) -> Option<u16> {
        self.count
    }

    /// Seals that the journal of a shard must have.
    pub(crate) fn seals(&self, shard: u16) -> &[NotedSeal] {
        &self.of(shard).opened.seals
    }

    fn of(&self, shard: u16) -> &Shard {
        self.shards.iter().find(|one| one.opened.shard == shard).expect("one of the shards here")
    }

    /// Whether a server has the journals open, so that they went on while they were looked at.
    pub(crate) fn in_use(&self) -> bool {
        self.shards.iter().any(|shard| shard.in_use)
    }

    /// Bytes at the ends of journals that are not read. A crash may have left them so, or somebody
    /// may have changed them; the two cannot be distinguished.
    pub(crate) fn torn(&self) -> impl Iterator<Item = String> {
        self.shards.iter().filter_map(|one| {
            let (from, bytes) = one.torn.filter(|_| !one.in_use)?;
            Some(format!(
                "shard {}: the {bytes} bytes from {from} on are no whole commit and are not read: a crash left them, or they were changed since. A server cuts them off when it opens the journal",
                one.opened.shard
            ))
        })
    }

    /// All records of one of the shards.
    pub(crate) fn shard(
        &mut self,
        shard: u16,
        progress: &mut dyn FnMut(Progress),
        each: &mut dyn FnMut(Seen<'_>),
    ) -> Result<(), Error> {
        let (bytes_all, bytes_before) = (self.bytes_all, self.bytes_done);
        let one = self.of(shard);
        let mut reported = bytes_before;
        let mut progress = |position: u64| {
            let done = bytes_before + one.bytes_until(position);
            if done >= reported + PROGRESS_BYTES || position == u64::MAX {
                reported = done;
                progress(Progress { shard, bytes_done: done, bytes_all });
            }
        };
        one.walk(&mut progress, each)?;
        self.bytes_done = bytes_before + one.bytes_until(u64::MAX);
        Ok(())
    }
}

/// The number of bytes between two reports of progress.
const PROGRESS_BYTES: u64 = 4 << 20;

impl Shard {
    fn open(opened: Opened) -> Result<Self, Error> {
        let failed = |error| Error::Journal { place: opened.place.clone(), error };
        let report = opened.inspection.verify(opened.checkpoint).map_err(failed)?;
        let ranges = report.segments.iter().map(|segment| (segment.start.0, segment.end.0)).collect();
        let problem = |damage: stadium_journal::Damage| Problem {
            kind: Kind::Damage,
            shard: opened.shard,
            position: Some(damage.position.0),
            what: damage.to_string(),
        };
        let of_disk = opened.damages.as_ref().map(|damages| damages()).unwrap_or_default();
        let problems = of_disk.into_iter().chain(report.damages).map(problem).collect();
        let torn = (report.torn_bytes > 0).then_some((report.end, report.torn_bytes));
        Ok(Self { opened, ranges, problems, in_use: report.in_use_by.is_some(), torn })
    }

    fn bytes_until(&self, position: u64) -> u64 {
        self.ranges.iter().map(|&(start, end)| position.min(end).saturating_sub(start)).sum()
    }

    fn walk(&self, progress: &mut dyn FnMut(u64), each: &mut dyn FnMut(Seen<'_>)) -> Result<(), Error> {
        let Opened { shard, place, inspection, .. } = &self.opened;
        let shard = *shard;
        let failed = |error| Error::Journal { place: place.clone(), error };
        self.problems.iter().cloned().for_each(|problem| each(Seen::Problem(problem)));
        let mut reader = inspection.reader().map_err(failed)?;
        let mut chain = Some(chain::beginning(shard));
        loop {
            let record = match reader.next() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                // It was reported with the journal's damages; the records after it do not continue
                // those before.
                Err(stadium_journal::Error::Corrupt(damage)) => {
                    chain = None;
                    let Some(next) = inspection.after_damage(damage.position).map_err(failed)? else {
                        break;
                    };
                    reader.seek(next).map_err(failed)?;
                    continue;
                }
                Err(error) => return Err(failed(error)),
            };
            let position = record.position.0;
            progress(position);
            let spot = Spot { shard, position };
            match Section::of(record.body) {
                Ok(None) => {}
                Ok(Some(section)) => {
                    let before = chain.unwrap_or_default();
                    let digest = chain::digest(&section.events);
                    if chain
                        .is_some_and(|before| chain::next(&before, &digest, section.time) != section.chain)
                    {
                        let what = "the chain value is not what follows from the record and the one before it: \
                                    this record was changed, or one before it is missing";
                        each(Seen::Problem(spot.problem(Kind::Chain, what)));
                    }
                    chain = Some(section.chain);
                    each(Seen::Record { spot, section: &section, before });
                }
                Err(what) => {
                    each(Seen::Problem(spot.problem(Kind::Unreadable, what)));
                    chain = None;
                }
            }
        }
        progress(u64::MAX);
        Ok(())
    }
}
