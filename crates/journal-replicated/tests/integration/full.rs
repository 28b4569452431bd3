//! A mirror on a full disk, and on a disk that fails.
//!
//! An owner refuses records before they have a position; records that free room go on.

use std::sync::Arc;

use stadium_journal::conformance::{append, make_durable};
use stadium_journal::inspect::Inspection;
use stadium_journal::memory::{Kept, MemoryDisk};
use stadium_journal::{Error, Journal, Position, Room};
use stadium_journal_replicated::Standing;
use stadium_journal_replicated::memory::MemoryTopic;

use crate::place::{follow, owner, records};

const RECORD: [u8; 4_000] = [5; 4_000];

#[test]
fn on_a_full_disk_only_records_that_free_room_are_taken() {
    let topic = MemoryTopic::new(1);
    let disk = MemoryDisk::new(1);
    // Three segments, the next one, what is set aside, and small files.
    disk.set_capacity(Some(5 * (64 << 10) + (20 << 10)));
    let mut journal = owner(&topic, &disk);
    assert_eq!(journal.room(), Some(Room::Ordinary));
    let refused = loop {
        match journal.append(&RECORD) {
            Ok(_) => {}
            Err(Error::Busy { .. }) => make_durable(&mut journal),
            Err(error) => break error,
        }
    };
    assert_eq!(refused, Error::Full);
    make_durable(&mut journal);
    let before = records(&journal).len();
    assert!(before > 30, "{before} records");
    assert_eq!(journal.room(), Some(Room::Reserved));
    journal.append_reserved(b"this frees room").expect("room is set aside for it");
    make_durable(&mut journal);
    assert_eq!(journal.append(&RECORD), Err(Error::Full));
    // Two segments go: one is set aside again, one is the next.
    for _ in 0..2 {
        let first = journal.segmented().expect("it has some").segments()[0].number;
        journal.segmented_mut().expect("it has some").remove(first).expect("it is sealed");
    }
    append(&mut journal, &RECORD);
    make_durable(&mut journal);
    assert_eq!(journal.room(), Some(Room::Ordinary));
}

#[test]
fn a_standby_whose_disk_is_full_ends_and_begins_again_when_there_is_room() {
    let topic = MemoryTopic::new(1);
    let mut journal = owner(&topic, &MemoryDisk::new(1));
    let disk = MemoryDisk::new(2);
    disk.set_capacity(Some(3 * (64 << 10)));
    let mut standby = follow(&topic, &disk);
    let mut all = Vec::new();
    for _ in 0..100 {
        all.push((append(&mut journal, &RECORD), RECORD.to_vec()));
    }
    make_durable(&mut journal);
    let ended = standby.poll(&mut |_| ());
    assert!(matches!(ended, Err(Error::Failed { .. })), "{ended:?}");
    drop(standby);
    disk.set_capacity(None);
    let mut standby = follow(&topic, &disk);
    assert_eq!(standby.poll(&mut |_| ()), Ok(Standing::Following));
    assert_eq!(records(&standby), all);
}

#[test]
fn after_a_sync_that_failed_the_journal_ends_and_reads_the_log_again() {
    let topic = MemoryTopic::new(1);
    let disk = MemoryDisk::new(1);
    let mut journal = owner(&topic, &disk);
    disk.fail_sync(0, Kept::Nothing);
    let mut all = Vec::new();
    let ended = loop {
        match journal.append(&RECORD) {
            Ok(position) => all.push((position, RECORD.to_vec())),
            Err(Error::Busy { .. }) => {
                if let Err(error) = journal.commit().and_then(|()| journal.durable()) {
                    break error;
                }
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(ended, Error::Failed { .. } | Error::Unknown { .. }), "{ended:?}");
    drop(journal);
    disk.crash(&mut |_| 0);
    let journal = owner(&topic, &disk);
    let found = records(&journal);
    assert!(found.len() > 200, "{} records", found.len());
    assert!(all.starts_with(&found));
}

#[test]
fn a_failed_write_leaves_no_hole() {
    for write in 0..4 {
        let topic = MemoryTopic::new(1);
        let disk = MemoryDisk::new(1);
        let mut journal = owner(&topic, &disk);
        // The write of a batch fails, with more of them accepted behind it: calls wait, in order.
        topic.set_faults(Some(Box::new(|below| if below < 8 { 0 } else { below - 1 })));
        for _ in 0..4 {
            append(&mut journal, &RECORD);
            journal.commit().expect("it works");
        }
        while topic.step() {}
        disk.fail_write(write);
        let ended = journal.durable();
        topic.set_faults(None);
        assert!(matches!(ended, Err(Error::Unknown { .. })), "write {write}: {ended:?}");
        let seen = records(&journal);
        drop(journal);
        disk.kill();
        let journal = owner(&topic, &disk);
        let all = records(&journal);
        assert!(all.starts_with(&seen), "write {write}");
        assert_eq!((seen.len() as u64, all.len()), (write, 4));
    }
}

#[test]
fn the_tools_for_journals_read_a_mirror() {
    let topic = MemoryTopic::new(1);
    let disk = MemoryDisk::new(1);
    let mut journal = owner(&topic, &disk);
    let mut records = 0;
    for _ in 0..100 {
        append(&mut journal, &RECORD);
        records += 1;
    }
    make_durable(&mut journal);
    assert!(journal.stop().is_some());
    drop(journal);
    let inspection = Inspection::open_on(Arc::new(disk)).expect("it is a journal's folder");
    let report = inspection.verify(Position::START).expect("it is readable");
    assert_eq!(report.damages, []);
    assert_eq!(report.records, records);
    assert!(report.segments.len() > 5);
}
