//! Compiles the message of the bench, without protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=../../proto/echo.proto");
    let files = protox::compile(["echo.proto"], ["../../proto"])?;
    tonic_prost_build::configure().compile_fds(files)?;
    Ok(())
}
