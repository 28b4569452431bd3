//! `cargo xtask test`: installs, verifies, runs every suite, and ends with `N passed, N failed`.
//!
//! Suites: all Rust tests of the workspace (dev profile), testing/python and testing/node against
//! the built binary, the documentation's site, the SDKs' own, and their conformance with a voting
//! night of each. One build comes first, while packages are installed; then suites and test
//! programs run side by side, and those that watch the clock one at a time. The checks that take
//! longest run beside all of them on what the cores have left. A failure does not stop the others;
//! a suite that failed runs once more at the end, alone, and is named when it passes then. A
//! skipped test is a failure: what a suite needs is installed first. Before the last line come the
//! time of each phase, the slowest tests, and the words of those that failed.

mod acme;
mod failures;
mod packages;
mod rust;
mod site;
mod tally;
mod tasks;
mod timing;
mod upgrade;
mod watchdog;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use crate::cpp::{self, Sanitizer};
use crate::step::{Step, WITH_CLUSTERS, build_programs, cargo, program};
use crate::verify::{self, Verdict};
use crate::{components, sdk, step};
use rust::Program;
use tally::Tally;
use tasks::{Task, side_by_side};
use timing::Times;
use watchdog::{SILENCE, Victim, Watchdog};

/// Environment variable through which the black-box suites learn the binary's path.
const BINARY_VARIABLE: &str = "STADIUM_BIN";

/// The same for the example service, which devices ask.
const GEO_VARIABLE: &str = "STADIUM_GEO";

/// The same for the program that RSocket peers are tried against; the others are beside it.
const INTEROP_VARIABLE: &str = "STADIUM_INTEROP";

/// The same for the collector of OpenTelemetry.
const COLLECTOR_VARIABLE: &str = "STADIUM_COLLECTOR";

/// How the suites run.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these suites, without verify; all of them and verify when none is named
    suites: Vec<Suite>,
    /// So many test programs run at a time; those that watch the clock always run alone
    #[arg(long, default_value_t = 3, value_name = "N")]
    jobs: usize,
    /// The long tests too: 10,000 seeds of the simulator, 100 kills of each kill suite and 200 of a
    /// cluster, a newer etcd, a collector of OpenTelemetry, an upgrade from the last release, the
    /// wheel of the Python SDK, each header of the C++ SDK by itself and its tests under
    /// sanitizers, and the conformance of the SDKs with every fault and with mutants
    #[arg(long)]
    long: bool,
    /// The older program of the suite `upgrade`; without it the last release is built
    #[arg(long, value_name = "PROGRAM")]
    from: Option<PathBuf>,
}

/// What `--long` sets, where the environment does not: how much the suites do that can do more.
const LONG: [(&str, &str); 3] =
    [("STADIUM_SEEDS", "10000"), ("STADIUM_KILLS", "100"), ("STADIUM_NEWER_ETCD", "1")];

/// The suites, by the language of their tests.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    Rust,
    Python,
    Node,
    Java,
    Cpp,
    Sdk,
    /// The documentation as a site: its links, and its pages in a browser
    Site,
    /// Exports to a collector of OpenTelemetry, which is built first; with `--long` or when it is named
    Otel,
    /// What `cargo xtask dist` makes, in clean roots; only when it is named
    Packages,
    /// From the last release to this program under load, and back; when it is named, or with `--long`
    Upgrade,
    /// Certificates from a real ACME server, which Go builds; only when it is named
    Acme,
}

impl Options {
    fn wants(&self, suite: Suite) -> bool {
        self.suites.is_empty() || self.suites.contains(&suite)
    }

    fn wants_only(&self, suite: Suite) -> bool {
        self.suites == [suite]
    }
}

