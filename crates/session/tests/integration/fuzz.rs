//! The fuzz bodies of fuzz/, run on stable with a fixed seed. A failure prints what it ran.

use crate::damage;
use crate::random;
use crate::session_events;

use damage::damaged_runs;
use random::Random;
use session_events::{EVENTS, EVENTS_2, SESSIONS, some_sessions};

#[test]
fn any_events_are_taken_or_refused() {
    let samples = [[&[0], EVENTS].concat(), [&[1], EVENTS].concat(), [&[0], EVENTS_2].concat()];
    let taken = damaged_runs(&mut Random(1), 20_000, &samples, session_events::session_events);
    assert!(taken > 2_000, "only {taken} were taken: this tests nothing");
}

#[test]
fn any_chunk_is_restored_or_refused() {
    let chunks = SESSIONS.saved(&mut some_sessions());
    let samples: Vec<Vec<u8>> =
        chunks.iter().enumerate().map(|(which, chunk)| [&[which as u8], &chunk[..]].concat()).collect();
    let taken = damaged_runs(&mut Random(2), 20_000, &samples, session_events::session_checkpoint);
    assert!(taken > 1_000, "only {taken} were taken: this tests nothing");
}
