//! libFuzzer's way into [`stadium_fuzz::queue_events`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    stadium_fuzz::queue_events::queue_events(data);
});
