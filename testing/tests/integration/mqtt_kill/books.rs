//! The books of the load: the messages of publishers with their answers, and the deliveries to
//! subscribers.
//!
//! A message is named by its publisher and its number there. It is *accepted* when its PUBACK or
//! PUBREC confirms it: then every subscription that matches must get it. One that was refused, or
//! never answered, may or may not arrive. At QoS 2 none arrives twice, whatever was answered.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use anyhow::{Result, ensure};

/// The topics of messages that are not retained.
pub const TOPICS: [&str; 4] = ["kill/a", "kill/b", "kill/c", "kill/d"];

/// The last retained topic in the order of topics, published when all is over.
pub const FENCE: &str = "kept/~";

/// A publisher and the number of one of its messages.
pub type Name = (usize, usize);

/// The outcome of a message, as its publisher knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Sent,
    Accepted,
    Refused,
}

/// A message.
#[derive(Clone, Debug)]
pub struct Message {
    pub topic: String,
    pub qos: u8,
    /// Takes the retained message of its topic away.
    pub clears: bool,
    pub state: State,
}

/// A subscription: who has it, to what, and whether all of its group are one receiver.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// Topics that it is to get.
    pub topics: Vec<&'static str>,
    /// The granted QoS.
    pub qos: u8,
    /// Whether it is shared: a message that is repeated after a crash may go to another member.
    pub shared: bool,
}

/// The messages of one receiver: a subscriber, or all members of a group.
#[derive(Debug)]
struct Receiver {
    id: String,
    subscription: Subscription,
    received: HashMap<Name, u32>,
    /// The highest number received, by publisher, topic and QoS of the publish.
    newest: HashMap<(usize, String, u8), usize>,
}

#[derive(Debug, Default)]
struct Written {
    sent: Vec<Vec<Message>>,
    receivers: Vec<Receiver>,
    broken: Vec<String>,
}

/// Figures of a run.
#[derive(Debug, Default)]
pub struct Figures {
    pub accepted: AtomicU64,
    pub refused: AtomicU64,
    /// PUBLISH and PUBREL packets that publishers sent once more.
    pub resent: AtomicU64,
    pub received: AtomicU64,
    /// Connections that ended.
    pub ended: AtomicU64,
    /// Times that all retained messages were read.
    pub replays: AtomicU64,
}

/// The books, shared by all clients.
#[derive(Debug, Default)]
pub struct Books {
    written: Mutex<Written>,
    pub figures: Figures,
    /// Publishers begin nothing more.
    pub stop: AtomicBool,
    /// Subscribers end when they have all.
    pub finish: AtomicBool,
}

/// Adds one.
pub fn count(figure: &AtomicU64) {
    figure.fetch_add(1, Ordering::Relaxed);
}