/// Runs what is asked for. The exit code is 0 only when something ran and nothing failed.
pub(crate) fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    if options.wants_only(Suite::Packages) {
        return packages::run(root);
    }
    if options.wants_only(Suite::Upgrade) {
        return upgrade::run(root, options.from.as_deref());
    }
    if options.wants_only(Suite::Acme) {
        return acme::run(root);
    }
    anyhow::ensure!(
        !options.suites.iter().any(|suite| [Suite::Packages, Suite::Upgrade, Suite::Acme].contains(suite)),
        "the suites `packages`, `upgrade` and `acme` run by themselves: each takes minutes"
    );
    let started = Instant::now();
    let times = Times::default();
    let mut total = Tally::default();

    if !Step::start("components").end(components::for_suites()) {
        total.failed += 1;
    }
    let whole = options.suites.is_empty();
    let mut verdict = if whole { verify::sources(root) } else { Verdict::default() };
    let packages = Packages::install(root, options);
    // All of it is built before any of it runs: a compiler beside them that does not yield would
    // slow down tests that watch the clock. The tests first: their build includes the programs, and
    // one build leaves no core idle at its end twice.
    let programs = match options.wants(Suite::Rust) {
        true => rust_programs(root, &mut total),
        false => Vec::new(),
    };
    // The black-box suites, the Rust ones among them, drive these.
    let built = Step::start("build the programs").end(build_programs());
    if whole {
        verdict.failed.extend(verify::programs(root).failed);
    }
    total.failed += verdict.failed.len();
    let Packages { python: python_packages, node: node_packages, provider } =
        packages.join().expect("installing does not panic");
    // Its tests fail as well, each with the command that installs it.
    total.failed += usize::from(provider == Some(Err(())));
    let mut environment = vec![
        (BINARY_VARIABLE, program(root).into_os_string()),
        (GEO_VARIABLE, root.join("target/debug/geo-service").into_os_string()),
        (INTEROP_VARIABLE, root.join("target/debug/examples/interop").into_os_string()),
        (COLLECTOR_VARIABLE, components::collector_of(root).into_os_string()),
    ];
    if options.long {
        let unset = LONG.iter().filter(|(name, _)| std::env::var_os(name).is_none());
        environment.extend(unset.map(|&(name, value)| (name, value.into())));
    }
    total.failed += usize::from(!built);
    let (alone, beside): (Vec<_>, Vec<_>) = programs.into_iter().partition(Program::runs_alone);
    let shown = if beside.is_empty() { Shown::AsItComes } else { Shown::InOnePiece };
    let interpreter = python_packages.clone().and_then(Result::ok);
    let upgrading = interpreter.clone();
    let mut tasks: Vec<Task<'_>> = Vec::new();
    match python_packages {
        Some(Ok(interpreter)) if built => {
            let wanted = |name| match name {
                COLLECTOR => {
                    options.suites.contains(&Suite::Otel) || options.long && options.wants(Suite::Otel)
                }
                WHEEL => options.long && options.wants(Suite::Python),
                _ => options.wants(Suite::Python),
            };
            for part in PYTHON.iter().filter(|(name, ..)| wanted(name)) {
                let (interpreter, environment, times) = (interpreter.clone(), &environment, &times);
                tasks.push(Task::new(part.0, move || {
                    if part.0 == COLLECTOR && ready(BUILD_COLLECTOR, || components::collector(root)).is_err()
                    {
                        return Tally { failed: 1, ..Tally::default() };
                    }
                    python(root, &interpreter, part, environment, times, shown)
                }));
            }
        }
        Some(Err(())) => total.failed += 1,
        _ => {}
    }
    match node_packages {
        Some(Ok(())) if built && options.wants(Suite::Node) => {
            tasks.push(Task::new("Node clients", || node(root, &environment, shown)));
            tasks.push(Task::new("TypeScript SDK", || javascript(root, &environment, shown)));
        }
        Some(Err(())) => total.failed += 1,
        _ => {}
    }
    if options.wants(Suite::Site) && matches!(node_packages, Some(Ok(()))) {
        tasks.push(Task::new(site::NAME, || site::run(root, shown)));
    }
    if options.wants(Suite::Java) && built {
        tasks.push(Task::new("JVM SDK", || java(root, &environment, interpreter.as_deref(), shown)));
    }
    if options.wants(Suite::Cpp) && built {
        tasks.push(Task::new("C++ SDK", || cpp(root, options.long, shown)));
    }
    let task = |program: Program| -> Task<'_> {
        let (environment, times) = (&environment, &times);
        Task::new(program.name().to_owned(), move || program.run(environment, times))
    };
    tasks.extend(beside.into_iter().map(task));
    let step = Step::start("tests");
    let conformance = (options.wants(Suite::Sdk) && built)
        .then(|| Task::new("SDK conformance", || conformance(root, interpreter.as_deref(), options.long)));
    let ran = std::thread::scope(|scope| {
        let unhurried = whole.then(|| scope.spawn(|| verify::unhurried(root, options.long)));
        let ran = side_by_side(tasks, options.jobs)
            .and(side_by_side(alone.into_iter().map(task).collect(), 1))
            .and(side_by_side(conformance.into_iter().collect(), 1));
        let also = unhurried.map(|checks| checks.join().expect("a check does not panic").failed);
        total.failed += also.iter().flatten().count();
        verdict.failed.extend(also.into_iter().flatten());
        ran
    });
    judged(step, ran.tally(), Ok(()));
    if whole
        && options.long
        && let Some(interpreter) = &upgrading
    {
        total += upgrade::tests(root, interpreter, options.from.as_deref());
    }
    // A developer who asks for one suite wants to see its failure, and not to wait for another run.
    let passed_again = match whole {
        true => {
            let again = ran.again();
            total += again.total;
            again.passed
        }
        false => {
            total += ran.tally();
            Vec::new()
        }
    };
    if options.wants(Suite::Rust) {
        total += rust_examples(&environment);
    }

    show_times(&times);
    let minutes = started.elapsed().as_secs_f64() / 60.0;
    eprint!("{}", failures::shown());
    eprintln!("==> all suites in {minutes:.1} min");
    if !verdict.failed.is_empty() {
        println!("verify failed: {}", verdict.failed.join(", "));
    }
    if total.skipped > 0 {
        println!("{} tests were skipped or ignored, and count as failed", total.skipped);
    }
    if !passed_again.is_empty() {
        println!("failed beside others, and passed when run once more, alone: {}", passed_again.join(", "));
    }
    let failed = total.failed + total.skipped;
    println!("{} passed, {failed} failed", total.passed);
    Ok(if failed == 0 && total.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where the time went: the phases as they came, the slowest tests, and the programs with the most
/// CPU time.
fn show_times(times: &Times) {
    eprintln!("==> phases");
    for step::Ended { name, seconds, busy } in step::ended() {
        eprintln!("{seconds:8.1} s  {:3.0}% busy  {name}", busy * 100.0);
    }
    eprint!("==> slowest tests\n{}", times.slowest());
    eprint!("==> CPU time of test programs\n{}", times.most_cpu());
}

/// The test programs of the crates, built. A failure is counted.
fn rust_programs(root: &Path, total: &mut Tally) -> Vec<Program> {
    // Built apart from their run, where a long silence is taken for a test that hangs.
    let step = Step::start("build the tests");
    match rust::build(root) {
        Ok(programs) => {
            step.end(Ok(()));
            programs
        }
        Err(error) => {
            total.failed += 1;
            step.end(Err(error));
            Vec::new()
        }
    }
}

/// The examples in the crates' documentation.
fn rust_examples(environment: &[(&str, OsString)]) -> Tally {
    let mut examples = cargo(&["test", "--workspace", "--doc", "--no-fail-fast"]);
    let examples = examples.args(WITH_CLUSTERS).envs(environment.iter().cloned());
    suite("Rust examples", examples, Victim::Children, Shown::AsItComes, tally::cargo_line, |_| {})
}

/// A part of the Python suite: its name, its folder, and the arguments of pytest.
type Part = (&'static str, &'static str, &'static [&'static str]);

