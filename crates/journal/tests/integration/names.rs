//! Names of files that a sync of the folder did not make durable: they are seen, and a loss of power may take each of them back.
//!
//! The disks here keep any subset of the changes of names that were not synced. An opening must make durable what it believes.

use std::sync::Arc;

use crate::crash_support::{Random, open};
use stadium_journal::memory::{MemoryDisk, NameOperation};
use stadium_journal::{
    Checkpoints, Error, FileCheckpoints, Holder, Journal, Opening, Position, Segmented as _,
};

/// A disk whose names survive in any order.
fn disk() -> MemoryDisk {
    let disk = MemoryDisk::new(1);
    disk.names_in_any_order(true);
    disk
}

/// Power fails at each operation of an opening, and then any of the changes of names survive: the next opening must not find damage.
/// `before` gives the disk as it is before the first opening.
fn opens_whatever_survives(before: impl Fn() -> MemoryDisk, holder: Holder) {
    for operations in 0.. {
        let mut was_stopped = false;
        for seed in 0..64 {
            let disk = before();
            disk.stop_after(operations);
            let opening = Opening { holder, ..Opening::default() };
            drop(open(&disk, opening));
            was_stopped = disk.is_stopped();
            let mut random = Random(seed);
            disk.crash(&mut |choices| random.below(choices as u64) as usize);
            let files = disk.files();
            if let Err(error) = open(&disk, Opening::default()) {
                panic!("after {operations} operations, with the files {files:?}: {error}");
            }
        }
        if !was_stopped {
            return;
        }
    }
}

/// A journal with two prepared segments that hold nothing, behind one that does.
fn with_empty_segments(disk: &MemoryDisk) {
    let (mut journal, stepper) = open(disk, Opening::default()).expect("a new journal");
    journal.append(b"a record").expect("there is room");
    journal.commit().expect("no fault");
    while stepper.commit() || stepper.keep() {}
    // The seal stays in memory: on the disk are one segment with a record, and two that were
    // prepared.
    journal.seal().expect("the next one is ready");
    while stepper.keep() {}
}

#[test]
fn a_checkpoint_whose_name_was_not_synced_is_made_durable_before_it_is_believed() {
    let disk = disk();
    let checkpoints = || FileCheckpoints::open_on(Arc::new(disk.clone()), 0, None).expect("it opens");
    let mut writer = checkpoints().begin(Position(8)).expect("no fault");
    writer.chunk(b"all that there is").expect("no fault");
    disk.fail_name(Some((0, NameOperation::SyncFolder)));
    writer.finish().expect_err("the folder is not synced");
    disk.kill();
    let newest = checkpoints().newest().expect("it can be read").expect("its name is seen");
    assert_eq!(newest.info().position, Position(8));
    // A reader of it removes the part of the journal before it.
    disk.crash(&mut |_| 0);
    let newest = checkpoints().newest().expect("it can be read").expect("it was believed");
    assert_eq!(newest.info().position, Position(8));
}

#[test]
fn control_whose_name_was_not_synced_is_made_durable_before_there_are_segments() {
    let before = || {
        let disk = disk();
        disk.fail_name(Some((0, NameOperation::SyncFolder)));
        assert!(matches!(open(&disk, Opening::default()), Err(Error::Io { .. })));
        disk.kill();
        disk
    };
    opens_whatever_survives(before, Holder::Respect);
}

#[test]
fn an_empty_segment_that_stepped_aside_is_gone_before_the_one_before_it() {
    let before = || {
        let disk = disk();
        with_empty_segments(&disk);
        disk.kill();
        // The last one becomes a spare, and nobody knows whether that is durable.
        disk.fail_name(Some((0, NameOperation::SyncFolder)));
        assert!(matches!(open(&disk, Opening::default()), Err(Error::Io { .. })));
        disk.kill();
        disk
    };
    opens_whatever_survives(before, Holder::Respect);
}

#[test]
fn a_new_owner_removes_empty_segments_one_after_the_other() {
    let before = || {
        let disk = disk();
        with_empty_segments(&disk);
        disk.kill();
        disk
    };
    opens_whatever_survives(before, Holder::Fence);
}

#[test]
fn a_spare_whose_name_was_not_synced_becomes_no_segment() {
    for seed in 0..64 {
        let disk = disk();
        let (mut journal, stepper) = open(&disk, Opening::default()).expect("a new journal");
        journal.append(b"a record").expect("there is room");
        while stepper.keep() {}
        journal.seal().expect("the next one is ready");
        journal.commit().expect("no fault");
        while stepper.commit() || stepper.keep() {}
        let checkpoint = journal.append(b"another").expect("there is room");
        journal.commit().expect("no fault");
        while stepper.commit() || stepper.keep() {}
        let first = journal.segments()[0];
        assert!(first.is_sealed && first.end <= checkpoint);
        journal.remove(first.number).expect("it is sealed");
        disk.fail_name(Some((0, NameOperation::SyncFolder)));
        stepper.keep();
        // The next segment is taken, and one more is made: of fresh blocks, or of the file that was the first segment.
        journal.seal().expect("the next one is ready");
        disk.stop_after(3);
        while stepper.keep() {}
        drop(journal);
        let mut random = Random(seed);
        disk.crash(&mut |choices| random.below(choices as u64) as usize);
        let files = disk.files();
        if let Err(error) = open(&disk, Opening { checkpoint, ..Opening::default() }) {
            panic!("with the files {files:?}: {error}");
        }
    }
}
