//! libFuzzer's way into [`stadium_fuzz::http2_answer`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    stadium_fuzz::http2_answer::http2_answer(data);
});
