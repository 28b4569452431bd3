//! Builds the program of an architecture against an old glibc, and strips it.
//!
//! Zig brings the headers and stubs of every glibc and a linker for every architecture;
//! cargo-zigbuild has cargo use them. Both come from PyPI into a virtual environment under target/,
//! in the versions of dist/requirements.txt. The standard library of the other architecture comes
//! from rustup. docs/decisions/0014-old-glibc-not-musl.md has the reasons.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::Architecture;
use crate::components;
use crate::step::{cargo, command, output};

/// The oldest glibc that the program runs with: that of CentOS 7 and Amazon Linux 2, and the oldest
/// of Rust.
const GLIBC: &str = "2.17";

/// The profile that ships.
const PROFILE: &str = "dist";

/// The folder of the tools that only this task needs.
pub(super) fn tools(root: &Path) -> PathBuf {
    root.join("target/dist-tools")
}

/// Builds it.
pub(super) fn program(root: &Path, architecture: Architecture) -> Result<()> {
    let environment = tools(root).join("venv");
    let python = components::python_in(&environment, &root.join("xtask/src/dist/requirements.txt"))?;
    let zig =
        output(Command::new(&python).args([
            "-c",
            "import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), 'zig'))",
        ]))?;
    let triple = architecture.triple();
    if !architecture.is_here() {
        command(Command::new("rustup").args(["target", "add", &triple]))
            .context("the standard library of the other architecture is missing")?;
    }
    let mut build = cargo(&["--version"]);
    // The wrapper runs the same cargo: a pinned toolchain stays pinned.
    let cargo_program = build.get_program().to_owned();
    build = Command::new(environment.join("bin/cargo-zigbuild"));
    build.env("CARGO", cargo_program).env("CARGO_ZIGBUILD_ZIG_PATH", zig.trim());
    build.args(["zigbuild", "--locked", "--package", "stadium-cli", "--profile", PROFILE]);
    command(build.args(["--target", &format!("{triple}.{GLIBC}")]))
}

/// A copy of the program without symbols.
pub(super) fn stripped(root: &Path, architecture: Architecture) -> Result<PathBuf> {
    let built = root.join("target").join(architecture.triple()).join(PROFILE).join("stadium");
    if !built.exists() {
        bail!("{} is missing: run `cargo xtask dist` without --skip-build", built.display());
    }
    let stripped = tools(root).join(architecture.name()).join("stadium");
    fs::create_dir_all(stripped.parent().expect("it lies in a folder"))?;
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    // It comes with Rust, and strips programs of every architecture.
    let libraries = Path::new(sysroot.trim()).join("lib");
    let mut objcopy = Command::new(libraries.join("rustlib").join(host).join("bin/rust-objcopy"));
    objcopy.env("LD_LIBRARY_PATH", libraries).arg("--strip-all");
    command(objcopy.args([&built, &stripped]))?;
    Ok(stripped)
}
