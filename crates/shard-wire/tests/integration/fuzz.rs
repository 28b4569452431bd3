//! The fuzz body of fuzz/, run on stable with a fixed seed. A failure prints what it ran.

use crate::shard_items::{samples, shard_items};

#[test]
fn any_bytes_are_read_or_refused() {
    let mut random = fastrand::Rng::with_seed(0x5749_5245);
    let samples = samples();
    for sample in &samples {
        assert_eq!(shard_items(sample), 1, "a sample is an item");
    }
    let mut read = 0;
    for _ in 0..30_000 {
        let mut data = samples[random.usize(..samples.len())].clone();
        for _ in 0..random.usize(..4) {
            let at = random.usize(..data.len().max(1));
            match random.u8(..6) {
                0 => data.truncate(at),
                1 => data.insert(at.min(data.len()), random.u8(..)),
                _ if data.is_empty() => {}
                _ => data[at] ^= 1 << random.u8(..8),
            }
        }
        read +=
            std::panic::catch_unwind(|| shard_items(&data)).unwrap_or_else(|_| panic!("data: {data:02x?}"));
    }
    assert!(read > 15_000, "only {read} items were read: this tests little");
}
