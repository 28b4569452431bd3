//! libFuzzer's way into [`stadium_fuzz::log_messages`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    stadium_fuzz::log_messages::log_messages(data);
});
