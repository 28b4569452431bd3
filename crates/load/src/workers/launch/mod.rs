//! Workers that are started over SSH, and end with the process that started them.
//!
//! Each host has one ssh, whose input stays open as long as it is wanted: its worker leaves when
//! that ends, so that nothing stays behind when the coordinator dies. By default a worker listens
//! on its host's loopback and is reached through the same ssh: no port is opened to anybody, and
//! nobody else can have it make load.

mod hosts;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use parking_lot::Mutex;

pub use hosts::{Host, Hosts};

use super::args::WORKER_ARGUMENTS;
use super::children::{announced, end_within};
use super::together::together;
use crate::error::Error;

/// Options that ssh always gets: nobody is there to be asked, and a host that is away is noticed.
const OPTIONS: [&str; 11] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=2",
    "-o",
    "ServerAliveCountMax=3",
    "-o",
    "ExitOnForwardFailure=yes",
];
/// Bytes of what a host prints that are kept to explain a failure.
const SAID_BYTES_MAX: usize = 2_000;
/// How long those words may come after the end of its ssh.
const PRINTED_WITHIN: Duration = Duration::from_secs(1);

/// Workers on other hosts. They end when it goes out of scope.
#[derive(Debug)]
pub struct Launched {
    started: Vec<Started>,
    addresses: Vec<String>,
}

#[derive(Debug)]
struct Started {
    child: Child,
    address: String,
}

impl Drop for Launched {
    fn drop(&mut self) {
        for one in &mut self.started {
            // Its worker's input ends: it leaves.
            drop(one.child.stdin.take());
        }
        for one in &mut self.started {
            end_within(&mut one.child, Duration::from_secs(5));
        }
    }
}

impl Launched {
    /// Starts a worker on each host, all at once, and waits until they listen. `own` is the binary that is copied.
    ///
    /// # Errors
    /// [`Error::Worker`] with the first host that could not, and what it printed; those that were
    /// started end.
    pub fn start(hosts: &Hosts, own: &Path) -> Result<Self, Error> {
        let started =
            together(hosts.hosts.iter().enumerate(), |(index, host)| start(hosts, host, index, own))?;
        let addresses = started.iter().map(|one| one.address.clone()).collect();
        Ok(Launched { started, addresses })
    }

    /// Where they are reached from here, as `--workers` takes them.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }
}

