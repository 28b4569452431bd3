//! The fuzz body of fuzz/, run on stable with a fixed seed. A failure prints what it ran.

use crate::journal_decode;

use crate::crash_support;

use crash_support::Random;

#[test]
fn any_bytes_are_read_refused_and_repaired() {
    let mut random = Random(0x4A6F_7572_6E61_6C00);
    let mut records = 0;
    for _ in 0..1500 {
        let count = random.below(60) as usize;
        let mut data: Vec<u8> = (0..count).map(|_| random.next() as u8).collect();
        // Most of them small changes of what is valid.
        if let Some(how) = data.first_mut() {
            *how |= u8::from(random.below(4) > 0);
        }
        data.truncate(if random.one_in(2) { 7 } else { count });
        records += std::panic::catch_unwind(|| journal_decode::journal_decode(&data))
            .unwrap_or_else(|_| panic!("data: {data:02x?}"));
    }
    assert!(records > 1500, "only {records} records were left: this tests little");
}
