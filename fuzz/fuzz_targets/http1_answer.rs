//! libFuzzer's way into [`stadium_fuzz::http1_answer`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    stadium_fuzz::http1_answer::http1_answer(data);
});
