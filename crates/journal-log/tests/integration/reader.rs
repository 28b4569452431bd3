//! Readers: counts, marks, trims, and properties of the rule over whole logs.
//!
//! The rule for one message is a table in `src/judge.rs`.

use proptest::prelude::*;
use stadium_journal::Position;
use stadium_journal_log::{
    ClusterId, Error, Header, Log, Mark, Offset, Passed, Reader, Rule, Sequence, Verdict, WriterId,
};

use crate::script::{LOG, message_at};

fn open(mark: Mark) -> Reader {
    Reader::open(LOG, mark, Offset(0)).expect("nothing is trimmed")
}

#[test]
fn a_reader_counts_what_it_passes_over() {
    let mut reader = open(Mark::START);
    let fence = |message: &str| {
        let Header { claim, .. } = message_at(message, "@0");
        Header::fence(LOG, claim)
    };
    let elsewhere = |log| Header { log, ..message_at("2/A#2", "@1") };
    let log = [
        (fence("2/A#0"), Verdict::Fence),
        (message_at("2/A#2", "@1"), Verdict::Passed(Passed::Premature)),
        (message_at("2/A#1", "@0"), Verdict::Accepted),
        (message_at("2/A#1", "@0"), Verdict::Passed(Passed::Duplicate)),
        (elsewhere(Log { shard: 4, ..LOG }), Verdict::Passed(Passed::Foreign)),
        (elsewhere(Log { cluster: ClusterId(0xC2), ..LOG }), Verdict::Passed(Passed::Foreign)),
        (message_at("2/A#2", "@1"), Verdict::Accepted),
        (fence("2/B#0"), Verdict::Passed(Passed::Stale)),
        (fence("3/B#0"), Verdict::Fence),
        (message_at("2/A#3", "@2"), Verdict::Passed(Passed::Stale)),
        (message_at("3/B#1", "@2"), Verdict::Accepted),
    ];
    for (offset, (message, verdict)) in log.iter().enumerate() {
        assert_eq!(reader.take(Offset(offset as u64), message), Ok(Some(*verdict)), "offset {offset}");
    }
    let counts = reader.counts();
    assert_eq!((counts.fences, counts.accepted), (2, 3));
    assert_eq!((counts.stale, counts.duplicate, counts.premature, counts.foreign), (2, 1, 1, 2));
    // What was taken is known, and changes nothing.
    let mark = reader.mark();
    assert_eq!(reader.take(Offset(10), &log[10].0), Ok(None));
    assert_eq!((reader.mark(), reader.counts()), (mark, counts));
    assert_eq!(mark.offset, Offset(11));
    assert_eq!((mark.claim.writer, mark.next), (WriterId(u64::from(b'B')), Sequence(2)));
}

#[test]
fn a_reader_begins_at_its_mark_or_not_at_all() {
    let mark = Mark { offset: Offset(5), ..Mark::START };
    for (start, opens) in [(0, true), (4, true), (5, true), (6, false)] {
        let reader = Reader::<Rule>::open(LOG, mark, Offset(start));
        let trimmed = Error::Trimmed { offset: Offset(5), start: Offset(start) };
        assert_eq!(reader.map(|reader| reader.mark()), if opens { Ok(mark) } else { Err(trimmed) });
    }
}

#[test]
fn records_never_go_back() {
    let mut reader = open(Mark::START);
    let claim = message_at("1/A#1", "@4").claim;
    assert_eq!(reader.take(Offset(0), &Header::fence(LOG, claim)), Ok(Some(Verdict::Fence)));
    assert_eq!(reader.take(Offset(1), &message_at("1/A#1", "@4")), Ok(Some(Verdict::Accepted)));
    let mark = reader.mark();
    let overlap = Error::Overlap { offset: Offset(2), first: Position(32), end: Position(40) };
    assert_eq!(reader.take(Offset(2), &message_at("1/A#2", "@4")), Err(overlap));
    assert_eq!(reader.mark(), mark);
    assert_eq!(reader.take(Offset(2), &message_at("1/A#2", "@5")), Ok(Some(Verdict::Accepted)));
}

