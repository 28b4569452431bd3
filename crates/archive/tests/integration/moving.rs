//! Segments that move from a server's disk to its backups: proved before they go, named for ever,
//! and read back as if they were here.

use std::fs;
use std::path::{Path, PathBuf};

use stadium_archive::{
    Backup, Closed, Creation, Error, Inventory, Keep, Moment, Moved, SealOf, SegmentState, Settled, State,
    movable, stored_journals,
};
use stadium_journal::inspect::Inspection;
use stadium_journal::{Position, SegmentNumber, copy, shards};

use crate::backups::{Server, time_of, times};
use crate::shard::{no_grace, run};

/// The first segment, which moves.
const FIRST: SegmentNumber = SegmentNumber(1);

/// A server whose backups move segments of its first shard.
struct Mover {
    server: Server,
    to: tempfile::TempDir,
    inventory: Inventory,
}

impl Mover {
    /// Three segments of each shard are full, and two checkpoints are behind the first.
    fn new() -> Self {
        let to = tempfile::tempdir().expect("a folder can be had");
        let mut server = Server::in_folder(&to);
        server.write((10..=150).step_by(10));
        for _ in 0..2 {
            for shard in &mut server.shards {
                shard.checkpoint(100);
            }
            server.write([160]);
        }
        let inventory = Self::open(&server);
        Self { server, to, inventory }
    }

    fn open(server: &Server) -> Inventory {
        run(Inventory::open(&server.url, &server.access, 2, &no_grace())).expect("the store works")
    }

    fn data(&self) -> &Path {
        self.server.data.path()
    }

    /// The folder of the first shard.
    fn shard(&self) -> PathBuf {
        shards::folder(&self.data().join("shards"), 0)
    }

    fn file(&self) -> PathBuf {
        self.shard().join("journal").join(copy::segment_name(FIRST))
    }

    /// Copies of the first segment in the store.
    fn objects(&self) -> Vec<PathBuf> {
        let folder = self.to.path().join("backups/shard-0000/segments");
        let files = fs::read_dir(folder).expect("it is there").map(|file| file.expect("it is read").path());
        let mut files: Vec<_> =
            files.filter(|path| path.to_string_lossy().contains("/000000000001.")).collect();
        files.sort();
        files
    }

    /// A backup that names segments of the first shard as moved.
    fn backup(&mut self, moment_ms: u64, moving: &[SegmentNumber]) -> Result<Backup, Error> {
        let data = self.server.data.path();
        let seal = SealOf { number: 1, root: "00".repeat(32) };
        let state = State {
            moment_ms,
            seals: vec![Some(seal), None],
            version: "test".to_owned(),
            moving: vec![moving.to_vec(), Vec::new()],
            ..State::default()
        };
        run(async {
            let creation = Creation::begin(&mut self.inventory, data).await?;
            creation.finish(state, None, data, &mut |_| {}).await
        })
    }

    fn confirm(&mut self, backup: &Backup) -> Result<Vec<SegmentNumber>, Error> {
        let from = (self.server.data.path(), self.server.url.as_str());
        run(self.inventory.confirm_moved(from, backup, 0, &[FIRST]))
    }

    /// Moves the first segment.
    fn moved() -> Self {
        let mut mover = Self::new();
        let backup = mover.backup(200, &[FIRST]).expect("it is stored");
        assert_eq!(mover.confirm(&backup).expect("the store has it"), [FIRST]);
        fs::remove_file(mover.file()).expect("it is there");
        mover
    }

    /// The states in which the newest backup names the first segment.
    fn state(&self, backup: &Backup) -> Option<SegmentState> {
        let archive = self.inventory.archive().shard(0).expect("it is one of two");
        let manifest = run(archive.read(backup.shards[0].manifest)).expect("it is there");
        manifest.segments().iter().find(|segment| segment.number == FIRST).map(|segment| segment.state)
    }
}

