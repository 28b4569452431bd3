//! Crashes, torn writes, lying syncs and full disks, by seed: all acknowledged records are there,
//! and none that was never written.
//!
//! A failure prints the seed; `JOURNAL_SEED=n cargo test -p stadium-journal --test integration crashes::` runs that one alone.

use crate::crash_support;

use crash_support::{Book, Random, open};
use stadium_journal::memory::{Kept, MemoryDisk, NameOperation};
use stadium_journal::{Error, FileJournal, Holder, Journal, Opening, Position, Segmented as _, Stepper};

/// One run: some lives of a journal, each ended by a crash, a kill, a failure, or properly.
struct Run {
    random: Random,
    disk: MemoryDisk,
    book: Book,
    checkpoint: Position,
    /// The actions of the run, so that a test can check that it did something.
    acknowledged: usize,
    crashes: usize,
    failures: usize,
    full: usize,
}

impl Run {
    fn new(seed: u64) -> Self {
        let disk = MemoryDisk::new(seed);
        disk.names_in_any_order(seed % 2 == 1);
        Self {
            random: Random(seed),
            disk,
            book: Book::default(),
            checkpoint: Position::START,
            acknowledged: 0,
            crashes: 0,
            failures: 0,
            full: 0,
        }
    }

    fn go(&mut self) -> Result<(), String> {
        let mut after_failure = None;
        for _ in 0..3 + self.random.below(5) {
            let Some((mut journal, stepper)) = self.reopen(after_failure.take())? else { continue };
            let mut reader = journal.reader();
            self.book.check(&mut *reader)?;
            let outcome = self.live(&mut journal, &stepper);
            let durable = match journal.durable() {
                Ok(durable) | Err(Error::Failed { durable, .. }) => durable,
                Err(error) => return Err(format!("an error that nothing explains: {error}")),
            };
            self.book.acknowledge(durable);
            self.acknowledged = self.acknowledged.max(self.book.kept.len());
            if let Err(error) = &outcome
                && !matches!(error, Error::Failed { .. })
            {
                return Err(format!("an error that nothing explains: {error}"));
            }
            if self.disk.is_stopped() || self.random.one_in(3) {
                self.crash();
            } else if self.random.one_in(2) {
                self.disk.kill();
            } else if outcome.is_err() {
                // The process goes on and opens the journal again: nothing unacknowledged may come back.
                self.failures += 1;
                self.book.open.clear();
                after_failure = Some(durable);
            }
            drop(reader);
            drop(journal);
        }
        self.disk.set_capacity(None);
        let Some((journal, _)) = self.reopen(after_failure)? else {
            return Err("it does not open on a sound disk".to_owned());
        };
        self.book.check(&mut *journal.reader())
    }

    fn crash(&mut self) {
        self.crashes += 1;
        let random = &mut self.random;
        let mood = random.below(4);
        self.disk.crash(&mut |choices| match mood {
            0 => 0,
            1 => choices - 1,
            _ => random.below(choices as u64) as usize,
        });
    }

    /// Opens, with crashes during the opening.
    fn reopen(&mut self, after_failure: Option<Position>) -> Result<Option<(FileJournal, Stepper)>, String> {
        for attempt in 0..20 {
            let may_stop = attempt < 3 && self.random.one_in(3);
            if may_stop {
                self.disk.stop_after(self.random.below(12));
            }
            let holder = if self.random.one_in(8) { Holder::Fence } else { Holder::Respect };
            let opening = Opening { checkpoint: self.checkpoint, after_failure, holder };
            if std::env::var_os("JOURNAL_SEED").is_some() {
                println!("opening {opening:?}: {:?}", self.disk.files());
            }
            match open(&self.disk, opening) {
                Ok(opened) if !self.disk.is_stopped() => {
                    self.disk.stop_after(u64::MAX / 2);
                    return Ok(Some(opened));
                }
                Ok(opened) => {
                    drop(opened);
                    self.crash();
                }
                Err(_) if self.disk.is_stopped() => self.crash(),
                Err(Error::Full) => {
                    self.full += 1;
                    self.disk.set_capacity(None);
                }
                // A fault of the disk; the next attempt meets none.
                Err(Error::Io { .. }) => {}
                Err(error) => return Err(format!("it does not open: {error}")),
            }
        }
        Ok(None)
    }

