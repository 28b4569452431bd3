//! The tests that every journal has to pass. Those of a journal that is kept in segments come
//! besides: [`segmented`].
//!
//! An implementation offers a [`Place`] and calls [`run`], and [`segmented::run`] if it has that
//! part. A panic names the broken promise. Crashes are the implementation's own tests' business:
//! the suite has the promises that any owner of a journal relies on.

pub mod segmented;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::{Error, Holder, Journal, Opening, Position, Reader, Room};

/// How long anything may take before the suite calls it broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where one journal lives. It gives space back in pieces of 64 KiB to 1 MiB, its records have at
/// least 4 KiB, 64 KiB may wait, and it holds 8 MiB at least.
pub trait Place {
    /// Opens the journal, which is made at the first call.
    ///
    /// # Errors
    /// Those of the implementation.
    fn open(&self, opening: Opening) -> Result<Box<dyn Journal>, Error>;
}

/// Runs what every journal has to pass, each part in a place of its own.
pub fn run<P: Place>(fresh: impl Fn() -> P) {
    records_are_read_as_they_were_appended(&fresh());
    positions_grow_and_are_known_before(&fresh());
    nothing_is_durable_before_a_commit(&fresh());
    commits_merge_and_wake(&fresh());
    reopening_keeps_what_was_committed(&fresh());
    reopening_without_records_changes_nothing(&fresh());
    one_holder_at_a_time(&fresh());
    a_fenced_writer_acknowledges_nothing(&fresh());
    trimming_gives_back_what_is_before(&fresh());
    trimming_keeps_what_is_not_durable(&fresh());
    a_reader_goes_on_while_the_log_is_trimmed(&fresh());
    a_trimmed_log_opens_again(&fresh());
    a_reader_in_another_thread_follows(&fresh());
    too_much_is_refused(&fresh());
    a_checkpoint_that_is_ahead_is_noticed(&fresh());
}

fn open(place: &impl Place) -> Box<dyn Journal> {
    match place.open(Opening::default()) {
        Ok(journal) => journal,
        Err(error) => panic!("the journal opens: {error}"),
    }
}

/// Appends, and waits where the journal is busy.
pub fn append(journal: &mut dyn Journal, record: &[u8]) -> Position {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match journal.append(record) {
            Ok(position) => return position,
            Err(Error::Busy { .. }) if Instant::now() < deadline => {
                commit(journal);
                journal.wait(Duration::from_millis(1)).expect("the journal works");
            }
            Err(error) => panic!("the journal takes a record: {error}"),
        }
    }
}

fn commit(journal: &mut dyn Journal) {
    journal.commit().expect("a commit starts");
}

/// Commits, and waits until everything is durable.
pub fn make_durable(journal: &mut dyn Journal) {
    commit(journal);
    let durable = journal.wait(PATIENCE).expect("the commit succeeds");
    assert!(durable >= journal.end(), "after waiting all is durable: {durable} of {}", journal.end());
}

/// All durable records from a position on.
pub fn read_all(reader: &mut dyn Reader, from: Position) -> Vec<(Position, Vec<u8>)> {
    reader.seek(from).expect("a reader goes anywhere");
    let mut records = Vec::new();
    while let Some(record) = reader.next().expect("records are whole") {
        assert!(record.end > record.position, "a record takes room");
        records.push((record.position, record.body.to_vec()));
    }
    records
}

/// A record that can be distinguished from others: `number` and a length that varies.
#[must_use]
pub fn record(number: u64) -> Vec<u8> {
    let length = 8 + usize::try_from(number * 37 % 300).expect("it is below 300");
    let mut body = vec![(number * 31 % 251) as u8; length];
    body[..8].copy_from_slice(&number.to_le_bytes());
    body
}

