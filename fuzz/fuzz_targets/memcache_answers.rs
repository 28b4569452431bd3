//! libFuzzer's way into [`stadium_fuzz::memcache_answers`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    stadium_fuzz::memcache_answers::memcache_answers(data);
});
