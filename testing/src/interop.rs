//! Peers of the RSocket suites: our own programs `interop` (an example of crates/rsocket) and `interop_service` (of
//! crates/rpc), and rsocket-java's.
//!
//! A peer is a server process that prints its address and ends with its standard input, or a client process that runs
//! cases and reports how each went. `STADIUM_INTEROP` names `interop`, and `interop_service` is
//! beside it; without it the development build is used, and built first. The Java peer is built by
//! Maven under target/.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context as _, Result, ensure};

use crate::process::Process;

/// A server process.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Peer {
    /// Starts a server and waits until it listens.
    pub fn start(mut command: Command, options: &[&str]) -> Result<Self> {
        command.arg("server").args(options).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("stdout was asked to be piped")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim_end().strip_prefix("listening ").map(str::parse);
        match address {
            Some(Ok(address)) => Ok(Self { child, address }),
            _ => {
                // It is of no use without an address.
                let _ = child.kill();
                let _ = child.wait();
                anyhow::bail!("{command:?} printed {line:?} instead of its address")
            }
        }
    }

    /// The process.
    pub fn process(&self) -> Process {
        Process(self.child.id())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs cases of a client against a server, and requires that each holds.
pub fn cases(mut client: Command, server: &Peer, cases: &[&str], options: &[&str]) -> Result<()> {
    let address = server.address.to_string();
    client.args(["client", &address, &cases.join(",")]).args(options).stdin(Stdio::null());
    let output = client.output().with_context(|| format!("cannot start {client:?}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let held = printed.lines().filter(|line| line.starts_with("ok ")).count();
    ensure!(
        output.status.success() && held == cases.len(),
        "{held} of {} cases held ({options:?}):\n{printed}{}",
        cases.len(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// Our program: a server and a client of bare RSocket.
pub fn ours() -> Result<Command> {
    program("interop")
}

/// Our program that serves the same routes as a service of crates/rpc, as far as a service can.
pub fn service() -> Result<Command> {
    program("interop_service")
}

fn program(name: &str) -> Result<Command> {
    let program = folder()?.join(name);
    ensure!(program.is_file(), "{} is not there", program.display());
    Ok(Command::new(program))
}

/// Where our programs are.
pub(crate) fn folder() -> Result<&'static Path> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = FOLDER.get_or_init(|| built_by_cargo().map_err(|error| format!("{error:#}")));
    found.as_deref().map_err(|error| anyhow::anyhow!("{error}"))
}

/// The folder of our programs.
fn built_by_cargo() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("STADIUM_INTEROP") {
        let named = PathBuf::from(named);
        return Ok(named.parent().context("STADIUM_INTEROP names a file")?.to_owned());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.current_dir(root()?).args(["build", "--quiet"]);
    build.args(["--package", "stadium-rsocket", "--package", "stadium-rpc"]);
    build.args(["--example", "interop", "--example", "interop_service", "--example", "fault_matrix"]);
    let built = build.status().context("cannot start cargo")?;
    ensure!(built.success(), "cargo cannot build the programs interop, interop_service and fault_matrix");
    Ok(root()?.join("target/debug/examples"))
}

/// The Java peer.
pub fn java() -> Result<Command> {
    static CLASSES: OnceLock<Result<String, String>> = OnceLock::new();
    let found = CLASSES.get_or_init(|| built_by_maven().map_err(|error| format!("{error:#}")));
    let classes = found.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
    let mut java = Command::new("java");
    // Two cores are shared with the other side and the suite.
    java.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classes, "dev.stadium.peer.Peer"]);
    Ok(java)
}

fn built_by_maven() -> Result<String> {
    let root = root()?;
    let built = Command::new("mvn")
        .current_dir(root.join("testing/java"))
        .args(["-q", "-B", "compile", "dependency:copy-dependencies"])
        .arg("-DoutputDirectory=${project.build.directory}/lib")
        .stdout(Stdio::null())
        .status()
        .context("cannot start mvn; install the Debian package maven")?;
    ensure!(built.success(), "Maven cannot build testing/java");
    let target = root.join("target/rsocket-java-peer");
    Ok(format!("{0}/classes:{0}/lib/*", target.display()))
}

fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("testing/ is in the workspace")
}