/// Changes a byte in the middle of a file.
fn alter(path: &Path) {
    let mut bytes = fs::read(path).expect("it is there");
    bytes[20_000] ^= 1;
    fs::write(path, bytes).expect("it is written");
}

#[test]
fn a_moved_segment_is_in_every_later_backup_and_in_every_restore() {
    let mut mover = Mover::moved();
    let noted = Moved::read(&mover.shard()).expect("it can be read");
    assert_eq!((noted.numbers().collect::<Vec<_>>(), noted.to.as_str()), (vec![FIRST], &*mover.server.url));
    mover.server.write([310]);
    let later = mover.backup(320, &[]).expect("the next one goes on");
    assert_eq!(mover.state(&later), Some(SegmentState::Moved));
    mover.server.prune(Keep { count: Some(1), age_ms: None });
    assert_eq!(mover.objects().len(), 1);
    // Also where the note is lost.
    fs::remove_file(mover.shard().join("moved.json")).expect("it is there");
    let last = mover.backup(330, &[]).expect("the next one goes on");
    assert_eq!(mover.state(&last), Some(SegmentState::Moved));
    let back = mover.to.path().join("back");
    mover.server.restore(&back, Moment::Newest).expect("it is restored");
    assert_eq!(times(&back, 0), times(&back, 1), "the other shard has moved nothing");
    assert_eq!(times(&back, 0)[0], 10);
}

#[test]
fn an_object_that_was_altered_is_stored_again_before_the_file_may_go() {
    let mut mover = Mover::new();
    let first = mover.backup(200, &[FIRST]).expect("it is stored");
    alter(&mover.objects()[0]);
    let error = mover.confirm(&first).expect_err("the object was changed");
    assert_eq!(error.code(), "ARC-009", "{error}");
    assert!(error.to_string().contains("shard 0"), "{error}");
    assert!(!mover.shard().join("moved.json").exists());
    let second = mover.backup(210, &[FIRST]).expect("it is stored again");
    assert_eq!(mover.objects().len(), 2);
    assert_eq!(mover.confirm(&second).expect("the new object is whole"), [FIRST]);
    fs::remove_file(mover.file()).expect("it is there");
    mover.server.restore(&mover.to.path().join("back"), Moment::Newest).expect("the new object counts");
}

#[test]
fn a_file_that_is_not_what_was_stored_stays() {
    let mut mover = Mover::new();
    let backup = mover.backup(200, &[FIRST]).expect("it is stored");
    alter(&mover.file());
    let error = mover.confirm(&backup).expect_err("the file was changed");
    assert_eq!(error.code(), "ARC-009", "{error}");
    alter(&mover.file());
    assert_eq!(mover.confirm(&backup).expect("both are whole"), [FIRST]);
}

#[test]
fn a_process_that_ended_on_the_way_goes_on_with_the_next_backup() {
    let mut mover = Mover::new();
    mover.backup(200, &[FIRST]).expect("it is stored");
    mover.inventory = Mover::open(&mover.server);
    let again = mover.backup(210, &[FIRST]).expect("it is stored");
    assert_eq!(mover.objects().len(), 1, "it is not sent again");
    mover.confirm(&again).expect("the store has it");
    mover.inventory = Mover::open(&mover.server);
    let last = mover.backup(220, &[FIRST]).expect("it is stored");
    assert_eq!(mover.confirm(&last).expect("it is noted twice"), [FIRST]);
    let noted = Moved::read(&mover.shard()).expect("it can be read");
    assert_eq!(noted.numbers().collect::<Vec<_>>(), [FIRST]);
    assert!(noted.gone(&mover.shard()).expect("it is listed").is_empty());
}

#[test]
fn another_store_is_refused_while_it_lacks_what_was_moved() {
    let mut mover = Mover::moved();
    let elsewhere = format!("file://{}/elsewhere", mover.to.path().display());
    mover.server.url = elsewhere;
    mover.inventory = Mover::open(&mover.server);
    let error = mover.backup(300, &[]).expect_err("it lacks a segment");
    assert_eq!(error.code(), "ARC-022", "{error}");
}

