//! libFuzzer's way into [`stadium_fuzz::mqtt_decode`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    stadium_fuzz::mqtt_decode::mqtt_decode(data);
});