fn records_are_read_as_they_were_appended(place: &impl Place) {
    let mut journal = open(place);
    let mut expected = Vec::new();
    for number in 0..200 {
        let body = record(number);
        let position = append(&mut *journal, &body);
        let mut part = vec![0; body.len() - 3];
        journal.read_at(position, 3, &mut part).expect("a record is readable before it is durable");
        assert_eq!(part, body[3..]);
        expected.push((position, body));
    }
    make_durable(&mut *journal);
    let mut reader = journal.reader();
    assert_same(&read_all(&mut *reader, Position::START), &expected);
    assert_same(&read_all(&mut *reader, expected[50].0), &expected[50..]);
    let (position, body) = &expected[120];
    assert_eq!(reader.record(*position).expect("it is there").body, body);
    assert_eq!(reader.next().expect("it is there").map(|next| next.position), Some(expected[121].0));
    assert_eq!(reader.record(journal.end()), Err(Error::NoRecord(journal.end())));
    assert_eq!(reader.record(Position(position.0 + 1)), Err(Error::NoRecord(Position(position.0 + 1))));
    let mut past = [0; 1];
    assert!(journal.read_at(journal.end(), 0, &mut past).is_err(), "nothing is past the end");
}

fn positions_grow_and_are_known_before(place: &impl Place) {
    let mut journal = open(place);
    let mut last = Position::START;
    assert!(journal.end() >= Position::START);
    for number in 0..2000 {
        let body = record(number);
        let deadline = Instant::now() + PATIENCE;
        let promised = loop {
            match journal.make_room(body.len() + 100, Room::Ordinary) {
                Ok(position) => break position,
                Err(Error::Busy { .. }) if Instant::now() < deadline => make_durable(&mut *journal),
                Err(error) => panic!("there is room: {error}"),
            }
        };
        assert!(promised >= journal.end(), "the next record is at or after the end");
        let position = journal.append(&body).expect("room was made");
        assert_eq!(position, promised, "record {number} stands at the announced position");
        assert!(position > last && journal.end() > position);
        last = position;
    }
}

fn nothing_is_durable_before_a_commit(place: &impl Place) {
    let mut journal = open(place);
    let position = append(&mut *journal, b"not committed");
    assert!(journal.durable().expect("it works") <= position);
    assert_eq!(read_all(&mut *journal.reader(), Position::START), []);
    assert!(journal.wait(Duration::from_millis(1)).expect("it works") <= position);
    drop(journal);
    let journal = open(place);
    assert_eq!(read_all(&mut *journal.reader(), Position::START), []);
}

fn commits_merge_and_wake(place: &impl Place) {
    let mut journal = open(place);
    let woken = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&woken);
    journal.on_durable(Arc::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
    }));
    for number in 0..100 {
        append(&mut *journal, &record(number));
        commit(&mut *journal);
    }
    make_durable(&mut *journal);
    assert!(woken.load(Ordering::Relaxed) > 0, "the owner is woken");
    let metrics = journal.metrics();
    assert!((1..=100).contains(&metrics.commits), "{} commits", metrics.commits);
    assert_eq!(metrics.records, 100);
    assert_eq!(metrics.waiting_bytes, 0);
    commit(&mut *journal);
    make_durable(&mut *journal);
    assert_eq!(journal.metrics().commits, metrics.commits, "a commit of nothing does nothing");
}

fn reopening_keeps_what_was_committed(place: &impl Place) {
    let mut expected = Vec::new();
    let mut end = Position::START;
    for round in 0..5 {
        let mut journal = open(place);
        assert!(journal.end() >= end, "positions are never used again");
        assert!(journal.durable().expect("it works") >= journal.end());
        assert_same(&read_all(&mut *journal.reader(), Position::START), &expected);
        for number in 0..50 {
            let body = record(round * 1000 + number);
            expected.push((append(&mut *journal, &body), body));
        }
        make_durable(&mut *journal);
        end = journal.end();
        let (position, body) = &expected[0];
        let mut first = vec![0; body.len()];
        journal.read_at(*position, 0, &mut first).expect("old payloads are readable");
        assert_eq!(&first, body);
    }
    let checkpoint = expected[120].0;
    let journal = place.open(Opening { checkpoint, ..Opening::default() }).expect("it opens");
    assert_same(&read_all(&mut *journal.reader(), checkpoint), &expected[120..]);
}

