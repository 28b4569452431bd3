//! The edge from outside its loops: pushes, questions, counts.
//!
//! A handle never touches a loop's state. Pushes and questions go to mailboxes; answers are
//! collected from the loops that were asked, with a deadline. Calls that collect answers block the
//! calling thread.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use stadium_mqtt::broker::{Head, Message as MqttMessage, Publication};
use stadium_mqtt::topic::{TopicName, has_levels_within};
use stadium_push::live::{
    Away, ClientId, LiveAudience, LiveDispatch, LivePush, LiveTally, LiveToken, TopicPush,
};
use stadium_push::{AppName, Dispatch, PushId, Time, TransportCommand};
use stadium_reactor::{Adopt, AdoptedTls, Carries, ConnectionLimits, LoopStats};

use crate::auth::{Counts as AuthCounts, NewRules, NotSet, RulesInForce};
use crate::config::{CONNECT_BYTES_FREE, Config};
use crate::counts::Counts;
use crate::message::{Kind, Message, PushPart, PushTo};
use crate::push::live::{forwardable, receipt};
use crate::push::transport::{QueuedItem, TransportQueue, mqtt_qos};
use crate::push::{PushRecord, Refused};
use crate::query::{DeviceView, DevicesQuery, Kicked, Query};
use crate::turn::Shared;
use crate::uplinks::MessageFeed;

/// How long a loop may take to answer a question. A loop in the middle of the largest turn that its
/// bounds allow answers in a tenth of it.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Reaches a running edge from any thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct EdgeHandle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) config: Arc<Config>,
}

/// Answers of the loops that answered in time.
#[derive(Clone, Debug)]
pub struct LoopAnswers<T> {
    /// The answers.
    pub answers: T,
    /// Loops that could not be asked, or did not answer in time.
    pub missing: usize,
}

impl EdgeHandle {
    /// Accepts a live push to a topic, or returns why it is refused; then nothing happened.
    pub fn push(&self, push: &TopicPush) -> Result<Arc<PushRecord>, Refused> {
        self.accepts_pushes()?;
        match &push.push.to {
            LiveAudience::Clients(clients) => self.push_to_clients(push, clients),
            LiveAudience::Channel(name) => self.push_to_topic(push, &name.topic()),
            LiveAudience::Registered(_) => Err(Refused::Audience("that of registered devices".to_owned())),
        }
    }

    /// Opens the record of a live push to registered devices, which the shards dispatch.
    pub fn open_push(&self, push: LivePush) -> Result<Arc<PushRecord>, Refused> {
        self.accepts_pushes()?;
        if !self.shared.transport_queues.iter().all(TransportQueue::takes_live_pushes) {
            return Err(Refused::Busy { retry_after: Duration::from_secs(1) });
        }
        Ok(self.shared.pushes.begin(push, Away::Skip, 0))
    }

    /// Forgets a push: the shards refused it.
    pub fn forget_push(&self, token: LiveToken) {
        self.shared.pushes.forget(token);
    }

    fn accepts_pushes(&self) -> Result<(), Refused> {
        match self.shared.draining.load(std::sync::atomic::Ordering::Acquire) {
            true => Err(Refused::Draining),
            false => Ok(()),
        }
    }

    /// Hands what devices publish to these feeds from now on, where their topics match: each is
    /// acknowledged once it is durable in a job of the feed's queue.
    pub fn follow(&self, feeds: Vec<MessageFeed>) {
        self.shared.followed.set(feeds);
    }

    /// Lets no device in from now on. Those that are here stay, and pushes go on.
    pub fn close_door(&self) {
        self.shared.closed.store(true, std::sync::atomic::Ordering::Release);
    }

    fn push_to_topic(&self, push: &TopicPush, topic: &str) -> Result<Arc<PushRecord>, Refused> {
        let levels_max = self.config.broker.topic_levels_max;
        if TopicName::parse(topic).is_err() || !has_levels_within(topic, levels_max) {
            return Err(Refused::Audience(topic.to_owned()));
        }
        let loops = self.config.loops;
        let record = self.shared.pushes.begin(push.push.clone(), push.away, loops);
        let publication = Arc::new(self.publication(push, topic, &record));
        let part = PushPart { to: PushTo::Subscribers, publication, record };
        self.hand_over((0..loops).map(|index| (index, part.clone())).collect(), &part.record)
    }

