//! Compiles the framework's own contract, proto/stadium/rpc/v1, without protoc.
//!
//! The messages of the traits land in `OUT_DIR/stadium.rpc.v1.rs`, which src/proto.rs includes.
//! A user's service is compiled by stadium-rpc-build instead, which knows methods too; the traits
//! are routes under every service's name, so there are no constants to write for them.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let root = "../../proto";
    let file = "../../proto/stadium/rpc/v1/service.proto";
    println!("cargo::rerun-if-changed={file}");
    let descriptors = protox::compile([file], [root])?;
    prost_build::Config::new().compile_fds(descriptors)?;
    Ok(())
}
