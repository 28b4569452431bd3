//! The measurements: which scenario, against which servers, with which settings.
//!
//! One table; a row of the results may use several of them, and one of them may serve several rows.

use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::{fleet, scrape};
use crate::process::{self, Cores};
use crate::server::{Heap, Kind, Places, Server, Setup};
use crate::tls::Identity;

/// A client that takes longer than this has failed.
const CLIENT_MAX: Duration = Duration::from_secs(150);
/// A virtual machine takes a measurement at least and at most so often before the one that counts.
const WARM_RUNS: RangeInclusive<usize> = 2..=5;
/// It is warm when a run gains less than this on the best one before it.
const WARM_GAIN: f64 = 1.05;
/// Time for a server to drop the connections of a run before the next one.
const BETWEEN_RUNS: Duration = Duration::from_secs(1);

/// What measurements share.
pub(super) struct Tools<'a> {
    pub(super) places: &'a Places,
    pub(super) identity: &'a Identity,
    pub(super) counter: &'a Path,
    /// Seconds of each throughput measurement.
    pub(super) seconds: f64,
}

/// What is special about how a measurement is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Server on one core, client on the other.
    Plain,
    /// The same with a server that has had no device before, because its memory counts.
    Memory,
    /// The same over TLS.
    Tls,
    /// The same with the allocation counter preloaded.
    Counted,
    /// Server on both cores with two loops; the client stays where it was.
    BothCores,
    /// As plain, while the server's metrics are read ten times a second.
    Scraped,
    /// Many processes, see [`fleet`].
    Fleet,
}

/// One measurement.
pub(super) struct Measurement {
    /// Name, the first part of its samples' names.
    pub(super) name: &'static str,
    way: Way,
    /// The scenario and its arguments.
    arguments: &'static [&'static str],
    /// Servers that take it, in this order.
    pub(super) kinds: &'static [Kind],
}

use Kind::{Bare, HiveMq, Mochi, Mosquitto, Nats, NatsMqtt, Rumqttd, Stadium};

/// All of them, in the order in which they are taken.
pub(super) const MEASUREMENTS: &[Measurement] = &[
    Measurement {
        name: "memory",
        way: Way::Memory,
        arguments: &["memory", "--devices", "15000"],
        kinds: &[Stadium, Mosquitto, Nats, Rumqttd, Mochi, HiveMq],
    },
    Measurement {
        name: "tls-memory",
        way: Way::Tls,
        arguments: &["tls-memory", "--devices", "15000"],
        kinds: &[Stadium, Mosquitto],
    },
    Measurement {
        name: "fanout-1",
        way: Way::Plain,
        arguments: &["fanout", "--devices", "10000", "--window", "1"],
        kinds: &[Bare, Stadium, Mosquitto, Nats, Rumqttd, Mochi, HiveMq],
    },
    Measurement {
        name: "fanout-8",
        way: Way::Plain,
        arguments: &["fanout", "--devices", "10000", "--window", "8"],
        kinds: &[Bare, Stadium, Mosquitto, Nats, Rumqttd, Mochi, HiveMq],
    },
    Measurement {
        name: "fanout-qos1",
        way: Way::Plain,
        arguments: &["fanout", "--devices", "10000", "--window", "1", "--qos", "1"],
        kinds: &[Stadium, Mosquitto, Rumqttd, Mochi, HiveMq],
    },
    Measurement {
        name: "pairs-qos0",
        way: Way::Plain,
        arguments: &["pairs", "--window", "16"],
        kinds: &[Stadium, Mosquitto, Nats, Rumqttd, Mochi, HiveMq],
    },
    Measurement {
        name: "pairs-qos1",
        way: Way::Plain,
        arguments: &["pairs", "--window", "16", "--qos", "1"],
        kinds: &[Stadium, Mosquitto, NatsMqtt, Rumqttd, Mochi, HiveMq],
    },
    Measurement {
        name: "pairs-scraped",
        way: Way::Scraped,
        arguments: &["pairs", "--window", "16"],
        kinds: &[Stadium],
    },
    Measurement {
        name: "connects",
        way: Way::Plain,
        arguments: &["connects", "--devices", "10000"],
        kinds: &[Bare, Stadium, Mosquitto, Nats, Rumqttd, Mochi, HiveMq],
    },
    Measurement {
        name: "allocations-qos0",
        way: Way::Counted,
        arguments: &["fanout", "--devices", "10000", "--window", "8"],
        kinds: &[Stadium, Mosquitto],
    },
    Measurement {
        name: "allocations-qos1",
        way: Way::Counted,
        arguments: &["fanout", "--devices", "10000", "--window", "1", "--qos", "1"],
        kinds: &[Stadium, Mosquitto],
    },
    Measurement {
        name: "both-cores",
        way: Way::BothCores,
        arguments: &["fanout", "--devices", "10000", "--read-every", "16"],
        kinds: &[Stadium],
    },
    Measurement { name: "fleet", way: Way::Fleet, arguments: &[], kinds: &[Stadium] },
];

