//! Compiles the contracts of the node's own services.

use stadium_rpc_build::prost_build::Config;

/// Messages and fields whose bytes are shared on their way between the wire and the shards.
const SHARED: [&str; 6] = [
    ".stadium.v1.NewJob",
    ".stadium.v1.ReservedJob",
    ".stadium.v1.Job",
    ".stadium.v1.EditRequest",
    ".stadium.v1.TransferView.metadata",
    ".stadium.v1.RawMessage",
];

/// What is rarely there, and would make each of a thousand outcomes three times as large.
const RARE: &str = ".stadium.v1.TransferOutcome.refused";

fn main() -> Result<(), stadium_rpc_build::Error> {
    let files = ["stadium.proto", "queue.proto", "wallet.proto", "push.proto", "locations.proto"]
        .map(|file| format!("../../proto/stadium/v1/{file}"));
    stadium_rpc_build::compile_with(Config::new().bytes(SHARED).boxed(RARE), &files, &["../../proto"])
}
