//! A real mosquitto on a free loopback port, for one test.
//!
//! It is killed when the test is over. Certificates are made on the spot and live in the test's own directory.

#![allow(dead_code)]

pub mod relay;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a broker may take to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running broker.
pub struct Broker {
    pub address: SocketAddr,
    directory: TempDir,
    child: Child,
}

impl Broker {
    /// An open broker.
    pub fn start() -> Self {
        Broker::with("allow_anonymous true\n")
    }

    /// A broker with these settings.
    pub fn with(settings: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory for the test");
        Broker::listening(free_address(), settings, "", directory)
    }

    /// An open broker that writes down what it notices of its clients; see [`Broker::log`].
    pub fn logging() -> Self {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let log = directory.path().join("log");
        let settings = format!("allow_anonymous true\nlog_dest file {}\nlog_type all\n", log.display());
        Broker::listening(free_address(), &settings, "", directory)
    }

    /// What a broker that logs has noticed, line by line.
    pub fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.directory.path().join("log")).expect("it logs");
        text.lines().map(str::to_owned).collect()
    }

    /// A TLS broker, and the file with the authority of its certificate.
    pub fn with_tls() -> (Self, PathBuf) {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let authority = directory.path().join("authority.pem");
        let key = directory.path().join("key.pem");
        write_identity(&authority, &key);
        let listener = format!("certfile {}\nkeyfile {}\n", authority.display(), key.display());
        let broker = Broker::listening(free_address(), "allow_anonymous true\n", &listener, directory);
        (broker, authority)
    }

    fn listening(address: SocketAddr, settings: &str, listener: &str, directory: TempDir) -> Self {
        let path = directory.path().join("mosquitto.conf");
        let text = format!(
            "persistence false\nuser root\nlog_dest none\nmax_queued_messages 0\nmax_inflight_messages 1000\nset_tcp_nodelay true\n{settings}\
             listener {} {}\nmax_connections -1\n{listener}",
            address.port(),
            address.ip()
        );
        std::fs::write(&path, text).expect("the test's directory takes a file");
        let child = spawn(&path);
        let mut broker = Broker { address, directory, child };
        broker.await_listening();
        broker
    }

    fn await_listening(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(self.address).is_err() {
            let ended = self.child.try_wait().expect("mosquitto is our child");
            assert!(ended.is_none(), "mosquitto ended before it listened: {ended:?}");
            assert!(Instant::now() < deadline, "mosquitto does not listen on {}", self.address);
            std::thread::yield_now();
        }
    }

    /// Another one on the same port, after this one's death.
    pub fn restart(&mut self) {
        self.kill();
        self.child = spawn(&self.directory.path().join("mosquitto.conf"));
        self.await_listening();
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(path: &Path) -> Child {
    Command::new("/usr/sbin/mosquitto")
        .arg("-c")
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("mosquitto is needed: install the Debian package mosquitto")
}

/// A port that nobody listens on.
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    listener.local_addr().expect("a bound socket has an address")
}

/// A self-signed certificate for loopback.
pub fn write_identity(certificate: &Path, key: &Path) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()])
        .expect("a certificate for loopback");
    std::fs::write(certificate, made.cert.pem()).expect("the test's directory takes a file");
    std::fs::write(key, made.signing_key.serialize_pem()).expect("the test's directory takes a file");
}
