//! The crowds that scenarios start from: N devices, each with its inbox and the channel of everybody.
//! Ids have one length, so that a device's cost does not depend on its number.

use std::net::SocketAddr;

use anyhow::Result;

use crate::crowd::{Crowd, Device};
use crate::wire::Wire;

/// The channel that every device reads.
pub(crate) const EVERYBODY: &str = "channels/everybody";

/// A crowd of `count` devices, none connected yet: two subscriptions each, the channel at `qos`.
pub(crate) fn devices<W: Wire>(
    wire: W,
    address: SocketAddr,
    prefix: &str,
    count: usize,
    qos: u8,
) -> Result<Crowd<W>> {
    let mut crowd = Crowd::new(wire, address)?;
    for index in 0..count {
        crowd.add(device(prefix, index, qos));
    }
    Ok(crowd)
}

/// Device `index` of a crowd.
pub(crate) fn device(prefix: &str, index: usize, qos: u8) -> Device {
    let id = format!("{prefix}-{index:06}");
    let topics = vec![(format!("inbox/{id}"), qos), (EVERYBODY.to_owned(), qos)];
    Device { id, topics }
}
