//! `stadium demo`: a whole stadium in one command.
//!
//! A node in this process, simulated devices in worker processes, pushes over the node's own HTTP
//! API, a vote with one credit for each device, and the events as they happen: in the terminal, on
//! the live page, or as JSON. All is on loopback and in a temporary directory; nothing stays
//! behind, whichever way it ends.

mod fleet;
mod scenario;
mod summary;
mod vote;

use std::io::IsTerminal;

use clap::Args;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// How large, and how long.
#[derive(Debug, Args)]
#[command(after_help = "\
On a terminal the live page stays up until Ctrl-C, with a push every second; otherwise, and with --once, the demo ends by itself.
The devices speak real MQTT over real sockets, from as many processes as the open-file limit asks for; two cores hold ten thousand with ease.")]
pub(crate) struct Arguments {
    /// Simulated devices [default: 10000, or what the open-file limit allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    devices: Option<u32>,
    /// Pushes to everybody at QoS 1, each followed to its last acknowledgement
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pushes: u32,
    /// The text of each push
    #[arg(long, value_name = "TEXT", default_value = "Goal!")]
    message: String,
    /// Event loops of the server; 0 is one for each core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=64))]
    loops: u16,
    /// Where the live page listens; the default is a free loopback port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    http: std::net::SocketAddr,
    /// Where the page of the vote listens; the default is a free loopback port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    voting: std::net::SocketAddr,
    /// End when the figures are in
    #[arg(long, conflicts_with = "stay")]
    once: bool,
    /// Keep the live page up until Ctrl-C, also where no terminal is
    #[arg(long)]
    stay: bool,
}

impl Arguments {
    fn stays(&self, terminal: &Terminal) -> bool {
        self.stay || (!self.once && !terminal.is_json() && std::io::stderr().is_terminal())
    }
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    scenario::run(arguments, terminal)
}