impl Measurement {
    /// Takes it once; returns the client's numbers by name.
    pub(super) fn take(&self, kind: Kind, tools: &Tools<'_>) -> Result<Vec<(String, f64)>> {
        let plain = Setup::one_core();
        match self.way {
            Way::Fleet => fleet::take(tools.places),
            Way::Plain => {
                let server = Server::start(kind, tools.places, &plain)?;
                if kind.warms_up() {
                    self.warm_up(&server, tools, &plain)?;
                }
                self.ask(&server, tools, &plain)
            }
            Way::Memory => self.one(kind, tools, &Setup { heap: Heap::ForMemory, ..plain }),
            Way::Tls => self.one(kind, tools, &Setup { tls: Some(tools.identity), ..plain }),
            Way::Counted => self.one(kind, tools, &Setup { counter: Some(tools.counter), ..plain }),
            Way::BothCores => self.gain(kind, tools),
            Way::Scraped => {
                let server = Server::start(kind, tools.places, &plain)?;
                let exchange = || self.ask(&server, tools, &plain);
                let (mut values, read) = scrape::while_scraped(server.http, exchange)?;
                values.extend(read);
                Ok(values)
            }
        }
    }

    fn one(&self, kind: Kind, tools: &Tools<'_>, setup: &Setup<'_>) -> Result<Vec<(String, f64)>> {
        let server = Server::start(kind, tools.places, setup)?;
        self.ask(&server, tools, setup)
    }

    fn ask(&self, server: &Server, tools: &Tools<'_>, setup: &Setup<'_>) -> Result<Vec<(String, f64)>> {
        let mut client = client(tools.places, server, Cores::Second);
        client.args(self.arguments).args(["--seconds", &tools.seconds.to_string()]);
        if let Some(file) = &server.allocations {
            client.arg("--allocations").arg(file);
        }
        if setup.tls.is_some() {
            client.arg("--certificate").arg(server.folder.join("certificate.pem"));
        }
        Ok(process::numbers(&process::client(&mut client, CLIENT_MAX)?))
    }

    /// Repeats the measurement, uncounted, until its rate stands.
    fn warm_up(&self, server: &Server, tools: &Tools<'_>, setup: &Setup<'_>) -> Result<()> {
        let mut best = 0.0_f64;
        for run in 1..=*WARM_RUNS.end() {
            let numbers = self.ask(server, tools, setup)?;
            let rates = numbers.iter().filter(|(name, _)| name.ends_with("_per_s"));
            let rate = rates.map(|(_, rate)| *rate).fold(0.0, f64::max);
            std::thread::sleep(BETWEEN_RUNS);
            if run >= *WARM_RUNS.start() && rate < best * WARM_GAIN {
                break;
            }
            best = best.max(rate);
        }
        Ok(())
    }

    /// Deliveries a second with two loops on both cores over one loop on one core.
    fn gain(&self, kind: Kind, tools: &Tools<'_>) -> Result<Vec<(String, f64)>> {
        let rate = |setup: &Setup<'_>| -> Result<f64> {
            let values = self.one(kind, tools, setup)?;
            Ok(process::number(&values, "deliveries_per_s").unwrap_or(0.0))
        };
        let one = rate(&Setup::one_core())?;
        let both = rate(&Setup { cores: Cores::Both, loops: 2, ..Setup::one_core() })?;
        Ok(vec![("gain".to_owned(), both / one), ("deliveries_per_s".to_owned(), both)])
    }
}

/// A client of `server`, without its scenario's arguments.
pub(super) fn client(places: &Places, server: &Server, cores: Cores) -> Command {
    let mut command = cores.command(&places.bench);
    let wire = match server.wire {
        crate::client::WireName::Mqtt => "mqtt",
        crate::client::WireName::Nats => "nats",
    };
    command.args(["client", "--wire", wire, "--address", &server.address.to_string()]);
    command.args(["--server-pid", &server.pid().to_string()]);
    command
}
