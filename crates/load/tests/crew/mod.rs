//! What runs on workers need: a scenario that is quickly said, a server that answers, worker processes.
//!
//! The server counts for itself, so that nobody's own figures are what they are compared with.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use stadium_discovery::{Backend, Config, Discovery};
use stadium_load::workers::WORKER_ARGUMENTS;
use stadium_scenario::Program;
use stadium_scenario::program::{
    Action, Arrivals, Connections, Http, Op, Phase, Scheme, Session, Spacing, Step, Target, Tls, Version,
};
use stadium_scenario::template::Template;

/// How long anything here may take on a machine that is busy with other things.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A scenario's text: one session of one GET, `rate` users a second.
pub fn scenario(target: SocketAddr, rate: f64, duration: Duration) -> String {
    format!("port {}\nrate {rate}\nms {}\nfile path.txt\n", target.port(), duration.as_millis())
}

/// Makes a program of such a text. The file has the request's path.
pub fn compile(
    text: &str,
    files: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<Program, String> {
    let says: HashMap<&str, &str> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let word = |name: &str| says.get(name).copied().ok_or_else(|| format!("the scenario has no {name}"));
    let number = |name: &str| word(name)?.parse::<f64>().map_err(|error| format!("{name}: {error}"));
    let rate = number("rate")?;
    let request = Http {
        method: "GET".to_owned(),
        path: Template::bytes_from(files(word("file")?)?),
        headers: Vec::new(),
        body: None,
    };
    Ok(Program {
        name: "crew".to_owned(),
        description: String::new(),
        text: text.to_owned(),
        seed: 1,
        targets: vec![Target {
            name: "server".to_owned(),
            scheme: Scheme::Http,
            host: "127.0.0.1".to_owned(),
            port: number("port")? as u16,
            path: String::new(),
            tls: Tls::default(),
            version: Version::Http1,
            connections: Connections::Shared(2),
            connect_timeout_ns: 2_000_000_000,
            cookies: true,
            headers: Vec::new(),
            metrics: None,
            source_addresses: Vec::new(),
        }],
        tables: Vec::new(),
        variables: Vec::new(),
        initial: Vec::new(),
        secrets: Vec::new(),
        phases: vec![Phase {
            name: "all".to_owned(),
            duration_ns: (number("ms")? * 1e6) as u64,
            arrivals: Arrivals::Open { from: rate, to: rate, spacing: Spacing::Constant },
            measured: true,
            mix: vec![1.0],
        }],
        sessions: vec![Session { name: "look".to_owned(), ops: vec![Op::Step(0)] }],
        steps: vec![Step {
            session: 0,
            name: "get".to_owned(),
            target: 0,
            action: Action::Http(request),
            timeout_ns: 2_000_000_000,
            extract: Vec::new(),
            checks: Vec::new(),
            ends_session_on_failure: true,
        }],
        thresholds: vec![("response.p99 < 2s".to_owned(), 1), ("errors < 1%".to_owned(), 2)],
        fleets: Vec::new(),
        users_max: 10_000,
        grace_ns: 1_000_000_000,
    })
}

/// A folder with the scenario's file.
pub fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    std::fs::write(folder.path().join("path.txt"), "/from-a-file").expect("it is writable");
    folder
}

/// A server that answers every request for `/from-a-file` with 200, and any other with 404.
pub struct Web {
    pub address: SocketAddr,
    answered: Arc<AtomicU64>,
}

impl Web {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let answered = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&answered);
        // It ends with the process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                std::thread::spawn(move || answer(stream, &counted));
            }
        });
        Web { address, answered }
    }

    /// Requests that were answered with 200.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }
}

fn answer(mut stream: TcpStream, counted: &AtomicU64) {
    let (mut bytes, mut have) = ([0; 16 * 1024], 0);
    while let Ok(read @ 1..) = stream.read(&mut bytes[have..]) {
        have += read;
        while let Some(end) = bytes[..have].windows(4).position(|four| four == b"\r\n\r\n") {
            let known = bytes.starts_with(b"GET /from-a-file HTTP/1.1\r\n");
            let status = if known { "200 OK" } else { "404 Not Found" };
            counted.fetch_add(u64::from(known), Ordering::Relaxed);
            // In one piece: a second one would wait for the first one's acknowledgement.
            let reply = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok");
            if stream.write_all(reply.as_bytes()).is_err() {
                return;
            }
            bytes.copy_within(end + 4..have, 0);
            have -= end + 4;
        }
    }
}

/// A worker process: this very binary. Killed when it goes out of scope.
pub struct Process {
    child: Child,
    pub address: String,
}

impl Process {
    pub fn start(name: &str) -> Self {
        Process::start_with(name, &[])
    }

    pub fn start_with(name: &str, flags: &[&str]) -> Self {
        let own = std::env::current_exe().expect("this binary has a path");
        let mut child = Command::new(own)
            .args(WORKER_ARGUMENTS)
            .args(["--listen", "127.0.0.1:0", "--loops", "1", "--name", name])
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a worker starts");
        let mut out = std::io::BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut out, &mut line).expect("it says where it listens");
        let (said, address) = line.trim_end().rsplit_once(' ').expect("it has an address");
        assert_eq!(said, format!("worker {name} listens on"));
        Process { child, address: address.to_owned() }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("our own process takes signals");
    }

    pub fn wait(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("our own process can be waited for") {
                return status;
            }
            assert!(Instant::now() < until, "the worker did not end in {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(5)); // A process that ends wakes nobody who waits with a deadline.
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An etcd of one member; killed when it goes out of scope.
pub struct Etcd {
    child: Child,
    pub url: String,
    _folder: tempfile::TempDir,
}

impl Etcd {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let free = || {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
            format!("http://{}", listener.local_addr().expect("it is bound"))
        };
        let (url, peers) = (free(), free());
        let child = Command::new("etcd")
            .arg("--data-dir")
            .arg(folder.path())
            .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &format!("default={peers}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("etcd is there (Debian: etcd-server)");
        Etcd { child, url, _folder: folder }
    }

    pub fn discovery(url: &str) -> Discovery {
        let backend = Backend::Etcd { endpoints: vec![url.to_owned()], user: None, tls: None };
        Discovery::start(Config { backend, ..Config::default() }).expect("discovery starts")
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs something that has to end in time.
pub fn in_time<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, done) = mpsc::channel();
    std::thread::spawn(move || sender.send(what()));
    done.recv_timeout(PATIENCE).expect("it ends in time, and well")
}

/// Looks until it is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
