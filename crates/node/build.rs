//! Compiles the contract of the node's own service.

fn main() -> Result<(), stadium_rpc_build::Error> {
    stadium_rpc_build::compile(&["../../proto/stadium/v1/stadium.proto"], &["../../proto"])
}
