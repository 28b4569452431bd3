//! A push as it is handed over, and what is known of it afterwards.
//!
//! The sums of a report never count a device twice: see [`PushReport`].

use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::names::{ChannelName, DeviceId, PushId};

/// Who a push is for. Each device id in it [has an inbox](DeviceId::has_inbox); the list is neither empty nor repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// One device's inbox.
    Device(DeviceId),
    /// Several devices' inboxes, at most as many as the API's `audience_devices_max`.
    Devices(Vec<DeviceId>),
    /// Whoever subscribes to the channel.
    Channel(ChannelName),
    /// Whoever subscribes to the channel `everybody`.
    Everybody,
}

/// How often a device may get the message (MQTT 5.0, 4.3). A push never uses QoS 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qos {
    /// At most once: nobody acknowledges it.
    AtMostOnce,
    /// At least once: the device acknowledges it.
    AtLeastOnce,
}

impl Qos {
    /// 0 or 1, as on the wire.
    pub fn number(self) -> u8 {
        match self {
            Self::AtMostOnce => 0,
            Self::AtLeastOnce => 1,
        }
    }
}

/// A name and value that travel with the message to MQTT 5 devices (MQTT 5.0, 3.3.2.3.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserProperty {
    /// The name; names may repeat.
    pub name: String,
    /// The value.
    pub value: String,
}

/// A push that the caller wants delivered. The API has checked every bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPush {
    /// Who gets it.
    pub to: Audience,
    /// The message, as the devices get it.
    pub payload: Bytes,
    /// At most once or at least once.
    pub qos: Qos,
    /// From acceptance; a device that is away longer does not get the message. `None`: it never expires.
    pub expiry: Option<Duration>,
    /// The MIME type, sent to MQTT 5 devices.
    pub content_type: Option<String>,
    /// Told to MQTT 5 devices, in this order.
    pub user_properties: Vec<UserProperty>,
}

/// Why the fleet did not take a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing happened: a bound is reached, the caller still owns the work and may try again.
    Busy {
        /// How long to wait first.
        retry_after: Duration,
        /// Which bound, in words.
        reason: String,
    },
    /// Nothing happened: it will never work.
    Rejected {
        /// A stable code with a page in docs/reference/errors/, for example `EDGE-007`.
        code: &'static str,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// It may have happened.
    Unknown {
        /// Why nobody knows.
        reason: String,
    },
}

/// How far a push has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Taken over; no loop has sent anything yet.
    Accepted,
    /// Some deliveries are still owed: unsent, or sent at QoS 1 and not acknowledged.
    Sending,
    /// Nothing more will happen: each delivery was sent (QoS 0), acknowledged (QoS 1), expired or dropped, or waits
    /// in the session of a device that is away.
    Settled,
}

/// What is known of a push. Counts are deliveries; durations count from [`PushReport::accepted_at`].
///
/// `targeted = not_connected + dropped + expired + sent + unsent`: each targeted device is in one place. `queued`
/// are those of `not_connected` whose session keeps the message for their return; `acknowledged` are those of
/// `sent` that answered.
#[derive(Clone, Debug, PartialEq)]
pub struct PushReport {
    /// The push.
    pub id: PushId,
    /// When the fleet took it over.
    pub accepted_at: SystemTime,
    /// Who it is for.
    pub to: Audience,
    /// At most once or at least once.
    pub qos: Qos,
    /// Bytes of one message.
    pub payload_bytes: u64,
    /// How far it has come.
    pub progress: Progress,
    /// Loops are still finding devices: `targeted` and `not_connected` grow.
    pub counting: bool,
    /// Devices found for the audience; of all loops once `counting` is false.
    pub targeted: u64,
    /// Written to a device's socket.
    pub sent: u64,
    /// Acknowledged by a device; stays 0 at QoS 0.
    pub acknowledged: u64,
    /// Given up because the expiry passed.
    pub expired: u64,
    /// Given up for another reason, such as a slow reader's full queue.
    pub dropped: u64,
    /// Devices that were not connected.
    pub not_connected: u64,
    /// Of those, kept in their session for later.
    pub queued: u64,
    /// The first and the last write to a socket.
    pub first_sent: Option<Duration>,
    /// See [`PushReport::first_sent`].
    pub last_sent: Option<Duration>,
    /// The first and the last acknowledgement.
    pub first_acknowledged: Option<Duration>,
    /// See [`PushReport::first_acknowledged`].
    pub last_acknowledged: Option<Duration>,
    /// From acceptance to the write.
    pub sent_latency: LatencySummary,
    /// From acceptance to the acknowledgement.
    pub acknowledged_latency: LatencySummary,
}

/// A distribution of durations in a few numbers; all zero when `count` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencySummary {
    /// How many durations it describes.
    pub count: u64,
    /// Half of them are at most this.
    pub p50: Duration,
    /// Nine in ten.
    pub p90: Duration,
    /// 99 in 100.
    pub p99: Duration,
    /// 999 in 1,000.
    pub p999: Duration,
    /// The longest.
    pub max: Duration,
}

/// What a kick found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KickOutcome {
    /// The device was connected, and its connection is being closed.
    Kicked,
    /// The device has a session, but no connection to close.
    NotConnected,
    /// Nobody knows the device.
    Unknown,
}