    /// Appends, commits and so on until something ends this life.
    fn live(&mut self, journal: &mut FileJournal, stepper: &Stepper) -> Result<(), Error> {
        if self.random.one_in(2) {
            self.disk.stop_after(5 + self.random.below(150));
        }
        for _ in 0..self.random.below(250) {
            if self.disk.is_stopped() {
                return Ok(());
            }
            match self.random.below(101) {
                0..40 => self.append(journal)?,
                40..55 => journal.commit()?,
                55..80 => {
                    stepper.commit();
                }
                80..88 => {
                    stepper.keep();
                }
                88..93 => {
                    let durable = journal.durable()?;
                    self.book.acknowledge(durable);
                }
                93..95 => match journal.seal() {
                    Ok(()) | Err(Error::Busy { .. } | Error::Full) => {}
                    Err(error) => return Err(error),
                },
                95 => {
                    let durable = journal.durable()?;
                    self.book.acknowledge(durable);
                    self.checkpoint =
                        self.book.kept.last_key_value().map_or(self.checkpoint, |(last, _)| *last);
                }
                96 => self.remove(journal)?,
                97 => self.disk.fail_sync(
                    self.random.below(30),
                    [Kept::Nothing, Kept::Half, Kept::Everything][self.random.below(3) as usize],
                ),
                98 => self.disk.fail_write(self.random.below(60)),
                99 => {
                    let kinds = [
                        NameOperation::Create,
                        NameOperation::Rename,
                        NameOperation::Remove,
                        NameOperation::SyncFolder,
                    ];
                    let kind = kinds[self.random.below(4) as usize];
                    self.disk.fail_name(Some((self.random.below(6), kind)));
                }
                _ => {
                    let room = self.random.below(300 << 10);
                    let is_bounded = self.random.one_in(2);
                    self.disk.set_capacity(is_bounded.then(|| self.disk.used() + room));
                }
            }
        }
        Ok(())
    }

