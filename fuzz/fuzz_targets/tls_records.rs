//! libFuzzer's way into [`stadium_reactor::fuzzing`].
#![no_main]

use stadium_reactor::fuzzing::tls_records;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    tls_records(data);
});
