//! libFuzzer's way into [`stadium_reactor::fuzzing`].
#![no_main]

use stadium_reactor::fuzzing::{proxy_header, websocket_upgrade};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((0, header)) => drop(proxy_header(header)),
        Some((_, head)) => drop(websocket_upgrade(head)),
        None => {}
    }
});