/// The parts, which run side by side. The first has the tests that take longest.
const PYTHON: [Part; 5] = [
    ("Python clients: pages and API", PYTHON_FOLDER, &["test_pages.py", "test_openapi.py"]),
    ("Python clients", PYTHON_FOLDER, &["--ignore=test_pages.py", "--ignore=test_openapi.py", "."]),
    ("Python SDK", "sdk/python/tests", &["."]),
    (WHEEL, "sdk/python/long", &["."]),
    (COLLECTOR, "testing/otel", &["."]),
];

/// The part that needs a collector.
const COLLECTOR: &str = "A collector of OpenTelemetry";

/// Two minutes where Go's cache is cold.
const BUILD_COLLECTOR: &str = "A collector of OpenTelemetry: build";

/// The part that only `--long` runs.
const WHEEL: &str = "Python SDK: the wheel";

fn python(
    root: &Path,
    interpreter: &Path,
    (name, folder, arguments): &Part,
    environment: &[(&str, OsString)],
    times: &Times,
    shown: Shown,
) -> Tally {
    let mut pytest = Command::new(interpreter);
    pytest.current_dir(root.join(folder)).envs(environment.iter().cloned());
    // `-rfEsx` names each failed, skipped and expected failure; the cache would write into the
    // source tree.
    pytest.args(["-m", "pytest", "-rfEsx", "--durations=20", "-p", "no:cacheprovider"]).args(*arguments);
    suite(name, &mut pytest, Victim::Command, shown, tally::pytest_line, |line| {
        if let Some((test, seconds)) = tally::pytest_time_of(line) {
            times.test(test.to_owned(), seconds);
        }
    })
}

