//! The way from a push to the connections of devices: a port, with an implementation for each kind
//! of connection. MQTT is one.
//!
//! A transport carries out the commands of the shards. It reports the outcomes with
//! [`Command::Progress`](crate::Command::Progress), and who is connected with
//! [`Command::Presence`](crate::Command::Presence).

use stadium_registry::{AppName, DeviceId};

use crate::Dispatch;
use crate::live::LiveDispatch;

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
}
