//! The languages, and how each one's actor is started.
//!
//! `cargo xtask sdk build` makes what is named here. Paths begin at the workspace's root.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;
use stadium_testing::mortal;

/// A language that has an SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Language {
    /// Rust
    Rust,
    /// C++
    Cpp,
    /// Python
    Python,
    /// Java
    Jvm,
    /// TypeScript on Node
    Js,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Rust, Self::Cpp, Self::Python, Self::Jvm, Self::Js];

    /// Its name here.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Cpp => "cpp",
            Self::Python => "python",
            Self::Jvm => "jvm",
            Self::Js => "js",
        }
    }

    /// True if its SDK has servers.
    pub const fn serves(self) -> bool {
        !matches!(self, Self::Js)
    }

    /// True if its clients have streams, guards and discovery; others call one server.
    pub const fn is_complete(self) -> bool {
        !matches!(self, Self::Js)
    }

    /// The program, which the kernel ends with the runner.
    pub fn command(self) -> Result<Command> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let actors = root.join("testing/sdk/actors");
        Ok(match self {
            Self::Rust => mortal::command(made(std::env::current_exe()?.with_file_name("sdk-actor"))?),
            Self::Cpp => mortal::command(made(root.join("target/sdk-conformance/cpp/actor"))?),
            Self::Python => {
                let mut command = mortal::command(made(root.join("target/python/bin/python"))?);
                command.arg("-u").arg(actors.join("python/actor.py"));
                command.env("PYTHONPATH", made(root.join("target/sdk-conformance/python"))?);
                command
            }
            Self::Jvm => {
                let classes = made(root.join("target/sdk-conformance/jvm.classpath"))?;
                let classes = std::fs::read_to_string(classes)?;
                let mut command = mortal::command("java");
                command.args(["-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]);
                command.args([classes.trim(), "io.stadium.conformance.Actor"]);
                command
            }
            Self::Js => {
                let mut command = mortal::command("node");
                command.arg(made(actors.join("js/actor.mjs"))?);
                command.env("STADIUM_ACTOR", made(root.join("target/sdk-conformance/js"))?);
                command
            }
        })
    }
}

fn made(path: PathBuf) -> Result<PathBuf> {
    ensure!(path.exists(), "{} is not there: `cargo xtask sdk build` makes it", path.display());
    path.canonicalize().context("it is there").map(|canonical| {
        // A virtual environment is found by the path of its link.
        if path.is_symlink() { path } else { canonical }
    })
}