fn node(root: &Path, environment: &[(&str, OsString)], shown: Shown) -> Tally {
    let mut node = Command::new("node");
    node.current_dir(root.join(NODE_FOLDER)).envs(environment.iter().cloned());
    node.args(["--test", "--test-reporter=tap"]);
    suite("Node clients", &mut node, Victim::Command, shown, tally::node_line, |_| {})
}

/// The SDK of TypeScript, whose packages npm has built.
fn javascript(root: &Path, environment: &[(&str, OsString)], shown: Shown) -> Tally {
    let folder = root.join(JAVASCRIPT_FOLDER);
    let tsc = ready("TypeScript SDK: build the tests", || {
        step::command(Command::new("node_modules/.bin/tsc").current_dir(&folder).args(["-p", "test"]))
    });
    let tests = std::fs::read_dir(folder.join("build")).into_iter().flatten().flatten();
    let tests: Vec<_> =
        tests.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(".test.js")).collect();
    if tsc.is_err() || tests.is_empty() {
        return Tally { failed: 1, ..Tally::default() };
    }
    let mut node = Command::new("node");
    node.current_dir(&folder).envs(environment.iter().cloned());
    node.env("STADIUM_ECHO_SERVER", root.join("target/debug/examples/echo_server"));
    node.args(["--test", "--test-force-exit", "--test-concurrency=3", "--test-reporter=tap"]).args(tests);
    suite("TypeScript SDK", &mut node, Victim::Command, shown, tally::node_line, |_| {})
}

/// Every client of the SDKs with every server, and a voting night of each SDK on one server.
fn conformance(root: &Path, interpreter: Option<&Path>, long: bool) -> Tally {
    let failed = Tally { failed: 1, ..Tally::default() };
    let Some(interpreter) = interpreter else { return failed };
    if ready("SDK conformance: build the actors", || sdk::build(root, interpreter)).is_err() {
        return failed;
    }
    let mut runner = sdk::runner(root);
    runner.args(long.then_some("--long"));
    let mut tally =
        suite("SDK conformance", &mut runner, Victim::Command, Shown::InOnePiece, tally::runner_line, |_| {});
    if ready("Voting nights of the SDKs: build", || sdk::build_nights(root)).is_err() {
        tally += failed;
        return tally;
    }
    let mut nights = sdk::nights(root, interpreter);
    let name = "Voting nights of the SDKs";
    tally += suite(name, &mut nights, Victim::Command, Shown::InOnePiece, tally::runner_line, |_| {});
    if long {
        let mut mutants = sdk::runner(root);
        let name = "SDK conformance: mutants";
        let mutants = mutants.arg("--mutants");
        tally += suite(name, mutants, Victim::Command, Shown::InOnePiece, tally::runner_line, |_| {});
    }
    tally
}

