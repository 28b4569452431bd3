//! libFuzzer's way into [`stadium_fuzz::shard_items`].
#![no_main]

use stadium_fuzz::shard_items::shard_items;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    shard_items(data);
});
