//! libFuzzer's way into [`stadium_fuzz::wallet_events`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((0, chunk)) => drop(stadium_fuzz::wallet_events::wallet_checkpoint(chunk)),
        Some((_, events)) => drop(stadium_fuzz::wallet_events::wallet_events(events)),
        None => {}
    }
});