fn start(hosts: &Hosts, host: &Host, index: usize, own: &Path) -> Result<Started, Error> {
    let binary = if hosts.copy { copy(hosts, host, own)? } else { hosts.binary.clone() };
    let listens = host.listens(index);
    let mut command = quoted(&binary);
    for word in
        WORKER_ARGUMENTS.iter().copied().chain(["--until-input-ends", "--listen", &listens.to_string()])
    {
        command.push(' ');
        command.push_str(&quoted(word));
    }
    command.push_str(&format!(" --loops {} --name {}", host.loops, quoted(host.name())));
    if hosts.copy {
        command.push_str(&format!("; code=$?; rm -f {}; exit $code", quoted(&binary)));
    }
    let mut ssh = ssh(hosts, host);
    let address = match host.address {
        Some(address) => address.to_string(),
        None => {
            let here = format!("127.0.0.1:{}", free_port()?);
            ssh.args(["-L", &format!("{here}:{listens}")]);
            here
        }
    };
    let mut child = ssh
        .args(["--", &host.ssh, &command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::system(format!("starting {}", hosts.program)))?;
    let printed = child.stderr.take().map(|errors| listen(host.name(), errors));
    match announced(&mut child) {
        Ok(_) => Ok(Started { child, address }),
        Err(error) => {
            drop(child.stdin.take());
            end_within(&mut child, Duration::from_secs(1));
            let printed = printed.map(Printed::whole).unwrap_or_default();
            let printed = if printed.is_empty() { error.to_string() } else { printed };
            Err(Error::Worker(format!("{} could not be started: {printed}", host.name())))
        }
    }
}

/// Copies the binary there. Returns its path; the worker's command removes it.
fn copy(hosts: &Hosts, host: &Host, own: &Path) -> Result<String, Error> {
    let file = File::open(own).map_err(Error::system(format!("opening {}", own.display())))?;
    let script = "file=$(mktemp \"${TMPDIR:-/tmp}/stadium-XXXXXX\") && cat >\"$file\" && chmod 700 \"$file\" && echo \"$file\"";
    let output = ssh(hosts, host)
        .args(["--", &host.ssh, script])
        .stdin(file)
        .output()
        .map_err(Error::system(format!("starting {}", hosts.program)))?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && path.starts_with('/') {
        return Ok(path);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(Error::Worker(format!("{} did not take the binary: {}", host.name(), errors.trim())))
}

/// An ssh without its host and command. Ctrl-C is not for it: it ends when its input does.
fn ssh(hosts: &Hosts, host: &Host) -> Command {
    let mut ssh = Command::new(&hosts.program);
    ssh.args(OPTIONS).args(&hosts.options).args(&host.options).process_group(0);
    ssh
}

/// The last of what a host printed.
struct Printed {
    kept: Arc<Mutex<String>>,
    /// Closed once the host has printed all.
    all: Receiver<()>,
}

impl Printed {
    /// All of it, once its ssh has ended: its last output may not have been read yet.
    fn whole(self) -> String {
        // A process that ssh started may hold its standard error open for longer than ssh lives: the
        // wait has an end.
        let _ = self.all.recv_timeout(PRINTED_WITHIN);
        self.kept.lock().trim().to_owned()
    }
}

/// Output of a host goes to standard error with its name before it; the last of it is kept.
fn listen(name: &str, errors: impl Read + Send + 'static) -> Printed {
    let (reader, all) = mpsc::channel();
    let printed = Printed { kept: Arc::default(), all };
    let (name, kept) = (name.to_owned(), Arc::clone(&printed.kept));
    std::thread::spawn(move || {
        let _reader = reader;
        let mut errors = BufReader::new(errors);
        let mut line = Vec::new();
        while matches!((&mut errors).take(SAID_BYTES_MAX as u64).read_until(b'\n', &mut line), Ok(1..)) {
            let text = String::from_utf8_lossy(&line);
            eprintln!("{name}: {}", text.trim_end());
            let mut kept = kept.lock();
            kept.push_str(&text);
            let over = kept.len().saturating_sub(SAID_BYTES_MAX);
            let cut = (over..=kept.len()).find(|at| kept.is_char_boundary(*at)).unwrap_or(0);
            kept.drain(..cut);
            drop(kept);
            line.clear();
        }
    });
    printed
}

/// A port of this machine that is free now.
fn free_port() -> Result<u16, Error> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(Error::system("looking for a free port"))
}

/// A word for the shell of the host (POSIX, 2.2.2).
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn last_words_that_come_late_are_heard() {
        let (host, mut voice) = std::io::pipe().expect("a pipe can be made");
        let printed = listen("a host", host);
        let speaker = std::thread::spawn(move || {
            for line in ["no such", " file\nnot even now"] {
                std::thread::sleep(Duration::from_millis(50));
                voice.write_all(line.as_bytes()).expect("somebody listens");
            }
        });
        assert_eq!(printed.whole(), "no such file\nnot even now");
        speaker.join().expect("it has spoken");
    }

    #[test]
    fn words_reach_the_shell_whole() {
        for (word, expected) in
            [("a-b/c", "a-b/c"), ("", "''"), ("a b", "'a b'"), ("it's $HOME", "'it'\\''s $HOME'")]
        {
            assert_eq!(quoted(word), expected);
            let output = Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output();
            assert_eq!(output.expect("there is a shell").stdout, word.as_bytes());
        }
    }
}
