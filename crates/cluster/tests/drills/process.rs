//! A node as a process of its own, to be killed and stopped: the example `cluster_node` of this crate.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stadium_testing::network::Namespace;
use stadium_testing::process::{Process, Signal};

/// Sets what a node logs to its stderr, which is ours.
const LOGS: &str = "RUST_LOG";

/// A node that runs. It is killed when it is dropped.
pub struct NodeProcess {
    child: Mutex<Child>,
    stdin: Mutex<ChildStdin>,
    asked: Arc<Mutex<Asked>>,
    is_well: AtomicBool,
}

#[derive(Default)]
struct Asked {
    number: u64,
    /// Requests without an answer, and who waits; a sender whose receiver is gone is kept.
    waiting: BTreeMap<u64, (String, Sender<String>)>,
    late: Vec<(String, String)>,
}

impl NodeProcess {
    /// Starts it in its network, with the arguments of the example `cluster_node`.
    pub fn start(network: &Namespace, arguments: &[String]) -> Self {
        let mut command = network.mortal_command(program());
        if std::env::var_os(LOGS).is_none() {
            // The brokers are killed on purpose: each refused connection would be an error.
            command.env(LOGS, "error,librdkafka=off");
        }
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the node starts");
        let stdin = child.stdin.take().expect("its input is a pipe");
        let answers = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let asked = Arc::new(Mutex::new(Asked::default()));
        let read = Arc::clone(&asked);
        std::thread::spawn(move || {
            for line in answers.lines().map_while(Result::ok) {
                let (number, answer) = line.split_once(' ').expect("a number and an answer");
                let mut asked = read.lock().expect("nobody panics with it");
                let number: u64 = number.parse().expect("a number");
                let (request, sender) = asked.waiting.remove(&number).expect("a request of ours");
                if sender.send(answer.to_owned()).is_err() {
                    asked.late.push((request, answer.to_owned()));
                }
            }
            // Whoever waits for a process that ended hears so.
            read.lock().expect("nobody panics with it").waiting.clear();
        });
        Self { child: Mutex::new(child), stdin: Mutex::new(stdin), asked, is_well: AtomicBool::new(false) }
    }

    /// Its answer; none where it is gone or does not answer in time.
    pub fn ask(&self, request: &str, within: Duration) -> Option<String> {
        self.send(request)?.recv_timeout(within).ok()
    }

    /// Sends a request, whose answer arrives at what is returned.
    pub fn send(&self, request: &str) -> Option<std::sync::mpsc::Receiver<String>> {
        let (sender, receiver) = channel();
        let number = {
            let mut asked = self.asked.lock().expect("nobody panics with it");
            asked.number += 1;
            let number = asked.number;
            asked.waiting.insert(number, (request.to_owned(), sender));
            number
        };
        let mut stdin = self.stdin.lock().expect("nobody panics with it");
        writeln!(stdin, "{number} {request}").ok()?;
        Some(receiver)
    }

    /// Requests, with their answers, that came after nobody waited any more, since this was asked last.
    pub fn take_late(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.asked.lock().expect("nobody panics with it").late)
    }

    /// Whether nothing is done to it now, and all has been well since: it owes its callers answers.
    pub fn is_well(&self) -> bool {
        self.is_well.load(Ordering::Acquire)
    }

    /// Says whether it is.
    pub fn set_well(&self, is_well: bool) {
        self.is_well.store(is_well, Ordering::Release);
    }

    /// Kills it with SIGKILL, and waits until it is gone.
    pub fn kill(&self) {
        self.set_well(false);
        let mut child = self.child.lock().expect("nobody panics with it");
        child.kill().expect("our own child");
        child.wait().expect("our own child");
    }

    /// Stops it where it stands, with SIGSTOP.
    pub fn pause(&self) {
        self.set_well(false);
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.lock().expect("nobody panics with it");
        Process(child.id()).signal(signal).expect("our own child, which is not waited for yet");
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Beside this test program, where cargo puts examples.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    let target = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE/deps/PROGRAM");
    let program = target.join("examples/cluster_node");
    assert!(program.exists(), "build it: cargo build -p stadium-cluster --example cluster_node");
    program
}
