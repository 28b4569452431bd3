//! MQTT 3.1.1 and 5.0 from the client's side: one user's connection, one step at a time.
//!
//! Messages come whenever they come: they are acknowledged and counted at once, and wait in an [`inbox`] for the step
//! that receives them. Over WebSocket the reactor does the framing: this sees packets alone.

pub(crate) mod inbox;
mod incoming;
mod numbers;
pub(crate) mod rules;

use stadium_mqtt::encode::{self, PublishHead};
use stadium_mqtt::packet::{Connect, Disconnect, FiltersBuffer, Packet, QoS, Subscribe, Version};
use stadium_mqtt::property::UserProperties;
use stadium_mqtt::reason::ReasonCode;
use stadium_mqtt::topic::{Subscribed, TopicName};
use stadium_scenario::program::{Action, Mqtt as Does};
use stadium_scenario::template::Template;

use self::inbox::Inbox;
use self::numbers::Numbers;
use self::rules::Unreleased;
use super::stamps::Stamps;
use super::talk::{Ask, Begun, Done, Output, Talk};
use crate::engine::planned::PlannedTarget;
use crate::engine::reply::{Failure, Reply};
use crate::stamp::STAMP_BYTES;
use crate::words::spoken;

/// Between two looks whether there is a keep-alive to keep, while there is no CONNACK, in nanoseconds.
const LOOK_NS: u64 = 250_000_000;
/// Ticks with PINGREQ and nothing from the server after which it counts as gone: four fifths of a keep-alive and more.
const SILENT_TICKS_MAX: u8 = 3;

/// A connection that speaks MQTT.
#[derive(Debug)]
pub(crate) struct Mqtt {
    version: Version,
    phase: Phase,
    /// In seconds: the value that the server wants, or else that of CONNECT; zero for none.
    keep_alive_s: u16,
    /// Whether something was sent since the last tick.
    spoke: bool,
    /// Ticks since which PINGREQ is unanswered; zero where it is not.
    silent_ticks: u8,
    /// The last packet identifier; never 0 once one was used.
    packet_id: u16,
    pending: Option<Pending>,
    /// QoS 2 messages that came and whose PUBREL has not come.
    unreleased: Unreleased,
    inbox: Inbox,
    stamps: Stamps,
    numbers: Numbers,
    /// Bytes that came since the last step ended: those of the next.
    bytes_in: u64,
}

/// How far the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// CONNECT has not been sent.
    New,
    /// CONNACK has not come.
    Greeting,
    /// Everything may be sent.
    Up,
}

/// A step that is under way.
#[derive(Debug)]
struct Pending {
    user: u32,
    wait: Wait,
    keeps_body: bool,
    reply: Reply,
}

/// What a step waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    Connack,
    Suback(u16),
    Puback(u16),
    Pubrec(u16),
    Pubcomp(u16),
    /// So many messages more.
    Messages(u32),
}

thread_local! {
    /// Where templates are written before they are put together.
    static SPACE: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
}

impl Mqtt {
    /// A connection to this target.
    pub(crate) fn new(target: &PlannedTarget) -> Self {
        Mqtt {
            version: match target.version {
                stadium_scenario::program::Version::Mqtt311 => Version::V311,
                _ => Version::V5,
            },
            phase: Phase::New,
            keep_alive_s: 0,
            spoke: false,
            silent_ticks: 0,
            packet_id: 0,
            pending: None,
            unreleased: Unreleased::default(),
            inbox: Inbox::new(target.unread),
            stamps: Stamps::default(),
            numbers: Numbers::default(),
            bytes_in: 0,
        }
    }

    fn connect(&mut self, ask: &mut Ask<'_>, output: &mut Output<'_>) -> Result<Begun, Failure> {
        let Action::Mqtt(Does::Connect {
            client_id,
            credentials,
            clean_start,
            keep_alive_s,
            session_expiry_s,
        }) = &ask.step.action
        else {
            return Err(FOREIGN.into());
        };
        let scope = &mut ask.scope;
        SPACE.with_borrow_mut(|space| {
            space.clear();
            client_id.write(scope, space);
            let id_end = space.len();
            if let Some((username, _)) = credentials {
                username.write(scope, space);
            }
            let username_end = space.len();
            if let Some((_, password)) = credentials {
                password.write(scope, space);
            }
            let client_id = text(&space[..id_end], "client id")?;
            let username = text(&space[id_end..username_end], "user name")?;
            let password = &space[username_end..];
            if password.len() > usize::from(u16::MAX) {
                return Err(Failure::from("not sent: the password has more than 65,535 bytes"));
            }
            Packet::Connect(Connect {
                clean_start: *clean_start,
                keep_alive_s: *keep_alive_s,
                username: credentials.is_some().then_some(username),
                password: credentials.is_some().then_some(password),
                session_expiry_s: Some(*session_expiry_s).filter(|seconds| *seconds > 0),
                ..Connect::new(self.version, client_id)
            })
            .encode(self.version, output.bytes);
            Ok(())
        })?;
        self.phase = Phase::Greeting;
        self.keep_alive_s = *keep_alive_s;
        Ok(self.wait(ask, Wait::Connack, output))
    }

