//! The fuzz bodies of fuzz/, run on stable with a fixed seed. A failure prints what it ran.

use crate::rsocket_connection;
use crate::rsocket_decode;

/// SplitMix64: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

#[test]
fn any_script_leaves_a_connection_that_is_small_and_in_order() {
    let mut random = Random(0x5374_6164_6975_6D00);
    let mut events = 0;
    for _ in 0..20_000 {
        let count = 50 + (random.next() % 800) as usize;
        let mut script = random.bytes(count);
        // Half of the bytes small, so that streams meet.
        for byte in &mut script {
            if random.next().is_multiple_of(2) {
                *byte %= 16;
            }
        }
        events += std::panic::catch_unwind(|| rsocket_connection::rsocket_connection(&script))
            .unwrap_or_else(|_| panic!("script: {script:02x?}"));
    }
    assert!(events > 50_000, "only {events} events: this tests nothing");
}

#[test]
fn any_bytes_are_read_or_refused() {
    let mut random = Random(0x5273_6F63_6B65_7400);
    let mut frames = 0;
    for _ in 0..200_000 {
        let count = (random.next() % 80) as usize;
        let mut bytes = random.bytes(count);
        // A stream id that is one, and a type that is one.
        if bytes.len() > 5 && !random.next().is_multiple_of(8) {
            bytes[0] = 0;
            bytes[4] = ((random.next() % 15) as u8 * 4) | (bytes[4] & 3);
        }
        frames += usize::from(
            std::panic::catch_unwind(|| rsocket_decode::rsocket_decode(&bytes))
                .unwrap_or_else(|_| panic!("bytes: {bytes:02x?}")),
        );
    }
    assert!(frames > 50_000, "only {frames} frames: this tests nothing");
}
