//! The edge from outside its loops: pushes, questions, counts.
//!
//! A handle never touches a loop's state. Pushes and questions go to mailboxes; answers are gathered
//! from the loops that were asked, with a deadline. Calls that gather block the calling thread.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant, SystemTime};

use stadium_mqtt::broker::{Head, Message as MqttMessage, Publication, SessionView};
use stadium_mqtt::packet::{PublishProperties, QoS, Version};
use stadium_mqtt::property::UserPropertiesBuffer;
use stadium_mqtt::topic::TopicName;
use stadium_reactor::{Adopt, Carries, ConnectionId, ConnectionLimits, Io, LoopStats};

use crate::auth::Counts as AuthCounts;
use crate::config::{Config, Transport};
use crate::counts::Counts;
use crate::device_loop::DeviceLoop;
use crate::message::{Kind, Message, PushPart, PushTo};
use crate::push::{Audience, NewPush, PushId, PushRecord, Refused};
use crate::turn::{Shared, Turn, Who};

/// How long a loop may take to answer a question. A loop in the middle of the largest turn that its
/// bounds allow answers in a tenth of it.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Reaches a running edge from any thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct EdgeHandle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) config: Arc<Config>,
}

/// Which devices to list.
#[derive(Clone, Debug, Default)]
pub struct DevicesQuery {
    /// Only client ids that begin so.
    pub prefix: String,
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

/// Answers of the loops that answered in time.
#[derive(Clone, Debug)]
pub struct Gathered<T> {
    /// What they said.
    pub answers: T,
    /// Loops that could not be asked, or did not answer in time.
    pub missing: usize,
}

/// A question to one loop.
#[derive(Debug)]
pub(crate) enum Query {
    Devices(DevicesQuery, Sender<Vec<DeviceView>>),
    Device(String, Sender<Option<DeviceView>>),
    Kick(String, Sender<Kicked>),
}

impl EdgeHandle {
    /// Takes a push over, or says why not; then nothing happened.
    pub fn push(&self, push: &NewPush) -> Result<Arc<PushRecord>, Refused> {
        if self.shared.draining.load(std::sync::atomic::Ordering::Acquire) {
            return Err(Refused::Draining);
        }
        match &push.to {
            Audience::Device(device) => self.push_to_devices(push, std::slice::from_ref(device)),
            Audience::Devices(devices) => self.push_to_devices(push, devices),
            Audience::Channel(name) => self.push_to_topic(push, &format!("channels/{name}")),
            Audience::Everybody => self.push_to_topic(push, "channels/everybody"),
        }
    }

    fn push_to_topic(&self, push: &NewPush, topic: &str) -> Result<Arc<PushRecord>, Refused> {
        if TopicName::parse(topic).is_err() {
            return Err(Refused::Audience(topic.to_owned()));
        }
        let loops = self.config.loops;
        let record = self.shared.pushes.begin(push, loops);
        let publication = Arc::new(self.publication(push, topic, &record));
        let part = PushPart { to: PushTo::Subscribers, publication, record };
        self.hand_over((0..loops).map(|index| (index, part.clone())).collect(), &part.record)
    }

    fn push_to_devices(&self, push: &NewPush, devices: &[String]) -> Result<Arc<PushRecord>, Refused> {
        let mut by_home: Vec<Vec<String>> = vec![Vec::new(); self.config.loops];
        for device in devices {
            let topic = format!("inbox/{device}");
            if TopicName::parse(&topic).is_err() {
                return Err(Refused::Audience(topic));
            }
            by_home[self.shared.home_of(device)].push(device.clone());
        }
        by_home.iter_mut().for_each(|devices| devices.shrink_to_fit());
        let concerned = by_home.iter().filter(|devices| !devices.is_empty()).count();
        let record = self.shared.pushes.begin(push, concerned);
        let publication = Arc::new(self.publication(push, "inbox/", &record));
        let parts = by_home.into_iter().enumerate().filter(|(_, devices)| !devices.is_empty());
        let part = |devices| PushPart {
            to: PushTo::Inboxes(devices),
            publication: Arc::clone(&publication),
            record: Arc::clone(&record),
        };
        self.hand_over(parts.map(|(index, devices)| (index, part(devices))).collect(), &record)
    }

