//! The devices that scenarios start from: N of them, each with its inbox and the channel of
//! everybody. Ids have one length, so that a device's cost does not depend on its number.

use std::net::SocketAddr;

use anyhow::Result;

use crate::connections::{Connections, Device};
use crate::wire::Wire;

/// The channel that every device reads.
pub(crate) const EVERYBODY: &str = "channels/everybody";

/// Connections for `count` devices, none connected yet: two subscriptions each, the channel at
/// `qos`.
pub(crate) fn fleet<W: Wire>(
    wire: W,
    address: SocketAddr,
    prefix: &str,
    count: usize,
    qos: u8,
) -> Result<Connections<W>> {
    let mut connections = Connections::new(wire, address)?;
    for index in 0..count {
        connections.add(device(prefix, index, qos));
    }
    Ok(connections)
}

/// Device `index` of a fleet.
pub(crate) fn device(prefix: &str, index: usize, qos: u8) -> Device {
    let id = format!("{prefix}-{index:06}");
    let topics = vec![(format!("inbox/{id}"), qos), (EVERYBODY.to_owned(), qos)];
    Device { id, topics }
}
