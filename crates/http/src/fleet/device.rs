//! Devices as the API lists and shows them.

use std::net::SocketAddr;
use std::time::SystemTime;

use stadium_push::live::ClientId;

/// Which devices to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceQuery {
    /// Only ids that begin so; empty lists all.
    pub prefix: String,
    /// Only ids with this in them, in any case; it is in lower case. Empty lists all.
    pub search: String,
    /// Only connected devices, only those away, or both.
    pub connection: ConnectionFilter,
    /// Only ids after this one, in byte order: the last id of the page before.
    pub after: Option<ClientId>,
    /// At most so many, at least 1.
    pub limit: usize,
}

/// Which devices a list shows by their connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionFilter {
    /// Connected or not.
    #[default]
    Any,
    /// Only those with an open connection.
    Connected,
    /// Only those with a session and no connection.
    Away,
}

/// A page of devices in order of their ids' bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DevicePage {
    /// The devices; their `subscriptions` may be left empty here, unlike in
    /// [`crate::fleet::Fleet::device`].
    pub devices: Vec<DeviceReport>,
    /// Whether another page follows the last id of this one.
    pub more: bool,
}

/// One device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceReport {
    /// Its client identifier.
    pub id: ClientId,
    /// Its open connection, if there is one.
    pub connection: Option<DeviceConnection>,
    /// When its session ends unless it comes back; `None` while connected or when it never ends.
    pub session_expires_at: Option<SystemTime>,
    /// Its subscriptions.
    pub subscriptions: Vec<DeviceSubscription>,
    /// How many subscriptions it has, also where the list itself is left out.
    pub subscription_count: u64,
    /// Messages kept for it and not sent yet.
    pub queued: u64,
    /// Messages sent and not acknowledged.
    pub in_flight: u64,
}

/// A device's open connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceConnection {
    /// Where it comes from (after the PROXY protocol, if the listener speaks it).
    pub address: Option<SocketAddr>,
    /// The transport: `tcp`, `tls`, `ws` or `wss`.
    pub transport: &'static str,
    /// The protocol: `3.1.1` or `5.0`.
    pub mqtt_version: &'static str,
    /// Who it logged in as; `None` for an anonymous device.
    pub username: Option<String>,
    /// When its CONNECT was accepted.
    pub connected_at: SystemTime,
    /// Its keep-alive in seconds; 0 when it has none.
    pub keepalive_s: u16,
    /// The loop that owns it.
    pub loop_index: usize,
}

/// A subscription of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSubscription {
    /// The topic filter, with `$share/{group}/` if it is shared.
    pub filter: String,
    /// The maximum QoS granted: 0, 1 or 2.
    pub qos: u8,
}
