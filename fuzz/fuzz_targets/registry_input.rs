//! libFuzzer's way into [`stadium_fuzz::registry_input`].
#![no_main]

use stadium_fuzz::registry_input::{changes_bytes, selector_bytes, selector_text, some_registry};
use stadium_registry::Changes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut registry = some_registry(&[Changes::default(), Changes::default(), Changes::default()]);
    match data.split_first() {
        Some((0, changes)) => drop(changes_bytes(&mut registry, changes)),
        Some((1, selector)) => drop(selector_bytes(&registry, selector)),
        Some((_, text)) => drop(std::str::from_utf8(text).map(|text| selector_text(&registry, text))),
        None => {}
    }
});
