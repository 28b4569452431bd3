//! libFuzzer's way into [`stadium_reactor::fuzzing`].
#![no_main]

use stadium_reactor::fuzzing::websocket_frames;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    websocket_frames(data);
});
