//! Compiles the contract that all actors serve and call.

fn main() -> Result<(), stadium_rpc_build::Error> {
    stadium_rpc_build::compile(&["proto/conformance.proto"], &["proto", "../../proto"])
}