    fn subscribe(
        &mut self,
        ask: &mut Ask<'_>,
        filters: &[Template],
        qos: u8,
        output: &mut Output<'_>,
    ) -> Result<Begun, Failure> {
        let options = rules::subscription(quality(qos)?);
        let mut rows = FiltersBuffer::new(self.version);
        let scope = &mut ask.scope;
        SPACE.with_borrow_mut(|space| {
            for filter in filters {
                space.clear();
                filter.write(scope, space);
                let filter = text(space, "topic filter")?;
                Subscribed::parse(filter).map_err(not_sent)?;
                rows.push(filter, options).map_err(not_sent)?;
            }
            Ok::<(), Failure>(())
        })?;
        let packet_id = self.next_packet_id();
        Packet::Subscribe(Subscribe {
            packet_id,
            subscription_id: None,
            user_properties: UserProperties::default(),
            filters: rows.filters(),
        })
        .encode(self.version, output.bytes);
        Ok(self.wait(ask, Wait::Suback(packet_id), output))
    }

    fn publish(&mut self, ask: &mut Ask<'_>, output: &mut Output<'_>) -> Result<Begun, Failure> {
        let Action::Mqtt(Does::Publish { topic, payload, qos, retain, stamped }) = &ask.step.action else {
            return Err(FOREIGN.into());
        };
        let qos = quality(*qos)?;
        let packet_id = if qos == QoS::AtMostOnce { 0 } else { self.next_packet_id() };
        let head = Head { packet_id, qos, retain: *retain, stamped_ns: stamped.then_some(ask.due_ns) };
        let scope = &mut ask.scope;
        SPACE.with_borrow_mut(|space| {
            space.clear();
            topic.write(scope, space);
            let topic_end = space.len();
            // The stamp's place: its number is taken when all else is right.
            space.resize(topic_end + if *stamped { STAMP_BYTES } else { 0 }, 0);
            payload.write(scope, space);
            let (topic, payload) = space.split_at_mut(topic_end);
            self.write_publish(topic, payload, &head, output)
        })?;
        match qos {
            QoS::AtMostOnce => {
                self.spoke = true;
                let mut reply = output.reply();
                reply.bytes_in = std::mem::take(&mut self.bytes_in);
                Ok(Begun::Done(reply))
            }
            QoS::AtLeastOnce => Ok(self.wait(ask, Wait::Puback(packet_id), output)),
            QoS::ExactlyOnce => Ok(self.wait(ask, Wait::Pubrec(packet_id), output)),
        }
    }

    /// Writes a PUBLISH; the first bytes of the payload are its stamp's place, where it has one.
    fn write_publish(
        &mut self,
        topic: &[u8],
        payload: &mut [u8],
        head: &Head,
        output: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let topic = text(topic, "topic")?;
        TopicName::parse(topic).map_err(not_sent)?;
        let publish = PublishHead { retain: head.retain, ..rules::message(topic, head.qos, head.packet_id) };
        if encode::publish_len(self.version, &publish, payload.len()) == 0 {
            return Err("not sent: the payload has more than 268,435,455 bytes".into());
        }
        if let Some(due_ns) = head.stamped_ns {
            payload[..STAMP_BYTES].copy_from_slice(&self.numbers.next(topic.as_bytes(), due_ns).encode());
            output.messages.sent += 1;
        }
        encode::publish(output.bytes, self.version, &publish, payload);
        Ok(())
    }

    fn receive(&mut self, ask: &Ask<'_>, count: u32, output: &mut Output<'_>) -> Begun {
        let mut reply = output.reply();
        let body = ask.planned.keeps_body.then_some(&mut reply.body);
        let left = count - self.inbox.take(count, body);
        if left == 0 {
            reply.bytes_in = std::mem::take(&mut self.bytes_in);
            return Begun::Done(reply);
        }
        self.pending = Some(Pending {
            user: ask.user,
            wait: Wait::Messages(left),
            keeps_body: ask.planned.keeps_body,
            reply,
        });
        Begun::Waiting
    }

    fn wait(&mut self, ask: &Ask<'_>, wait: Wait, output: &mut Output<'_>) -> Begun {
        self.spoke = true;
        self.pending = Some(Pending { user: ask.user, wait, keeps_body: false, reply: output.reply() });
        Begun::Waiting
    }

