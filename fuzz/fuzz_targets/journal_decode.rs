//! libFuzzer's way into [`stadium_fuzz::journal_decode`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    stadium_fuzz::journal_decode::journal_decode(data);
});
