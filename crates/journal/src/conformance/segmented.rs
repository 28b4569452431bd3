//! The further tests of a journal that is kept in segments.
//!
//! They reach segments through [`Segmented`] only.

use std::time::Instant;

use super::{PATIENCE, Place, append, assert_same, make_durable, open, read_all, record};
use crate::{Error, Journal, Opening, Position, Segment, SegmentNumber, Segmented};

/// Runs what journals with segments have to pass, each part in a place of its own. Run
/// [`super::run`] too.
pub fn run<P: Place>(fresh: impl Fn() -> P) {
    segments_follow_one_another_and_are_removed(&fresh());
    trimming_removes_whole_sealed_segments(&fresh());
    a_segment_is_sealed_wherever_its_last_batch_ends(&fresh);
}

fn part(journal: &dyn Journal) -> &dyn Segmented {
    journal.segmented().expect("the journal is kept in segments")
}

fn part_mut(journal: &mut dyn Journal) -> &mut dyn Segmented {
    journal.segmented_mut().expect("the journal is kept in segments")
}

fn segments(journal: &dyn Journal) -> Vec<Segment> {
    part(journal).segments()
}

fn remove(journal: &mut dyn Journal, segment: SegmentNumber) -> Result<(), Error> {
    part_mut(journal).remove(segment)
}

/// The segments that hold a position: one, or none where it was removed.
fn segment_of(journal: &dyn Journal, position: Position) -> Vec<Segment> {
    let mut segments = segments(journal);
    segments.retain(|segment| segment.start <= position && position < segment.limit);
    assert!(segments.len() <= 1, "segments overlap: {segments:?}");
    segments
}

fn segments_follow_one_another_and_are_removed(place: &impl Place) {
    let mut journal = open(place);
    let mut expected = Vec::new();
    for round in 0..4 {
        for number in 0..20 {
            let body = record(round * 100 + number);
            expected.push((append(&mut *journal, &body), body));
        }
        make_durable(&mut *journal);
        seal(&mut *journal);
    }
    append(&mut *journal, FILLER);
    make_durable(&mut *journal);
    let segments = segments(&*journal);
    assert!(segments.len() >= 5, "{segments:?}");
    let (last, sealed) = segments.split_last().expect("there are some");
    assert!(!last.is_sealed && sealed.iter().all(|segment| segment.is_sealed), "{segments:?}");
    assert!(remove(&mut *journal, last.number).is_err(), "the segment that is written stays");
    // The second one goes, from the middle of the journal.
    let gone = *segment_of(&*journal, expected[25].0).first().expect("it is there");
    let (gone, gone_end) = (gone.number, gone.end);
    let mut standing = journal.reader();
    standing.seek(expected[20].0).expect("it is there");
    assert!(standing.next().expect("it is there").is_some());
    remove(&mut *journal, gone).expect("it is sealed");
    assert!(remove(&mut *journal, gone).is_err(), "it is removed once");
    assert_eq!(segment_of(&*journal, expected[25].0), []);
    let mut byte = [0];
    let mut reader = journal.reader();
    assert_eq!(reader.record(expected[25].0), Err(Error::Gone(expected[25].0)));
    let left: Vec<_> = expected
        .iter()
        .filter(|(position, _)| !segment_of(&*journal, *position).is_empty())
        .cloned()
        .collect();
    assert!(left.len() < expected.len() && left.len() >= 60, "{} are left", left.len());
    assert_same(&without_fillers(read_all(&mut *reader, Position::START)), &left);
    // A reader that stood in it goes on after it, perhaps after what it had read ahead.
    while standing.next().expect("no damage is seen where a segment was removed").is_some() {}
    journal.read_at(expected[0].0, 0, &mut byte).expect("others are readable");
    let after = expected.iter().rposition(|(position, _)| *position < gone_end).expect("it held some") + 1;
    let checkpoint = expected[after].0;
    drop(standing);
    drop(journal);
    let journal = place.open(Opening { checkpoint, ..Opening::default() }).expect("it opens");
    assert_same(&without_fillers(read_all(&mut *journal.reader(), checkpoint)), &expected[after..]);
}

fn without_fillers(mut records: Vec<(Position, Vec<u8>)>) -> Vec<(Position, Vec<u8>)> {
    records.retain(|(_, body)| body != FILLER);
    records
}

/// The last batch may end at any place before the limit, and be committed alone: the seal comes in
/// another batch then, which needs its own frame.
fn a_segment_is_sealed_wherever_its_last_batch_ends<P: Place>(fresh: &impl Fn() -> P) {
    for room in (0..=120).step_by(8) {
        let place = fresh();
        let mut journal = open(&place);
        let mut expected = Vec::new();
        let mut durably = |journal: &mut dyn Journal, body: Vec<u8>| {
            expected.push((append(journal, &body), body));
            make_durable(journal);
        };
        durably(&mut *journal, b"first".to_vec());
        let limit = segments(&*journal)[0].limit;
        // A short record with its batch has 40 bytes in files, a long one 32 beside its body.
        let left = |journal: &dyn Journal| limit.since(journal.end()) as usize - 40 - room;
        while left(&*journal) > 4_000 {
            durably(&mut *journal, vec![7; 1_000]);
        }
        let body = left(&*journal) - 32;
        durably(&mut *journal, vec![8; body]);
        for short in [b"one".to_vec(), b"two".to_vec(), b"three".to_vec()] {
            durably(&mut *journal, short);
        }
        assert!(segments(&*journal).len() >= 2, "another segment was begun");
        assert_same(&read_all(&mut *journal.reader(), Position::START), &expected);
        drop(journal);
        let mut journal = open(&place);
        append(&mut *journal, FILLER);
        make_durable(&mut *journal);
        assert_same(&without_fillers(read_all(&mut *journal.reader(), Position::START)), &expected);
    }
}

fn trimming_removes_whole_sealed_segments(place: &impl Place) {
    let mut journal = open(place);
    let mut last_of = Vec::new();
    for round in 0..4 {
        let mut last = Position::START;
        for number in 0..20 {
            last = append(&mut *journal, &record(round * 100 + number));
        }
        make_durable(&mut *journal);
        last_of.push(last);
        seal(&mut *journal);
    }
    let before = segments(&*journal);
    let second = *segment_of(&*journal, last_of[1]).first().expect("it is there");
    // One position within the second segment: it stays, and those before it go.
    journal.trim(last_of[1]).expect("the log works");
    let at = before.iter().position(|segment| *segment == second).expect("it was there");
    assert_eq!(segments(&*journal), before[at..]);
    assert_eq!(journal.start(), second.start);
    // All of it: it goes too.
    journal.trim(second.end).expect("the log works");
    assert_eq!(segments(&*journal), before[at + 1..]);
    append(&mut *journal, FILLER);
    make_durable(&mut *journal);
    journal.trim(journal.end().plus(1)).expect("the log works");
    let left = segments(&*journal);
    assert!(left.len() == 1 && !left[0].is_sealed, "the segment that is written stays: {left:?}");
}

/// The record that [`seal`] appends while it waits.
const FILLER: &[u8] = b"while the next segment is made";

/// Seals, and waits where the next segment isn't ready.
pub fn seal(journal: &mut dyn Journal) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match part_mut(journal).seal() {
            Ok(()) => return,
            Err(Error::Busy { .. }) if Instant::now() < deadline => {
                // Waiting for nothing lets a stepped journal do its own work.
                append(journal, FILLER);
                make_durable(journal);
            }
            Err(error) => panic!("a segment can be sealed: {error}"),
        }
    }
}
