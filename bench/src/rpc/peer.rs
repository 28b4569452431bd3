//! The contenders of the RPC rows: how the server and the client of each are started, and how a cell is run.
//!
//! RPC clients are part of what is compared, so each contender brings its own. A contender's server and, in Java, its client stay
//! through a round and cost nothing while others are measured.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::cell::{Cell, Flight, Message};
use crate::figure::Contender;
use crate::process::{self, Cores};
use crate::program::{Listening, Series, java};
use crate::server::Places;

/// A side of the RPC rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Peer {
    /// The bare epoll echo, [`super::bare`].
    Bare,
    /// This product: crates/rpc/examples/echo_server.rs and echo_client.rs.
    Stadium,
    /// Bare Netty with length-prefixed Protocol Buffers.
    Netty,
    /// rsocket-java.
    RsocketJava,
    /// KryoNet.
    Kryonet,
    /// grpc-java.
    GrpcJava,
    /// tonic.
    Tonic,
}

/// All, in the order in which they take their turns.
pub(super) const ALL: &[Peer] =
    &[Peer::Bare, Peer::Stadium, Peer::Netty, Peer::RsocketJava, Peer::Kryonet, Peer::GrpcJava, Peer::Tonic];

/// Those that stand in the results as peers.
pub(super) const PEERS: &[Peer] =
    &[Peer::Netty, Peer::RsocketJava, Peer::Kryonet, Peer::GrpcJava, Peer::Tonic];

/// Heap of a Java peer, each side.
const HEAP: &str = "2g";
/// A cell that takes longer than its own time and this has failed.
const CELL_SLACK: Duration = Duration::from_secs(60);
/// The machine may take the processor away briefly, so that a server answers Busy to a few calls;
/// not more than this share.
const BUSY_SHARE_MAX: f64 = 0.01;
/// A virtual machine warms up at least so long, on small messages at full load, and then until it gains no more.
const WARM_MIN: Duration = Duration::from_secs(5);
const WARM_MAX: Duration = Duration::from_secs(25);
/// It gains no more when the last three seconds were within so much of the best second.
const WARM_GAIN: f64 = 0.95;

impl Contender for Peer {
    fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare epoll",
            Self::Stadium => "stadium",
            Self::Netty => "netty",
            Self::RsocketJava => "rsocket-java",
            Self::Kryonet => "kryonet",
            Self::GrpcJava => "grpc-java",
            Self::Tonic => "tonic",
        }
    }
}

/// One of a contender's two programs.
#[derive(Clone, Copy)]
enum Side {
    Server,
    Client,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }

    fn cores(self) -> Cores {
        match self {
            Self::Server => Cores::First,
            Self::Client => Cores::Second,
        }
    }
}

impl Peer {
    fn program(self, side: Side, places: &Places) -> Command {
        let java = |name| java(side.cores(), places, HEAP, &format!("{name}-{}", side.name()));
        let native = |program: &Path| side.cores().command(program);
        match self {
            Self::Bare => {
                let mut command = native(&places.bench);
                command.args(["bare-echo", side.name()]);
                command
            }
            Self::Stadium => native(&places.example(&format!("echo_{}", side.name()))),
            Self::Netty => java("netty"),
            Self::RsocketJava => java("rsocket"),
            Self::Kryonet => java("kryonet"),
            Self::GrpcJava => java("grpc"),
            Self::Tonic => {
                let mut command = native(&places.tonic());
                command.arg(side.name());
                command
            }
        }
    }

    fn is_java(self) -> bool {
        matches!(self, Self::Netty | Self::RsocketJava | Self::Kryonet | Self::GrpcJava)
    }

    fn log(self, side: Side, places: &Places) -> PathBuf {
        places.target.join(format!("bench/rpc-{}-{}.log", self.name().replace(' ', "-"), side.name()))
    }
}

/// How long a cell runs.
#[derive(Clone, Copy)]
pub(super) struct Times {
    /// Seconds that count.
    pub(super) seconds: f64,
    /// Seconds before them.
    pub(super) warm: f64,
}

/// A contender at work: its server, and its client where that stays.
pub(super) struct Fixture<'a> {
    peer: Peer,
    places: &'a Places,
    server: Listening,
    series: Option<Series>,
}

impl<'a> Fixture<'a> {
    /// Starts the server with `extra` arguments and warms a virtual machine up.
    pub(super) fn start(peer: Peer, places: &'a Places, extra: &[&str]) -> Result<Self> {
        let mut command = peer.program(Side::Server, places);
        let server = Listening::start(command.args(extra), &peer.log(Side::Server, places))?;
        let mut fixture = Self { peer, places, server, series: None };
        if peer.is_java() {
            let log = peer.log(Side::Client, places);
            fixture.series = Some(Series::start(&mut peer.program(Side::Client, places), &log)?);
            fixture.warm_up()?;
        }
        Ok(fixture)
    }

    /// Runs one cell; the client's numbers by name. Only calls answered OK count; many that were not make it worthless.
    pub(super) fn measure(&mut self, cell: Cell, times: Times) -> Result<Vec<(String, f64)>> {
        let numbers = self.ask(cell.arguments(), times)?;
        let value =
            |name: &str| numbers.iter().find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value);
        let (failed, busy, ok) = (value("failed"), value("busy_per_second"), value("per_second"));
        if failed > 0.0 || busy > ok * BUSY_SHARE_MAX {
            bail!("{failed} calls failed, {busy:.0} a second were answered Busy, {ok:.0} a second OK");
        }
        Ok(numbers)
    }

    /// Runs a client with these arguments beside address and times.
    pub(super) fn ask(&mut self, mut arguments: Vec<String>, times: Times) -> Result<Vec<(String, f64)>> {
        let (address, seconds, warm) =
            (self.server.address.to_string(), times.seconds.to_string(), times.warm.to_string());
        let rest = ["--connect", &address, "--seconds", &seconds, "--warm", &warm];
        arguments.extend(rest.map(str::to_owned));
        let deadline = CELL_SLACK + Duration::from_secs_f64(times.seconds + times.warm);
        let result = match &mut self.series {
            Some(series) => series.ask(&arguments, deadline)?,
            None => process::client(self.peer.program(Side::Client, self.places).args(arguments), deadline)?,
        };
        Ok(process::numbers(&result))
    }

    /// Small messages at full load until the rate stands, then large ones and single calls.
    fn warm_up(&mut self) -> Result<()> {
        let second = Times { seconds: 0.9, warm: 0.1 };
        let small = Cell { flight: Flight::Full, message: Message::Small, connections: 10 };
        let started = Instant::now();
        let mut rates: Vec<f64> = Vec::new();
        while started.elapsed() < WARM_MAX {
            let numbers = self.measure(small, second)?;
            rates.extend(numbers.iter().filter(|(name, _)| name == "per_second").map(|(_, rate)| *rate));
            let best = rates.iter().copied().fold(0.0, f64::max);
            let stands = rates.len() > 3 && rates.iter().rev().take(3).all(|rate| *rate > best * WARM_GAIN);
            if started.elapsed() >= WARM_MIN && stands {
                break;
            }
        }
        for _ in 0..3 {
            self.measure(Cell { message: Message::Large, ..small }, second)?;
        }
        self.measure(Cell { flight: Flight::Idle, ..small }, second)?;
        Ok(())
    }
}