#[test]
fn errors_say_what_to_do() {
    let trimmed = Error::Trimmed { offset: Offset(5), start: Offset(9) };
    assert_eq!(
        trimmed.to_string(),
        "the log was trimmed up to offset 9, so it cannot be read from offset 5 on: begin with a newer checkpoint"
    );
}

/// Messages of few epochs, writers and sequences, so that each kind of verdict is frequent.
fn log() -> impl Strategy<Value = Vec<Header>> {
    let message = (1_u64..5, 1_u64..4, 0_u64..5).prop_map(|(epoch, writer, sequence)| {
        let name = format!("{epoch}/{}#{sequence}", ["A", "B", "C"][writer as usize - 1]);
        let message = message_at(&name, "@0");
        match sequence {
            0 => Header::fence(LOG, message.claim),
            _ => message,
        }
    });
    proptest::collection::vec(message, 0..120).prop_map(|mut log| {
        // Positions are given as owners give them: never twice.
        for (place, message) in log.iter_mut().enumerate().filter(|(_, message)| message.sequence.0 > 0) {
            message.first = Position(place as u64 * 8);
            message.end = Position(place as u64 * 8 + 8);
        }
        log
    })
}

/// What counts in a log: the messages that are accepted, and the claims in their order.
fn read(log: &[Header]) -> Vec<Header> {
    let mut reader = open(Mark::START);
    let mut counted = Vec::new();
    for (offset, message) in log.iter().enumerate() {
        match reader.take(Offset(offset as u64), message).expect("a dense log").expect("a new offset") {
            Verdict::Fence | Verdict::Accepted => counted.push(*message),
            Verdict::Passed(_) => {}
        }
    }
    counted
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Each claim that counts has a greater epoch than the one before; its messages are 1, 2, ...
    #[test]
    fn what_counts_is_a_sequence_of_claims(log in log()) {
        let counted = read(&log);
        let mut before: Option<Header> = None;
        for message in counted {
            match before {
                _ if message.sequence == Sequence::FENCE => {
                    prop_assert!(before.is_none_or(|before| before.claim.epoch < message.claim.epoch));
                }
                Some(before) => {
                    prop_assert_eq!(before.claim, message.claim);
                    prop_assert_eq!(before.sequence.next(), message.sequence);
                }
                None => prop_assert!(false, "the first one that counts is a fence"),
            }
            before = Some(message);
        }
    }

    /// Wherever a reader stops and another one goes on from its mark, they agree.
    #[test]
    fn a_mark_is_all_that_a_reader_needs(log in log(), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(log.len() + 1);
        let mut first = open(Mark::START);
        let mut whole = open(Mark::START);
        for (offset, message) in log.iter().enumerate() {
            whole.take(Offset(offset as u64), message).expect("a dense log");
            if offset < cut {
                first.take(Offset(offset as u64), message).expect("a dense log");
            }
        }
        let mut second = Reader::<Rule>::open(LOG, first.mark(), Offset(cut as u64)).expect("trimmed up to the mark");
        for (offset, message) in log.iter().enumerate().skip(cut) {
            second.take(Offset(offset as u64), message).expect("a dense log");
        }
        prop_assert_eq!(second.mark(), whole.mark());
    }

    /// A later copy of a message that counts changes nothing: retries are harmless.
    #[test]
    fn later_copies_change_nothing(log in log(), which in any::<prop::sample::Index>(), later in any::<prop::sample::Index>()) {
        let counted = read(&log);
        prop_assume!(!counted.is_empty());
        let copied = counted[which.index(counted.len())];
        let original = log.iter().position(|message| *message == copied).expect("it was read there");
        let mut copy = log.clone();
        copy.insert(original + 1 + later.index(log.len() - original), copied);
        prop_assert_eq!(read(&copy), counted);
    }
}
