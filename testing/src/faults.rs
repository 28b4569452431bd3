//! The fault matrix: two clients call five instances at a fixed rate, and one thing goes wrong.
//!
//! One client is as it is by default, the other takes instances in turn and makes no call twice. They run at the same
//! time against the same instances, so that both see the same fault. Instances and clients are processes of the program
//! `fault_matrix` (an example of crates/rpc).

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::deadline::{PATIENCE, until_true};
use crate::fleet::{Fleet, Loss};
use crate::interop;
use crate::network::Namespace;
use crate::process::{Process, Signal};

/// Instances of each run.
pub const INSTANCES: usize = 5;

/// Calls that each client makes a second.
pub const RATE: u32 = 250;

/// etcd's port in the carrier's namespace.
const ETCD_PORT: u16 = 2379;

/// The faults, of the first instance unless the name states another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Each call takes 200 ms longer.
    Slow,
    /// The connections that are open go silent; new ones work.
    HalfOpen,
    /// No packet passes.
    BlackHole,
    /// Five packets of a hundred are lost.
    Lossy,
    /// Five packets of a hundred are lost on the way to and from every instance.
    LossyEverywhere,
    /// The process is stopped: its kernel acknowledges, it does not.
    Paused,
    /// The process is killed.
    Killed,
    /// etcd is killed; the instances go on.
    DiscoveryGone,
}

impl Fault {
    /// All, in the order of the table.
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::Slow,
        Self::HalfOpen,
        Self::BlackHole,
        Self::Lossy,
        Self::LossyEverywhere,
        Self::Paused,
        Self::Killed,
        Self::DiscoveryGone,
    ];

    /// For people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::Slow => "one instance slow, +200 ms",
            Self::HalfOpen => "one instance's open connections go silent",
            Self::BlackHole => "one instance's packets all lost",
            Self::Lossy => "one instance's packets 5% lost",
            Self::LossyEverywhere => "all packets 5% lost",
            Self::Paused => "one process paused (SIGSTOP)",
            Self::Killed => "one process killed (SIGKILL)",
            Self::DiscoveryGone => "discovery gone (etcd killed)",
        }
    }
}

/// What became of one client's calls while the fault lasted.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Calls made.
    pub calls: u64,
    /// Calls without an answer.
    pub failed: u64,
    /// Half of the calls were answered in this time.
    pub p50: Duration,
    /// 99 of 100 were; one that failed counts as its deadline, a second.
    pub p99: Duration,
    /// All were.
    pub max: Duration,
    /// How many calls failed in which way.
    pub failures: String,
}

impl Figures {
    /// The share of calls that were answered.
    pub fn success(&self) -> f64 {
        1.0 - self.failed as f64 / (self.calls.max(1)) as f64
    }
}

/// Both clients' figures.
#[derive(Clone, Debug)]
pub struct Row {
    /// What went wrong.
    pub fault: Fault,
    /// The client as it is by default.
    pub default: Figures,
    /// The one that takes instances in turn.
    pub round_robin: Figures,
}

/// A process with orders on its standard input.
struct Worker {
    child: Child,
    orders: ChildStdin,
    words: BufReader<ChildStdout>,
}

impl Worker {
    fn start(namespace: &Namespace, arguments: &[String]) -> Result<Self> {
        let mut command = namespace.command(program()?);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start fault_matrix")?;
        let orders = child.stdin.take().context("stdin was asked to be piped")?;
        let words = BufReader::new(child.stdout.take().context("stdout was asked to be piped")?);
        Ok(Self { child, orders, words })
    }

    fn order(&mut self, order: &str) -> Result<()> {
        Ok(writeln!(self.orders, "{order}")?)
    }

    fn word(&mut self) -> Result<String> {
        let mut line = String::new();
        self.words.read_line(&mut line)?;
        ensure!(!line.is_empty(), "fault_matrix ended");
        Ok(line.trim_end().to_owned())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        Process(self.child.id()).signal(signal)
    }