    fn push_to_clients(&self, push: &TopicPush, clients: &[ClientId]) -> Result<Arc<PushRecord>, Refused> {
        let mut by_home: Vec<Vec<ClientId>> = vec![Vec::new(); self.config.loops];
        for client in clients {
            let topic = client.inbox_topic();
            if TopicName::parse(&topic).is_err() {
                return Err(Refused::Audience(topic));
            }
            by_home[self.shared.home_of(client.as_str())].push(client.clone());
        }
        by_home.iter_mut().for_each(|clients| clients.shrink_to_fit());
        let concerned = by_home.iter().filter(|clients| !clients.is_empty()).count();
        let record = self.shared.pushes.begin(push.push.clone(), push.away, concerned);
        let publication = Arc::new(self.publication(push, "inbox/", &record));
        let parts = by_home.into_iter().enumerate().filter(|(_, clients)| !clients.is_empty());
        let part = |clients| PushPart {
            to: PushTo::Inboxes(clients),
            publication: Arc::clone(&publication),
            record: Arc::clone(&record),
        };
        self.hand_over(parts.map(|(index, clients)| (index, part(clients))).collect(), &record)
    }

    /// Pushes enter by the first loop, which gives the others their parts: so a push is accepted
    /// whole or not at all, and devices see pushes in the order in which they were accepted.
    fn hand_over(
        &self,
        parts: Vec<(usize, PushPart)>,
        record: &Arc<PushRecord>,
    ) -> Result<Arc<PushRecord>, Refused> {
        match self.shared.handle(0).try_send(Message(Kind::Push(parts))) {
            Ok(()) => Ok(Arc::clone(record)),
            Err(_) => {
                self.shared.pushes.forget(record.token());
                Err(Refused::Busy { retry_after: Duration::from_secs(1) })
            }
        }
    }

    fn publication(&self, push: &TopicPush, topic: &str, record: &PushRecord) -> Publication {
        let TopicPush { push: LivePush { qos, .. }, message, away } = push;
        let properties = forwardable(message.content_type.as_deref(), &message.properties);
        let now_ms = self.shared.now_ms();
        let expires_at_ms = match away {
            Away::Queue(Some(expiry)) => Some(now_ms.saturating_add(*expiry).max(1)),
            Away::Queue(None) | Away::Skip => None,
        };
        Publication::new(&MqttMessage {
            topic,
            properties: &properties,
            payload: &message.payload,
            head: Head {
                qos: mqtt_qos(qos.number()),
                expires_at_ms,
                receipt: receipt(record.token().number(), *away),
                ..Head::default()
            },
        })
    }

    /// Takes over commands of a shard of the push platform; never waits.
    pub fn transport(&self, shard: u16, commands: Vec<TransportCommand>) {
        let mut by_loop: Vec<Vec<QueuedItem>> = (0..self.config.loops).map(|_| Vec::new()).collect();
        for command in commands {
            match &command {
                TransportCommand::Dispatch(Dispatch { loop_index, .. })
                | TransportCommand::Live(LiveDispatch { loop_index, .. }) => {
                    if let Some(items) = by_loop.get_mut(usize::from(*loop_index)) {
                        items.push(QueuedItem::Command { shard, command });
                    }
                }
                // Any loop may have a connection whose principal it is.
                TransportCommand::Disconnect { .. } => {
                    for items in &mut by_loop {
                        items.push(QueuedItem::Command { shard, command: command.clone() });
                    }
                }
            }
        }
        for (index, items) in by_loop.into_iter().enumerate().filter(|(_, items)| !items.is_empty()) {
            self.shared.transport_queues[index].put(items, self.shared.handle(index));
        }
    }

    /// A shard of the push platform knows no connection any more: its devices that read their inbox
    /// are announced to it again.
    pub fn announce_again(&self, shard: u16) {
        for (index, queue) in self.shared.transport_queues.iter().enumerate() {
            queue.put([QueuedItem::AnnounceAgain { shard }], self.shared.handle(index));
        }
    }

    /// Names this process in the names of its connections, see
    /// [`ConnectionName::node`](stadium_push::ConnectionName::node); until then it is 0, as in a
    /// standalone server. To the shards, connections that have another name end, and their devices
    /// arrive again.
    pub fn set_node(&self, node: u32) {
        self.shared.pushes.set_node(node);
        for (index, queue) in self.shared.transport_queues.iter().enumerate() {
            queue.put([QueuedItem::Node(node)], self.shared.handle(index));
        }
    }

    /// Adds what another node has counted of a live push that this one accepted.
    pub fn counted(&self, token: LiveToken, counts: &LiveTally) {
        self.shared.pushes.add_remote(token, counts);
    }

    /// The record of a push that is still remembered.
    pub fn push_record(&self, token: LiveToken) -> Option<Arc<PushRecord>> {
        self.shared.pushes.find(token)
    }

    /// The record of a push by its id, if it is still remembered.
    pub fn find_push(&self, app: &AppName, id: PushId) -> Option<Arc<PushRecord>> {
        self.shared.pushes.find_id(app, id)
    }

