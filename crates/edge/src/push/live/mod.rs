//! A push: one message for devices, and what became of it.
//!
//! The requests of applications are here; [`record`] remembers how far each push has come,
//! [`receipts`] is a loop's side of that, and [`route`] takes a push to its devices.

mod receipts;
mod record;
mod route;

use std::sync::Arc;
use std::time::Duration;

use stadium_mqtt::packet::QoS;

pub(crate) use receipts::Receipts;
pub(crate) use record::Pushes;
pub use record::{PushProgress, PushRecord};

/// Names a push for as long as its progress is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PushId(pub u64);

/// Whom a push is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// One device: its inbox.
    Device(String),
    /// Several devices.
    Devices(Vec<String>),
    /// The subscribers of the channel.
    Channel(String),
    /// The subscribers of the channel `everybody`.
    Everybody,
}

/// A push that an application asks for.
#[derive(Clone, Debug)]
pub struct NewPush {
    /// Whom it is for.
    pub to: Audience,
    /// The message.
    pub payload: Arc<[u8]>,
    /// At least once or at most once.
    pub qos: QoS,
    /// How long it may wait for a device.
    pub expiry: Option<Duration>,
    /// Content Type, MQTT 5.0.
    pub content_type: Option<String>,
    /// User properties, MQTT 5.0.
    pub user_properties: Vec<(String, String)>,
}

/// Why a push was not accepted; nothing happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A loop's mailbox is full: try again after this time.
    Busy {
        /// When.
        retry_after: Duration,
    },
    /// The topic made of the audience is not valid.
    Audience(String),
    /// The node drains.
    Draining,
}
