//! What only real files show: the lock and its process id, a full file system, allocations, and fixtures.
//!
//! The full file system is a tmpfs of 2 MiB in a mount namespace of a child process; the fixture is never made again.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use stadium_journal::conformance::{append, make_durable, read_all};
use stadium_journal::inspect::Inspection;
use stadium_journal::{
    Checkpoints as _, Error, FileCheckpoints, FileJournal, Journal, Opening, Options, Position, Room,
    Segmented as _,
};

fn options() -> Options {
    Options {
        segment_bytes: 256 << 10,
        reserve_bytes: 64 << 10,
        record_bytes_max: 16 << 10,
        waiting_bytes_max: 128 << 10,
        tail_bytes: 128 << 10,
        ..Options::default()
    }
}

#[test]
fn a_second_process_hears_which_process_has_the_journal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let journal = FileJournal::open(folder.path(), &options()).expect("a new journal");
    match FileJournal::open(folder.path(), &options()) {
        Err(Error::InUse { process, .. }) => assert_eq!(process, std::process::id()),
        other => panic!("{:?}", other.map(|_| ())),
    }
    assert_eq!(
        Inspection::open(folder.path())
            .expect("looking is allowed")
            .verify(Position::START)
            .map(|report| { (report.in_use_by, report.damages) }),
        Ok((Some(std::process::id()), Vec::new()))
    );
    drop(journal);
    FileJournal::open(folder.path(), &options()).expect("it is free");
}

/// The sizes of the segments in a folder, MiB, in their order.
fn sizes(folder: &Path) -> Vec<u64> {
    let mut segments: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "segment"))
        .collect();
    segments.sort();
    segments.iter().map(|path| path.metadata().expect("a file").len() >> 20).collect()
}

