//! The load client: one scenario for each process, pinned by the process that starts it; prints one
//! line of JSON.
//!
//! The same scenarios drive every server. The client looks at the server's memory and CPU time
//! itself, at the times that only it knows, and reports its own CPU time, so that a reader can see
//! when the client was the limit.

mod connects;
mod devices;
mod fanout;
mod hold;
mod memory;
mod pairs;
mod tls_memory;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::machine;
use crate::wire::{Mqtt, Nats};

/// What to do, to whom, and how much.
#[derive(Args)]
pub(crate) struct Options {
    /// Which scenario
    scenario: Scenario,
    /// The server's address
    #[arg(long)]
    address: SocketAddr,
    /// The server's process
    #[arg(long)]
    server_pid: u32,
    /// What the server speaks
    #[arg(long, default_value = "mqtt")]
    wire: WireName,
    /// Devices to connect
    #[arg(long, default_value_t = 10_000)]
    devices: usize,
    /// Handshakes in flight
    #[arg(long, default_value_t = 200)]
    in_flight: usize,
    /// Messages in flight
    #[arg(long, default_value_t = 1)]
    window: usize,
    /// Fan-out: read the devices only after so many messages, so that this client leaves the machine to the
    /// server; the publisher goes by its acknowledgements. 0 reads at once
    #[arg(long, default_value_t = 0)]
    read_every: usize,
    /// Quality of service of the messages
    #[arg(long, default_value_t = 0)]
    qos: u8,
    /// Seconds to measure for, after the warm-up
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// First part of the client ids
    #[arg(long, default_value = "d")]
    prefix: String,
    /// The file in which the allocation counter counts
    #[arg(long)]
    allocations: Option<PathBuf>,
    /// The certificate that a TLS server must show, PEM
    #[arg(long)]
    certificate: Option<PathBuf>,
}

/// The scenarios.
#[derive(Clone, Copy, ValueEnum)]
enum Scenario {
    /// Slope of the server's resident memory from 5,000 devices to all of them
    Memory,
    /// The same over TLS 1.3
    TlsMemory,
    /// One publisher to all devices, a window of messages in flight
    Fanout,
    /// 100 publishers to 100 subscribers
    Pairs,
    /// Connects a second; then all are cut and come back at once
    Connects,
    /// Connect, then wait for pushes until stdin ends
    Hold,
}

/// What a server speaks.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WireName {
    /// MQTT 3.1.1
    Mqtt,
    /// The NATS client protocol
    Nats,
}

/// Runs one scenario.
pub(crate) fn run(options: &Options) -> Result<()> {
    let result = match (options.scenario, options.wire) {
        (Scenario::Memory, WireName::Mqtt) => memory::run(Mqtt, options)?,
        (Scenario::Memory, WireName::Nats) => memory::run(Nats, options)?,
        (Scenario::TlsMemory, _) => tls_memory::run(options)?,
        (Scenario::Fanout, WireName::Mqtt) => fanout::run(Mqtt, options)?,
        (Scenario::Fanout, WireName::Nats) => fanout::run(Nats, options)?,
        (Scenario::Pairs, WireName::Mqtt) => pairs::run(Mqtt, options)?,
        (Scenario::Pairs, WireName::Nats) => pairs::run(Nats, options)?,
        (Scenario::Connects, WireName::Mqtt) => connects::run(Mqtt, options)?,
        (Scenario::Connects, WireName::Nats) => connects::run(Nats, options)?,
        (Scenario::Hold, _) => hold::run(Mqtt, options)?,
    };
    println!("{}", Value::Object(result));
    Ok(())
}

/// Clocks read together, at the start and the end of a measurement.
struct Mark {
    at: Instant,
    server_cpu: Duration,
    client_cpu: Duration,
}

impl Mark {
    fn now(options: &Options) -> Result<Self> {
        let server_cpu = machine::cpu_time(options.server_pid)?;
        Ok(Self { at: Instant::now(), server_cpu, client_cpu: machine::own_cpu_time()? })
    }

    /// Seconds since this mark, and each side's CPU seconds in them.
    fn spent(&self, options: &Options) -> Result<Spent> {
        let now = Self::now(options)?;
        Ok(Spent {
            seconds: (now.at - self.at).as_secs_f64(),
            server_cpu_s: now.server_cpu.saturating_sub(self.server_cpu).as_secs_f64(),
            client_cpu_s: now.client_cpu.saturating_sub(self.client_cpu).as_secs_f64(),
        })
    }
}

/// What a measurement took.
struct Spent {
    seconds: f64,
    server_cpu_s: f64,
    client_cpu_s: f64,
}
