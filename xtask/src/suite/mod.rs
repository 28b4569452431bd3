//! `cargo xtask test`: installs, verifies, runs every suite, and ends with `N passed, N failed`.
//!
//! Suites: all Rust tests of the workspace (dev profile), testing/python (pytest) and testing/node
//! (node --test), both against the built binary. A failure does not stop the later suites. A skipped
//! test is a failure: what a suite needs is installed first, so it has no reason to skip. Before the
//! last line come the time of each phase and the slowest tests.

mod rust;
mod tally;
mod timing;
mod watchdog;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use crate::step::{Step, build_programs, cargo, program};
use crate::verify::{self, Verdict};
use crate::{components, step};
use tally::Tally;
use timing::Times;
use watchdog::{SILENCE, Victim, Watchdog};

/// Environment variable through which the black-box suites learn the binary's path.
const BINARY_VARIABLE: &str = "STADIUM_BIN";

/// The same for the example service, which devices ask.
const GEO_VARIABLE: &str = "STADIUM_GEO";

/// The same for the program that RSocket peers are tried against; the others are beside it.
const INTEROP_VARIABLE: &str = "STADIUM_INTEROP";

/// How the suites run.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these suites, without verify; all of them and verify when none is named
    suites: Vec<Suite>,
    /// So many Rust test programs run at a time; those that watch the clock always run alone
    #[arg(long, default_value_t = 2, value_name = "N")]
    jobs: usize,
    /// What takes long too: 10,000 seeds of the simulator and 100 kills of each kill suite
    #[arg(long)]
    long: bool,
}

/// What `--long` sets, where the environment does not: how much the suites do that can do more.
const LONG: [(&str, &str); 2] = [("STADIUM_SEEDS", "10000"), ("STADIUM_KILLS", "100")];

/// The suites, by the language of their tests.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    Rust,
    Python,
    Node,
}

impl Options {
    fn wants(&self, suite: Suite) -> bool {
        self.suites.is_empty() || self.suites.contains(&suite)
    }
}

