//! Fuzz body: any bytes as a batch of items between nodes. What is read is written again, and read
//! again as the same; all other input is refused. Nothing panics.
//!
//! An ordinary function, so that the stable test `fuzz` of crates/shard-wire runs it as well.

use stadium_shard_wire::{Batch, Item, Received, encode};

/// The fixtures of the format: a name, bytes in hexadecimal digits and a text for each case.
const ITEMS: &str = include_str!("../../crates/shard-wire/tests/fixtures/v1/items.txt");
const COMMANDS: [(u8, &str); 4] = [
    (1, include_str!("../../crates/shard-wire/tests/fixtures/v1/queue_commands.txt")),
    (2, include_str!("../../crates/shard-wire/tests/fixtures/v1/wallet_commands.txt")),
    (3, include_str!("../../crates/shard-wire/tests/fixtures/v1/push_commands.txt")),
    (4, include_str!("../../crates/shard-wire/tests/fixtures/v1/session_commands.txt")),
];
const ANSWERS: [(u8, &str); 4] = [
    (1, include_str!("../../crates/shard-wire/tests/fixtures/v1/queue_answers.txt")),
    (2, include_str!("../../crates/shard-wire/tests/fixtures/v1/wallet_answers.txt")),
    (3, include_str!("../../crates/shard-wire/tests/fixtures/v1/push_answers.txt")),
    (4, include_str!("../../crates/shard-wire/tests/fixtures/v1/session_answers.txt")),
];

/// Reads `data` as a batch. Panics on a broken promise; returns how many items were read.
pub fn shard_items(data: &[u8]) -> usize {
    let Ok(batch) = Batch::new(data.to_vec().into()) else { return 0 };
    let mut items = 0;
    for received in batch {
        match received {
            Ok(Received::Item(item)) => returns(&item),
            Ok(Received::Refused { error, reply }) => {
                assert!(!error.to_string().is_empty());
                returns(&reply);
            }
            Ok(Received::PassedOver(error)) => assert!(error.is_newer()),
            Err(_) => break,
        }
        items += 1;
    }
    items
}

fn returns(item: &Item) {
    let mut bytes = Vec::new();
    encode(item, &mut bytes).expect("it is hardly longer than it was");
    let mut batch = Batch::new(bytes.clone().into()).expect("it is short");
    let Some(Ok(Received::Item(again))) = batch.next() else { panic!("it was written: {item:?}") };
    assert!(batch.next().is_none());
    let mut written = Vec::new();
    encode(&again, &mut written).expect("it is as long");
    assert_eq!(written, bytes);
}

/// Batches of one item: each case of each command and each answer, and each kind of item.
pub fn samples() -> Vec<Vec<u8>> {
    let part = |number: u8, content: &[u8]| {
        let mut field = vec![number << 3 | 2];
        let mut length = content.len();
        while length >= 0x80 {
            field.push(length as u8 | 0x80);
            length >>= 7;
        }
        field.push(length as u8);
        [field, content.to_vec()].concat()
    };
    let item = |content: Vec<u8>| part(1, &content);
    let mut all: Vec<_> = cases(ITEMS).map(item).collect();
    for (machine, commands) in COMMANDS {
        // A request with an id, a shard and a command.
        let request = |command: Vec<u8>| [&[8, 7, 16, 3][..], &part(5, &part(machine, &command))].concat();
        all.extend(cases(commands).map(|command| item(part(1, &request(command)))));
    }
    for (machine, answers) in ANSWERS {
        let response = |answer: Vec<u8>| [&[8, 7][..], &part(2, &part(1, &part(machine, &answer)))].concat();
        all.extend(cases(answers).map(|answer| item(part(2, &response(answer)))));
    }
    all
}

fn cases(fixtures: &str) -> impl Iterator<Item = Vec<u8>> {
    let digit = |at: &str| u8::from_str_radix(at, 16).expect("two hexadecimal digits");
    fixtures
        .lines()
        .skip(1)
        .step_by(3)
        .map(move |hex| (0..hex.len()).step_by(2).map(|at| digit(&hex[at..at + 2])).collect())
}
