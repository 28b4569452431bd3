//! Messages that applications publish to topics: they enter by the first loop, and the application
//! hears what became of each.
//!
//! A batch is taken by the loop or refused as a whole; then each message has an outcome of its own.
//! Like pushes, all of them enter by one loop, so that receivers see them in the order in which
//! they were accepted. Who may publish is decided before, by the door that the application uses.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use stadium_grants::topics::{OWN_PREFIX, is_own};
use stadium_mqtt::broker::{Head, Message as MqttMessage, Persisted, Publication, PublishId, Published};
use stadium_mqtt::packet::PublishProperties;
use stadium_mqtt::property::UserPropertiesBuffer;
use stadium_mqtt::reason::ReasonCode;
use stadium_mqtt::topic::{TopicName, has_levels_within};
use stadium_reactor::Io;

use crate::EdgeHandle;
use crate::device_loop::DeviceLoop;
use crate::message::{Kind, Message};
use crate::requests::REQUEST_PREFIX;
use crate::turn::Turn;

pub use stadium_mqtt::packet::QoS;

/// Messages of one batch: a loop routes them in one turn, about a millisecond for few receivers.
pub const PUBLISH_BATCH_MAX: usize = 100;

/// When an application tries again whose messages were not taken.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A message of an application.
#[derive(Clone, Copy, Debug)]
pub struct ApplicationMessage<'a> {
    /// Topic Name.
    pub topic: &'a str,
    /// The application's bytes.
    pub payload: &'a [u8],
    /// At QoS 1 and 2 sessions that persist are owed it.
    pub qos: QoS,
    /// Whether it becomes the topic's retained message; without payload it removes that.
    pub retain: bool,
    /// Seconds after which nobody is sent it any more.
    pub expiry_s: Option<u32>,
    /// Payload Format Indicator: the payload is UTF-8 text.
    pub is_text: bool,
    /// Content Type.
    pub content_type: Option<&'a str>,
    /// Response Topic.
    pub response_topic: Option<&'a str>,
    /// Correlation Data.
    pub correlation_data: Option<&'a [u8]>,
    /// User Properties, in order.
    pub user_properties: &'a [(&'a str, &'a str)],
}

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishOutcome {
    /// It is owed to all its receivers; durably, where that was asked for.
    Accepted {
        /// Whether anybody may have subscribed to its topic.
        matched: bool,
    },
    /// It was to be retained and there is no room. Nobody got it.
    NoRoom,
    /// A shard or a loop does not keep up. Nobody got it.
    Busy,
    /// A shard did not answer: it may have been delivered.
    Unknown,
}

/// The reason that a batch was refused; nothing happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPublished {
    /// The loop's mailbox is full.
    Busy {
        /// When trying again makes sense.
        retry_after: Duration,
    },
    /// The node drains.
    Draining,
    /// The topic of the message at this place cannot be published to, and why.
    Topic(usize, String),
}

/// Hears the outcomes of a batch, in the order of its messages. Called on a loop: it must not block.
/// It is dropped uncalled where the edge ends before.
pub type PublishReply = Box<dyn FnOnce(Vec<PublishOutcome>) + Send + Sync>;

/// A batch on its way to the loop.
pub(crate) struct Publishing {
    messages: Vec<Publication>,
    reply: PublishReply,
}

impl fmt::Debug for Publishing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publishing").field("messages", &self.messages.len()).finish_non_exhaustive()
    }
}

