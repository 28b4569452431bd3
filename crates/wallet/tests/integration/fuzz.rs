//! The fuzz bodies of fuzz/, run on stable with fixed seeds. A failure prints what it ran.

use crate::random;
use crate::wallet_events;

use random::Random;

/// Damages most of what it is given, at one to three places.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = bytes[at].wrapping_add(1),
            _ => bytes[at] = 0,
        }
    }
    if random.below(12) == 0 {
        bytes.truncate(1 + random.below(bytes.len()));
    }
}

fn ran(bytes: &[u8], body: fn(&[u8]) -> bool) -> usize {
    let run = std::panic::catch_unwind(|| body(bytes));
    usize::from(run.unwrap_or_else(|_| panic!("bytes: {bytes:02x?}")))
}

#[test]
fn any_events_are_taken_or_refused() {
    let mut random = Random(0x5761_6c6c_6574_0001);
    let following = wallet_events::following();
    let whole: usize = following.iter().map(|events| ran(events, wallet_events::wallet_events)).sum();
    assert!(whole >= following.len() - 1, "only {whole} are taken as they are");
    let mut taken = 0;
    for _ in 0..12_000 {
        let mut bytes = following[random.below(following.len())].clone();
        if random.below(4) == 0 {
            bytes.extend(&following[random.below(following.len())]);
        }
        damage(&mut random, &mut bytes);
        taken += ran(&bytes, wallet_events::wallet_events);
    }
    assert!(taken > 1_500, "only {taken} were taken: this tests nothing");
}

#[test]
fn an_event_that_changes_the_rules_of_a_system_wallet_is_refused() {
    // Found by libFuzzer: @transit, account 3, must not be overdrawn from now on.
    assert!(!wallet_events::wallet_events(&[3, 3, 3, 0]));
}

#[test]
fn an_event_that_holds_more_than_there_is_is_refused() {
    // A transaction that began according to the journal: one transfer of more than its payer has.
    // Found by libFuzzer.
    const BEGAN: [u8; 44] = [
        43, 16, 2, 0, 1, 136, 0, 0, 4, 35, 58, 0, 1, 1, 128, 32, 2, 8, 215, 4, 128, 32, 0, 64, 109, 105, 110,
        116, 0, 169, 170, 170, 170, 170, 170, 170, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    assert!(!wallet_events::wallet_events(&BEGAN));
}

#[test]
fn any_chunk_is_taken_or_refused() {
    let mut random = Random(0x5761_6c6c_6574_0002);
    let chunks = wallet_events::base().ledger_chunks();
    let mut taken = 0;
    for round in 0..6_000 {
        let which = round % chunks.len();
        let mut bytes = chunks[which].clone();
        if round < chunks.len() {
            assert_eq!(ran(&[&[which as u8], &bytes[..]].concat(), wallet_events::wallet_checkpoint), 1);
        }
        damage(&mut random, &mut bytes);
        taken += ran(&[&[which as u8], &bytes[..]].concat(), wallet_events::wallet_checkpoint);
    }
    assert!(taken > 500, "only {taken} were taken: this tests nothing");
}

#[test]
fn an_entry_that_stands_before_the_journal_begins_panics_nobody() {
    // Found by libFuzzer: an entry whose account's last one was further back than the journal is long.
    wallet_events::wallet_events(&[
        9, 2, 4, 0, 1, 4, 64, 110, 101, 119, 43, 4, 14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 126, 50,
        0, 0, 2, 1, 0, 0, 163, 114, 0, 0, 4, 86, 253, 127, 225, 4, 1, 2, 0, 1, 114, 1, 1, 0, 45, 4, 14, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 162, 0, 0, 52, 218, 186, 122, 123, 192, 1, 170, 89, 9, 2, 8, 205, 5,
        128, 32, 0, 5, 162, 3, 128, 32, 1, 114, 1, 1, 0,
    ]);
}
