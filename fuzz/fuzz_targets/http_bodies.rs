//! libFuzzer's way into [`stadium_http::fuzzing`].
#![no_main]

use stadium_http::fuzzing::http_bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    http_bodies(data);
});