    /// Pushes enter by the first loop, which gives the others their parts: so a push is accepted whole or
    /// not at all, and devices see pushes in the order in which they were accepted.
    fn hand_over(
        &self,
        parts: Vec<(usize, PushPart)>,
        record: &Arc<PushRecord>,
    ) -> Result<Arc<PushRecord>, Refused> {
        match self.shared.handle(0).try_send(Message(Kind::Push(parts))) {
            Ok(()) => Ok(Arc::clone(record)),
            Err(_) => {
                self.shared.pushes.forget(record.id());
                Err(Refused::Busy { retry_after: Duration::from_secs(1) })
            }
        }
    }

    fn publication(&self, push: &NewPush, topic: &str, record: &PushRecord) -> Publication {
        let mut user_properties = UserPropertiesBuffer::default();
        for (name, value) in &push.user_properties {
            user_properties.push(name, value);
        }
        let properties = PublishProperties {
            content_type: push.content_type.as_deref(),
            user_properties: user_properties.properties(),
            ..PublishProperties::default()
        };
        let mut forwardable = Vec::new();
        properties.encode_forwardable(&mut forwardable);
        let now_ms = u64::try_from(self.shared.epoch.elapsed().as_millis()).unwrap_or(u64::MAX);
        let expires_at_ms = push.expiry.map(|expiry| {
            now_ms.saturating_add(u64::try_from(expiry.as_millis()).unwrap_or(u64::MAX)).max(1)
        });
        Publication::new(&MqttMessage {
            topic,
            properties: &forwardable,
            payload: &push.payload,
            head: Head { qos: push.qos, expires_at_ms, receipt: record.id().0, ..Head::default() },
        })
    }

    /// A push that is still remembered.
    pub fn find_push(&self, id: PushId) -> Option<Arc<PushRecord>> {
        self.shared.pushes.find(id)
    }

    /// The newest pushes first.
    pub fn newest_pushes(&self, limit: usize) -> Vec<Arc<PushRecord>> {
        self.shared.pushes.newest(limit)
    }

    /// Devices in byte order of their client ids, at most `limit`. Blocks for two seconds at most.
    pub fn devices(&self, query: &DevicesQuery) -> Gathered<Vec<DeviceView>> {
        let (sender, receiver) = mpsc::channel();
        let asked = (0..self.config.loops)
            .filter(|&index| self.ask(index, Query::Devices(query.clone(), sender.clone())))
            .count();
        drop(sender);
        let answers = gather(&receiver, asked);
        let missing = self.config.loops - answers.len();
        let mut devices: Vec<DeviceView> = answers.into_iter().flatten().collect();
        devices.sort_unstable_by(|one, other| one.client_id.cmp(&other.client_id));
        devices.truncate(query.limit);
        Gathered { answers: devices, missing }
    }

    /// One device. Blocks for two seconds at most.
    pub fn device(&self, client_id: &str) -> Gathered<Option<DeviceView>> {
        let (sender, receiver) = mpsc::channel();
        let asked = self.ask(self.shared.home_of(client_id), Query::Device(client_id.to_owned(), sender));
        let answer = gather(&receiver, usize::from(asked)).pop();
        Gathered { missing: usize::from(answer.is_none()), answers: answer.flatten() }
    }

    /// Closes a device's connection; its session stays. Blocks for two seconds at most.
    pub fn kick(&self, client_id: &str) -> Gathered<Option<Kicked>> {
        let (sender, receiver) = mpsc::channel();
        let asked = self.ask(self.shared.home_of(client_id), Query::Kick(client_id.to_owned(), sender));
        let answer = gather(&receiver, usize::from(asked)).pop();
        Gathered { missing: usize::from(answer.is_none()), answers: answer }
    }

    /// Each loop's counts of what its devices do.
    pub fn counts(&self) -> Vec<Counts> {
        self.shared.published.iter().map(|published| published.read()).collect()
    }

    /// Each loop's counts of what its sockets do.
    pub fn loop_stats(&self) -> Vec<Arc<LoopStats>> {
        (0..self.config.loops).map(|index| Arc::clone(self.shared.handle(index).stats())).collect()
    }

    /// Verdicts of authentication so far.
    pub fn auth_counts(&self) -> AuthCounts {
        self.config.authenticator.counts()
    }

    /// Topics with a retained message, and the bytes they hold.
    pub fn retained(&self) -> (usize, usize) {
        (self.shared.retained.len(), self.shared.retained.bytes())
    }

    /// Reads the files of authentication and authorisation again, and ends subscriptions that the new
    /// rules do not allow.
    pub fn reload(&self) -> Result<(), crate::auth::Error> {
        let reloaded = self.config.authenticator.reload();
        for index in 0..self.config.loops {
            // A loop that is too busy to hear of it asks the new rules for everything new all the same.
            let _ = self.shared.handle(index).try_send(Message(Kind::RulesChanged));
        }
        reloaded
    }