    fn append(&mut self, journal: &mut FileJournal) -> Result<(), Error> {
        let body = self.random.body();
        let appended =
            if self.random.one_in(5) { journal.append_reserved(&body) } else { journal.append(&body) };
        match appended {
            Ok(position) => {
                let mut again = vec![0; body.len()];
                journal.read_at(position, 0, &mut again)?;
                assert_eq!(again, body, "what was just appended is readable");
                self.book.open.insert(position, body);
            }
            Err(Error::Busy { .. }) => {}
            Err(Error::Full) => self.full += 1,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn remove(&mut self, journal: &mut FileJournal) -> Result<(), Error> {
        let segments = journal.segments();
        let Some(dead) = segments.iter().find(|segment| segment.is_sealed && segment.end <= self.checkpoint)
        else {
            return Ok(());
        };
        journal.remove(dead.number)?;
        let rest = self.book.kept.split_off(&dead.end);
        let (before, gone) = std::mem::take(&mut self.book.kept)
            .into_iter()
            .partition::<std::collections::BTreeMap<_, _>, _>(|(at, _)| *at < dead.start);
        self.book.removed.extend(gone);
        self.book.kept = before;
        self.book.kept.extend(rest);
        Ok(())
    }
}

#[test]
fn acknowledged_records_survive_whatever_happens() {
    let seeds = match std::env::var("JOURNAL_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..std::env::var("JOURNAL_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1000),
    };
    let (mut acknowledged, mut crashes, mut failures, mut full) = (0, 0, 0, 0);
    let single = seeds.end - seeds.start == 1;
    for seed in seeds {
        let mut run = Run::new(seed);
        if let Err(what) = run.go() {
            panic!(
                "seed {seed}: {what}\nreplay: JOURNAL_SEED={seed} cargo test -p stadium-journal --test integration crashes::"
            );
        }
        acknowledged += run.acknowledged;
        crashes += run.crashes;
        failures += run.failures;
        full += run.full;
    }
    if !single {
        let did = format!("{acknowledged} acknowledged, {crashes} crashes, {failures} failures, {full} full");
        assert!(
            acknowledged > 10_000 && crashes > 500 && failures > 50 && full > 100,
            "{did}: this tests little"
        );
    }
}

/// Damage is reported, or harmless; it is never served, and nothing is lost in silence.
#[test]
fn a_flipped_bit_is_reported_or_harmless() {
    let (mut reported, mut harmless) = (0, 0);
    for seed in 0..400 {
        let mut random = Random(seed);
        let disk = MemoryDisk::new(seed);
        let mut book = Book::default();
        let (mut journal, stepper) = open(&disk, Opening::default()).expect("a new journal");
        for _ in 0..40 + random.below(300) {
            let body = random.body();
            match journal.append(&body) {
                Ok(position) => drop(book.open.insert(position, body)),
                Err(error) => assert!(error.is_temporary(), "{error}"),
            }
            if random.one_in(4) {
                journal.commit().expect("no fault");
            }
            while random.one_in(2) && (stepper.commit() || stepper.keep()) {}
        }
        journal.commit().expect("no fault");
        while stepper.commit() || stepper.keep() {}
        book.acknowledge(journal.durable().expect("no fault"));
        let used: Vec<_> = journal.segments();
        disk.kill();
        drop(journal);

        let segment = used[random.below(used.len() as u64) as usize];
        let length = segment.end.since(segment.start);
        let byte = random.below(length);
        let bit = random.below(8) as u8;
        let name = format!("{:012}.segment", segment.number.0);
        assert!(disk.flip_bit(&name, byte, bit));
        let outcome = match open(&disk, Opening::default()) {
            Ok((journal, _)) => book.check(&mut *journal.reader()),
            Err(Error::Corrupt(_) | Error::Foreign(_)) => Err("is damaged".to_owned()),
            Err(error) => panic!("seed {seed}: another error: {error}"),
        };
        match outcome {
            Ok(()) => harmless += 1,
            Err(what) => {
                assert!(what.contains("is damaged"), "seed {seed}, byte {byte} of {length}: {what}");
                reported += 1;
            }
        }
    }
    assert!(reported > 250, "{reported} reported, {harmless} harmless");
}

fn appended(journal: &mut FileJournal, book: &mut Book, bodies: &[&[u8]]) {
    for body in bodies {
        let position = journal.append(body).expect("there is room");
        book.open.insert(position, body.to_vec());
    }
}

fn made_durable(journal: &mut FileJournal, stepper: &Stepper, book: &mut Book) {
    journal.commit().expect("no fault");
    while stepper.commit() {}
    book.acknowledge(journal.durable().expect("no fault"));
}

#[test]
fn a_torn_tail_is_cut_and_what_was_before_stays() {
    let disk = MemoryDisk::new(1);
    let mut book = Book::default();
    let (mut journal, stepper) = open(&disk, Opening::default()).expect("a new journal");
    appended(&mut journal, &mut book, &[b"acknowledged"]);
    made_durable(&mut journal, &stepper, &mut book);
    let long = vec![7; 3000];
    appended(&mut journal, &mut book, &[&long, b"after it"]);
    journal.commit().expect("no fault");
    // Taken and written; the power fails before the sync, and of the sectors each second one is lost.
    assert!(stepper.commit() && stepper.commit());
    let mut sector = 0;
    disk.crash(&mut |choices| {
        sector += 1;
        if sector % 2 == 0 { 0 } else { choices - 1 }
    });
    let (journal, _) = open(&disk, Opening::default()).expect("a torn tail is no damage");
    book.check(&mut *journal.reader()).expect("what was acknowledged is there");
    assert_eq!(book.kept.len(), 1, "nothing of the torn batch could be read whole");
}

#[test]
fn a_torn_batch_whose_end_survived_is_no_damage() {
    let disk = MemoryDisk::new(1);
    let mut book = Book::default();
    let (mut journal, stepper) = open(&disk, Opening::default()).expect("a new journal");
    appended(&mut journal, &mut book, &[&[1; 700], &[2; 700], &[3; 700]]);
    journal.commit().expect("no fault");
    assert!(stepper.commit() && stepper.commit());
    // Only the first of the sectors is lost; valid records follow it.
    let mut sector = 0;
    disk.crash(&mut |choices| {
        sector += 1;
        if sector == 2 { 0 } else { choices - 1 }
    });
    let (journal, _) =
        open(&disk, Opening::default()).expect("nothing was acknowledged, so nothing is damaged");
    book.check(&mut *journal.reader()).expect("only what was appended");
}

#[test]
fn the_same_hole_in_acknowledged_bytes_is_damage_with_its_position() {
    let disk = MemoryDisk::new(1);
    let mut book = Book::default();
    let (mut journal, stepper) = open(&disk, Opening::default()).expect("a new journal");
    appended(&mut journal, &mut book, &[&[1; 700], &[2; 700], &[3; 700]]);
    made_durable(&mut journal, &stepper, &mut book);
    let second = *book.kept.keys().nth(1).expect("there are three");
    disk.kill();
    drop(journal);
    assert!(disk.flip_bit("000000000001.segment", second.0 + 100, 1));
    match open(&disk, Opening::default()) {
        Err(Error::Corrupt(damage)) => {
            assert_eq!((damage.position, damage.offset), (second, second.0));
            assert!(damage.file.ends_with("000000000001.segment"));
            let text = Error::Corrupt(damage).to_string();
            assert!(text.contains("stadium journal repair") && text.contains("JRN-009"), "{text}");
        }
        other => panic!("it must be refused: {:?}", other.map(|_| ())),
    }
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_and_nothing_comes_back() {
    for kept in [Kept::Nothing, Kept::Half, Kept::Everything] {
        let disk = MemoryDisk::new(1);
        let mut book = Book::default();
        let (mut journal, stepper) = open(&disk, Opening::default()).expect("a new journal");
        appended(&mut journal, &mut book, &[b"acknowledged"]);
        made_durable(&mut journal, &stepper, &mut book);
        let before = journal.durable().expect("no fault");
        appended(&mut journal, &mut book, &[b"refused"]);
        disk.fail_sync(0, kept);
        journal.commit().expect("it starts");
        while stepper.commit() {}
        let Err(Error::Failed { durable, .. }) = journal.durable() else { panic!("the sync failed") };
        assert_eq!(durable, before);
        assert!(matches!(journal.append(b"more"), Err(Error::Failed { .. })), "it stays failed");
        assert!(matches!(journal.commit(), Err(Error::Failed { .. })));
        let acknowledged = *book.kept.keys().next().expect("there is one");
        let mut part = [0; 3];
        journal.read_at(acknowledged, 0, &mut part).expect("reads go on");
        drop(journal);
        // The caller was answered "busy" for the refused record: it must not come back.
        book.open.clear();
        let opening = Opening { after_failure: Some(durable), ..Opening::default() };
        let (mut journal, stepper) = open(&disk, opening).expect("the disk works again");
        book.check(&mut *journal.reader()).expect("the acknowledged record alone");
        appended(&mut journal, &mut book, &[b"goes on"]);
        made_durable(&mut journal, &stepper, &mut book);
        disk.crash(&mut |_| 0);
        let (journal, _) = open(&disk, Opening::default()).expect("it opens");
        book.check(&mut *journal.reader()).expect("both, and nothing else");
        assert_eq!(book.kept.len(), 2);
    }
}

#[test]
fn records_that_a_dead_process_left_in_the_page_cache_are_made_durable_before_they_are_believed() {
    // The sync failed, the process died, and the page cache still shows the batch, marked clean.
    let disk = MemoryDisk::new(1);
    let mut book = Book::default();
    let (mut journal, stepper) = open(&disk, Opening::default()).expect("a new journal");
    appended(&mut journal, &mut book, &[b"in the cache only"]);
    disk.fail_sync(0, Kept::Nothing);
    journal.commit().expect("it starts");
    while stepper.commit() {}
    disk.kill();
    drop(journal);
    let (journal, _) = open(&disk, Opening::default()).expect("it opens");
    book.check(&mut *journal.reader()).expect("no surprise");
    assert_eq!(book.kept.len(), 1, "the cache still had it, so it was served");
    drop(journal);
    disk.crash(&mut |_| 0);
    let (journal, _) = open(&disk, Opening::default()).expect("it opens");
    book.check(&mut *journal.reader()).expect("what was served survives the loss of power");
}

#[test]
fn a_slot_of_control_whose_sync_failed_is_made_durable_before_the_other_one_is_given_up() {
    for kept in [Kept::Nothing, Kept::Half, Kept::Everything] {
        // Whichever sync of the opening fails, and whichever slot is damaged later.
        for (syncs, byte) in [(0, 0), (0, 512), (1, 0), (1, 512)] {
            let disk = MemoryDisk::new(1);
            drop(open(&disk, Opening::default()).expect("a new journal"));
            disk.fail_sync(syncs, kept);
            assert!(open(&disk, Opening::default()).is_err(), "a sync of `control` fails");
            drop(open(&disk, Opening::default()).expect("the disk works again"));
            assert!(disk.flip_bit("control", byte, 0));
            disk.crash(&mut |_| 0);
            open(&disk, Opening::default()).expect("the other slot is whole");
        }
    }
}

#[test]
fn a_full_disk_refuses_ordinary_records_and_takes_those_that_free_room() {
    let disk = MemoryDisk::new(1);
    let (mut journal, stepper) = open(&disk, Opening::default()).expect("a new journal");
    while stepper.keep() {}
    // Room for what is there: the current segment, the next one, the reserve.
    disk.set_capacity(Some(disk.used()));
    let body = vec![9; 4000];
    let mut ordinary = Vec::new();
    let fill = |journal: &mut FileJournal, reserved: bool, taken: &mut Vec<Position>| loop {
        let appended = if reserved { journal.append_reserved(&body) } else { journal.append(&body) };
        match appended {
            Ok(position) => taken.push(position),
            Err(Error::Busy { .. }) => {
                journal.commit().expect("no fault");
                while stepper.commit() || stepper.keep() {}
            }
            Err(Error::Full) => return,
            Err(error) => panic!("{error}"),
        }
    };
    fill(&mut journal, false, &mut ordinary);
    assert!(ordinary.len() >= 28, "both segments are used: {}", ordinary.len());
    assert_eq!(journal.room(), Some(stadium_journal::Room::Reserved));
    let mut reserved = Vec::new();
    fill(&mut journal, true, &mut reserved);
    assert!(reserved.len() >= 10, "what was set aside is used: {}", reserved.len());
    assert_eq!(journal.room(), None);
    let mut byte = [0];
    journal.read_at(ordinary[0], 5, &mut byte).expect("reads go on");
    // A segment goes; its room is enough to go on.
    journal.commit().expect("no fault");
    while stepper.commit() || stepper.keep() {}
    let first = journal.segments()[0];
    assert!(first.is_sealed);
    journal.remove(first.number).expect("it is sealed");
    while stepper.keep() {}
    reserved.clear();
    fill(&mut journal, true, &mut reserved);
    assert!(!reserved.is_empty(), "what frees room goes on");
    disk.set_capacity(None);
    while stepper.keep() {}
    journal.append(&body).expect("service resumes by itself");
    assert_eq!(journal.room(), Some(stadium_journal::Room::Ordinary));
}

#[test]
fn a_missing_segment_is_noticed() {
    use stadium_journal::Disk as _;
    let disk = MemoryDisk::new(1);
    let mut book = Book::default();
    let (mut journal, stepper) = open(&disk, Opening::default()).expect("a new journal");
    for _ in 0..3 {
        appended(&mut journal, &mut book, &[&[1; 5000]]);
        made_durable(&mut journal, &stepper, &mut book);
        while stepper.keep() {}
        journal.seal().expect("the next one is ready");
    }
    appended(&mut journal, &mut book, &[b"last"]);
    made_durable(&mut journal, &stepper, &mut book);
    drop(journal);
    for name in ["000000000001.segment", "000000000002.segment", "000000000004.segment"] {
        disk.kill();
        let content = disk.content(name).expect("it is there");
        disk.remove(name).expect("no fault");
        // After the last one is gone, the prepared one behind it must go as well, or a hole is seen.
        match open(&disk, Opening::default()) {
            Err(Error::Corrupt(damage)) => assert!(damage.what.contains("missing"), "{damage}"),
            other => panic!("{name} is missing: {:?}", other.map(|_| ())),
        }
        disk.kill();
        let file = disk.create(name).expect("no fault");
        file.write_at(&content, 0).expect("no fault");
    }
    disk.kill();
    let (journal, _) = open(&disk, Opening::default()).expect("all is there again");
    book.check(&mut *journal.reader()).expect("nothing was lost");
}

#[test]
fn all_that_is_not_durable_waits_and_bounds_what_is_appended() {
    let (mut journal, stepper) = open(&MemoryDisk::new(1), Opening::default()).expect("a new journal");
    let waiting = |journal: &FileJournal| journal.metrics().waiting_bytes;
    let waiting_bytes_max = crash_support::options().waiting_bytes_max as u64;
    let body = [7; 1_000];
    // A batch has a note, and each record a header.
    journal.append(&body).expect("there is room");
    let first = waiting(&journal);
    journal.append(&body).expect("there is room");
    let each = waiting(&journal) - first;
    assert!(first > each && each > 1_000, "{first} bytes, and {each} more");
    // Handed over, and with another batch begun, it waits all the same.
    journal.commit().expect("no fault");
    assert_eq!(waiting(&journal), first + each);
    while waiting(&journal) + each <= waiting_bytes_max - each {
        journal.append(&body).expect("there is room");
    }
    // A record that fills it to the last byte is taken, and then none.
    let left = waiting_bytes_max - waiting(&journal);
    journal.append(&vec![7; (left - (each - 1_000)) as usize]).expect("there is room");
    assert_eq!(waiting(&journal), waiting_bytes_max);
    assert_eq!(journal.append(b"x"), Err(Error::Busy { waiting: waiting_bytes_max }));
    journal.commit().expect("no fault");
    while stepper.commit() || stepper.keep() {}
    assert_eq!(waiting(&journal), 0);
    journal.append(b"x").expect("there is room");
}