#[test]
fn segments_grow_from_a_small_first_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = Options {
        segment_bytes: 8 << 20,
        record_bytes_max: 1 << 20,
        waiting_bytes_max: 2 << 20,
        ..options()
    };
    let mut journal = FileJournal::open(folder.path(), &options).expect("a new journal");
    let body = vec![7; 400 << 10];
    let wait_for = |expected: &[u64]| {
        let began = Instant::now();
        // The next segment is made by a thread of its own.
        while sizes(folder.path()) != expected {
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", sizes(folder.path()));
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    wait_for(&[2, 4]);
    for _ in 0..40 {
        journal.append(&body).expect("there is room");
        journal.commit().expect("it starts");
        journal.wait(Duration::from_secs(20)).expect("it works");
    }
    wait_for(&[2, 4, 8, 8, 8]);
    drop(journal);
    let journal = FileJournal::open(folder.path(), &options).expect("it is whole");
    assert_eq!(read_all(&mut *journal.reader(), Position::START).len(), 40);
}

#[test]
fn nothing_is_allocated_for_records_and_commits_once_warm() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut journal = FileJournal::open(folder.path(), &options()).expect("a new journal");
    let body = [7; 200];
    let round = |journal: &mut FileJournal| {
        let mut last = Position::START;
        for _ in 0..20 {
            last = journal.append(&body).expect("there is room");
        }
        journal.commit().expect("it starts");
        journal.wait(Duration::from_secs(20)).expect("it works");
        let mut part = [0; 64];
        journal.read_at(last, 8, &mut part).expect("it is in memory");
    };
    for _ in 0..8 {
        round(&mut journal);
    }
    let counted = allocation_counter::measure(|| {
        for _ in 0..8 {
            round(&mut journal);
        }
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

#[test]
fn a_full_file_system_is_reported_before_anything_is_accepted_and_passes() {
    const NAME: &str = "folder::a_full_file_system_is_reported_before_anything_is_accepted_and_passes";
    if let Some(folder) = std::env::var_os("JOURNAL_SMALL_DISK") {
        return fill_and_free(Path::new(&folder));
    }
    // A file system of 2 MiB of its own, in a mount namespace that ends with the child.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = "mount -t tmpfs -o size=2m tmpfs \"$1\" && JOURNAL_SMALL_DISK=\"$1\" exec \"$2\" --exact \"$3\" --nocapture";
    let child = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(std::env::current_exe().expect("a test has a binary"))
        .arg(NAME)
        .output()
        .expect("unshare (util-linux) is installed");
    let output =
        String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{output}");
    assert!(output.contains("1 passed"), "it ran: {output}");
}

fn fill_and_free(folder: &Path) {
    let place = folder.join("journal");
    let options = options();
    let mut journal = FileJournal::open(&place, &options).expect("there is room for a journal");
    let body = vec![3; 4000];
    let mut kept = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(30);
    let fill = |journal: &mut FileJournal, kept: &mut Vec<Position>| loop {
        match journal.append(&body) {
            Ok(position) => kept.push(position),
            Err(Error::Busy { .. }) if Instant::now() < deadline => make_durable(journal),
            Err(Error::Full) => return,
            Err(error) => panic!("{error}"),
        }
    };
    fill(&mut journal, &mut kept);
    assert!(kept.len() > 200, "{} records of 4 KB", kept.len());
    make_durable(&mut journal);
    assert_eq!(journal.room(), Some(Room::Reserved));
    let settled = journal.append_reserved(b"what frees room is taken").expect("room was set aside");
    make_durable(&mut journal);
    let mut byte = [0];
    journal.read_at(kept[0], 9, &mut byte).expect("reads go on");
    // It opens again on the full disk, and all is there.
    drop(journal);
    let mut journal = FileJournal::open(&place, &options).expect("it opens on a full disk");
    let found = read_all(&mut *journal.reader(), Position::START);
    assert_eq!(found.len(), kept.len() + 1);
    assert_eq!(found.last().map(|(position, _)| *position), Some(settled));
    // Somebody makes room; service resumes by itself.
    let first = journal.segments()[0].number;
    journal.remove(first).expect("it is sealed");
    let deadline = Instant::now() + Duration::from_secs(30);
    while journal.room() != Some(Room::Ordinary) {
        assert!(Instant::now() < deadline, "it doesn't resume");
        std::thread::yield_now();
    }
    append(&mut journal, b"service has resumed");
    make_durable(&mut journal);
}

/// The journal and the checkpoint of version 1 that stand in fixtures/v1 are read for ever.
#[test]
fn version_1_is_read() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for part in ["journal", "checkpoints"] {
        std::fs::create_dir(folder.path().join(part)).expect("a new folder");
        for entry in std::fs::read_dir(fixture.join(part)).expect("the fixture is there") {
            let entry = entry.expect("the fixture is readable");
            let to = folder.path().join(part).join(entry.file_name());
            std::fs::copy(entry.path(), to).expect("there is room");
        }
    }
    let checkpoints = FileCheckpoints::open(&folder.path().join("checkpoints"), 3, None).expect("it opens");
    let mut newest = checkpoints.newest().expect("it is whole").expect("there is one");
    let position = newest.info().position;
    assert_eq!(newest.next().expect("it is whole"), Some(&b"the state of version 1"[..]));
    assert_eq!(newest.next().expect("it is whole"), Some(&[1; 1000][..]));
    assert_eq!(newest.next().expect("it is whole"), None);
    let opening = Opening { checkpoint: position, ..Opening::default() };
    let options =
        Options { shard: 3, opening, segment_bytes: 64 << 10, record_bytes_max: 8 << 10, ..options() };
    let journal = FileJournal::open(&folder.path().join("journal"), &options).expect("it opens");
    let found = read_all(&mut *journal.reader(), Position::START);
    let texts: Vec<String> =
        found.iter().map(|(_, body)| String::from_utf8_lossy(body).into_owned()).collect();
    assert_eq!(texts, ["first record of version 1", "second record", "third, in another segment", "fourth"]);
    assert_eq!(read_all(&mut *journal.reader(), position).len(), 2);
}

/// Makes the fixture: `JOURNAL_FIXTURE=folder cargo test -p stadium-journal --test integration folder::makes_the_fixture`. The one in the
/// repository is never made again; a new version of the format gets a folder of its own.
#[test]
fn makes_the_fixture() {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let folder = std::env::var_os("JOURNAL_FIXTURE").map_or(temporary.path().to_owned(), Into::into);
    let opening = Opening::default();
    let options =
        Options { shard: 3, opening, segment_bytes: 64 << 10, record_bytes_max: 8 << 10, ..options() };
    let open = || FileJournal::open(&folder.join("journal"), &options).expect("it opens");
    let mut journal = open();
    append(&mut journal, b"first record of version 1");
    make_durable(&mut journal);
    append(&mut journal, b"second record");
    make_durable(&mut journal);
    let (id, position) = (journal.id(), journal.end());
    drop(journal);
    let checkpoints = FileCheckpoints::open(&folder.join("checkpoints"), 3, Some(id)).expect("it opens");
    let mut writer = checkpoints.begin(position).expect("there is room");
    writer.chunk(b"the state of version 1").expect("there is room");
    writer.chunk(&[1; 1000]).expect("there is room");
    writer.finish().expect("there is room");
    let mut journal = open();
    append(&mut journal, b"third, in another segment");
    append(&mut journal, b"fourth");
    make_durable(&mut journal);
    assert_eq!(read_all(&mut *journal.reader(), position).len(), 2);
}