    /// Ends the measurement and takes its figures.
    fn figures(&mut self) -> Result<Figures> {
        let figures: Value = serde_json::from_str(&self.word()?)?;
        let number = |name: &str| figures[name].as_u64().with_context(|| format!("no {name} in {figures}"));
        Ok(Figures {
            calls: number("calls")?,
            failed: number("failed")?,
            p50: Duration::from_micros(number("p50_us")?),
            p99: Duration::from_micros(number("p99_us")?),
            max: Duration::from_micros(number("max_us")?),
            failures: figures["failures"].to_string(),
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Result<PathBuf> {
    interop::folder().map(|folder| folder.join("fault_matrix"))
}

/// Plays one fault, which lasts `lasting`.
pub fn play(fault: Fault, lasting: Duration) -> Result<Row> {
    let fleet = Fleet::new(INSTANCES)?;
    let discovered = fault == Fault::DiscoveryGone;
    let mut etcd = if discovered { Some(Etcd::start(&fleet)?) } else { None };
    let registry = discovered.then(|| format!("--etcd={}:{ETCD_PORT}", Fleet::CARRIER));
    let mut instances = Vec::new();
    for (at, namespace) in fleet.instances.iter().enumerate() {
        let mut arguments = vec!["instance".to_owned(), format!("--listen={}", fleet.address(at))];
        arguments.extend(registry.clone());
        let mut instance = Worker::start(namespace, &arguments)?;
        ensure!(instance.word()?.starts_with("listening "));
        instances.push(instance);
    }
    let mut clients = ["default", "round-robin"]
        .iter()
        .map(|policy| {
            let addresses: Vec<String> = (0..INSTANCES).map(|at| fleet.address(at).to_string()).collect();
            let mut arguments =
                vec!["client".to_owned(), format!("--policy={policy}"), format!("--rate={RATE}")];
            arguments.push(format!("--instances={}", addresses.join(",")));
            arguments.extend(registry.clone());
            Worker::start(&fleet.client, &arguments)
        })
        .collect::<Result<Vec<_>>>()?;
    for client in &mut clients {
        ensure!(client.word()? == "warm");
    }
    for client in &mut clients {
        client.order("measure")?;
    }
    match fault {
        Fault::None => {}
        Fault::Slow => instances[0].order("slow 200")?,
        Fault::HalfOpen => fleet.lose(Loss::OpenConnections { instance: 0 })?,
        Fault::BlackHole => fleet.lose(Loss::Everything { instance: 0 })?,
        Fault::Lossy => fleet.lose(Loss::Share { instance: 0, percent: 5 })?,
        Fault::LossyEverywhere => fleet.lose(Loss::ShareOfAll { percent: 5 })?,
        Fault::Paused => instances[0].signal(Signal::STOP)?,
        Fault::Killed => instances[0].signal(Signal::KILL)?,
        Fault::DiscoveryGone => drop(etcd.take()),
    }
    // How long a fault lasts is its definition, not a wait for something.
    let over = Instant::now() + lasting;
    until_true(lasting + PATIENCE, "the end of the fault", || Ok(Instant::now() >= over))?;
    for client in &mut clients {
        client.order("stop")?;
    }
    let default = clients[0].figures()?;
    let round_robin = clients[1].figures()?;
    Ok(Row { fault, default, round_robin })
}

/// etcd in the carrier's namespace.
struct Etcd {
    child: Child,
    _data: TempDir,
}

impl Etcd {
    fn start(fleet: &Fleet) -> Result<Self> {
        let data = tempfile::tempdir()?;
        let urls = format!("http://{}:{ETCD_PORT}", Fleet::CARRIER);
        let mut command = fleet.carrier.command("etcd");
        command.arg("--data-dir").arg(data.path()).args(["--log-level", "error"]);
        command.args(["--listen-client-urls", &urls, "--advertise-client-urls", &urls]);
        command.args(["--listen-peer-urls", "http://127.0.0.1:2380"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().context("cannot start etcd; install the Debian package etcd-server")?;
        let etcd = Self { child, _data: data };
        let address = (Fleet::CARRIER, ETCD_PORT).into();
        fleet.carrier.within(|| {
            until_true(PATIENCE, "etcd to listen", || {
                Ok(std::net::TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok())
            })
        })?;
        Ok(etcd)
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