    /// The newest pushes first: of one app or of all, before that time and id where they are given.
    pub fn newest_pushes(
        &self,
        app: Option<&AppName>,
        before: Option<(Time, PushId)>,
        limit: usize,
    ) -> Vec<Arc<PushRecord>> {
        self.shared.pushes.newest(app, before, limit)
    }

    /// Devices in byte order of their client ids, at most `limit`. A loop with many sessions looks
    /// through them in several turns. Blocks for two seconds at most.
    pub fn devices(&self, query: &DevicesQuery) -> LoopAnswers<Vec<DeviceView>> {
        let (sender, receiver) = mpsc::channel();
        let asked = (0..self.config.loops)
            .filter(|&index| self.ask(index, Query::Devices(query.clone(), sender.clone())))
            .count();
        drop(sender);
        let answers = collect(&receiver, asked);
        let missing = self.config.loops - answers.len();
        let mut devices: Vec<DeviceView> = answers.into_iter().flatten().collect();
        devices.sort_unstable_by(|one, other| one.client_id.cmp(&other.client_id));
        devices.truncate(query.limit);
        LoopAnswers { answers: devices, missing }
    }

    /// One device. Blocks for two seconds at most.
    pub fn device(&self, client_id: &str) -> LoopAnswers<Option<DeviceView>> {
        let (sender, receiver) = mpsc::channel();
        let asked = self.ask(self.shared.home_of(client_id), Query::Device(client_id.to_owned(), sender));
        let answer = collect(&receiver, usize::from(asked)).pop();
        LoopAnswers { missing: usize::from(answer.is_none()), answers: answer.flatten() }
    }

    /// Closes a device's connection; its session stays. Blocks for two seconds at most.
    pub fn kick(&self, client_id: &str) -> LoopAnswers<Option<Kicked>> {
        let (sender, receiver) = mpsc::channel();
        let asked = self.ask(self.shared.home_of(client_id), Query::Kick(client_id.to_owned(), sender));
        let answer = collect(&receiver, usize::from(asked)).pop();
        LoopAnswers { missing: usize::from(answer.is_none()), answers: answer }
    }

    /// Ends a device's session with all that it holds, and closes its connection; its will is not
    /// published. The shards have the end shortly after. Returns whether it had a session. Blocks for
    /// two seconds at most.
    pub fn forget_session(&self, client_id: &str) -> LoopAnswers<Option<bool>> {
        let (sender, receiver) = mpsc::channel();
        let asked = self.ask(self.shared.home_of(client_id), Query::Forget(client_id.to_owned(), sender));
        let answer = collect(&receiver, usize::from(asked)).pop();
        LoopAnswers { missing: usize::from(answer.is_none()), answers: answer }
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
        self.announce_rules();
        reloaded
    }

    /// The rules of topics in force.
    pub fn rules(&self) -> RulesInForce {
        self.config.authenticator.policy().in_force()
    }

    /// Replaces the rules of topics, as [`Policy::set`](crate::auth::Policy::set), and ends
    /// subscriptions that the new ones do not allow.
    ///
    /// # Errors
    /// [`NotSet`]; nothing was changed.
    pub fn set_rules(&self, new: NewRules, expected: Option<&[String]>) -> Result<RulesInForce, NotSet> {
        let set = self.config.authenticator.policy().set(new, expected)?;
        self.announce_rules();
        Ok(set)
    }

    fn announce_rules(&self) {
        for index in 0..self.config.loops {
            // A loop that is too busy to hear of it asks the new rules for everything new all the same.
            let _ = self.shared.handle(index).try_send(Message(Kind::RulesChanged));
        }
    }

    /// Gives a socket that another server accepted, and whose bytes ask for MQTT over WebSocket, to
    /// a loop. `tls` is what that server shook hands for, and `unread` what it read beyond that.
    /// The socket comes back if no loop has room, or if the configuration takes no such sockets.
    pub fn adopt(
        &self,
        stream: std::net::TcpStream,
        tls: Option<AdoptedTls>,
        unread: Vec<u8>,
    ) -> Result<(), std::net::TcpStream> {
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
            carry_bytes_max: self.config.before_authentication.bytes.min(CONNECT_BYTES_FREE),
            ..handed_over.settings.limits
        };
        let adopt = Adopt { listener: self.config.handed_over_tag(), carries, leftover: unread, tls, limits };
        self.shared.handle(next % self.config.loops).adopt(stream, adopt).map_err(|full| full.0)
    }

    pub(crate) fn ask(&self, index: usize, query: Query) -> bool {
        self.shared.handle(index).try_send(Message(Kind::Query(query))).is_ok()
    }
}

fn collect<T>(receiver: &Receiver<T>, wanted: usize) -> Vec<T> {
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
