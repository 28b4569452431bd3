//! The fuzz body `mqtt_broker` of fuzz/, run on stable: random scripts with a fixed seed. A failure prints
//! the script.

use crate::mqtt_broker;

#[test]
fn clients_that_do_anything_leave_a_server_that_holds_nothing() {
    let mut state = 0x5374_6164_6975_6D00_u64;
    let mut next = move || {
        // SplitMix64: small, and the same on every machine.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let mut heard = 0;
    for _ in 0..6_000 {
        let len = 50 + (next() % 1_000) as usize;
        let script: Vec<u8> = (0..len).map(|_| next() as u8).collect();
        heard += std::panic::catch_unwind(|| mqtt_broker::mqtt_broker(&script))
            .unwrap_or_else(|_| panic!("script: {script:02x?}"));
    }
    assert!(heard > 100_000, "only {heard} packets came back: this tests nothing");
}
