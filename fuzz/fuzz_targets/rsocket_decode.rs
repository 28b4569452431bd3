//! libFuzzer's way into [`stadium_fuzz::rsocket_decode`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    stadium_fuzz::rsocket_decode::rsocket_decode(data);
});
