//! Compiles the contract between a coordinator and its workers.

fn main() -> Result<(), stadium_rpc_build::Error> {
    stadium_rpc_build::compile(&["../../proto/stadium/load/v1/worker.proto"], &["../../proto"])
}
