//! Tests of an owner as tables: what happens, and what the owner does then.
//!
//! A claim is written `2/A`: epoch 2 of the writer A. `2/A#3` is its message 3, and `2/A#0` its
//! fence. `@5` is the position of a message's records: the fifth of equal places.

use stadium_journal::{Epoch, Position};
use stadium_journal_log::{
    Claim, ClusterId, Effect, Error, Header, Log, Mark, Offset, Owner, Reader, Sequence, WriterId,
};

/// The log of all tests.
pub(crate) const LOG: Log = Log { cluster: ClusterId(0xC1), shard: 3 };

/// Bytes between two places.
const PLACE: u64 = 8;

/// Plays a table for an owner that begins at the start of the log, as writer A. Each row is an
/// event and the effects that follow, separated by commas.
pub(crate) fn play(rows: &[(&str, &str)]) -> Owner {
    play_from(Mark::START, rows)
}

/// Likewise, reading on from a mark.
pub(crate) fn play_from(mark: Mark, rows: &[(&str, &str)]) -> Owner {
    let reader = Reader::open(LOG, mark, Offset(0)).expect("nothing is trimmed");
    let mut owner = Owner::claim(reader, writer("A"));
    for (row, (event, effects)) in rows.iter().enumerate() {
        happen(&mut owner, event);
        let found: Vec<String> =
            std::iter::from_fn(|| owner.next_effect()).map(|effect| name(&effect)).collect();
        assert_eq!(found.join(", "), *effects, "row {row}: {event}");
    }
    owner
}

fn happen(owner: &mut Owner, event: &str) {
    let words: Vec<&str> = event.split(' ').collect();
    match words[..] {
        ["claim"] => {}
        ["end", end] => owner.end(offset(end)),
        ["read", at, message, place] => {
            // An error is among the effects too.
            let _ = owner.message(offset(at), &message_at(message, place));
        }
        ["read", at, fence] => {
            let (claim, _) = claim(fence);
            let _ = owner.message(offset(at), &Header::fence(LOG, claim));
        }
        ["append", place] => {
            let taken = owner.append(first(place), first(place).plus(PLACE));
            assert!(taken.is_ok(), "{event}: {taken:?}");
        }
        ["refused", place] => {
            let taken = owner.append(first(place), first(place).plus(PLACE));
            assert!(taken.is_err(), "{event}: {taken:?}");
        }
        ["appended", message, at] => {
            let (writer, sequence) = numbered(message);
            owner.appended(writer, sequence, offset(at));
        }
        ["failed", message] => {
            let (writer, sequence) = numbered(message);
            owner.failed(writer, sequence);
        }
        ["again", name] => owner.claim_again(writer(name)),
        ["trimmed", start] => owner.trimmed(offset(start)),
        ["abandon"] => owner.abandon(),
        _ => panic!("no such event: {event}"),
    }
}

/// A message as it is written in a table, at a place.
pub(crate) fn message_at(message: &str, place: &str) -> Header {
    let (claim, sequence) = claim(message);
    Header { log: LOG, claim, sequence, first: first(place), end: first(place).plus(PLACE) }
}

fn name(effect: &Effect) -> String {
    match effect {
        Effect::FindEnd => "find end".into(),
        Effect::Read { from, to } => format!("read {from}..{to}"),
        Effect::Append(header) => {
            assert_eq!(header.log, LOG);
            format!("append {}#{}", claim_name(&header.claim), header.sequence)
        }
        Effect::Serving(claim) => format!("serving {}", claim_name(claim)),
        Effect::Durable { writer, sequence, end } => {
            format!("durable {}#{sequence}@{}", letter(*writer), end.0 / PLACE - 1)
        }
        Effect::GivenUp { writer, from } => format!("given up {}#{from}", letter(*writer)),
        Effect::Unknown { writer, from } => format!("unknown {}#{from}", letter(*writer)),
        Effect::Uncertain => "uncertain".into(),
        Effect::Fenced { by } => format!("fenced by {}", claim_name(by)),
        Effect::Failed(error) => match error {
            Error::Trimmed { .. } => "trimmed".into(),
            Error::Gap { .. } => "gap".into(),
            Error::Shortened { .. } => "shortened".into(),
            Error::Overlap { .. } => "overlap".into(),
            Error::Epochs { .. } => "no epochs".into(),
        },
    }
}

fn claim_name(claim: &Claim) -> String {
    format!("{}/{}", claim.epoch, letter(claim.writer))
}

fn letter(writer: WriterId) -> char {
    char::from(u8::try_from(writer.0).expect("writers of tests are letters"))
}

fn writer(letter: &str) -> WriterId {
    WriterId(u64::from(letter.as_bytes()[0]))
}

fn offset(word: &str) -> Offset {
    Offset(word.parse().expect("an offset"))
}

fn first(place: &str) -> Position {
    let place: u64 =
        place.strip_prefix('@').and_then(|place| place.parse().ok()).expect("a place, such as @5");
    Position(place * PLACE)
}

fn numbered(message: &str) -> (WriterId, Sequence) {
    let (letter, sequence) = message.split_once('#').expect("a message, such as A#1");
    (writer(letter), Sequence(sequence.parse().expect("a sequence")))
}

fn claim(message: &str) -> (Claim, Sequence) {
    let (epoch, message) = message.split_once('/').expect("a message, such as 2/A#1");
    let (writer, sequence) = numbered(message);
    (Claim { epoch: Epoch(epoch.parse().expect("an epoch")), writer }, sequence)
}
