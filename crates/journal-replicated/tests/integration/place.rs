//! What the suites share: a log, sizes, and disks.

use std::sync::Arc;

use stadium_journal::memory::MemoryDisk;
use stadium_journal::{Journal, Opening, Options, Position};
use stadium_journal_log::{ClusterId, Log, Topic};
use stadium_journal_replicated::memory::MemoryTopic;
use stadium_journal_replicated::{ReplicatedJournal, ReplicatedOptions, Standing};

pub(crate) const LOG: Log = Log { cluster: ClusterId(0x1122_3344_5566_7788), shard: 0 };

pub(crate) fn options(opening: Opening) -> ReplicatedOptions {
    let journal = Options {
        segment_bytes: 64 << 10,
        reserve_bytes: 64 << 10,
        record_bytes_max: 8 << 10,
        waiting_bytes_max: 64 << 10,
        tail_bytes: 96 << 10,
        opening,
        ..Options::default()
    };
    ReplicatedOptions { journal, ..ReplicatedOptions::new(LOG) }
}

pub(crate) fn follow(topic: &MemoryTopic, disk: &MemoryDisk) -> ReplicatedJournal {
    follow_from(topic, disk, Position::START)
}

pub(crate) fn follow_from(topic: &MemoryTopic, disk: &MemoryDisk, checkpoint: Position) -> ReplicatedJournal {
    let partition = topic.partition(0).expect("the topic has it");
    let opening = Opening { checkpoint, ..Opening::default() };
    ReplicatedJournal::follow(partition, Arc::new(disk.clone()), &options(opening)).expect("the mirror opens")
}

/// An owner on a calm topic.
pub(crate) fn owner(topic: &MemoryTopic, disk: &MemoryDisk) -> ReplicatedJournal {
    let mut journal = follow(topic, disk);
    journal.claim();
    assert_eq!(journal.poll(&mut |_| ()), Ok(Standing::Serving));
    journal
}

/// The durable records, by a reader of the mirror.
pub(crate) fn records(journal: &ReplicatedJournal) -> Vec<(Position, Vec<u8>)> {
    stadium_journal::conformance::read_all(&mut *journal.reader(), Position::START)
}

/// The frames of each segment of a mirror up to a position, by the names of their files.
pub(crate) fn frames(disk: &MemoryDisk, journal: &ReplicatedJournal, end: Position) -> Vec<(u64, Vec<u8>)> {
    let segments = journal.segmented().expect("a mirror has segments").segments();
    let of = |segment: &stadium_journal::Segment| {
        let name = format!("{:012}.segment", segment.number.0);
        let mut bytes = disk.content(&name).expect("a segment has a file");
        bytes.truncate(end.since(segment.start) as usize);
        (segment.number.0, bytes)
    };
    segments.iter().filter(|segment| segment.start < end).map(of).collect()
}
