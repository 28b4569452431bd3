//! The server's memory for an idle device: the slope of its resident memory between two numbers of
//! devices.
//!
//! A slope, not a quotient, so that what a server takes before its first device does not count.

use anyhow::Result;
use serde_json::{Map, Value};

use super::{Options, devices};
use crate::machine::settled_resident_bytes;
use crate::wire::Wire;

/// Devices at the first look; the second is at `--devices`.
pub(super) const FIRST_LOOK: usize = 5_000;

/// Connects in two steps and looks at the server's memory after each.
pub(super) fn run<W: Wire>(wire: W, options: &Options) -> Result<Map<String, Value>> {
    let mut connections = devices::fleet(wire, options.address, &options.prefix, FIRST_LOOK, 0)?;
    connections.connect_all(options.in_flight)?;
    let first = settled_resident_bytes(options.server_pid)?;
    for index in FIRST_LOOK..options.devices {
        connections.add(devices::device(&options.prefix, index, 0));
    }
    connections.connect_all(options.in_flight)?;
    let second = settled_resident_bytes(options.server_pid)?;
    Ok(slope(options, first, second))
}

/// The result of two looks.
pub(super) fn slope(options: &Options, first: u64, second: u64) -> Map<String, Value> {
    let devices = (options.devices - FIRST_LOOK) as f64;
    let bytes = (second as f64 - first as f64) / devices;
    Map::from_iter([
        ("bytes_per_device".to_owned(), Value::from(bytes)),
        ("resident_bytes".to_owned(), Value::from(second)),
    ])
}
