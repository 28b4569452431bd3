//! `geo-service`: keeps the last location of every device, until SIGTERM asks it to leave.
//!
//! The first SIGTERM or SIGINT, or a call of `geo/quiesce`, quiesces: peers and discovery are
//! notified, accepted requests are finished, and the process ends with 0. A second one ends it at
//! once. Logs go to standard error, the addresses to standard output.

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use stadium_example_geo::ADDRESS;
use stadium_example_geo::discovery_flags::DiscoveryFlags;
use stadium_example_geo::places::Places;
use stadium_example_geo::service::service;
use stadium_rpc::server::LogLevelControl;
use stadium_rpc::{Listen, Operations, Server, ServerConfig};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{fmt, registry, reload};

/// Keeps the last location of every device, in memory.
#[derive(Parser)]
#[command(version)]
struct Flags {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value_t = ADDRESS)]
    listen: SocketAddr,
    /// Where to take requests as datagrams, which may be lost
    #[arg(long, value_name = "HOST:PORT")]
    udp: Option<SocketAddr>,
    /// Event loops, one thread each
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    loops: u8,
    /// The most devices to remember; a device costs about 200 bytes
    #[arg(long, value_name = "DEVICES", default_value_t = 1_000_000)]
    devices_max: usize,
    #[command(flatten)]
    discovery: DiscoveryFlags,
    /// The address to register, if clients reach this host by another one than --listen
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<SocketAddr>,
    /// The zone to register
    #[arg(long)]
    zone: Option<String>,
    /// A file with the token that lets operators call `geo/quiesce` and `geo/log-level` [default: nobody may]
    #[arg(long, value_name = "FILE")]
    operators: Option<PathBuf>,
    /// Seconds that accepted work may take after SIGTERM
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    grace: u64,
    /// Microseconds that each stored event takes at least: try what overload looks like
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 0)]
    work: u64,
    /// What to log
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: LevelFilter,
}

fn main() -> ExitCode {
    match run(&Flags::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("geo-service: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(flags: &Flags) -> anyhow::Result<()> {
    let log_level = start_log(flags.log_level)?;
    // Before anything listens: a signal that comes early is not lost.
    let mut signals = Signals::new([SIGTERM, SIGINT]).context("cannot listen to signals")?;
    let places = Arc::new(Places::new(flags.devices_max));
    let config = ServerConfig {
        listen: vec![Listen::tcp(flags.listen)],
        udp: flags.udp,
        loops: flags.loops.into(),
        discovery: flags.discovery.start()?,
        advertise: flags.advertise,
        zone: flags.zone.clone(),
        operations: flags.operators.as_deref().map_or(Ok(Operations::Off), operators)?,
        log_level: Some(log_level),
        ..ServerConfig::default()
    };
    let service = service(Arc::clone(&places), Duration::from_micros(flags.work));
    let server = Server::start(config, vec![service]).context("cannot start the server")?;
    for address in server.bound() {
        print_line(&format!("geo 1 listens on {address}"))?;
    }
    if let Some(address) = server.udp() {
        print_line(&format!("geo 1 takes datagrams on {address}"))?;
    }

    let (signalled, leave) = mpsc::channel();
    thread::spawn(move || {
        for _ in signals.forever() {
            if signalled.send(()).is_err() {
                return;
            }
        }
    });
    // `geo/quiesce` asks for the same as the first signal.
    while leave.recv_timeout(QUIESCING_LOOK) == Err(RecvTimeoutError::Timeout) && !server.is_quiescing() {}
    tracing::info!(devices = places.devices(), grace_s = flags.grace, "Leaving: finishing what was accepted");
    thread::spawn(move || {
        if leave.recv().is_ok() {
            tracing::warn!("Second signal: leaving at once");
            std::process::exit(1);
        }
    });
    // Watches never end by themselves.
    places.close();
    server.shutdown(Duration::from_secs(flags.grace)).wait();
    Ok(())
}

/// Those who show the token that the file holds.
fn operators(path: &Path) -> anyhow::Result<Operations> {
    let token =
        std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    anyhow::ensure!(!token.trim().is_empty(), "{} holds no token", path.display());
    Ok(Operations::bearer(token.trim()))
}

/// How often the service looks whether `geo/quiesce` was called.
const QUIESCING_LOOK: Duration = Duration::from_millis(200);

/// Logs to standard error from now on, at a level that `geo/log-level` can change.
fn start_log(level: LevelFilter) -> anyhow::Result<LogLevelControl> {
    let (filter, handle) = reload::Layer::new(level);
    let colours = std::io::stderr().is_terminal();
    let lines = fmt::layer().with_target(false).with_ansi(colours).with_writer(std::io::stderr);
    registry().with(filter).with(lines).try_init().context("cannot start the log")?;
    Ok(Arc::new(move |wanted: Option<&str>| {
        if let Some(wanted) = wanted {
            let level: LevelFilter = wanted.parse().map_err(|_| format!("{wanted:?} is not a level"))?;
            handle.reload(level).map_err(|error| error.to_string())?;
        }
        handle.with_current(ToString::to_string).map_err(|error| error.to_string())
    }))
}

fn print_line(line: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{line}").context("cannot write to standard output")
}
