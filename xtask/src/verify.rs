//! `cargo xtask verify`: everything that must hold before a change is merged. Changes nothing.
//!
//! A failing step does not stop the later ones: one run shows everything that is wrong. The tests
//! themselves are `cargo xtask test`, which runs this first.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};

use crate::step::{Step, WITH_CLUSTERS, cargo, command};
use crate::{advisories, docs, generated, licences, tidy};

/// The names of the steps that failed, in order.
#[derive(Default)]
pub(crate) struct Verdict {
    /// One entry for each failed step; empty means that everything holds.
    pub(crate) failed: Vec<&'static str>,
}

impl Verdict {
    /// The process's exit code for this verdict.
    pub(crate) fn exit_code(&self) -> ExitCode {
        if self.failed.is_empty() {
            eprintln!("verify: everything holds");
            return ExitCode::SUCCESS;
        }
        eprintln!("verify: FAILED: {}", self.failed.join(", "));
        ExitCode::FAILURE
    }
}

/// A step: its name, and what it checks.
type Check = (&'static str, fn(&Path) -> Result<()>);

/// Every step on the sources, cheapest first.
const CHECKS: &[Check] = &[
    ("tidy", tidy::check),
    ("format", |_| command(&mut cargo(&["fmt", "--all", "--check"]))),
    ("licences", |_| licences::check()),
    ("advisories", advisories::check),
    ("linked", linked),
];

/// More steps on the sources: those that a test run leaves to the time that its suites do not need.
const UNHURRIED_CHECKS: &[Check] = &[
    ("clippy", |_| {
        let arguments = ["--all-targets", "--quiet", "--", "-D", "warnings"];
        command(cargo(&["clippy", "--workspace"]).args(WITH_CLUSTERS).args(arguments))
    }),
    // The program that `cargo run -- demo` and `dist` build: without clusters.
    ("defaults", |_| {
        command(&mut cargo(&["clippy", "-p", "stadium-cli", "--quiet", "--", "-D", "warnings"]))
    }),
    ("docs", |_| {
        let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]);
        command(
            doc.args(WITH_CLUSTERS).env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links"),
        )
    }),
];

/// The documentation as a site; a test run builds it for a suite of its own.
const SITE: &[Check] = &[("site", docs::check)];

/// Steps of `verify` and of a `--long` test run only: they compile much of the workspace once more.
const LONG_CHECKS: &[Check] = &[("features", |_| {
    let bare = |packages: &[&str]| {
        let arguments =
            [&["clippy"], packages, &["--no-default-features", "--quiet", "--", "-D", "warnings"]];
        command(&mut cargo(&arguments.concat()))
    };
    // What a client or a server of a static list is built of: neither etcd nor ZooKeeper.
    bare(&["-p", "stadium-rpc", "-p", "stadium-discovery", "--lib"])?;
    // Each client of Kafka without the other.
    bare(&["-p", "stadium-journal-kafka", "--lib", "--features", "rdkafka"])?;
    bare(&["-p", "stadium-journal-kafka", "--lib", "--features", "rskafka"])?;
    // A program that only serves and is of no cluster, and a load lab that neither draws nor uploads.
    bare(&["-p", "stadium-cli", "-p", "stadium-load", "--lib", "--bins"])
})];

/// What a standalone build must not link: it needs no broker, and nobody's C libraries for one.
const NOT_LINKED: [&str; 3] = ["rdkafka-sys", "rskafka", "openssl-sys"];

/// Checks what the binary with its default features is built from.
fn linked(_: &Path) -> Result<()> {
    let tree =
        cargo(&["tree", "-p", "stadium-cli", "--edges", "normal,build", "--prefix", "none"]).output()?;
    if !tree.status.success() {
        bail!("`cargo tree` ended with {}", tree.status);
    }
    let text = String::from_utf8_lossy(&tree.stdout);
    let is_linked = |name: &&str| text.lines().any(|line| line.split(' ').next() == Some(name));
    match NOT_LINKED.iter().find(|name| is_linked(name)) {
        Some(name) => {
            bail!("a standalone `stadium` would link `{name}`: `cargo tree -p stadium-cli -i {name}`")
        }
        None => Ok(()),
    }
}

/// Every step that runs the programs, which must be built for it.
const CHECKS_OF_PROGRAMS: &[Check] = &[("generated", generated::check)];

/// Runs the steps that `only` names, or all of them when it is empty.
pub(crate) fn run(root: &Path, only: &[String]) -> Result<Verdict> {
    let all = || [CHECKS, UNHURRIED_CHECKS, SITE, LONG_CHECKS, CHECKS_OF_PROGRAMS].into_iter().flatten();
    if let Some(unknown) = only.iter().find(|name| !all().any(|(known, _)| known == name)) {
        let known: Vec<&str> = all().map(|(name, _)| *name).collect();
        bail!("no step `{unknown}`; there are {}", known.join(", "));
    }
    let wanted = all().filter(|(name, _)| only.is_empty() || only.iter().any(|wanted| wanted == name));
    Ok(judged(root, wanted))
}

/// Runs the steps on the sources, but for [`unhurried`].
pub(crate) fn sources(root: &Path) -> Verdict {
    judged(root, CHECKS)
}

/// Runs the steps that take longest, on cores that nothing else wants; the longest of all only
/// where `long` is set. For a thread of its own, which keeps that priority.
pub(crate) fn unhurried(root: &Path, long: bool) -> Verdict {
    if let Err(error) = yield_to_all() {
        eprintln!("the checks beside the tests take cores from them: {error:#}");
    }
    let more = if long { LONG_CHECKS } else { &[] };
    judged(root, UNHURRIED_CHECKS.iter().chain(more))
}

/// Has this thread, and what it starts, run where no other one wants to: sched(7), `SCHED_IDLE`.
fn yield_to_all() -> Result<()> {
    let thread = std::fs::read_link("/proc/thread-self")?;
    let id = thread.file_name().context("no name")?;
    command(Command::new("chrt").args(["--idle", "--pid", "0"]).arg(id))
}

/// Runs the steps on the programs.
pub(crate) fn programs(root: &Path) -> Verdict {
    judged(root, CHECKS_OF_PROGRAMS)
}

fn judged<'c>(root: &Path, checks: impl IntoIterator<Item = &'c Check>) -> Verdict {
    let mut verdict = Verdict::default();
    for (name, check) in checks {
        if !Step::start(*name).end(check(root)) {
            verdict.failed.push(name);
        }
    }
    verdict
}