#[test]
fn only_settled_segments_of_closed_and_old_periods_may_move() {
    let mover = Mover::new();
    let journal = mover.shard().join("journal");
    let segment = |number| {
        let (head, _) = copy::segment_head(&journal, SegmentNumber(number)).expect("it is there");
        let limit = head.base.plus(head.capacity);
        Settled { number: SegmentNumber(number), end: limit, limit }
    };
    let (one, two) = (segment(1), segment(2));
    let second_begins = {
        let mut reader = Inspection::open(&journal).and_then(|journal| journal.reader()).expect("it opens");
        reader.seek(one.limit).expect("it is there");
        let record = reader.next().expect("it is whole").expect("there is one");
        time_of(record.body).expect("it has one")
    };
    let of = |settled: &[Settled], before: Position, older_than_ms| {
        let closed = Closed { before, older_than_ms };
        let numbers = movable(mover.data(), 0, settled, closed, time_of).expect("it can be read");
        numbers.into_iter().map(|number| number.0).collect::<Vec<_>>()
    };
    let far = Position(u64::MAX);
    let cases = [
        (of(&[], far, u64::MAX), vec![], "none is settled"),
        (of(&[one, two], far, u64::MAX), vec![1, 2], "all are closed and old"),
        (of(&[one, two], one.limit, u64::MAX), vec![1], "the second is not closed"),
        (of(&[one, two], Position::START, u64::MAX), vec![], "none is closed"),
        (of(&[one, two], far, second_begins + 1), vec![1], "the second is not old"),
        (of(&[one, two], far, second_begins), vec![], "the first is as old as the bound"),
    ];
    for (found, wanted, why) in cases {
        assert_eq!(found, wanted, "{why}");
    }
}

#[test]
fn journals_are_read_whole_with_the_store_and_damage_is_named() {
    let mover = Mover::moved();
    let scratch = tempfile::tempdir().expect("a folder can be had");
    let read = |data: Option<&Path>| {
        let Server { url, access, .. } = &mover.server;
        let journals = stored_journals(url, access, data, scratch.path()).expect("the store answers");
        let first = &journals[0];
        let inspection = Inspection::open_used(first.disk.clone(), first.in_use_by).expect("it opens");
        let report = inspection.verify(first.checkpoint).expect("it is read");
        let mut reader = inspection.reader().expect("it opens");
        let mut times = Vec::new();
        while let Ok(Some(record)) = reader.next() {
            times.push(time_of(record.body).expect("it has one"));
        }
        (times, first.damages(), report.damages.len())
    };
    let data = mover.data().join("shards");
    for data in [Some(data.as_path()), None] {
        let (times, damages, more) = read(data);
        assert_eq!((times[0], times.len(), damages.len(), more), (10, 17, 0, 0), "{data:?} {damages:?}");
    }
    let object = mover.objects()[0].clone();
    let whole = fs::read(&object).expect("it is there");
    alter(&object);
    let (_, damages, _) = read(Some(&data));
    assert!(damages.len() == 1 && damages[0].what.contains("checksum"), "{damages:?}");
    assert_eq!(damages[0].position, Position::START);
    fs::remove_file(&object).expect("it is there");
    let (_, damages, _) = read(Some(&data));
    assert!(damages.len() == 1 && damages[0].what.contains("missing"), "{damages:?}");
    fs::write(&object, whole).expect("it is written");
    // A store that somebody replaced is not the one that has the segment.
    let noted = mover.shard().join("moved.json");
    let text = fs::read_to_string(&noted).expect("it is there");
    let sha256 = Moved::read(&mover.shard()).expect("it is read").segments[0].sha256.clone();
    fs::write(&noted, text.replace(&sha256, &"00".repeat(32))).expect("it is written");
    let (_, damages, _) = read(Some(&data));
    assert!(damages.len() == 1 && damages[0].what.contains("another segment"), "{damages:?}");
}
