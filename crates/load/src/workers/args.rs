//! The command line of a worker, and its life as a process: it listens, prints where, and leaves
//! when it is asked to.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::mpsc;

use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use stadium_discovery::Discovery;

use super::files::Compile;
use super::worker::{Worker, WorkerConfig};
use crate::error::Error;

/// What makes a process of this binary a worker; [`WorkerArgs`] follow.
pub const WORKER_ARGUMENTS: [&str; 2] = ["load", "worker"];

/// The environment variable that holds a worker's key, for it and for its coordinators.
pub const KEY_VARIABLE: &str = "STADIUM_LOAD_KEY";

/// How a worker is run.
#[derive(Debug, Clone, Args)]
pub struct WorkerArgs {
    /// Where to listen; port 0 takes a free one. Any host that reaches it can have this machine
    /// make load, unless there is a --key
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7901")]
    pub listen: SocketAddr,
    /// Its name in reports [default: the host's name]
    #[arg(long)]
    pub name: Option<String>,
    /// Loops (threads); 0 for one a processor
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub loops: u32,
    /// The address to register, if coordinators reach this host by another one than --listen
    #[arg(long, value_name = "HOST:PORT")]
    pub advertise: Option<SocketAddr>,
    /// What coordinators have to show, by --worker-key; without it nothing is asked
    #[arg(long, env = KEY_VARIABLE, hide_env_values = true, default_value = "", hide_default_value = true)]
    pub key: String,
    /// Leave when standard input ends: the worker belongs to the process that started it
    #[arg(long)]
    pub until_input_ends: bool,
}

/// Runs a worker until SIGTERM, SIGINT, or the end of its input where it was asked so. Where it
/// listens is the one line on standard output. A second signal ends it at once, with 128 and the
/// signal's number.
///
/// # Errors
/// As [`Worker::start`]; [`Error::System`] where signals cannot be listened for.
pub fn serve(args: &WorkerArgs, discovery: Option<Discovery>, compile: Compile) -> Result<(), Error> {
    // Before anything listens: a signal that comes early is not lost.
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Error::system("watching for signals"))?;
    let name = args.name.clone().unwrap_or_else(host);
    let worker = Worker::start(WorkerConfig {
        name: name.clone(),
        listen: args.listen,
        loops: args.loops,
        discovery,
        advertise: args.advertise,
        key: args.key.clone(),
        compile,
    })?;
    writeln!(std::io::stdout(), "{}", announcement(&name, worker.address()))
        .map_err(Error::system("writing to standard output"))?;
    if args.key.is_empty() && !args.listen.ip().is_loopback() {
        let _ = writeln!(
            std::io::stderr(),
            "note: any host that reaches {} can have this machine make load; --key asks for a key",
            worker.address()
        );
    }
    let (leave, asked) = mpsc::channel();
    let by_signal = leave.clone();
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    thread("interrupt")
        .spawn(move || {
            let mut signals = signals.forever();
            if signals.next().is_some() {
                let _ = by_signal.send(());
            }
            if let Some(signal) = signals.next() {
                std::process::exit(128 + signal);
            }
        })
        .map_err(Error::system("starting a thread"))?;
    if args.until_input_ends {
        let by_input = leave.clone();
        thread("input")
            .spawn(move || {
                let mut bytes = [0; 256];
                while matches!(std::io::stdin().read(&mut bytes), Ok(1..)) {}
                let _ = by_input.send(());
            })
            .map_err(Error::system("starting a thread"))?;
    }
    let _ = asked.recv();
    worker.leave();
    Ok(())
}

/// The line that a worker prints when it listens.
fn announcement(name: &str, address: SocketAddr) -> String {
    format!("worker {name} listens on {address}")
}

/// The address in it.
pub(crate) fn read_announcement(line: &str) -> Option<&str> {
    let (_, address) = line.strip_prefix("worker ")?.rsplit_once(" listens on ")?;
    address.parse::<SocketAddr>().is_ok().then_some(address)
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "worker".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_is_read_again() {
        let address = "127.0.0.1:7901".parse().expect("an address");
        assert_eq!(read_announcement(&announcement("w 1", address)), Some("127.0.0.1:7901"));
        for line in ["", "worker w1", "worker w1 listens on everything", "listens on 127.0.0.1:1"] {
            assert_eq!(read_announcement(line), None, "{line}");
        }
    }
}
