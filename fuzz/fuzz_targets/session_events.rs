//! libFuzzer's way into [`stadium_fuzz::session_events`].
#![no_main]

use stadium_fuzz::session_events::{session_checkpoint, session_events};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((0, chunk)) => drop(session_checkpoint(chunk)),
        Some((_, events)) => drop(session_events(events)),
        None => {}
    }
});