fn reopening_without_records_changes_nothing(place: &impl Place) {
    let mut journal = open(place);
    append(&mut *journal, b"one");
    make_durable(&mut *journal);
    drop(journal);
    let before = open(place);
    let (end, epoch) = (before.end(), before.epoch());
    let segments = |journal: &dyn Journal| journal.segmented().map(|journal| journal.segments().len());
    let segments_before = segments(&*before);
    drop(before);
    for _ in 0..5 {
        let journal = open(place);
        assert_eq!(journal.end(), end);
        assert_eq!(segments(&*journal), segments_before, "restarts take no disk");
        let checkpoint = journal.end();
        drop(journal);
        drop(
            place
                .open(Opening { checkpoint, ..Opening::default() })
                .expect("the end is a checkpoint's place"),
        );
    }
    assert!(open(place).epoch() > epoch, "each opening has its epoch");
}

fn one_holder_at_a_time(place: &impl Place) {
    let journal = open(place);
    let id = journal.id();
    match place.open(Opening::default()) {
        Err(Error::InUse { .. }) => {}
        Err(error) => panic!("another error than `InUse`: {error}"),
        Ok(_) => panic!("two have the journal open"),
    }
    drop(journal);
    assert_eq!(open(place).id(), id, "it is the same journal");
}

fn a_fenced_writer_acknowledges_nothing(place: &impl Place) {
    let mut older = open(place);
    let kept = append(&mut *older, b"acknowledged");
    make_durable(&mut *older);
    let durable = older.durable().expect("it works");
    append(&mut *older, b"never committed");
    let fence = Opening { holder: Holder::Fence, ..Opening::default() };
    let mut newer = place.open(fence).expect("a newer owner comes in");
    assert!(newer.epoch() > older.epoch());
    // The older one finds out at its next commit at the latest, and knows no more as durable.
    let mut outcome = older.commit();
    let deadline = Instant::now() + PATIENCE;
    while outcome.is_ok() && Instant::now() < deadline {
        outcome = older.wait(Duration::from_millis(10)).map(|now| {
            assert_eq!(now, durable, "a fenced writer acknowledges nothing");
        });
    }
    assert!(matches!(outcome, Err(Error::Fenced { .. })), "{outcome:?}");
    assert!(matches!(older.append(b"more"), Err(Error::Fenced { .. })));
    assert!(matches!(older.durable(), Err(Error::Fenced { .. })));
    let position = append(&mut *newer, b"of the newer one");
    make_durable(&mut *newer);
    drop(older);
    let expected = vec![(kept, b"acknowledged".to_vec()), (position, b"of the newer one".to_vec())];
    assert_eq!(read_all(&mut *newer.reader(), Position::START), expected);
    drop(newer);
    assert_eq!(read_all(&mut *open(place).reader(), Position::START), expected);
}

/// Compares without printing thousands of bytes.
fn assert_same(found: &[(Position, Vec<u8>)], expected: &[(Position, Vec<u8>)]) {
    let positions = |records: &[(Position, Vec<u8>)]| records.iter().map(|(at, _)| *at).collect::<Vec<_>>();
    assert_eq!(positions(found), positions(expected));
    assert!(found == expected, "the bodies differ");
}

/// Appends a few hundred records of four kilobytes, more than a journal of this suite keeps in its
/// first piece, and makes them durable.
fn fill(journal: &mut dyn Journal, rounds: Range<u64>) -> Vec<(Position, Vec<u8>)> {
    let mut records = Vec::new();
    for number in rounds.start * FILL_RECORDS..rounds.end * FILL_RECORDS {
        let mut body = record(number);
        body.resize(4_000, (number % 251) as u8);
        records.push((append(journal, &body), body));
    }
    make_durable(journal);
    records
}

/// Records of a round of [`fill`]: 2 MB.
const FILL_RECORDS: u64 = 500;

