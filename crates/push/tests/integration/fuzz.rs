//! The fuzz bodies of fuzz/, run on stable with a fixed seed. A failure prints what it ran.

use crate::damage;
use crate::push_events;
use crate::random;

use damage::damaged_runs;
use push_events::RECORDS;
use random::Random;

#[test]
fn any_events_are_taken_or_refused() {
    let samples: Vec<Vec<u8>> = RECORDS
        .iter()
        .enumerate()
        .map(|(before, (_, _, events))| [&[before as u8], &events[..]].concat())
        .collect();
    let taken = damaged_runs(&mut Random(1), 6_000, &samples, push_events::push_events);
    assert!(taken > 600, "only {taken} were taken: this tests nothing");
}

#[test]
fn any_chunk_is_restored_or_refused() {
    let chunks = push_events::saved();
    let samples: Vec<Vec<u8>> =
        chunks.iter().enumerate().map(|(which, chunk)| [&[which as u8], &chunk[..]].concat()).collect();
    let taken = damaged_runs(&mut Random(2), 6_000, &samples, push_events::push_checkpoint);
    assert!(taken > 300, "only {taken} were taken: this tests nothing");
}

#[test]
fn quiet_hours_that_end_after_their_push_is_forgotten_release_nothing() {
    // Found by libFuzzer: after 26 records the default app is dropped, while quiet hours go on whose
    // deliveries of push 7 have all ended.
    let data = [
        26, 1, 1, 4, b's', b'h', b'm', b'p', 0, 3, 0x80, 0xa0, 0xc8, 0x81, 9, 0, 100, 0x80, 0x88, 0xb2, 0xa0,
        32, 0, 2, 0,
    ];
    assert!(push_events::push_events(&data));
}

#[test]
fn a_push_that_is_accepted_twice_is_refused() {
    // Found by libFuzzer: two records accept pushes of one id.
    let data = [
        77, 16, 0, 69, 7, 100, 101, 102, 97, 117, 108, 116, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 7, 112, 104, 111, 110, 101, 45, 48, 0, 1, 120, 1, 10, 116, 101, 120, 116, 47, 112, 108, 97, 105,
        110, 1, 4, 110, 97, 109, 101, 5, 118, 97, 44, 117, 100, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    ];
    assert!(!push_events::push_events(&data));
}
