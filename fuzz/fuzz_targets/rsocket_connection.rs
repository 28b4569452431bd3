//! libFuzzer's way into [`stadium_fuzz::rsocket_connection`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    stadium_fuzz::rsocket_connection::rsocket_connection(data);
});