    /// Gives a socket that another server accepted, and whose bytes ask for MQTT over WebSocket, to a loop.
    /// It comes back if no loop has room, or if the configuration takes no such sockets.
    pub fn adopt(&self, stream: std::net::TcpStream) -> Result<(), std::net::TcpStream> {
        let Some(handed_over) = &self.config.handed_over else { return Err(stream) };
        let next = self.shared.next_adopted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let carries = match &handed_over.settings.websocket {
            Some(settings) => Carries::WebSocketRequest {
                settings: Arc::clone(settings),
                within_ms: handed_over.settings.handshake_timeout_ms,
            },
            None => Carries::Bytes,
        };
        let limits = ConnectionLimits {
            carry_bytes_max: self.config.before_authentication.bytes,
            ..handed_over.settings.limits
        };
        let adopt = Adopt { listener: self.config.handed_over_tag(), carries, limits, ..Adopt::default() };
        self.shared.handle(next % self.config.loops).adopt(stream, adopt).map_err(|full| full.0)
    }

    fn ask(&self, index: usize, query: Query) -> bool {
        self.shared.handle(index).try_send(Message(Kind::Query(query))).is_ok()
    }
}

fn gather<T>(receiver: &Receiver<T>, wanted: usize) -> Vec<T> {
    let until = Instant::now() + ANSWER_WITHIN;
    let mut answers = Vec::with_capacity(wanted);
    while answers.len() < wanted {
        let left = until.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left) {
            Ok(answer) => answers.push(answer),
            Err(_) => break,
        }
    }
    answers
}

impl DeviceLoop {
    /// Routes this loop's part of a push.
    pub(crate) fn push(&mut self, io: &mut Io<Message>, part: PushPart) {
        let PushPart { to, publication, record } = part;
        match to {
            PushTo::Subscribers => {
                let mut turn = Turn { io, around: &mut self.around };
                self.broker.forwarded(&mut turn, &publication);
            }
            PushTo::Inboxes(devices) => {
                let unread = self.push_to_inboxes(io, &devices, &publication);
                record.add_not_connected(unread);
            }
        }
        self.pushed.push(record);
    }

    /// Routes a push to each device's inbox; says how many devices have no session that reads it. The
    /// publication's topic is the inboxes' common beginning.
    fn push_to_inboxes(
        &mut self,
        io: &mut Io<Message>,
        devices: &[String],
        publication: &Publication,
    ) -> u64 {
        let mut unread = 0;
        let mut topic = String::new();
        let message = publication.message();
        for device in devices {
            topic.clear();
            topic.push_str(message.topic);
            topic.push_str(device);
            let mut turn = Turn { io: &mut *io, around: &mut self.around };
            let known = self.broker.find(device).is_some();
            let reached = self.broker.accept(&mut turn, &MqttMessage { topic: &topic, ..message });
            if !known || reached != Ok(true) {
                unread += 1;
            }
        }
        unread
    }

    /// Answers a question. Nobody may be listening any more; that is theirs to know.
    pub(crate) fn answer(&mut self, io: &mut Io<Message>, query: Query) {
        match query {
            Query::Devices(query, reply) => {
                let _ = reply.send(self.list(io, &query));
            }
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
        }
    }

    fn list(&self, io: &Io<Message>, query: &DevicesQuery) -> Vec<DeviceView> {
        let mut found: Vec<_> = self
            .broker
            .sessions()
            .filter(|(_, client_id, link)| {
                client_id.starts_with(&query.prefix)
                    && query.after.as_deref().is_none_or(|after| *client_id > after)
                    && match query.which {
                        WhichDevices::All => true,
                        WhichDevices::Connected => link.is_some(),
                        WhichDevices::Away => link.is_none(),
                    }
            })
            .map(|(key, client_id, _)| (client_id, key))
            .collect();
        let limit = query.limit.min(found.len());
        if limit == 0 {
            return Vec::new();
        }
        if limit < found.len() {
            found.select_nth_unstable(limit - 1);
            found.truncate(limit);
        }
        found.sort_unstable();
        let views = found.into_iter().filter_map(|(_, key)| self.broker.view(key));
        views.map(|view| self.describe(io, view)).collect()
    }

    fn describe(&self, io: &Io<Message>, view: SessionView<ConnectionId, Who>) -> DeviceView {
        let wall = |at_ms: u64| self.around.shared.epoch_wall + Duration::from_millis(at_ms);
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
