//! Many journals on few threads: all become durable, and one whose disk hangs stops no other one.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stadium_journal::conformance::{append, make_durable, read_all};
use stadium_journal::memory::{HangingDisk, MemoryDisk};
use stadium_journal::{
    Error, FileJournal, Journal as _, JournalThreads, Options, Position, Segmented as _, ThreadCounts,
};

const LONG: Duration = Duration::from_secs(60);

fn options(shard: u32) -> Options {
    Options {
        shard,
        segment_bytes: 64 << 10,
        reserve_bytes: 64 << 10,
        record_bytes_max: 256 << 10,
        waiting_bytes_max: 64 << 10,
        tail_bytes: 0,
        ..Options::default()
    }
}

fn threads(writers: usize, makers: usize) -> JournalThreads {
    JournalThreads::start(ThreadCounts { writers, makers }).expect("they start")
}

fn of_this_process(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|comm| comm.trim() == name).count()
}

fn open(folder: &Path, shard: u32, threads: &JournalThreads) -> FileJournal {
    let folder = folder.join(format!("{shard}"));
    FileJournal::open_with(&folder, &options(shard), threads.clone()).expect("it opens")
}

#[test]
fn two_hundred_journals_share_three_threads_and_all_is_there_afterwards() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shared = threads(2, 1);
    let mut journals: Vec<_> = (0..200).map(|shard| open(folder.path(), shard, &shared)).collect();
    for round in 0..5_u8 {
        for journal in &mut journals {
            append(journal, &[round; 3_000]);
            journal.commit().expect("the disk works");
        }
        for journal in &mut journals {
            make_durable(journal);
        }
    }
    // The two kinds have threads of their own; other tests of this process have some too.
    assert!(
        of_this_process("journal-2") + of_this_process("maintenance-1") == 0,
        "no more than were asked for"
    );
    drop(journals);
    for shard in 0..200 {
        let journal = open(folder.path(), shard, &shared);
        let found = read_all(&mut *journal.reader(), Position::START);
        let rounds: Vec<_> = found.iter().map(|(_, body)| body[0]).collect();
        assert_eq!(rounds, [0, 1, 2, 3, 4], "journal {shard}");
    }
}

#[test]
fn a_journal_whose_disk_hangs_keeps_one_thread_and_the_others_go_on() {
    let shared = threads(2, 2);
    let hanging = HangingDisk::new(MemoryDisk::new(1));
    let opened = FileJournal::open_on_with(Arc::new(hanging.clone()), &options(0), shared.clone());
    let mut stuck = opened.expect("it opens");
    append(&mut stuck, b"before");
    make_durable(&mut stuck);
    hanging.hang(true);
    append(&mut stuck, b"while it hangs");
    stuck.commit().expect("the disk has not failed");
    let disks: Vec<_> = (1..6).map(MemoryDisk::new).collect();
    let opened = disks.iter().map(|disk| {
        FileJournal::open_on_with(Arc::new(disk.clone()), &options(0), shared.clone()).expect("it opens")
    });
    let mut others: Vec<_> = opened.collect();
    for round in 0..40_u8 {
        for other in &mut others {
            // Through some segments: they are made while the other one is stuck, too.
            append(other, &[round; 9_000]);
            make_durable(other);
        }
    }
    assert!(others.iter().all(|other| other.segments().len() > 4));
    assert_ne!(stuck.durable().expect("the disk has not failed"), stuck.end(), "it still hangs");
    // A journal is closed while another one hangs.
    drop(others);
    hanging.hang(false);
    make_durable(&mut stuck);
    assert_eq!(stuck.durable(), Ok(stuck.end()));
}

#[test]
fn a_record_longer_than_a_segment_gets_one_of_its_size() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shared = threads(1, 1);
    let bodies = [vec![1; 100], vec![2; 200 << 10], vec![3; 100], vec![4; 256 << 10], vec![5; 100]];
    let mut journal = open(folder.path(), 0, &shared);
    let deadline = Instant::now() + LONG;
    let mut positions = Vec::new();
    for body in &bodies {
        let position = loop {
            match journal.append(body) {
                Ok(position) => break position,
                Err(Error::Busy { .. }) if Instant::now() < deadline => make_durable(&mut journal),
                Err(error) => panic!("{error}"),
            }
        };
        positions.push(position);
    }
    let longest = journal.append(&vec![6; (256 << 10) + 1]);
    assert!(matches!(longest, Err(Error::TooLarge { .. })), "{longest:?}");
    make_durable(&mut journal);
    let sizes: Vec<_> = journal.segments().iter().map(|segment| segment.bytes >> 10).collect();
    assert_eq!(sizes.iter().filter(|&&size| size > 64).count(), 2, "only those two are larger: {sizes:?}");
    drop(journal);
    let journal = open(folder.path(), 0, &shared);
    let found = read_all(&mut *journal.reader(), Position::START);
    assert_eq!(found, positions.into_iter().zip(bodies).collect::<Vec<_>>());
}
