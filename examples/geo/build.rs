//! All that a service's build script needs.

fn main() -> Result<(), stadium_rpc_build::Error> {
    stadium_rpc_build::compile(&["proto/geo.proto"], &["proto"])
}