/// The JVM SDK, with its tests against programs of Rust and Python.
fn java(root: &Path, environment: &[(&str, OsString)], interpreter: Option<&Path>, shown: Shown) -> Tally {
    let mut maven = Command::new("mvn");
    maven.current_dir(root.join("sdk/jvm")).args(["--batch-mode", "--no-transfer-progress"]);
    maven.args(["verify", "-Pinterop"]);
    maven.env("STADIUM_ECHO_SERVER", root.join("target/debug/examples/echo_server"));
    maven.envs(environment.iter().cloned()).envs(interpreter.map(|python| ("STADIUM_PYTHON", python)));
    maven.env("STADIUM_PYTHON_MODULE", root.join("target/debug/lib_stadium.so"));
    maven.env("STADIUM_PROTOC_GEN", root.join("target/debug/protoc-gen-stadium"));
    suite("JVM SDK", &mut maven, Victim::Command, shown, tally::maven_line, |_| {})
}

/// The C++ SDK, over the library that cargo built.
fn cpp(root: &Path, long: bool, shown: Shown) -> Tally {
    let mut total = Tally::default();
    let library = cpp::library(root, cpp::DEBUG);
    let mut programs = vec![
        ("C++ SDK".to_owned(), "sdk/cpp", root.join("target/sdk-cpp"), vec![library.clone()]),
        (GEO.to_owned(), "examples/geo/cpp", root.join("target/geo-cpp"), vec![library.clone()]),
    ];
    if long {
        programs.extend(Sanitizer::ALL.map(|sanitizer| {
            let name = format!("C++ SDK: {} sanitizer", sanitizer.name());
            (name, "sdk/cpp", sanitizer.folder(root), vec![library.clone(), sanitizer.argument()])
        }));
    }
    for (name, source, build, arguments) in programs {
        let prepared =
            ready(&format!("{name}: build"), || cpp::build(&root.join(source), &build, &arguments));
        if prepared.is_err() {
            total.failed += 1;
            continue;
        }
        // A sanitizer has nothing to see in the long tests, which compile.
        let all = long && arguments.len() == 1;
        total +=
            suite(&name, &mut cpp::tests(&build, all), Victim::Command, shown, tally::ctest_line, |_| {});
    }
    total
}

/// The example in C++, crossed with the one in Rust.
const GEO: &str = "C++ example geo";

const PYTHON_FOLDER: &str = "testing/python";
const NODE_FOLDER: &str = "testing/node";

/// The SDK of TypeScript; its packages are installed with those of the Node clients.
const JAVASCRIPT_FOLDER: &str = "sdk/js";

/// The OpenID provider that Rust tests start.
const PROVIDER_FOLDER: &str = "testing/oidc-provider";

/// The packages of other languages that suites need: `None` where the suite is not wanted, an error
/// where a step has shown one.
struct Packages {
    python: Option<Result<PathBuf, ()>>,
    node: Option<Result<(), ()>>,
    /// The OpenID provider of the Rust suite.
    provider: Option<Result<(), ()>>,
}

