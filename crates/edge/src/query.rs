//! Questions that operators ask of the loops, and what the loops answer.
//!
//! A question travels through the mailbox of each loop that it concerns, with the channel for the answer.
//! Who asks, and puts the answers together, is [`crate::handle`].

use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stadium_mqtt::broker::SessionView;
use stadium_mqtt::packet::{QoS, Version};
use stadium_reactor::{ConnectionId, Io};

use crate::config::Transport;
use crate::device_loop::DeviceLoop;
use crate::listing::Listed;
use crate::message::Message;
use crate::purges::Purge;
use crate::turn::{Turn, Who};

/// Which devices to list.
#[derive(Clone, Debug, Default)]
pub struct DevicesQuery {
    /// Only client ids that begin so.
    pub prefix: String,
    /// Only client ids with this in them, in any case; it is in lower case. Empty for any.
    pub search: String,
    /// Connected, away, or both.
    pub which: WhichDevices,
    /// Only ids after this one in byte order.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// Devices by their connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhichDevices {
    /// Connected or not.
    #[default]
    All,
    /// With a connection.
    Connected,
    /// With a session and no connection.
    Away,
}

/// A device as an operator sees it.
#[derive(Clone, Debug)]
pub struct DeviceView {
    /// Client Identifier.
    pub client_id: String,
    /// The principal it was authenticated as; `None` for an anonymous device.
    pub principal: Option<String>,
    /// Its connection, if it has one.
    pub connection: Option<DeviceConnection>,
    /// MQTT version of its last connection.
    pub version: Version,
    /// When its session ends, for a device that is away.
    pub session_ends_at: Option<SystemTime>,
    /// Topic filters with their maximum QoS.
    pub subscriptions: Vec<(String, QoS)>,
    /// Deliveries sent and not acknowledged.
    pub in_flight: usize,
    /// Deliveries that wait.
    pub queued: usize,
}

/// The connection of a device.
#[derive(Clone, Debug)]
pub struct DeviceConnection {
    /// The peer's address as the socket has it.
    pub address: Option<SocketAddr>,
    /// How it is carried.
    pub transport: Option<Transport>,
    /// When it became a device.
    pub since: SystemTime,
    /// Keep alive in seconds.
    pub keep_alive_s: u16,
    /// The loop that has it.
    pub loop_index: usize,
}

/// What an operator's kick did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kicked {
    /// Its connection is being closed.
    Kicked,
    /// It has a session and no connection.
    NotConnected,
    /// No session has this client id.
    Unknown,
}

/// A question to one loop.
#[derive(Debug)]
pub(crate) enum Query {
    Devices(DevicesQuery, Sender<Vec<DeviceView>>),
    Device(String, Sender<Option<DeviceView>>),
    Kick(String, Sender<Kicked>),
    Forget(String, Sender<bool>),
    Purge(Purge),
}

impl DeviceLoop {
    /// Answers a question. Nobody may be listening any more; that is theirs to know.
    pub(crate) fn answer(&mut self, io: &mut Io<Message>, query: Query) {
        match query {
            // The ends of this turn and of the next ones look.
            Query::Devices(query, reply) => self.listings.begin(query, reply),
            Query::Device(client_id, reply) => {
                let view = self.broker.find(&client_id).and_then(|key| self.broker.view(key));
                let _ = reply.send(view.map(|view| self.describe(io, view)));
            }
            Query::Kick(client_id, reply) => {
                let known = self.broker.find(&client_id).is_some();
                let mut turn = Turn { io, around: &mut self.around };
                let outcome = match self.broker.kick(&mut turn, &client_id) {
                    true => Kicked::Kicked,
                    false if known => Kicked::NotConnected,
                    false => Kicked::Unknown,
                };
                let _ = reply.send(outcome);
            }
            Query::Forget(client_id, reply) => {
                let mut turn = Turn { io, around: &mut self.around };
                let _ = reply.send(self.broker.forget_session(&mut turn, &client_id));
            }
            Query::Purge(purge) => self.purge(io, purge),
        }
    }

    /// Goes on with the lists that are under way.
    pub(crate) fn list(&mut self, io: &Io<Message>) {
        if let Some(Listed { keys, reply }) = self.listings.look(&self.broker) {
            let views = keys.into_iter().filter_map(|key| self.broker.view(key));
            let _ = reply.send(views.map(|view| self.describe(io, view)).collect());
        }
    }

    fn describe(&self, io: &Io<Message>, view: SessionView<ConnectionId, Who>) -> DeviceView {
        let wall = |at_ms: u64| {
            let at = self.around.shared.clock.wall_time(at_ms);
            // The end of a session that never ends may be beyond what the type holds.
            UNIX_EPOCH.checked_add(Duration::from_millis(at.0)).unwrap_or(UNIX_EPOCH)
        };
        let connection = view.link.and_then(|link| {
            let (since_s, listener) = self.devices.origin(link)?;
            Some(DeviceConnection {
                address: io.peer_address(link),
                transport: self.config.listener(listener).map(|listener| listener.transport),
                since: wall(u64::from(since_s) * 1000),
                keep_alive_s: view.keep_alive_s,
                loop_index: self.around.index,
            })
        });
        DeviceView {
            client_id: view.client_id,
            principal: view.identity.map(|identity| identity.principal.to_string()),
            connection,
            version: view.version,
            session_ends_at: view.ends_at_ms.map(wall),
            subscriptions: view.subscriptions,
            in_flight: view.in_flight,
            queued: view.queued,
        }
    }
}
