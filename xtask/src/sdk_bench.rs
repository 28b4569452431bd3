//! Builds the programs of `cargo xtask bench sdk`, below target/peers.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::step::{command, output};
use crate::{components, cpp, sdk};

/// The message of the rows, and the service of gRPC.
const CONTRACT: &str = "bench/proto/echo.proto";

/// The interpreter with the peers of Python, and the programs of the JVM with the modules of the SDK.
pub(crate) fn peers(root: &Path) -> Result<()> {
    components::python_in(
        &root.join("target/peers/python"),
        &root.join("bench/peers/python/requirements.txt"),
    )?;
    programs_of_jvm(&root.join("bench/peers/sdk"), ":stadium-bench-jvm")
}

/// A module with the modules of sdk/jvm that it needs. `folder` has the build that contains all of them.
pub(crate) fn programs_of_jvm(folder: &Path, module: &str) -> Result<()> {
    let mut maven = Command::new("mvn");
    maven.current_dir(folder).args(["--quiet", "--batch-mode"]);
    maven.args(["-DskipTests", "-Dmaven.javadoc.skip", "-Dmaven.source.skip"]);
    command(maven.args(["-pl", module, "-am", "package"]))
}

/// Builds the programs that need the libraries that cargo has built.
pub(crate) fn build(root: &Path) -> Result<()> {
    python(root)?;
    programs_of_cpp(root)
}

/// The package of Python with the module that cargo built, and the messages.
fn python(root: &Path) -> Result<()> {
    let folder = root.join("target/peers/sdk-python");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    sdk::python_package(root, &folder, "dist")?;
    let interpreter = root.join("target/peers/python/bin/python");
    let mut protoc = Command::new(&interpreter);
    protoc.args(["-m", "grpc_tools.protoc"]).arg(format!("-I{}", root.join("bench/proto").display()));
    protoc.args(["--python_out", "--grpc_python_out"].map(|out| format!("{out}={}", folder.display())));
    command(protoc.arg(root.join(CONTRACT)))?;
    let imports = "import stadium, echo_pb2_grpc, rsocket";
    output(Command::new(&interpreter).args(["-c", imports]).env("PYTHONPATH", &folder))
        .context("the packages of Python cannot be imported")?;
    Ok(())
}

/// The programs of C++, built for release over the shared library.
fn programs_of_cpp(root: &Path) -> Result<()> {
    let arguments = ["-DCMAKE_BUILD_TYPE=Release".to_owned(), cpp::library(root, "dist")];
    cpp::build(&root.join("bench/peers/sdk/cpp"), &root.join("target/peers/sdk-cpp"), &arguments)
}
