//! The fuzz bodies of fuzz/, run on stable with a fixed seed: random bytes, and valid packets with bytes
//! flipped, cut, doubled and spliced. A failure prints the input.

use crate::pool;

use crate::mqtt_decode;

use mqtt_decode::mqtt_decode;
use pool::Pool;
use stadium_mqtt::packet::Version;

const SEED: u64 = 0x5374_6164_6975_6D21;

/// SplitMix64: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

fn run(data: &[u8]) -> bool {
    std::panic::catch_unwind(|| mqtt_decode(data)).unwrap_or_else(|_| panic!("input: {data:02x?}"))
}

#[test]
fn random_bytes_never_break_the_decoder() {
    let mut random = Random(SEED);
    let mut decoded = 0;
    let mut data = Vec::new();
    for _ in 0..200_000 {
        data.clear();
        let limit = [8, 40][random.below(2)];
        let body = random.below(limit);
        let kind = random.below(16) as u8;
        let flags = match kind {
            3 => random.below(16) as u8,
            6 | 8 | 10 => 2,
            _ => 0,
        };
        // Now and then anything at all.
        data.push(if random.below(8) == 0 { random.next() as u8 } else { kind << 4 | flags });
        // Mostly the true length, so that the body is looked into.
        data.push(if random.below(8) == 0 { random.next() as u8 } else { body as u8 });
        for _ in 0..body {
            // Small numbers are lengths, identifiers and flags; the rest is anything.
            data.push(if random.below(2) == 0 { random.below(8) as u8 } else { random.next() as u8 });
        }
        decoded += usize::from(run(&data));
    }
    assert!(decoded > 1_000, "only {decoded} inputs were packets: this tests nothing");
}

#[test]
fn damaged_packets_never_break_the_decoder() {
    let mut random = Random(SEED ^ 1);
    let mut decoded = 0;
    let mut packets: Vec<Vec<u8>> = Vec::new();
    for _ in 0..4_000 {
        let pool = Pool {
            numbers: (0..24).map(|_| random.next() as u32).collect(),
            strings: ["", "a", "key", "wert-ß", "\u{FEFF}x"].map(str::to_owned).to_vec(),
            topics: ["t", "a/b", "/", "$SYS/x"].map(str::to_owned).to_vec(),
            filters: ["t", "a/+", "#", "$share/g/t"].map(str::to_owned).to_vec(),
            blobs: vec![vec![], vec![0], vec![1; 30]],
        };
        for version in [Version::V311, Version::V5] {
            let mut bytes = Vec::new();
            pool.with_packet(version, |packet| packet.encode(version, &mut bytes));
            packets.push(bytes);
        }
    }
    for at in 0..packets.len() {
        for _ in 0..25 {
            let mut data = packets[at].clone();
            for _ in 0..1 + random.below(3) {
                let len = data.len();
                match random.below(5) {
                    0 => data[random.below(len)] ^= 1 << random.below(8),
                    1 => data[random.below(len)] = random.below(256) as u8,
                    2 => data.truncate(2 + random.below(len - 1)),
                    3 => {
                        let from = random.below(len);
                        data.extend_from_within(from..);
                    }
                    _ => {
                        let other = &packets[random.below(packets.len())];
                        data.truncate(1 + random.below(len));
                        data.extend_from_slice(&other[random.below(other.len())..]);
                    }
                }
                // Half the time the length is right, so that the damage reaches the body.
                if random.below(2) == 0 && data.len() >= 2 && data[1] < 0x80 && data.len() < 0x80 {
                    data[1] = (data.len() - 2) as u8;
                }
            }
            decoded += usize::from(run(&data));
        }
    }
    assert!(decoded > 10_000, "only {decoded} inputs were packets: this tests nothing");
}