/// The rest of `records` in a log that was trimmed: gone below its start, readable from
/// there on.
fn left_of<'a>(journal: &dyn Journal, records: &'a [(Position, Vec<u8>)]) -> &'a [(Position, Vec<u8>)] {
    let start = journal.start();
    let kept = records.partition_point(|(position, _)| *position < start);
    let (gone, left) = records.split_at(kept);
    let mut reader = journal.reader();
    for (position, _) in gone {
        assert_eq!(reader.record(*position), Err(Error::Gone(*position)), "the log begins at {start}");
    }
    for (position, body) in left.iter().take(1).chain(left.last()) {
        assert_eq!(reader.record(*position).expect("it was not trimmed").body, body);
        let mut first = vec![0; body.len()];
        journal.read_at(*position, 0, &mut first).expect("it was not trimmed");
        assert_eq!(&first, body);
    }
    assert_same(&read_all(&mut *reader, Position::START), left);
    left
}

fn trimming_gives_back_what_is_before(place: &impl Place) {
    let mut journal = open(place);
    journal.trim(Position::START).expect("an empty log is trimmed");
    journal.trim(journal.end()).expect("an empty log is trimmed");
    assert!(journal.start() <= journal.end());
    let records = fill(&mut *journal, 0..2);
    assert_eq!(left_of(&*journal, &records).len(), records.len(), "nothing was trimmed");
    // Three quarters of the way: the records there and after it stay.
    let (below, _) = records[750];
    journal.trim(below).expect("the log works");
    assert!(journal.start() <= below, "what stands at the position stays");
    let left = left_of(&*journal, &records).len();
    assert!((250..records.len()).contains(&left), "{left} of {} are left", records.len());
    // Again, and to an earlier position: nothing happens.
    let start = journal.start();
    for again in [below, records[10].0, Position::START] {
        journal.trim(again).expect("the log works");
        assert_eq!(journal.start(), start);
    }
    // Beyond the end: at most all that there is.
    journal.trim(journal.end().plus(1 << 30)).expect("the log works");
    assert!(journal.start() <= journal.end(), "{} of {}", journal.start(), journal.end());
    let left = left_of(&*journal, &records).len();
    assert!(left < 500, "{left} records are left, of which nothing is needed");
    // It goes on at positions that were never given.
    let end = journal.end();
    let more = fill(&mut *journal, 2..3);
    assert!(more[0].0 >= end);
    let all: Vec<_> = records.into_iter().chain(more).collect();
    assert!(left_of(&*journal, &all).len() >= 500, "nothing was trimmed since");
}

fn trimming_keeps_what_is_not_durable(place: &impl Place) {
    let mut journal = open(place);
    let records = fill(&mut *journal, 0..1);
    let (position, body) = (append(&mut *journal, b"not durable"), b"not durable".to_vec());
    journal.trim(journal.end().plus(1)).expect("the log works");
    assert!(journal.start() <= position);
    let mut first = vec![0; body.len()];
    journal.read_at(position, 0, &mut first).expect("it is kept");
    assert_eq!(first, body);
    make_durable(&mut *journal);
    let all: Vec<_> = records.into_iter().chain([(position, body)]).collect();
    assert!(!left_of(&*journal, &all).is_empty());
}

fn a_reader_goes_on_while_the_log_is_trimmed(place: &impl Place) {
    let mut journal = open(place);
    let mut reader = journal.reader();
    let end = Arc::new(AtomicU64::new(u64::MAX));
    let stops_at = Arc::clone(&end);
    let follower = std::thread::spawn(move || {
        let deadline = Instant::now() + PATIENCE;
        let mut last = None;
        loop {
            // Looked at before the log: all of it was durable then.
            let stops_at = stops_at.load(Ordering::Acquire);
            match reader.next().expect("no damage is seen where a log is trimmed") {
                Some(found) => {
                    let number = u64::from_le_bytes(found.body[..8].try_into().expect("eight bytes"));
                    assert!(last < Some(number), "{number} after {last:?}");
                    assert_eq!(found.body[8..], {
                        let mut body = record(number);
                        body.resize(4_000, (number % 251) as u8);
                        body.split_off(8)
                    });
                    last = Some(number);
                }
                None if last >= Some(stops_at) => return,
                None => {
                    assert!(Instant::now() < deadline, "{last:?} after a long time");
                    std::thread::yield_now();
                }
            }
        }
    });
    for round in 0..3 {
        let records = fill(&mut *journal, round..round + 1);
        // The last record of all stays.
        let below = if round < 2 { journal.end() } else { records[400].0 };
        journal.trim(below).expect("the log works");
    }
    end.store(3 * FILL_RECORDS - 1, Ordering::Release);
    follower.join().expect("the follower saw the last one");
}

