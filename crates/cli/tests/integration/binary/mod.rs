//! The built binary, as the black-box suites use it: run it, read its output, wait for conditions
//! with a deadline.
//!
//! Nothing here knows the crates behind the binary. Every server started is killed when its handle
//! is dropped.

#![allow(dead_code)]

pub mod device;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for anything; only a failing test waits so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Two shards of small files: a test starts many servers.
pub const SMALL: [&str; 6] = [
    "--set",
    "journal.segment_bytes=4194304",
    "--set",
    "journal.reserve_bytes=65536",
    "--set",
    "shards.count=2",
];

/// The binary with these arguments, without this process's own configuration.
pub fn stadium(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stadium"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("STADIUM_") {
            command.env_remove(name);
        }
    }
    // Nor its user's profiles.
    command.args(arguments).env("STADIUM_PROFILES_FILE", "/dev/null").stdin(Stdio::null());
    command
}

/// Runs it to its end in an empty directory.
pub fn run(arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    run_in(directory.path(), arguments)
}

/// Runs it to its end in `directory`.
pub fn run_in(directory: &Path, arguments: &[&str]) -> Output {
    stadium(arguments).current_dir(directory).output().expect("the binary can be run")
}

/// Standard output as text.
pub fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard error as text.
pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Standard output as JSON.
pub fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {} {}", out(output), err(output)))
}

/// Looks until `look` finds something, or fails the test.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not happen within {PATIENCE:?}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// A running `stadium serve`, ports chosen by the kernel.
pub struct Server {
    child: Child,
    /// Its line of JSON when it was ready.
    pub ready: serde_json::Value,
    data: tempfile::TempDir,
}

impl Server {
    /// Starts one in trial mode, with two shards of small files.
    pub fn trial() -> Self {
        Self::start(&[&["--trial"], SMALL.as_slice()].concat())
    }

    /// Starts one with its own data directory and waits until it is ready.
    pub fn start(arguments: &[&str]) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory can be made");
        Self::start_in(data, &[], arguments)
    }

    /// Starts one that a service manager started, whose socket this is.
    pub fn under_manager(socket: &Path) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory can be made");
        Self::start_in(data, &[("NOTIFY_SOCKET", socket)], &[&["--trial"], SMALL.as_slice()].concat())
    }

    /// Starts another one in the same data directory, once this one has ended or was sent what ends it.
    pub fn again(self, arguments: &[&str]) -> Self {
        Self::start_in(self.into_data(), &[], arguments)
    }

    fn start_in(data: tempfile::TempDir, environment: &[(&str, &Path)], arguments: &[&str]) -> Self {
        let shown = data.path().display().to_string();
        let mut command = stadium(&[
            "serve",
            "--json",
            "--mqtt",
            "127.0.0.1:0",
            "--http",
            "127.0.0.1:0",
            "--rpc",
            "127.0.0.1:0",
            "--loops",
            "1",
            "--data",
            &shown,
        ]);
        command.args(arguments).envs(environment.iter().copied());
        command.current_dir(data.path()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary can be run");
        let stdout = child.stdout.take().expect("it is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("the server reports that it is ready");
        let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Self { child, ready, data }
    }

    /// Its data directory.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// Its data directory, once it has ended.
    pub fn into_data(mut self) -> tempfile::TempDir {
        self.ended();
        let unused = tempfile::tempdir().expect("a temporary directory can be made");
        std::mem::replace(&mut self.data, unused)
    }

    /// Where a listener listens.
    pub fn address(&self, name: &str) -> String {
        let listeners = self.ready["listeners"].as_array().expect("it is a list");
        let found = listeners.iter().find(|listener| listener["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {listeners:?}"))["address"]
            .as_str()
            .expect("it is text")
            .to_owned()
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status();
        assert!(sent.expect("kill can be run").success(), "the server has gone already");
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        wait_for("the server's end", || self.child.try_wait().expect("it is our child"))
    }

    /// Runs a client command against it.
    pub fn client(&self, arguments: &[&str]) -> Output {
        let shown = self.data().display().to_string();
        let mut all: Vec<&str> = arguments.to_vec();
        all.extend(["--data", &shown]);
        run_in(self.data(), &all)
    }

    /// Runs a client command that must work.
    pub fn does(&self, arguments: &[&str]) -> Output {
        let done = self.client(arguments);
        assert!(done.status.success(), "{arguments:?}: {}", err(&done));
        done
    }

    /// The output of a client command that must work.
    pub fn prints(&self, arguments: &[&str]) -> String {
        out(&self.does(arguments))
    }

    /// What a client command that must work answers with `--json`.
    pub fn answers(&self, arguments: &[&str]) -> serde_json::Value {
        json(&self.does(&[arguments, &["--json"]].concat()))
    }

    /// Runs a client command that must fail with this exit code and this message.
    pub fn fails(&self, code: i32, arguments: &[&str], why: &str) {
        let failed = self.client(arguments);
        let shown: Vec<String> = arguments.iter().map(|word| word.chars().take(80).collect()).collect();
        assert_eq!(failed.status.code(), Some(code), "{shown:?}: {} {}", out(&failed), err(&failed));
        assert!(err(&failed).contains(why), "{shown:?}: {why:?} is not in {}", err(&failed));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
