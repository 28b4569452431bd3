//! libFuzzer's way into [`stadium_fuzz::queue_events`].
#![no_main]

use stadium_fuzz::queue_events::{queue_checkpoint, queue_events};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((0, chunk)) => drop(queue_checkpoint(chunk)),
        Some((_, events)) => drop(queue_events(events)),
        None => {}
    }
});