impl Packages {
    /// Installs them while other things are built: the network is slow, and needs no core.
    fn install(root: &Path, options: &Options) -> JoinHandle<Self> {
        let (root, python, node, rust) = (
            root.to_owned(),
            [Suite::Python, Suite::Java, Suite::Sdk, Suite::Otel]
                .into_iter()
                .any(|suite| options.wants(suite)),
            // A page of the Python suite runs the TypeScript SDK.
            [Suite::Node, Suite::Python, Suite::Sdk, Suite::Site]
                .into_iter()
                .any(|suite| options.wants(suite)),
            options.wants(Suite::Rust),
        );
        std::thread::spawn(move || {
            let requirements = root.join(PYTHON_FOLDER).join("requirements.txt");
            Self {
                python: python
                    .then(|| ready("Python clients: packages", || components::python(&root, &requirements))),
                node: node.then(|| {
                    ready("Node clients: packages", || {
                        components::node_packages(&root.join(NODE_FOLDER))?;
                        components::node_packages(&root.join(JAVASCRIPT_FOLDER))
                    })
                }),
                provider: rust.then(|| {
                    ready("OpenID provider: packages", || {
                        components::node_packages(&root.join(PROVIDER_FOLDER))
                    })
                }),
            }
        })
    }
}

/// Runs a step that prepares a suite.
fn ready<T>(name: &str, prepare: impl FnOnce() -> Result<T>) -> Result<T, ()> {
    let step = Step::start(name);
    match prepare() {
        Ok(prepared) => {
            step.end(Ok(()));
            Ok(prepared)
        }
        Err(error) => {
            step.end(Err(error));
            Err(())
        }
    }
}

/// When the output of a suite is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    AsItComes,
    /// At its end: other suites run beside it.
    InOnePiece,
}

/// Runs one suite, shows its output, and counts by the suite's own summary lines.
fn suite(
    name: &str,
    command: &mut Command,
    victim: Victim,
    shown: Shown,
    count: fn(&str) -> Option<Tally>,
    mut also: impl FnMut(&str),
) -> Tally {
    let step = Step::start(name);
    let mut output = String::new();
    let ran = counted(command, victim, count, |line| {
        if shown == Shown::AsItComes {
            // A closed stdout must not stop the count.
            let _ = writeln!(std::io::stdout(), "{line}");
        }
        output.extend([line, "\n"]);
        also(line);
    });
    if shown == Shown::InOnePiece {
        let _ = std::io::stdout().lock().write_all(output.as_bytes());
    }
    let (tally, outcome) = ran.unwrap_or_else(|error| (Tally::default(), Err(error)));
    let tally = judged(step, tally, outcome);
    if tally.failed + tally.skipped > 0 {
        failures::note(name, &output);
    }
    tally
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

/// Runs the command and hands over each line of its stdout; returns what the lines add up to, and
/// whether it exited with 0.
fn counted(
    command: &mut Command,
    victim: Victim,
    count: fn(&str) -> Option<Tally>,
    mut each: impl FnMut(&str),
) -> Result<(Tally, Result<()>)> {
    let (tally, outcome, _) = counted_with_cpu(command, victim, count, &mut each)?;
    Ok((tally, outcome))
}

/// The same, with the CPU time of the suite, in seconds.
fn counted_with_cpu(
    command: &mut Command,
    victim: Victim,
    count: fn(&str) -> Option<Tally>,
    each: &mut impl FnMut(&str),
) -> Result<(Tally, Result<()>, f64)> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start the suite")?;
    let lines = BufReader::new(child.stdout.take().expect("stdout was asked to be piped"));
    let watchdog = Watchdog::new(child.id(), victim, SILENCE);
    let (mut tally, status, cpu) = std::thread::scope(|scope| {
        scope.spawn(|| watchdog.watch());
        let tally = summed(lines, &watchdog, count, each);
        let cpu = timing::cpu_of_ending(child.id());
        let status = child.wait().context("cannot wait for the suite");
        watchdog.over();
        (tally, status, cpu)
    });
    let status = status?;
    if let Ok(tally) = &mut tally {
        tally.failed += watchdog.killed();
    }
    let outcome = if status.success() { Ok(()) } else { ended(status) };
    Ok((tally?, outcome, cpu))
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
