//! libFuzzer's way into [`stadium_fuzz::registry_input`].
#![no_main]

use stadium_fuzz::registry_input::registry_checkpoint;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    registry_checkpoint(data);
});
