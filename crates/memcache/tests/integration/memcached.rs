//! A memcached of a test's own, on a Unix socket or a free port; it ends with its value.
//!
//! Without memcached on the PATH a test fails, with the name of the package.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use stadium_memcache::{Client, Config, Error};
use tempfile::TempDir;

/// The longest that anything may take.
pub const SOON: Duration = Duration::from_secs(10);

/// A server process.
pub struct Memcached {
    child: Option<Child>,
    /// As a client names it.
    pub address: String,
    arguments: Vec<String>,
    adapt: fn(&Path, Config) -> Config,
    folder: TempDir,
}

impl Memcached {
    /// On a Unix socket.
    pub fn unix(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let path = folder.path().join("memcached.sock");
        let address = path.to_string_lossy().into_owned();
        let listen = vec!["-s".to_owned(), address.clone()];
        Self::start(listen, address, arguments, folder, |_, config| config)
    }

    /// On a port that was free a moment ago.
    pub fn tcp(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        Self::special(arguments, folder, |_, config| config)
    }

    /// On a port, with files in a folder that its arguments name, and settings that its clients need.
    pub fn special(arguments: &[&str], folder: TempDir, adapt: fn(&Path, Config) -> Config) -> Self {
        let port = free_port();
        let listen =
            vec!["-l".into(), "127.0.0.1".into(), "-p".into(), port.to_string(), "-U".into(), "0".into()];
        Self::start(listen, format!("127.0.0.1:{port}"), arguments, folder, adapt)
    }

    fn start(
        mut listen: Vec<String>,
        address: String,
        arguments: &[&str],
        folder: TempDir,
        adapt: fn(&Path, Config) -> Config,
    ) -> Self {
        listen.extend(["-u".to_owned(), "root".to_owned(), "-t".to_owned(), "1".to_owned()]);
        listen.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        let mut server = Self { child: None, address, arguments: listen, adapt, folder };
        server.restart();
        server
    }

    /// Starts it where it does not run, at the same address.
    pub fn restart(&mut self) {
        self.kill();
        let mut command = Command::new("memcached");
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(command.spawn().expect("memcached starts: apt-get install memcached"));
        let begun = Instant::now();
        let client = self.client();
        while let Err(error) = client.connect() {
            if matches!(error, Error::Tls(_) | Error::Authentication(_)) {
                // It answers, which is what its tests are about.
                break;
            }
            assert!(begun.elapsed() < SOON, "memcached does not answer on {}: {error}", self.address);
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// A file of its folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Kills it.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may be stopped, which SIGKILL does not mind.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops it with SIGSTOP, until [`resume`](Self::resume).
    pub fn pause(&self) {
        self.signal(Signal::STOP);
        let child = self.child.as_ref().expect("it runs");
        let tasks = format!("/proc/{}/task", child.id());
        // The signal reaches each of its threads at a time of its own.
        let is_stopped = |task: std::fs::DirEntry| {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            stat.rsplit(") ").next().is_some_and(|behind| behind.starts_with('T'))
        };
        let begun = Instant::now();
        while !std::fs::read_dir(&tasks).expect("it runs").flatten().all(is_stopped) {
            assert!(begun.elapsed() < SOON, "memcached does not stop");
            std::thread::yield_now();
        }
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("it runs");
        let pid = Pid::from_raw(child.id() as i32).expect("a process has a number");
        kill_process(pid, signal).expect("it is our own process");
    }

    /// Settings for this server alone.
    pub fn config(&self) -> Config {
        let timeout = Duration::from_secs(5);
        let config = Config::for_servers([&self.address]).expect("it is an address");
        (self.adapt)(self.folder.path(), Config { timeout, ..config })
    }

    /// A client of this server alone.
    pub fn client(&self) -> Client {
        Client::with(self.config()).expect("the settings are right")
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there are free ports");
    listener.local_addr().expect("it is bound").port()
}

/// A server that greets as memcached does, and answers everything else with `answer`; then it keeps
/// the connection open, or closes it.
pub fn impostor(answer: Vec<u8>, closes: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there are free ports");
    let address = listener.local_addr().expect("it is bound").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || serve(stream, &answer, closes));
        }
    });
    address
}

fn serve(mut stream: TcpStream, answer: &[u8], closes: bool) {
    let mut buffer = [0; 4096];
    let mut is_greeted = false;
    while let Ok(bytes) = stream.read(&mut buffer) {
        if bytes == 0 {
            return;
        }
        let sent = if is_greeted { answer } else { b"MN\r\n" };
        if stream.write_all(sent).is_err() || (is_greeted && closes) {
            return;
        }
        is_greeted = true;
    }
}

/// The folder of the test's vectors.
pub fn vectors() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}