impl Books {
    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().expect("no client panics with it")
    }

    pub fn accepted(&self) -> u64 {
        self.figures.accepted.load(Ordering::Relaxed)
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub fn finished(&self) -> bool {
        self.finish.load(Ordering::Relaxed)
    }

    /// A promise was broken.
    pub fn broken(&self, promise: String) {
        self.written().broken.push(promise);
    }

    /// Whether a promise was broken already: the run may end early.
    pub fn is_broken(&self) -> bool {
        !self.written().broken.is_empty()
    }

    /// Room for one more publisher.
    pub fn publisher(&self) -> usize {
        let mut written = self.written();
        written.sent.push(Vec::new());
        written.sent.len() - 1
    }

    /// Room for one more receiver.
    pub fn receiver(&self, id: &str, subscription: Subscription) -> usize {
        let mut written = self.written();
        let id = id.to_owned();
        let (received, newest) = (HashMap::new(), HashMap::new());
        written.receivers.push(Receiver { id, subscription, received, newest });
        written.receivers.len() - 1
    }

    /// A message that is about to be sent; its number.
    pub fn sends(&self, publisher: usize, message: Message) -> usize {
        let mut written = self.written();
        let sent = &mut written.sent[publisher];
        sent.push(message);
        sent.len() - 1
    }

    pub fn message(&self, (publisher, number): Name) -> Option<Message> {
        self.written().sent.get(publisher)?.get(number).cloned()
    }

    /// The server answered a publish.
    pub fn answered(&self, (publisher, number): Name, reason: u8) {
        let (state, figure) = match reason {
            0..0x80 => (State::Accepted, &self.figures.accepted),
            _ => (State::Refused, &self.figures.refused),
        };
        self.written().sent[publisher][number].state = state;
        count(figure);
    }

    /// A receiver got a message that it did not recognise as one that it has.
    pub fn received(&self, receiver: usize, name: Name) {
        count(&self.figures.received);
        let mut written = self.written();
        let Written { sent, receivers, broken } = &mut *written;
        let Receiver { id, subscription, received, newest } = &mut receivers[receiver];
        let Some(message) = sent.get(name.0).and_then(|sent| sent.get(name.1)) else {
            return broken.push(format!("{id} got {name:?}, which nobody sent"));
        };
        let times = received.entry(name).or_default();
        *times += 1;
        if *times > 1 {
            if message.qos == 2 && subscription.qos == 2 {
                broken.push(format!("{id} got {name:?} at QoS 2 {times} times: {message:?}"));
            }
            return;
        }
        let newest = newest.entry((name.0, message.topic.clone(), message.qos)).or_insert(name.1);
        if *newest > name.1 && !subscription.shared {
            broken.push(format!("{id} got {name:?} behind {newest}: {message:?}"));
        }
        *newest = (*newest).max(name.1);
    }

    /// Accepted messages that a receiver has not got.
    fn missing(written: &Written, receiver: &Receiver) -> Vec<Name> {
        let mut missing = Vec::new();
        for (publisher, sent) in written.sent.iter().enumerate() {
            for (number, message) in sent.iter().enumerate() {
                let wanted = receiver.subscription.topics.contains(&message.topic.as_str());
                let name = (publisher, number);
                if wanted && message.state == State::Accepted && !receiver.received.contains_key(&name) {
                    missing.push(name);
                }
            }
        }
        missing
    }

    /// Whether a receiver has everything that was accepted.
    pub fn is_complete(&self, receiver: usize) -> bool {
        let written = self.written();
        Self::missing(&written, &written.receivers[receiver]).is_empty()
    }

    /// The number of the message that each retained topic must have at least: the last one
    /// accepted. Topics that are cleared at times are left out.
    pub fn retained_at_least(&self) -> BTreeMap<String, Name> {
        self.retained().into_iter().filter(|(topic, _)| !clears(topic)).collect()
    }

    /// The last accepted message of each retained topic.
    fn retained(&self) -> BTreeMap<String, Name> {
        let mut last = BTreeMap::new();
        for (publisher, sent) in self.written().sent.iter().enumerate() {
            for (number, message) in sent.iter().enumerate() {
                if message.topic.starts_with("kept/") && message.state == State::Accepted {
                    last.insert(message.topic.clone(), (publisher, number));
                }
            }
        }
        last
    }

    /// The retained messages there must be when everything was answered: those of topics whose last
    /// publish was accepted.
    pub fn retained_at_last(&self) -> BTreeMap<String, Option<Name>> {
        let accepted = self.retained();
        let written = self.written();
        let mut last = BTreeMap::new();
        for (topic, name) in accepted {
            let newer = written.sent[name.0][name.1 + 1..].iter().any(|message| message.topic == topic);
            if !newer {
                last.insert(topic, (!written.sent[name.0][name.1].clears).then_some(name));
            }
        }
        last
    }

    /// Everything that was promised, at the end.
    pub fn prove(&self) -> Result<()> {
        let written = self.written();
        let first = |names: &[String]| names[..names.len().min(5)].join("; ");
        let mut lost = Vec::new();
        for receiver in &written.receivers {
            for name in Self::missing(&written, receiver) {
                lost.push(format!("{} lost {name:?} {:?}", receiver.id, written.sent[name.0][name.1]));
            }
        }
        ensure!(lost.is_empty(), "{} accepted messages are lost: {}", lost.len(), first(&lost));
        let broken = &written.broken;
        ensure!(broken.is_empty(), "{} promises are broken: {}", broken.len(), first(broken));
        let open = written.sent.iter().flatten().filter(|message| message.state == State::Sent).count();
        ensure!(open == 0, "{open} messages were never answered");
        Ok(())
    }

    /// Messages that reached a receiver more than once at QoS 1: allowed, and worth a figure.
    pub fn repeated(&self) -> u64 {
        let written = self.written();
        let times = written.receivers.iter().flat_map(|receiver| receiver.received.values());
        times.map(|times| u64::from(times - 1)).sum()
    }

    /// Messages that were accepted, at one QoS.
    pub fn accepted_at(&self, qos: u8) -> usize {
        let written = self.written();
        let accepted = |message: &&Message| message.state == State::Accepted && message.qos == qos;
        written.sent.iter().flatten().filter(accepted).count()
    }
}

/// Whether a retained topic is one that is cleared at times.
pub fn clears(topic: &str) -> bool {
    topic.ends_with("/cleared")
}

/// The payload of a message: its name, and bytes that make the journal grow.
pub fn payload((publisher, number): Name) -> Vec<u8> {
    let filler = "x".repeat(number * 37 % 400);
    format!("{publisher} {number} {filler}").into_bytes()
}

/// The name in a payload.
pub fn name(payload: &[u8]) -> Option<Name> {
    let mut words = std::str::from_utf8(payload).ok()?.split(' ');
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One publisher whose messages have these levels and answers, and one receiver of them all at
    /// QoS 2.
    fn books(messages: &[(u8, u8)]) -> Books {
        let books = Books::default();
        let publisher = books.publisher();
        books.receiver("reader", Subscription { topics: TOPICS.into(), qos: 2, shared: false });
        for (qos, reason) in messages {
            let message =
                Message { topic: TOPICS[0].to_owned(), qos: *qos, clears: false, state: State::Sent };
            let number = books.sends(publisher, message);
            books.answered((publisher, number), *reason);
        }
        books
    }

    fn mistake(books: &Books) -> String {
        books.prove().expect_err("a promise is broken").to_string()
    }

    #[test]
    fn an_accepted_message_that_never_comes_is_lost_and_a_refused_one_is_not() {
        let books = books(&[(1, 0), (2, 0), (2, 0x97)]);
        books.received(0, (0, 0));
        assert!(!books.is_complete(0));
        assert!(mistake(&books).starts_with("1 accepted messages are lost: reader lost (0, 1)"));
        books.received(0, (0, 1));
        assert!(books.is_complete(0) && books.prove().is_ok());
    }

    #[test]
    fn a_message_may_come_twice_at_qos_1_and_never_at_qos_2() {
        let books = books(&[(1, 0), (2, 0)]);
        for name in [(0, 0), (0, 1), (0, 0)] {
            books.received(0, name);
        }
        assert!(books.prove().is_ok());
        books.received(0, (0, 1));
        assert!(mistake(&books).contains("got (0, 1) at QoS 2 2 times"));
    }

    #[test]
    fn messages_of_a_topic_keep_their_order() {
        let books = books(&[(2, 0), (2, 0)]);
        books.received(0, (0, 1));
        books.received(0, (0, 0));
        assert!(mistake(&books).contains("got (0, 0) behind 1"));
    }
}
