//! libFuzzer's way into [`stadium_fuzz::scenario_text`].
#![no_main]

use stadium_fuzz::scenario_text::{imported, piece, scenario};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((kind, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    match kind % 3 {
        0 => drop(scenario(text)),
        1 => drop(piece(text)),
        _ => drop(imported(text)),
    }
});
