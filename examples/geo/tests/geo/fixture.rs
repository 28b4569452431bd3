//! A service process, its client process, and how long they may take.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long anything here may take on a machine that is busy with other things.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running `geo-service`; killed when it goes out of scope.
pub struct Service {
    process: Child,
    pub address: SocketAddr,
    /// Its later output goes nowhere, but into a pipe that somebody holds.
    _out: BufReader<ChildStdout>,
}

impl Service {
    pub fn start(flags: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_geo-service"))
            .args(["--listen", "127.0.0.1:0"])
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .expect("geo-service starts");
        let mut out = BufReader::new(process.stdout.take().expect("standard output is a pipe"));
        let mut first = String::new();
        out.read_line(&mut first).expect("standard output can be read");
        let address = first.trim_end().strip_prefix("geo 1 listens on ").map(str::parse);
        let address = address.unwrap_or_else(|| panic!("{first:?} names no address")).expect("an address");
        Self { process, address, _out: out }
    }

    /// Runs `geo-client` against it until it ends.
    pub fn client(&self, flags: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_geo-client"))
            .args(["--address", &self.address.to_string()])
            .args(flags)
            .output()
            .expect("geo-client runs")
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, signal).expect("our own process takes signals");
    }

    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.process.try_wait().expect("our own process can be waited for") {
                return status;
            }
            assert!(Instant::now() < deadline, "geo-service did not end in {PATIENCE:?}");
            thread::sleep(Duration::from_millis(10)); // A process that ends wakes nobody who waits with a deadline.
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the programs write text")
}

/// Looks until it is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} for {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