/// Runs what is asked for. The exit code is 0 only when something ran and nothing failed.
pub(crate) fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    let started = Instant::now();
    let times = Times::default();
    let mut total = Tally::default();

    if !Step::start("components").end(components::for_suites()) {
        total.failed += 1;
    }
    let verdict = match options.suites.is_empty() {
        true => verify::run(root, &[])?,
        false => Verdict::default(),
    };
    total.failed += verdict.failed.len();

    // Built first: the black-box suites, the Rust ones among them, drive these.
    let built = Step::start("build the programs").end(build_programs());
    let mut environment = vec![
        (BINARY_VARIABLE, program(root).into_os_string()),
        (GEO_VARIABLE, root.join("target/debug/geo-service").into_os_string()),
        (INTEROP_VARIABLE, root.join("target/debug/examples/interop").into_os_string()),
    ];
    if options.long {
        let unset = LONG.iter().filter(|(name, _)| std::env::var_os(name).is_none());
        environment.extend(unset.map(|&(name, value)| (name, value.into())));
    }
    if options.wants(Suite::Rust) {
        total += rust_tests(root, &environment, options, &times);
    }
    if built && options.wants(Suite::Python) {
        total += python(root, &environment, &times);
    }
    if built && options.wants(Suite::Node) {
        total += node(root, &environment);
    }
    total.failed += usize::from(!built);

    show_times(&times);
    let minutes = started.elapsed().as_secs_f64() / 60.0;
    eprintln!("==> all suites in {minutes:.1} min");
    if !verdict.failed.is_empty() {
        println!("verify failed: {}", verdict.failed.join(", "));
    }
    if total.skipped > 0 {
        println!("{} tests were skipped or ignored, and count as failed", total.skipped);
    }
    let failed = total.failed + total.skipped;
    println!("{} passed, {failed} failed", total.passed);
    Ok(if failed == 0 && total.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where the time went: the phases as they came, then the slowest tests.
fn show_times(times: &Times) {
    eprintln!("==> phases");
    for (name, seconds) in step::ended() {
        eprintln!("{seconds:8.1} s  {name}");
    }
    eprint!("==> slowest tests\n{}", times.slowest());
}

/// The tests of the crates, and the examples in their documentation.
fn rust_tests(root: &Path, programs: &[(&str, OsString)], options: &Options, times: &Times) -> Tally {
    // Built apart from their run, where a long silence is taken for a test that hangs.
    let step = Step::start("build the tests");
    let mut total = match rust::build(root) {
        Err(error) => return finish(step, Tally { failed: 1, ..Tally::default() }, Err(error)),
        Ok(tests) => {
            step.end(Ok(()));
            let step = Step::start("Rust tests");
            let tally = rust::run(tests, programs, options.jobs, times);
            judged(step, tally, Ok(()))
        }
    };
    let mut examples = cargo(&["test", "--workspace", "--doc", "--no-fail-fast"]);
    let examples = examples.envs(programs.iter().cloned());
    total += suite("Rust examples", examples, Victim::Children, tally::cargo_line, |_| {});
    total
}

fn python(root: &Path, programs: &[(&str, OsString)], times: &Times) -> Tally {
    let folder = root.join("testing/python");
    let name = "Python clients";
    let interpreter =
        match ready(name, &folder, || components::python(root, &folder.join("requirements.txt"))) {
            Ok(interpreter) => interpreter,
            Err(tally) => return tally,
        };
    let mut pytest = Command::new(interpreter);
    pytest.current_dir(&folder).envs(programs.iter().cloned());
    // `-rsx` names each skipped and expected failure; the cache would write into the source tree.
    pytest.args(["-m", "pytest", "-rsx", "--durations=20", "-p", "no:cacheprovider", "."]);
    suite(name, &mut pytest, Victim::Command, tally::pytest_line, |line| {
        if let Some((test, seconds)) = tally::pytest_time_of(line) {
            times.test(test.to_owned(), seconds);
        }
    })
}

fn node(root: &Path, programs: &[(&str, OsString)]) -> Tally {
    let folder = root.join("testing/node");
    let name = "Node clients";
    if let Err(tally) = ready(name, &folder, || components::node_packages(&folder)) {
        return tally;
    }
    let mut node = Command::new("node");
    node.current_dir(&folder).envs(programs.iter().cloned()).args(["--test", "--test-reporter=tap"]);
    suite(name, &mut node, Victim::Command, tally::node_line, |_| {})
}

/// Prepares a suite of another language; a missing folder or a failed preparation is one failure.
fn ready<T>(name: &str, folder: &Path, prepare: impl FnOnce() -> Result<T>) -> Result<T, Tally> {
    let step = Step::start(format!("{name}: packages"));
    let prepared = match folder.is_dir() {
        true => prepare(),
        false => Err(anyhow::anyhow!("{} is missing", folder.display())),
    };
    match prepared {
        Ok(prepared) => {
            step.end(Ok(()));
            Ok(prepared)
        }
        Err(error) => {
            step.end(Err(error));
            Err(Tally { failed: 1, ..Tally::default() })
        }
    }
}

/// Runs one suite, shows its output as it comes, and counts by the suite's own summary lines.
fn suite(
    name: &str,
    command: &mut Command,
    victim: Victim,
    count: fn(&str) -> Option<Tally>,
    mut also: impl FnMut(&str),
) -> Tally {
    let step = Step::start(name);
    let ran = counted(command, victim, count, |line| {
        // A closed stdout must not stop the count.
        let _ = writeln!(std::io::stdout(), "{line}");
        also(line);
    });
    let (tally, outcome) = ran.unwrap_or_else(|error| (Tally::default(), Err(error)));
    judged(step, tally, outcome)
}

/// Ends a suite's step with what it came to.
///
/// A suite that exits with an error although no test failed did not finish: that counts as one failure.
fn judged(step: Step, mut tally: Tally, outcome: Result<()>) -> Tally {
    if tally.failed == 0 && (outcome.is_err() || tally.passed + tally.skipped == 0) {
        tally.failed = 1;
    }
    let good = tally.failed + tally.skipped == 0;
    let shown = format!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped);
    match (good, outcome) {
        (true, _) => eprintln!("    {shown}"),
        (false, Ok(())) => return finish(step, tally, Err(anyhow::anyhow!(shown))),
        (false, Err(error)) => return finish(step, tally, Err(error.context(shown))),
    }
    finish(step, tally, Ok(()))
}

fn finish(step: Step, tally: Tally, outcome: Result<()>) -> Tally {
    step.end(outcome);
    tally
}

/// Runs the command and hands over each line of its stdout; returns what the lines add up to, and whether it
/// exited with 0.
fn counted(
    command: &mut Command,
    victim: Victim,
    count: fn(&str) -> Option<Tally>,
    mut each: impl FnMut(&str),
) -> Result<(Tally, Result<()>)> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start the suite")?;
    let lines = BufReader::new(child.stdout.take().expect("stdout was asked to be piped"));
    let watchdog = Watchdog::new(child.id(), victim, SILENCE);
    let (mut tally, status) = std::thread::scope(|scope| {
        scope.spawn(|| watchdog.watch());
        let tally = summed(lines, &watchdog, count, &mut each);
        let status = child.wait().context("cannot wait for the suite");
        watchdog.over();
        (tally, status)
    });
    let status = status?;
    if let Ok(tally) = &mut tally {
        tally.failed += watchdog.killed();
    }
    let outcome = if status.success() { Ok(()) } else { ended(status) };
    Ok((tally?, outcome))
}

/// Hands over each line as it comes, and adds up what they count.
fn summed(
    lines: impl BufRead,
    watchdog: &Watchdog,
    count: fn(&str) -> Option<Tally>,
    each: &mut impl FnMut(&str),
) -> Result<Tally> {
    let mut tally = Tally::default();
    for line in lines.split(b'\n') {
        let line = line.context("cannot read the suite's output")?;
        watchdog.heard();
        let line = String::from_utf8_lossy(&line);
        each(&line);
        if let Some(more) = count(&line) {
            tally += more;
        }
    }
    Ok(tally)
}

fn ended(status: std::process::ExitStatus) -> Result<()> {
    bail!("the suite ended with {status}")
}