fn a_trimmed_log_opens_again(place: &impl Place) {
    let mut journal = open(place);
    let records = fill(&mut *journal, 0..2);
    let checkpoint = records[900].0;
    journal.trim(checkpoint).expect("the log works");
    let (start, end) = (journal.start(), journal.end());
    assert!(start > records[0].0, "something was trimmed");
    drop(journal);
    let journal = place.open(Opening { checkpoint, ..Opening::default() }).expect("it opens");
    // The space of some of it may not have been given back before.
    assert!(journal.start() <= start && journal.end() == end);
    let start = journal.start();
    left_of(&*journal, &records);
    assert_same(&read_all(&mut *journal.reader(), checkpoint), &records[900..]);
    drop(journal);
    match place.open(Opening { checkpoint: records[0].0, ..Opening::default() }) {
        Err(Error::Corrupt(_)) => {}
        Ok(_) if start <= records[0].0 => {}
        Err(error) => panic!("another error than `Corrupt`: {error}"),
        Ok(_) => panic!("records that a recovery needs are missing"),
    }
    drop(place.open(Opening { checkpoint, ..Opening::default() }).expect("it opens"));
}

fn a_reader_in_another_thread_follows(place: &impl Place) {
    const RECORDS: u64 = 3000;
    let mut journal = open(place);
    let mut reader = journal.reader();
    let follower = std::thread::spawn(move || {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = 0;
        while seen < RECORDS {
            match reader.next().expect("what is durable is whole") {
                Some(found) => {
                    assert_eq!(found.body, record(seen));
                    seen += 1;
                }
                None => {
                    assert!(Instant::now() < deadline, "{seen} records after a long time");
                    std::thread::yield_now();
                }
            }
        }
    });
    for number in 0..RECORDS {
        append(&mut *journal, &record(number));
        if number % 7 == 0 {
            commit(&mut *journal);
        }
        if number % 100 == 0 {
            make_durable(&mut *journal);
        }
    }
    make_durable(&mut *journal);
    follower.join().expect("the follower saw all");
}

fn too_much_is_refused(place: &impl Place) {
    let mut journal = open(place);
    assert!(journal.append(b"").is_err(), "an empty record is none");
    let huge = vec![0; 17 << 20];
    match journal.append(&huge) {
        Err(Error::TooLarge { bytes, .. }) => assert_eq!(bytes, 17 << 20),
        other => panic!("a huge record is too large: {other:?}"),
    }
    // Without a commit the bytes that wait have a bound.
    let mut refused = None;
    for number in 0..10_000 {
        if let Err(error) = journal.append(&record(number)) {
            refused = Some(error);
            break;
        }
    }
    assert!(matches!(refused, Some(Error::Busy { .. })), "{refused:?}");
    assert!(refused.is_some_and(|error| error.is_temporary()));
    make_durable(&mut *journal);
    append(&mut *journal, b"it goes on");
    make_durable(&mut *journal);
}

fn a_checkpoint_that_is_ahead_is_noticed(place: &impl Place) {
    let mut journal = open(place);
    append(&mut *journal, b"one");
    make_durable(&mut *journal);
    let ahead = journal.end().plus(4096);
    drop(journal);
    match place.open(Opening { checkpoint: ahead, ..Opening::default() }) {
        Err(Error::Corrupt(_)) => {}
        Err(error) => panic!("another error than `Corrupt`: {error}"),
        Ok(_) => panic!("the journal is shorter than what is known to be durable"),
    }
    drop(open(place));
}
