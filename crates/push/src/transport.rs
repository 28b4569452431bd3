//! The way from a push to the connections of devices: a port, with an implementation for each kind
//! of connection. MQTT is one.
//!
//! A transport carries out the commands of the shards. It reports the outcomes with
//! [`Command::Progress`](crate::Command::Progress), and who is connected with
//! [`Command::Presence`](crate::Command::Presence).

use std::fmt;

use stadium_registry::{AppName, DeviceId};

use crate::Dispatch;
use crate::live::{LiveDispatch, LiveTally, LiveToken};

/// A command of a shard to a transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportCommand {
    /// Delivers a push.
    Dispatch(Dispatch),
    /// Delivers a live push: the outcomes are counted at the transport.
    Live(LiveDispatch),
    /// Cuts the device's connection, whatever it reads, if it has one: it is revoked or removed.
    Disconnect {
        /// Its app.
        app: AppName,
        /// The device.
        device: DeviceId,
    },
}

/// Takes pushes to devices.
pub trait Transport: Send + Sync {
    /// Carries out commands of a shard, whose thread calls: it must not wait. Commands for one
    /// connection are carried out in their order.
    fn carry_out(&self, shard: u16, commands: Vec<TransportCommand>);

    /// A shard knows no connection, since it opened its journal again or lost notices: each
    /// connected device of it is to be announced again.
    fn announce_again(&self, shard: u16);

    /// Adds counts of another node's transport to the record of a live push that this node
    /// accepted, if the record is remembered still. Must not wait.
    fn counted(&self, token: LiveToken, counts: &LiveTally);
}

/// The way of a live push's counts to the node that accepted it, in a cluster.
pub trait LiveOrigins: Send + Sync + fmt::Debug {
    /// Sends counts to the transport of [`LiveToken::node`]; must not wait. Returns false if they
    /// cannot be sent now: then they were not, and are offered again with later ones.
    fn send_counts(&self, token: LiveToken, counts: &LiveTally) -> bool;
}
