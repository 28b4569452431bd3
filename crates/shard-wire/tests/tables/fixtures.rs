//! Bytes of version 1, which stay for ever: for each case of each command, answer and message.
//!
//! A file of tests/fixtures/v1 has three lines for a case: its name, its bytes, and what they mean.
//! `SHARD_WIRE_WRITE=1` adds cases that are not there yet, and never changes bytes.

use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;

use bytes::Bytes;

use super::{Cases, Random};
use crate::reader::{Budget, Reader};
use crate::value::Value;

/// Bytes of which a fixture's value is made.
const SAMPLE_BYTES: usize = 2_000;

struct Fixture {
    name: String,
    bytes: Vec<u8>,
    meaning: String,
}

/// A field of others, which was added to when they had their bytes.
impl Cases for stadium_push::ConnectionName {
    const CASES: &'static [super::Case<Self>] = &[("ConnectionName", Value::sample)];
}

/// Likewise.
impl Cases for stadium_state_machine::TraceContext {
    const CASES: &'static [super::Case<Self>] = &[("TraceContext", Value::sample)];
}

fn path(of: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/fixtures/v1", &format!("{of}.txt")].iter().collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("two hexadecimal digits");
    (0..text.len()).step_by(2).map(byte).collect()
}

fn read(of: &str) -> Vec<Fixture> {
    let text = fs::read_to_string(path(of)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let fixture = |lines: &[&str]| Fixture {
        name: lines[0].to_owned(),
        bytes: unhex(lines[1]),
        meaning: lines[2].to_owned(),
    };
    lines.chunks_exact(3).map(fixture).collect()
}

fn add_missing<V: Cases + Value + Debug>(of: &str) {
    let mut all = read(of);
    for (place, (name, make)) in V::CASES.iter().enumerate() {
        if all.iter().all(|known| known.name != *name) {
            let value = make(&mut Random::full(place as u64 + 7, SAMPLE_BYTES));
            let mut bytes = Vec::new();
            value.put(&mut bytes);
            all.push(Fixture { name: (*name).to_owned(), bytes, meaning: format!("{value:?}") });
        }
    }
    let text = |one: &Fixture| format!("{}\n{}\n{}\n", one.name, hex(&one.bytes), one.meaning);
    fs::create_dir_all(path(of).parent().expect("a folder")).expect("it can be made");
    fs::write(path(of), all.iter().map(text).collect::<String>()).expect("it can be written");
}

fn check<V: Cases + Value + Debug>(of: &str) {
    if std::env::var_os("SHARD_WIRE_WRITE").is_some() {
        add_missing::<V>(of);
    }
    let fixtures = read(of);
    for (name, _) in V::CASES {
        assert!(fixtures.iter().any(|one| one.name == *name), "{of}: {name} has no bytes that stay");
    }
    for Fixture { name, bytes, meaning } in fixtures {
        let bytes = Bytes::from(bytes);
        let budget = Budget::of(bytes.len());
        let value = V::take(&mut Reader::new(&bytes, &budget));
        let value = value.unwrap_or_else(|error| panic!("{of}, {name} is not read any more: {error}"));
        assert_eq!(format!("{value:?}"), meaning, "{of}, {name} has another meaning");
        let mut again = Vec::new();
        value.put(&mut again);
        assert_eq!(hex(&again), hex(&bytes), "{of}, {name} is written otherwise");
    }
}

#[test]
fn bytes_of_version_1_keep_their_meaning() {
    check::<crate::Item>("items");
    check::<stadium_queue::Command>("queue_commands");
    check::<stadium_queue::Answer<Bytes>>("queue_answers");
    check::<stadium_queue::Attempt>("queue_attempts");
    check::<stadium_wallet::Command>("wallet_commands");
    check::<stadium_wallet::Kind>("wallet_transfers");
    check::<stadium_wallet::Answer>("wallet_answers");
    check::<stadium_wallet::ShardMessage>("wallet_messages");
    check::<stadium_push::Command>("push_commands");
    check::<stadium_push::Answer>("push_answers");
    check::<stadium_push::State>("push_states");
    check::<stadium_push::ShardMessage>("push_messages");
    check::<stadium_registry::Selector>("selectors");
    check::<stadium_session::Command>("session_commands");
    check::<stadium_session::Change>("session_changes");
    check::<stadium_session::Answer>("session_answers");
    check::<crate::Command>("commands");
    check::<crate::Answer>("answers");
    check::<crate::Message>("messages");
    check::<crate::TransportCommand>("transport_commands");
    check::<stadium_push::ConnectionName>("connection_names");
    check::<stadium_state_machine::TraceContext>("trace_contexts");
}
