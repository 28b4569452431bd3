//! A process without file descriptors: the journal goes on with those that it holds, and where
//! these do not suffice it reports it, takes nothing, and goes on by itself when there are some
//! again.

mod crash_support;

use std::fs::File;
use std::process::Command;
use std::time::{Duration, Instant};

use crash_support::{Book, open};
use stadium_journal::conformance::{append, make_durable, read_all};
use stadium_journal::memory::MemoryDisk;
use stadium_journal::{
    Checkpoints as _, Error, FileCheckpoints, FileJournal, Journal, Opening, Position, Segmented as _,
};

#[test]
fn operations_that_need_a_descriptor_are_refused_until_there_is_one() {
    let disk = MemoryDisk::new(1);
    let (mut journal, stepper) = open(&disk, Opening::default()).expect("a new journal");
    while stepper.keep() {}
    disk.set_open_max(Some(0));
    let mut book = Book::default();
    let mut refusals = 0;
    for number in 0..200_u64 {
        let body = vec![number as u8; 3_000];
        match journal.append(&body) {
            Ok(position) => drop(book.open.insert(position, body)),
            Err(Error::Busy { .. }) => {}
            Err(Error::Descriptors) => refusals += 1,
            Err(error) => panic!("{error}"),
        }
        journal.commit().expect("the journal has not failed");
        while stepper.commit() {}
        assert!(!stepper.keep() || refusals == 0, "nothing can be made");
        book.acknowledge(journal.durable().expect("the journal has not failed"));
    }
    assert!(book.kept.len() > 20 && refusals > 100, "{} kept, {refusals} refused", book.kept.len());
    disk.set_open_max(None);
    assert!(stepper.keep(), "the next segment is made as soon as it can be");
    let position = journal.append(b"it goes on").expect("there is room again");
    book.open.insert(position, b"it goes on".to_vec());
    journal.commit().expect("it works");
    while stepper.commit() {}
    book.acknowledge(journal.durable().expect("it works"));
    book.check(&mut *journal.reader()).expect("all is there");
}

/// Spares and what is set aside are not lost by attempts that find no descriptor.
#[test]
fn attempts_that_fail_lose_nothing_of_the_stock() {
    let disk = MemoryDisk::new(1);
    let (mut journal, stepper) = open(&disk, Opening::default()).expect("a new journal");
    while stepper.keep() {}
    for _ in 0..3 {
        append(&mut journal, b"a record");
        journal.seal().expect("the next one is ready");
        make_durable(&mut journal);
        while stepper.commit() || stepper.keep() {}
    }
    let first = journal.segments()[0].number;
    journal.remove(first).expect("it is sealed");
    while stepper.commit() || stepper.keep() {}
    let stock = |disk: &MemoryDisk| -> Vec<_> {
        disk.files().into_iter().filter(|(name, _)| !name.ends_with(".segment")).collect()
    };
    let before = stock(&disk);
    assert!(before.iter().any(|(name, _)| name.starts_with("spare-")), "{before:?}");
    disk.set_open_max(Some(0));
    // The one that is ready is taken; the next is to be made of the spare.
    append(&mut journal, b"a record");
    journal.seal().expect("the next one is ready");
    journal.commit().expect("the journal has not failed");
    for _ in 0..5 {
        while stepper.commit() {}
        stepper.keep();
    }
    assert_eq!(stock(&disk), before);
}

/// In a child of its own with few descriptors, all of which are taken by others.
#[test]
fn a_journal_goes_on_with_the_descriptors_that_it_holds() {
    const NAME: &str = "a_journal_goes_on_with_the_descriptors_that_it_holds";
    if std::env::var_os("JOURNAL_FEW_DESCRIPTORS").is_some() {
        return go_on_without_descriptors();
    }
    let child = Command::new("sh")
        .args([
            "-c",
            "ulimit -n 64 && JOURNAL_FEW_DESCRIPTORS=1 exec \"$1\" --exact \"$2\" --nocapture",
            "sh",
        ])
        .arg(std::env::current_exe().expect("a test has a binary"))
        .arg(NAME)
        .output()
        .expect("there is a shell");
    let output =
        String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{output}");
    assert!(output.contains("1 passed"), "it ran: {output}");
}

fn go_on_without_descriptors() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path().join("journal");
    let mut journal = FileJournal::open(&place, &crash_support::options()).expect("a new journal");
    let checkpoints = FileCheckpoints::open(&folder.path().join("checkpoints"), 0, Some(journal.id()));
    let checkpoints = checkpoints.expect("it opens");
    let body = [9; 3_000];
    let first = append(&mut journal, &body);
    make_durable(&mut journal);
    let mut taken = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(60);
    // All at once, while the journal is at rest: no system call opens a file into a descriptor that is
    // held, so one that goes from the reserve to a file could be lost to somebody who takes it meanwhile.
    while let Ok(file) = File::open("/dev/null") {
        taken.push(file);
    }
    let mut appended = 1;
    while journal.segments().len() < 20 {
        match journal.append(&body) {
            Ok(_) => appended += 1,
            Err(Error::Busy { .. }) => make_durable(&mut journal),
            Err(error) => panic!("after {} segments: {error}", journal.segments().len()),
        }
        assert!(Instant::now() < deadline, "it does not go on");
    }
    make_durable(&mut journal);
    let mut byte = [0];
    journal.read_at(first, 7, &mut byte).expect("a payload of the first segment is read");
    assert_eq!(byte, [9]);
    for _ in 0..3 {
        let mut writer = checkpoints.begin(journal.end()).expect("a checkpoint is begun");
        writer.chunk(b"state").expect("it is written");
        writer.finish().expect("it is finished");
        append(&mut journal, b"one more");
        appended += 1;
        make_durable(&mut journal);
    }
    assert!(checkpoints.newest().expect("it is read").is_some());
    assert_eq!(read_all(&mut *journal.reader(), Position::START).len(), appended);
}
