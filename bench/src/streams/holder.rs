//! The contenders of the stream rows: servers that hold request-streams of one message a second each.
//!
//! One client for all, crates/rpc/examples/ticks_client.rs: it speaks plain RSocket and reports its
//! own CPU share. The orchestrator reads the server's CPU time, over the seconds after the client
//! has reported that all streams are open.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::figure::Contender;
use crate::process::{self, Cores, Owned, lines};
use crate::program::{Listening, java};
use crate::server::Places;
use crate::{allocations, machine};

/// A server of request-streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    /// This product: crates/rpc/examples/ticks_server.rs.
    Stadium,
    /// Bare Netty, RSocket's frames written by hand.
    Netty,
    /// rsocket-java, a `Flux.interval` for each stream.
    RsocketInterval,
    /// rsocket-java, all streams driven by one timer.
    RsocketWheel,
}

/// Those that stand in the results as peers.
pub(super) const PEERS: &[Holder] = &[Holder::Netty, Holder::RsocketInterval, Holder::RsocketWheel];

/// Heap of a Java server: what a million streams need.
const HEAP: &str = "8g";
/// Time for a client to open its streams, and for its result after the seconds are over.
const STEP_MAX: Duration = Duration::from_secs(120);
/// Seconds for which rsocket-java warms up, after those in which its streams are opened. It starts compiled code too late to
/// catch up otherwise; bare Netty does not need it.
const WARM_SECONDS: u32 = 5;

impl Contender for Holder {
    fn name(self) -> &'static str {
        match self {
            Self::Stadium => "stadium",
            Self::Netty => "netty, frames by hand",
            Self::RsocketInterval => "rsocket-java",
            Self::RsocketWheel => "rsocket-java, one timer",
        }
    }
}

/// When a connection's streams are due within the second.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phases {
    /// All opened together, so all due together.
    Together,
    /// Opened evenly over a second, so due evenly.
    Spread,
}

impl Phases {
    fn name(self) -> &'static str {
        match self {
            Self::Together => "together",
            Self::Spread => "spread",
        }
    }

    /// Milliseconds within which a server may collect what is due: bare Netty needs them to write a
    /// connection's messages together.
    fn tick_ms(self) -> &'static str {
        match self {
            Self::Together => "10",
            Self::Spread => "50",
        }
    }
}

/// How many streams for how long.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) phases: Phases,
    pub(super) connections: u32,
    pub(super) streams_each: u32,
    pub(super) seconds: u32,
}

impl Holder {
    fn server(self, places: &Places, phases: Phases) -> Command {
        let java = |program| java(Cores::First, places, HEAP, program);
        let mut command = match self {
            Self::Stadium => Cores::First.command(&places.example("ticks_server")),
            Self::Netty => java("netty-ticks"),
            Self::RsocketInterval | Self::RsocketWheel => java("rsocket-ticks"),
        };
        match self {
            Self::Stadium => &mut command,
            Self::Netty => command.args(["--tick-ms", phases.tick_ms()]),
            Self::RsocketInterval => command.args(["--timer", "interval"]),
            Self::RsocketWheel => command.args(["--timer", "wheel", "--tick-ms", phases.tick_ms()]),
        };
        command
    }

    /// Opens the streams, holds them, and returns the numbers by name. With a `counter` the server's allocations count.
    pub(super) fn take(
        self,
        places: &Places,
        plan: Plan,
        counter: Option<&Path>,
    ) -> Result<Vec<(String, f64)>> {
        let folder = places.target.join("bench");
        let slug = self.name().replace([' ', ','], "-");
        let mut command = self.server(places, plan.phases);
        let counted = counter.map(|library| {
            let file = folder.join(format!("streams-{slug}.allocations"));
            let _ = std::fs::remove_file(&file);
            command.env("LD_PRELOAD", library).env(allocations::FILE_VARIABLE, &file);
            file
        });
        let server = Listening::start(&mut command, &folder.join(format!("streams-{slug}.log")))?;
        if matches!(self, Self::RsocketInterval | Self::RsocketWheel) {
            warm_up(places, &server, plan)?;
        }
        let mut client = client(places, &server, plan)?;
        let lines = lines(&mut client)?;
        let opened = next(&lines, STEP_MAX).context("the client did not open its streams")?;
        opened["opened"].as_u64().context("the client does not report how many streams it has opened")?;

        let before = Look::take(&server, &client, counted.as_deref())?;
        std::thread::sleep(Duration::from_secs(u64::from(plan.seconds)));
        let after = Look::take(&server, &client, counted.as_deref())?;
        let result = next(&lines, STEP_MAX).context("the client did not finish")?;

        for name in ["lost", "failed"] {
            if result[name].as_u64().is_some_and(|count| count > 0) {
                bail!("{name}: {}", result[name]);
            }
        }
        let mut numbers = process::numbers(&result);
        let messages = result["messages"].as_f64().context("the client counts no messages")?;
        let seconds = (after.at - before.at).as_secs_f64();
        let server_s = (after.server_cpu - before.server_cpu).as_secs_f64();
        let client_s = (after.client_cpu - before.client_cpu).as_secs_f64();
        let mut add = |name: &str, value: f64| numbers.push((name.to_owned(), value));
        add("server_cpu_s_per_million", server_s / messages * 1e6);
        add("server_busy", server_s / seconds);
        add("client_busy", client_s / seconds);
        add("server_resident_mb", machine::resident_bytes(server.pid())? as f64 / 1e6);
        if counted.is_some() {
            // To the thousandth: housekeeping, a few times a second, is not the messages'.
            let each = (after.allocations - before.allocations) as f64 / messages;
            add("allocations_per_message", (each * 1e3).round() / 1e3);
            add("allocations_per_second", (after.allocations - before.allocations) as f64 / seconds);
        }
        Ok(numbers)
    }
}

/// Lets a virtual machine compile what it will run: some streams, opened and ended before the others.
fn warm_up(places: &Places, server: &Listening, plan: Plan) -> Result<()> {
    let plan = Plan { connections: plan.connections / 10, seconds: WARM_SECONDS, ..plan };
    let mut client = client(places, server, plan)?;
    let lines = lines(&mut client)?;
    next(&lines, STEP_MAX)?;
    next(&lines, STEP_MAX)?;
    Ok(())
}

fn client(places: &Places, server: &Listening, plan: Plan) -> Result<Owned> {
    let mut command = Cores::Second.command(&places.example("ticks_client"));
    command.args(["--connect", &server.address.to_string()]);
    command.args(["--connections", &plan.connections.to_string()]);
    command.args(["--streams-each", &plan.streams_each.to_string()]);
    command.args(["--phases", plan.phases.name(), "--seconds", &plan.seconds.to_string()]);
    Owned::start(command.stdin(Stdio::null()).stdout(Stdio::piped()))
}

/// The client's next line of JSON.
fn next(lines: &Receiver<String>, within: Duration) -> Result<Value> {
    let line = lines.recv_timeout(within)?;
    serde_json::from_str(&line).with_context(|| format!("not a result: {line}"))
}

/// Clocks and counters, read together.
struct Look {
    at: Instant,
    server_cpu: Duration,
    client_cpu: Duration,
    allocations: u64,
}

impl Look {
    fn take(server: &Listening, client: &Owned, counted: Option<&Path>) -> Result<Self> {
        Ok(Self {
            at: Instant::now(),
            server_cpu: machine::cpu_time(server.pid())?,
            client_cpu: machine::cpu_time(client.pid())?,
            allocations: allocations::read(counted)?,
        })
    }
}
