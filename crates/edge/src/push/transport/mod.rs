//! MQTT as a transport of the push platform.
//!
//! The platform's shards know the deliveries that each device is owed. A loop notifies them of the
//! devices that are connected and read their inbox ([`inboxes`]), carries out the commands that
//! they send ([`deliver`]) and reports the outcomes, in batches at the ends of its turns. Deliveries
//! of traced pushes have spans ([`traced`]). Nothing is kept here: a delivery that a connection did
//! not acknowledge is still owed.

mod deliver;
mod inboxes;
mod queue;
mod traced;

use std::fmt;

use stadium_push::{AppName, Command, DeviceId};

pub(crate) use inboxes::{Inboxes, mqtt_qos, named, split, wall};
pub(crate) use queue::{QueuedItem, TransportQueue};
pub(crate) use traced::{TRACEPARENT, TracedDeliveries, delivery};

/// The shards of the push platform, as a loop reaches them. Neither call may wait.
pub trait PushShards: Send + Sync + fmt::Debug {
    /// The shard of a device.
    fn shard_of(&self, app: &AppName, device: &DeviceId) -> u16;

    /// Notifies a shard of its devices.
    fn notify(&self, shard: u16, command: Command);
}
