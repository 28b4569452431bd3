//! A log that has lost what its owner acknowledged: refused, and restored from the mirror.

use std::sync::Arc;

use stadium_journal::conformance::{append, make_durable, record};
use stadium_journal::memory::MemoryDisk;
use stadium_journal::{Error, Opening};
use stadium_journal_log::{Offset, Topic};
use stadium_journal_replicated::memory::MemoryTopic;
use stadium_journal_replicated::{ReplicatedJournal, Standing};

use crate::place::{follow, frames, options, owner, records};

/// An owner that has written about two MiB, with some rotations, and was killed.
fn written(topic: &MemoryTopic, disk: &MemoryDisk) -> Vec<(stadium_journal::Position, Vec<u8>)> {
    let mut journal = owner(topic, disk);
    let mut all = Vec::new();
    for number in 0..400 {
        let mut body = record(number);
        body.resize(5_000, 1);
        all.push((append(&mut journal, &body), body));
        if number % 3 == 0 {
            make_durable(&mut journal);
        }
    }
    make_durable(&mut journal);
    drop(journal);
    disk.kill();
    all
}

fn refusal(topic: &MemoryTopic, disk: &MemoryDisk) -> Error {
    let partition = topic.partition(0).expect("the topic has it");
    let opened = ReplicatedJournal::open(partition, Arc::new(disk.clone()), &options(Opening::default()));
    match opened {
        Err(error) => error,
        Ok(_) => panic!("a log that has lost messages is served"),
    }
}

#[test]
fn a_log_that_is_shorter_than_a_mirror_is_refused_and_restored() {
    // Messages that the log has lost: some behind the last note, some before it, all.
    for lost in [3, 100, usize::MAX] {
        let topic = MemoryTopic::new(1);
        let disk = MemoryDisk::new(1);
        let all = written(&topic, &disk);
        let messages = topic.messages(0).len();
        let left = messages.saturating_sub(lost) as u64;
        topic.lose(0, Offset(left));
        let refused = refusal(&topic, &disk);
        let text = refused.to_string();
        assert!(text.contains("lost acknowledged messages"), "{lost} lost: {text}");
        let mut standby = follow(&topic, &disk);
        assert!(standby.poll(&mut |_| ()).is_err(), "a standby refuses it too");
        drop(standby);
        // Nothing was appended by those that refused.
        assert_eq!(topic.messages(0).len() as u64, left);
        let partition = topic.partition(0).expect("the topic has it");
        let mut journal =
            ReplicatedJournal::restore(partition, Arc::new(disk.clone()), &options(Opening::default()))
                .expect("the mirror has all");
        assert!(records(&journal) == all, "{lost} lost");
        append(&mut journal, b"it goes on");
        make_durable(&mut journal);
        // A replica without a mirror reads the same.
        let other = MemoryDisk::new(2);
        let mut fresh = follow(&topic, &other);
        assert_eq!(fresh.poll(&mut |_| ()), Ok(Standing::Following));
        assert_eq!(records(&fresh), records(&journal));
        let end = journal.resume_point().mark.end;
        assert!(frames(&disk, &journal, end) == frames(&other, &fresh, end), "{lost} lost");
        drop(journal);
        disk.kill();
        assert_eq!(records(&owner(&topic, &disk)).len(), all.len() + 1);
    }
}

#[test]
fn a_log_that_has_other_records_instead_is_not_restored() {
    let topic = MemoryTopic::new(1);
    let disk = MemoryDisk::new(1);
    written(&topic, &disk);
    topic.lose(0, Offset(50));
    // Another node went on without them.
    let mut other = owner(&topic, &MemoryDisk::new(2));
    append(&mut other, b"another history");
    make_durable(&mut other);
    drop(other);
    let partition = topic.partition(0).expect("the topic has it");
    let restored = ReplicatedJournal::restore(partition, Arc::new(disk), &options(Opening::default()));
    match restored.map(drop) {
        Err(Error::Corrupt(damage)) => assert!(damage.what.contains("other records"), "{damage}"),
        other => panic!("two histories: {other:?}"),
    }
}
