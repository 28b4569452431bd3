//! libFuzzer's way into [`stadium_fuzz::mqtt_broker`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    stadium_fuzz::mqtt_broker::mqtt_broker(data);
});
