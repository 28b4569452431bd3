//! Contenders at work: a server, a client, and the cells that the client runs. Shared with the rows of
//! the SDKs.
//!
//! RPC clients are part of what is compared, so each contender brings its own. A contender's server and,
//! in Java, its client stay through a round and cost nothing while others are measured.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::cell::{Cell, Flight, Message};
use crate::machine::Meter;
use crate::process::{self, Cores};
use crate::program::{Listening, Series};

/// Starts of one contender's programs in a round before it is given up for that round.
const STARTS_MAX: usize = 2;
/// The name of the share of its core that a server uses.
pub(crate) const SERVER_CPU: &str = "server_cpu";
/// Time for which a server that nobody asks for anything is watched.
const REST: Duration = Duration::from_secs(1);
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

/// One of a contender's two programs.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    /// Pinned to core 0.
    Server,
    /// Pinned to core 1.
    Client,
}

impl Side {
    /// As programs' arguments and logs name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }

    /// Where it runs.
    pub(crate) fn cores(self) -> Cores {
        match self {
            Self::Server => Cores::First,
            Self::Client => Cores::Second,
        }
    }
}

/// How a contender's two programs are started.
pub(crate) trait Programs {
    /// One of them, pinned.
    fn command(&self, side: Side) -> Command;
    /// Where its stderr goes.
    fn log(&self, side: Side) -> PathBuf;
    /// Whether the client is a virtual machine, which stays and warms up.
    fn keeps_client(&self) -> bool;
}

/// How long a cell runs.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    /// Seconds that count.
    pub(crate) seconds: f64,
    /// Seconds before them.
    pub(crate) warm: f64,
}

/// A client's numbers, unless too many of its calls were not answered OK.
pub(super) fn answered_ok(numbers: Vec<(String, f64)>) -> Result<Vec<(String, f64)>> {
    let value = |name: &str| process::number(&numbers, name).unwrap_or(0.0);
    let (failed, busy, ok) = (value("failed"), value("busy_per_second"), value("per_second"));
    if failed > 0.0 || busy > ok * BUSY_SHARE_MAX {
        bail!("{failed} calls failed, {busy:.0} a second were answered Busy, {ok:.0} a second OK");
    }
    Ok(numbers)
}

/// A contender at work: its server, and its client where that stays.
pub(crate) struct Fixture<P> {
    programs: P,
    server: Listening,
    series: Option<Series>,
}

impl<P: Programs> Fixture<P> {
    /// Starts the server with `extra` arguments and warms a virtual machine up.
    pub(crate) fn start(programs: P, extra: &[&str]) -> Result<Self> {
        let mut command = programs.command(Side::Server);
        let server = Listening::start(command.args(extra), &programs.log(Side::Server))?;
        let mut fixture = Self { programs, server, series: None };
        if fixture.programs.keeps_client() {
            let log = fixture.programs.log(Side::Client);
            fixture.series = Some(Series::start(&mut fixture.programs.command(Side::Client), &log)?);
            fixture.warm_up()?;
        }
        Ok(fixture)
    }

    /// Runs one cell; the client's numbers by name. Only calls answered OK count; many that were not make it worthless.
    pub(crate) fn measure(&mut self, cell: Cell, times: Times) -> Result<Vec<(String, f64)>> {
        answered_ok(self.ask(cell.arguments(), times)?)
    }

    /// The server's share of its core while nobody asks it for anything.
    pub(crate) fn rest(&self) -> Result<Vec<(String, f64)>> {
        let meter = Meter::start(self.server.pid())?;
        std::thread::sleep(REST);
        Ok(vec![(SERVER_CPU.to_owned(), meter.processors()?)])
    }

    /// Runs a client with these arguments beside address and times.
    pub(crate) fn ask(&mut self, mut arguments: Vec<String>, times: Times) -> Result<Vec<(String, f64)>> {
        let (address, seconds, warm) =
            (self.server.address.to_string(), times.seconds.to_string(), times.warm.to_string());
        let rest = ["--connect", &address, "--seconds", &seconds, "--warm", &warm];
        arguments.extend(rest.map(str::to_owned));
        let deadline = CELL_SLACK + Duration::from_secs_f64(times.seconds + times.warm);
        let meter = Meter::start(self.server.pid())?;
        let result = match &mut self.series {
            Some(series) => series.ask(&arguments, deadline)?,
            None => process::client(self.programs.command(Side::Client).args(arguments), deadline)?,
        };
        let mut numbers = process::numbers(&result);
        numbers.push((SERVER_CPU.to_owned(), meter.processors()?));
        Ok(numbers)
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

/// One round: contenders at work.
pub(crate) struct Round<'a, K, P> {
    programs: Box<dyn Fn(K) -> P + 'a>,
    times: Times,
    fixtures: BTreeMap<K, Fixture<P>>,
    starts: BTreeMap<K, usize>,
}

impl<'a, K: Copy + Ord, P: Programs> Round<'a, K, P> {
    /// Nobody is at work yet.
    pub(crate) fn new(programs: impl Fn(K) -> P + 'a, times: Times) -> Self {
        let programs = Box::new(programs);
        Self { programs, times, fixtures: BTreeMap::new(), starts: BTreeMap::new() }
    }

    /// Whether a contender has not been started in this round.
    pub(crate) fn is_new(&self, contender: K) -> bool {
        !self.starts.contains_key(&contender)
    }

    /// A contender's programs. After a failure they are started again, but not without end.
    pub(crate) fn start(&mut self, contender: K) -> Result<&mut Fixture<P>> {
        if !self.fixtures.contains_key(&contender) {
            let starts = self.starts.entry(contender).or_default();
            if *starts == STARTS_MAX {
                bail!("given up for this round");
            }
            *starts += 1;
            self.fixtures.insert(contender, Fixture::start((self.programs)(contender), &[])?);
        }
        self.fixtures.get_mut(&contender).context("just started")
    }

    /// One cell of one contender.
    pub(crate) fn take(&mut self, contender: K, cell: Cell) -> Result<Vec<(String, f64)>> {
        let times = self.times;
        let result = self.start(contender)?.measure(cell, times);
        if result.is_err() {
            self.fixtures.remove(&contender);
        }
        result
    }
}