impl EdgeHandle {
    /// Takes messages of an application over; `reply` hears what became of each.
    ///
    /// # Errors
    /// [`NotPublished`]; then nothing happened and `reply` is not called.
    pub fn publish(
        &self,
        messages: &[ApplicationMessage<'_>],
        reply: PublishReply,
    ) -> Result<(), NotPublished> {
        if self.shared.draining.load(std::sync::atomic::Ordering::Acquire) {
            return Err(NotPublished::Draining);
        }
        for (place, message) in messages.iter().enumerate() {
            self.check_topic(message.topic).map_err(|why| NotPublished::Topic(place, why))?;
        }
        let now_ms = self.shared.now_ms();
        let messages = messages.iter().map(|message| publication(message, now_ms)).collect();
        let batch = Message(Kind::Publish(Publishing { messages, reply }));
        let busy = |_| NotPublished::Busy { retry_after: RETRY_AFTER };
        self.shared.handle(0).try_send(batch).map_err(busy)
    }

    /// Whether applications may publish to a topic, or why not.
    ///
    /// # Errors
    /// Why not, in words.
    fn check_topic(&self, topic: &str) -> Result<(), String> {
        let levels_max = self.config.broker.topic_levels_max;
        TopicName::parse(topic).map_err(|error| error.to_string())?;
        if !has_levels_within(topic, levels_max) {
            return Err(format!("it has more than {levels_max} levels (limits.topic_levels_max)"));
        }
        if topic.starts_with('$') {
            return Err("topics that begin with `$` are the server's own".to_owned());
        }
        if is_own(topic) {
            return Err(format!("`{OWN_PREFIX}/...` is for requests of devices about themselves"));
        }
        let is_request = |rest: &str| rest.starts_with('/');
        if self.config.services.is_some() && topic.strip_prefix(REQUEST_PREFIX).is_some_and(is_request) {
            return Err(format!("`{REQUEST_PREFIX}/...` is for requests of devices to services"));
        }
        Ok(())
    }
}

fn publication(message: &ApplicationMessage<'_>, now_ms: u64) -> Publication {
    let mut user_properties = UserPropertiesBuffer::default();
    for (name, value) in message.user_properties {
        user_properties.push(name, value);
    }
    let mut properties = Vec::new();
    PublishProperties {
        payload_format: message.is_text.then_some(1),
        response_topic: message.response_topic,
        correlation_data: message.correlation_data,
        content_type: message.content_type,
        user_properties: user_properties.properties(),
        ..PublishProperties::default()
    }
    .encode_forwardable(&mut properties);
    Publication::new(&MqttMessage {
        topic: message.topic,
        properties: &properties,
        payload: message.payload,
        head: Head {
            qos: message.qos,
            retain: message.retain,
            expires_at_ms: message.expiry_s.map(|seconds| now_ms + u64::from(seconds) * 1_000),
            ..Head::default()
        },
    })
}

impl DeviceLoop {
    /// Routes a batch, and answers it once all of it is settled.
    pub(crate) fn publish_batch(&mut self, io: &mut Io<Message>, batch: Publishing) {
        let Publishing { messages, reply } = batch;
        let is_behind = self.around.forwards_waiting > self.config.forwards_waiting_max;
        if is_behind || !self.around.keeps_up() {
            // As publishing devices are not read then; an application gets an answer.
            self.around.publishes.refused += messages.len() as u64;
            reply(vec![PublishOutcome::Busy; messages.len()]);
            return;
        }
        let id = self.around.publishes.begin(messages.len(), reply);
        for (place, publication) in messages.iter().enumerate() {
            let name = Publishes::name(id, place);
            let mut turn = Turn { io: &mut *io, around: &mut self.around };
            let published = self.broker.publish_for(&mut turn, &publication.message(), name);
            self.around.publishes.routed(name, published);
        }
        self.around.publishes.settle(id);
    }
}

/// Batches of one loop that are not answered. Each belongs to a request of an application, which is
/// given up by its door after a time; their number is bounded there.
#[derive(Debug, Default)]
pub(crate) struct Publishes {
    last: u64,
    waiting: HashMap<u64, Batch>,
    /// Messages that were accepted.
    pub(crate) accepted: u64,
    /// Messages that were not, or of which it is not known.
    pub(crate) refused: u64,
}

struct Batch {
    outcomes: Vec<PublishOutcome>,
    /// Messages that shards have not answered for.
    left: usize,
    reply: PublishReply,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("left", &self.left).finish_non_exhaustive()
    }
}

/// Bits of a message's name that are its place in the batch.
const PLACE_BITS: u32 = 16;

impl Publishes {
    fn begin(&mut self, messages: usize, reply: PublishReply) -> u64 {
        self.last += 1;
        let outcomes = vec![PublishOutcome::Unknown; messages];
        self.waiting.insert(self.last, Batch { outcomes, left: 0, reply });
        self.last
    }

    fn name(batch: u64, place: usize) -> PublishId {
        PublishId(batch << PLACE_BITS | place as u64)
    }

    /// How far a message came at once.
    fn routed(&mut self, name: PublishId, published: Result<Published, ReasonCode>) {
        let Some((batch, place)) = self.find(name) else { return };
        let (outcome, waits) = match published {
            Ok(Published { anybody, waits }) => (PublishOutcome::Accepted { matched: anybody }, waits),
            Err(_) => (PublishOutcome::NoRoom, false),
        };
        batch.outcomes[place] = outcome;
        batch.left += usize::from(waits);
    }

