//! libFuzzer's way into [`stadium_fuzz::push_events`].
#![no_main]

use stadium_fuzz::push_events::{push_checkpoint, push_events};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((0, chunk)) => drop(push_checkpoint(chunk)),
        Some((_, events)) => drop(push_events(events)),
        None => {}
    }
});
