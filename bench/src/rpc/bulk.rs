//! The second form of the row with most calls in flight, whose bound is the client: one client for all
//! servers, which costs next to nothing.
//!
//! It sends requests that were made beforehand, and counts answers: those of RSocket by frames, others
//! by bytes, of which it looks at one message of each read.

use std::time::Duration;

use anyhow::Result;

use super::cell::{Cell, Flight, Message};
use super::fixture::{SERVER_CPU, Side, answered_ok};
use super::peer::Peer;
use crate::machine::Meter;
use crate::process;
use crate::program::Listening;
use crate::server::Places;

/// Name of the measurement.
pub(super) const NAME: &str = "bulk-48-100";
/// The servers.
pub(super) const CONTENDERS: &[Peer] = &[Peer::BareDecoding, Peer::Stadium, Peer::Netty];

/// Seconds uncounted, in which a virtual machine compiles its code, and seconds that count.
const WARM: f64 = 5.0;
const SECONDS: f64 = 2.0;

/// The cell.
pub(super) const CELL: Cell = Cell { flight: Flight::Each64, message: Message::Small, connections: 100 };

/// Measures one server.
pub(super) fn take(places: &Places, peer: Peer) -> Result<Vec<(String, f64)>> {
    let server = Listening::start(&mut peer.program(Side::Server, places), &peer.log(Side::Server, places))?;
    let mut client = Peer::Bare.program(Side::Client, places);
    client.args(["--connect", &server.address.to_string()]).args(CELL.arguments());
    client.args(["--seconds", &SECONDS.to_string(), "--warm", &WARM.to_string()]);
    client.args(["--requests", if peer == Peer::Stadium { "rsocket" } else { "length-prefixed" }]);
    let meter = Meter::start(server.pid())?;
    let result = process::client(&mut client, Duration::from_secs(60))?;
    let mut numbers = answered_ok(process::numbers(&result))?;
    numbers.push((SERVER_CPU.to_owned(), meter.processors()?));
    Ok(numbers)
}