    fn next_packet_id(&mut self) -> u16 {
        self.packet_id = self.packet_id.checked_add(1).unwrap_or(1);
        self.packet_id
    }

    /// Ends the step that is under way with the server's reason code.
    fn finish(&mut self, reason: ReasonCode, output: &mut Output<'_>) {
        let Some(mut pending) = self.pending.take() else { return };
        // Only a CONNACK that refuses ends the connection too; no other refusal does.
        let reusable = !reason.is_error() || pending.wait != Wait::Connack;
        pending.reply.bytes_in = std::mem::take(&mut self.bytes_in);
        let result = if reason.is_error() {
            pending.reply.clear();
            output.spare.push(pending.reply);
            Err(format!("mqtt: {}", spoken(reason)).into())
        } else {
            if !matches!(pending.wait, Wait::Messages(_)) {
                pending.reply.status = Some(u32::from(reason as u8));
            }
            Ok(pending.reply)
        };
        output.done.push(Done::of(pending.user, result, reusable));
    }
}

/// The fields of a PUBLISH besides topic and payload.
struct Head {
    packet_id: u16,
    qos: QoS,
    retain: bool,
    /// When it was due, where it is stamped.
    stamped_ns: Option<u64>,
}

impl Talk for Mqtt {
    fn has_room(&self) -> bool {
        self.pending.is_none()
    }

    fn begin(&mut self, ask: &mut Ask<'_>, output: &mut Output<'_>) -> Result<Begun, Failure> {
        let step = ask.step;
        let Action::Mqtt(does) = &step.action else { return Err(FOREIGN.into()) };
        match (does, self.phase) {
            _ if self.pending.is_some() => Err("mqtt: another step is under way".into()),
            (Does::Connect { .. }, Phase::New) => self.connect(ask, output),
            (Does::Connect { .. }, _) => Err("mqtt: connected already".into()),
            (_, Phase::New | Phase::Greeting) => Err("mqtt: not connected".into()),
            (Does::Subscribe { filters, qos }, Phase::Up) => self.subscribe(ask, filters, *qos, output),
            (Does::Publish { .. }, Phase::Up) => self.publish(ask, output),
            (Does::Receive { count }, Phase::Up) => Ok(self.receive(ask, *count, output)),
            (Does::Disconnect, Phase::Up) => {
                Packet::Disconnect(Disconnect::default()).encode(self.version, output.bytes);
                Ok(Begun::Close)
            }
        }
    }

    fn received(&mut self, bytes: &[u8], output: &mut Output<'_>) -> Result<usize, Failure> {
        self.read(bytes, output)
    }

    fn abandon(&mut self, _user: u32, output: &mut Output<'_>) -> bool {
        let Some(mut pending) = self.pending.take() else { return true };
        pending.reply.clear();
        output.spare.push(pending.reply);
        // Answers that come late are known by their packet identifiers; a CONNACK would be anybody's.
        pending.wait != Wait::Connack
    }

    fn tick(&mut self, now_ns: u64, output: &mut Output<'_>) -> Result<Option<u64>, Failure> {
        if self.phase != Phase::Up {
            return Ok(Some(now_ns + LOOK_NS));
        }
        if self.keep_alive_s == 0 {
            return Ok(None);
        }
        if self.silent_ticks >= SILENT_TICKS_MAX {
            return Err("mqtt: no PINGRESP".into());
        }
        if self.silent_ticks > 0 || !self.spoke {
            encode::pingreq(output.bytes);
            self.silent_ticks += 1;
        }
        self.spoke = false;
        // At most two of these pass without a packet: four fifths of what the server allows.
        Ok(Some(now_ns + u64::from(self.keep_alive_s) * 400_000_000))
    }

    fn waiting(&self, into: &mut Vec<u32>) {
        into.extend(self.pending.as_ref().map(|pending| pending.user));
    }
}

/// What a step of something else than MQTT fails with.
const FOREIGN: &str = "a step of another protocol";

/// Bytes that go into a string of MQTT (MQTT 5.0 section 1.5.4).
fn text<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str, Failure> {
    if bytes.len() > usize::from(u16::MAX) {
        return Err(format!("not sent: the {what} has more than 65,535 bytes").into());
    }
    std::str::from_utf8(bytes).map_err(|_| format!("not sent: the {what} is not text").into())
}

fn not_sent(error: impl std::fmt::Display) -> Failure {
    format!("not sent: {error}").into()
}

fn quality(qos: u8) -> Result<QoS, Failure> {
    QoS::from_byte(qos).ok_or_else(|| "not sent: there is no such QoS".into())
}
