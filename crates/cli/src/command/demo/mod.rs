//! `stadium demo`: a whole stadium in one command.
//!
//! A node in this process, simulated devices in worker processes, pushes over the node's own HTTP
//! API, a vote with one credit for each device, and the events as they happen: in the terminal, on
//! the live page, or as JSON. With `--nodes` the nodes are a cluster of child processes, and one of
//! them is killed ([`cluster`]). All is on loopback and in a temporary directory; nothing stays
//! behind, whichever way it ends.

mod cluster;
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
The devices speak real MQTT over real sockets, from as many processes as the open-file limit asks for; two cores hold ten thousand with ease.

With --nodes 3 the demo is a cluster and ends by itself. It needs a build with `--features cluster`, and from this machine etcd, Java and Kafka:
  etcd   STADIUM_ETCD, or etcd on PATH
  Kafka  KAFKA_HOME; kafka-server-start.sh on PATH; /opt/kafka; ~/.cache/stadium-kafka, where it is fetched to if Maven (mvn) is on PATH
Exit code 1 if an acknowledged vote is lost or counted twice, or a push does not reach every device.")]
pub(crate) struct Arguments {
    /// Nodes: 1 is a server without a cluster, 3 to 5 are a cluster of which one node is killed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=5))]
    nodes: u8,
    /// Simulated devices [default: 10000, or 3000 of a cluster, or what the open-file limit allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    devices: Option<u32>,
    /// Pushes to everybody at QoS 1, each followed to its last acknowledgement
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pushes: u32,
    /// The text of each push
    #[arg(long, value_name = "TEXT", default_value = "Goal!")]
    message: String,
    /// Event loops of each server; 0 is one for each core, and one for each node of a cluster
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=64))]
    loops: u16,
    /// Where the live page listens [default: a free loopback port]
    #[arg(long, value_name = "ADDR")]
    http: Option<std::net::SocketAddr>,
    /// Where the page of the vote listens [default: a free loopback port]
    #[arg(long, value_name = "ADDR")]
    voting: Option<std::net::SocketAddr>,
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

    /// Refuses flags that a cluster has no use for.
    fn check(&self) -> Result<(), Failure> {
        if self.nodes == 2 {
            return Err(Failure::Usage(
                "--nodes 2: two nodes do not survive the loss of one. The one that is left reaches less than half of the others, and \
                 nobody stands by for its shards. Use 3 to 5, or 1 for a server without a cluster"
                    .to_owned(),
            ));
        }
        let given =
            [("--http", self.http.is_some()), ("--voting", self.voting.is_some()), ("--stay", self.stay)];
        match given.into_iter().find(|(_, is_given)| *is_given && self.nodes > 1) {
            Some((flag, _)) => Err(Failure::Usage(format!(
                "{flag} is for the demo of one server: a cluster's has no live page and ends by itself"
            ))),
            None => Ok(()),
        }
    }
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    arguments.check()?;
    if arguments.nodes == 1 { scenario::run(arguments, terminal) } else { cluster::run(arguments, terminal) }
}