    /// A message is durable, or not.
    pub(crate) fn published(&mut self, name: PublishId, persisted: Persisted) {
        let Some((batch, place)) = self.find(name) else { return };
        batch.left -= 1;
        match persisted {
            Persisted::Done | Persisted::Known => {}
            Persisted::Full => batch.outcomes[place] = PublishOutcome::NoRoom,
            Persisted::Busy => batch.outcomes[place] = PublishOutcome::Busy,
            Persisted::Unknown => batch.outcomes[place] = PublishOutcome::Unknown,
        }
        self.settle(name.0 >> PLACE_BITS);
    }

    /// Answers a batch for which nothing is waited for any more.
    fn settle(&mut self, batch: u64) {
        if self.waiting.get(&batch).is_some_and(|waiting| waiting.left == 0)
            && let Some(Batch { outcomes, reply, .. }) = self.waiting.remove(&batch)
        {
            let is_accepted = |outcome: &&PublishOutcome| matches!(outcome, PublishOutcome::Accepted { .. });
            let accepted = outcomes.iter().filter(is_accepted).count();
            self.accepted += accepted as u64;
            self.refused += (outcomes.len() - accepted) as u64;
            reply(outcomes);
        }
    }

    fn find(&mut self, PublishId(name): PublishId) -> Option<(&mut Batch, usize)> {
        let place = (name & ((1 << PLACE_BITS) - 1)) as usize;
        Some((self.waiting.get_mut(&(name >> PLACE_BITS))?, place))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use stadium_reactor::LoopSettings;

    use super::*;
    use crate::auth::{AuthConfig, Authenticator};
    use crate::{Config, Edge};

    fn message(topic: &str) -> ApplicationMessage<'_> {
        ApplicationMessage {
            topic,
            payload: b"x",
            qos: QoS::AtLeastOnce,
            retain: false,
            expiry_s: None,
            is_text: true,
            content_type: None,
            response_topic: None,
            correlation_data: None,
            user_properties: &[],
        }
    }

    #[test]
    fn a_full_mailbox_is_busy_and_a_wrong_topic_refuses_its_batch() {
        let authenticator = Authenticator::open(&AuthConfig::default()).expect("the defaults are right");
        let config = Config {
            loop_settings: LoopSettings { mailbox_messages_max: 2, ..LoopSettings::default() },
            ..Config::new(Arc::new(authenticator))
        };
        // Its loop does not run: what is taken waits in the mailbox.
        let edge = Edge::bind(config).expect("it listens nowhere");
        let answered = Arc::new(AtomicUsize::new(0));
        let publish = |topics: &[&str]| {
            let messages: Vec<_> = topics.iter().map(|topic| message(topic)).collect();
            let answered = Arc::clone(&answered);
            let reply: PublishReply = Box::new(move |_| {
                answered.fetch_add(1, Ordering::Relaxed);
            });
            edge.handle().publish(&messages, reply)
        };
        for (topics, place) in [(&["a", "b/#"][..], 1), (&["$SYS/x", "a"], 0), (&["a", "b", "me/x"], 2)] {
            assert!(matches!(publish(topics), Err(NotPublished::Topic(at, _)) if at == place), "{topics:?}");
        }
        assert_eq!(publish(&["a"]), Ok(()));
        assert_eq!(publish(&["a", "b"]), Ok(()));
        assert_eq!(publish(&["a"]), Err(NotPublished::Busy { retry_after: RETRY_AFTER }));
        drop(edge);
        assert_eq!(answered.load(Ordering::Relaxed), 0, "no outcome is known");
    }

    #[test]
    fn a_batch_is_answered_when_its_last_message_is_settled() {
        let mut publishes = Publishes::default();
        let (sender, outcomes) = std::sync::mpsc::channel();
        let batch = publishes.begin(4, Box::new(move |all| drop(sender.send(all))));
        let name = |place| Publishes::name(batch, place);
        publishes.routed(name(0), Ok(Published { anybody: true, waits: true }));
        publishes.routed(name(1), Err(ReasonCode::QuotaExceeded));
        publishes.routed(name(2), Ok(Published { anybody: false, waits: false }));
        publishes.routed(name(3), Ok(Published { anybody: true, waits: true }));
        publishes.settle(batch);
        publishes.published(name(3), Persisted::Unknown);
        assert!(outcomes.try_recv().is_err(), "one is not settled");
        publishes.published(name(0), Persisted::Done);
        let accepted = |matched| PublishOutcome::Accepted { matched };
        let expected = [accepted(true), PublishOutcome::NoRoom, accepted(false), PublishOutcome::Unknown];
        assert_eq!(outcomes.try_recv().expect("all are settled"), expected);
        assert_eq!((publishes.accepted, publishes.refused, publishes.waiting.len()), (2, 2, 0));
        publishes.published(name(0), Persisted::Done);
    }
}
