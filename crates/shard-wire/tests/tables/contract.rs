//! The contract in proto/ is the one that the tables write, and other readers of Protocol Buffers
//! understand what is encoded.

use std::fs;
use std::path::Path;

use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};

use super::{Cases, Random, Schema};
use crate::value::Value;
use crate::{Item, encode};

const FILE: &str = "stadium/shard/v1/wire.proto";

const HEAD: &str = "\
// Commands, answers and messages of shards between the nodes of a cluster: docs/formats/shard-wire.md.
//
// Written by `SHARD_WIRE_WRITE=1 cargo test -p stadium-shard-wire contract` out of the tables in
// crates/shard-wire/src. The numbers stay for ever. Times are milliseconds since 1970, spans
// milliseconds; bytes of 16 are little-endian integers. A type is described in its machine's crate.

syntax = \"proto3\";

package stadium.shard.v1;

// Items of one turn for one node. Batches can be joined as they are.
message Batch {
  repeated Item items = 1;
}
";

fn proto() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto")
}

#[test]
fn the_contract_is_that_of_the_tables() {
    let mut schema = Schema::default();
    Item::schema(&mut schema);
    let written = format!("{HEAD}{}", schema.text());
    let path = proto().join(FILE);
    if std::env::var_os("SHARD_WIRE_WRITE").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        // In one step: the other test reads it at the same time.
        let whole = path.with_extension("proto.new");
        fs::write(&whole, &written).expect("it can be written");
        fs::rename(&whole, &path).expect("it can be replaced");
    }
    let there = fs::read_to_string(&path).expect("the contract is there");
    assert!(there == written, "{FILE} is stale: see the command in its head");
}

/// Fields that the contract does not know, in whatever depth.
fn unknown(message: &DynamicMessage) -> usize {
    let of_value = |value: &prost_reflect::Value| match value {
        prost_reflect::Value::Message(inner) => unknown(inner),
        prost_reflect::Value::List(list) => {
            list.iter().filter_map(prost_reflect::Value::as_message).map(unknown).sum()
        }
        _ => 0,
    };
    message.unknown_fields().count() + message.fields().map(|(_, value)| of_value(value)).sum::<usize>()
}

#[test]
fn another_reader_understands_every_item_and_writes_the_same_bytes() {
    let files = protox::compile([FILE], [proto()]).expect("it is a contract");
    let pool = DescriptorPool::from_file_descriptor_set(files).expect("it is whole");
    let batch = pool.get_message_by_name("stadium.shard.v1.Batch").expect("it is there");
    for seed in 0..200 {
        for (name, make) in Item::CASES {
            let mut bytes = Vec::new();
            encode(&make(&mut Random::seeded(seed, 2_000)), &mut bytes).expect("it is short");
            let read = DynamicMessage::decode(batch.clone(), &bytes[..]).expect(name);
            assert_eq!(unknown(&read), 0, "{name}, {seed}");
            assert_eq!(read.encode_to_vec(), bytes, "{name}, {seed}");
        }
    }
}
