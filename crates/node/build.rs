//! Compiles the contracts of the node's own services.

use stadium_rpc_build::prost_build::Config;

/// Messages whose payloads are shared on their way between the wire and the shards.
const WITH_PAYLOADS: [&str; 4] =
    [".stadium.v1.NewJob", ".stadium.v1.ReservedJob", ".stadium.v1.Job", ".stadium.v1.EditRequest"];

fn main() -> Result<(), stadium_rpc_build::Error> {
    let files = ["../../proto/stadium/v1/stadium.proto", "../../proto/stadium/v1/queue.proto"];
    stadium_rpc_build::compile_with(Config::new().bytes(WITH_PAYLOADS), &files, &["../../proto"])
}
