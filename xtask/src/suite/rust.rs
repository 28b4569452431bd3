//! The Rust tests: builds every test program of the workspace, runs each by itself, and measures each test.
//!
//! cargo runs test programs one after the other and keeps no times. Here several run side by side. A package
//! names those that watch the clock in its Cargo.toml: `[package.metadata.suite]`, `alone = ["memory"]`. They
//! run alone, after all others.
//!
//! libtest measures a test only with unstable options, which RUSTC_BOOTSTRAP allows at run time. A program
//! that does not know them (`harness = false`) runs without, and counts as one test in the list of times.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{Message, MetadataCommand};

use super::failures;
use super::tally::{self, Tally};
use super::watchdog::Victim;
use super::{counted_with_cpu, timing::Times};
use crate::step::{WITH_CLUSTERS, cargo};

/// Makes libtest print how long each test took.
const WITH_TIMES: [&str; 2] = ["-Zunstable-options", "--report-time"];

/// One test program.
pub(super) struct Program {
    /// `stadium-mqtt::parts`; a crate's unit tests are `stadium-mqtt`.
    name: String,
    executable: PathBuf,
    /// The package's folder, where cargo runs its tests too.
    folder: PathBuf,
    /// It watches the clock: nothing runs beside it.
    alone: bool,
}

/// Builds all test programs.
pub(super) fn build(root: &Path) -> Result<Vec<Program>> {
    let alone = named_alone(root)?;
    let mut command = cargo(&["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    let mut child =
        command.args(WITH_CLUSTERS).stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let lines = BufReader::new(child.stdout.take().expect("stdout was asked to be piped"));
    let mut programs = Vec::new();
    for message in Message::parse_stream(lines) {
        let Message::CompilerArtifact(artifact) = message.context("cannot read what cargo says")? else {
            continue;
        };
        let (true, Some(executable)) = (artifact.profile.test, artifact.executable) else { continue };
        let folder = artifact.manifest_path.parent().context("a manifest lies in a folder")?;
        let package = alone.get(artifact.manifest_path.as_std_path()).context("no such package")?;
        let target = artifact.target.name;
        let name = match target.replace('-', "_") == package.name.replace('-', "_") {
            true => package.name.clone(),
            false => format!("{}::{target}", package.name),
        };
        programs.push(Program {
            name,
            executable: executable.into(),
            folder: folder.into(),
            alone: package.alone.contains(&target),
        });
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`cargo test --no-run` ended with {status}");
    }
    // Suites on the built binary take longest, so they come first: none is left for the end. They are outside crates/.
    programs.sort_by_key(|program| (program.folder.starts_with(root.join("crates")), program.name.clone()));
    Ok(programs)
}

/// A package, and which of its test programs run alone.
struct Package {
    name: String,
    alone: Vec<String>,
}

/// The workspace's packages by manifest.
fn named_alone(root: &Path) -> Result<HashMap<PathBuf, Package>> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let packages = metadata.packages.into_iter().map(|package| {
        let listed = package.metadata["suite"]["alone"].as_array().cloned().unwrap_or_default();
        let alone = listed.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect::<Vec<_>>();
        for name in &alone {
            let known = package.targets.iter().any(|target| target.name == *name);
            if !known {
                bail!("{}: suite.alone names `{name}`, which is no target", package.manifest_path);
            }
        }
        Ok((package.manifest_path.into_std_path_buf(), Package { name: package.name.to_string(), alone }))
    });
    packages.collect()
}

impl Program {
    /// `stadium-mqtt::parts`.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether nothing may run beside it.
    pub(super) fn runs_alone(&self) -> bool {
        self.alone
    }

    /// Runs it, then shows its output in one piece.
    pub(super) fn run(&self, environment: &[(&str, OsString)], times: &Times) -> Tally {
        let measured = self.can_measure();
        let mut command = self.command(environment);
        if measured {
            command.args(WITH_TIMES);
        }
        let started = Instant::now();
        let mut output = Vec::new();
        let ran = counted_with_cpu(&mut command, Victim::Command, tally::cargo_line, &mut |line: &str| {
            if let Some((test, seconds)) = tally::time_of(line) {
                times.test(format!("{} {test}", self.name), seconds);
            }
            output.extend_from_slice(line.as_bytes());
            output.push(b'\n');
        });
        let seconds = started.elapsed().as_secs_f64();
        if !measured {
            times.test(self.name.clone(), seconds);
        }
        let mut out = std::io::stdout().lock();
        // A closed stdout must not stop the count.
        let _ = writeln!(out, "     Running {} ({seconds:.1} s)", self.name);
        let _ = out.write_all(&output);
        let (mut tally, outcome) = match ran {
            Ok((tally, outcome, cpu)) => {
                times.program(self.name.clone(), cpu);
                (tally, outcome)
            }
            Err(error) => (Tally::default(), Err(error)),
        };
        if let Err(error) = outcome {
            let _ = writeln!(out, "FAILED: {}: {error:#}", self.name);
            // It ended before it could count its tests.
            tally.failed = tally.failed.max(1);
            failures::note(&self.name, &String::from_utf8_lossy(&output));
        }
        tally
    }

    /// Whether it knows libtest's options. It is asked with `--list`, which runs no test.
    fn can_measure(&self) -> bool {
        let mut command = self.command(&[]);
        command.arg("--list").args(WITH_TIMES).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    fn command(&self, environment: &[(&str, OsString)]) -> Command {
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.folder).envs(environment.iter().cloned());
        command.env("CARGO_MANIFEST_DIR", &self.folder).env("RUSTC_BOOTSTRAP", "1");
        command
    }
}
