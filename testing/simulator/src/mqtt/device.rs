//! A device's side of MQTT: its unfinished publishes, and the received messages that are not
//! released.
//!
//! It keeps that over its connections, as a client library with a store does, and forgets it where the server has no session of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use stadium_mqtt::decode;
use stadium_mqtt::packet::{
    Ack, AckKind, Connect, Disconnect, FilterNamesBuffer, FiltersBuffer, Packet, Publish, PublishProperties,
    QoS, RetainHandling, Subscribe, SubscriptionOptions, Unsubscribe, Version, Will,
};
use stadium_mqtt::property::{SubscriptionIds, UserProperties};

use super::host::Link;
use super::plan::DevicePlan;

/// A message that it publishes.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub number: u64,
    pub topic: String,
    pub qos: QoS,
    pub retain: bool,
    pub expiry_s: Option<u32>,
    pub payload: Vec<u8>,
}

/// A will that it connects with.
#[derive(Debug, Clone, Copy)]
pub struct WillAsked<'a> {
    pub topic: &'a str,
    pub payload: &'a [u8],
    pub qos: QoS,
    pub retain: bool,
    /// 0 in 3.1.1.
    pub delay_s: u32,
}

#[derive(Debug)]
struct Unfinished {
    packet_id: u16,
    message: Outgoing,
    /// The server has sent PUBREC.
    is_received: bool,
    /// It was sent on this connection.
    is_sent: bool,
}

/// What it hears.
#[derive(Debug)]
pub enum Heard {
    Admitted {
        present: bool,
    },
    Refused,
    /// It got a message; a publish at QoS 2 that it knows already is not one.
    Message {
        topic: String,
        payload: Vec<u8>,
        qos: u8,
        retain: bool,
        dup: bool,
        /// Subscription Identifiers.
        ids: Vec<u32>,
    },
    /// What it published was answered: whether it was taken.
    Answered {
        number: u64,
        taken: bool,
    },
    Subscribed {
        filter: String,
        taken: bool,
    },
    Unsubscribed {
        filter: String,
    },
}

/// A device.
pub struct Device {
    pub plan: DevicePlan,
    pub link: Option<Link>,
    /// Publishes of earlier connections that it sends before it waits for answers.
    pub repeats: usize,
    /// It was let in on this connection.
    pub is_in: bool,
    /// Its session outlives this connection.
    persists: bool,
    received: Vec<u8>,
    unfinished: VecDeque<Unfinished>,
    /// Packet ids of publishes at QoS 2 that it has and that are not released.
    unreleased: BTreeSet<u16>,
    /// What it is to acknowledge.
    owes: VecDeque<(AckKind, u16)>,
    /// SUBSCRIBE and UNSUBSCRIBE packets that are not answered.
    asked: BTreeMap<u16, String>,
    last_id: u16,
}

/// The most publishes that are under way: below the server's Receive Maximum.
const UNFINISHED_MAX: usize = 40;

impl Device {
    pub fn new(plan: DevicePlan) -> Device {
        Device {
            plan,
            link: None,
            repeats: usize::MAX,
            is_in: false,
            persists: true,
            received: Vec::new(),
            unfinished: VecDeque::new(),
            unreleased: BTreeSet::new(),
            owes: VecDeque::new(),
            asked: BTreeMap::new(),
            last_id: 0,
        }
    }

    /// CONNECT on a new connection.
    pub fn connect(&mut self, link: Link, clean_start: bool, will: Option<WillAsked<'_>>) -> Vec<u8> {
        self.gone();
        self.link = Some(link);
        if clean_start {
            self.forget();
        }
        let is_v5 = self.plan.version == Version::V5;
        self.persists = if is_v5 { self.plan.expiry_s > 0 } else { !clean_start };
        let connect = Connect {
            clean_start,
            keep_alive_s: 0,
            session_expiry_s: is_v5.then_some(self.plan.expiry_s),
            will: will.map(|WillAsked { topic, payload, qos, retain, delay_s }| Will {
                topic,
                payload,
                qos,
                retain,
                delay_s,
                properties: PublishProperties::default(),
            }),
            ..Connect::new(self.plan.version, &self.plan.id)
        };
        self.packet(&Packet::Connect(connect))
    }

    /// The connection is gone.
    pub fn gone(&mut self) {
        if !self.persists {
            self.forget();
        }
        (self.link, self.is_in) = (None, false);
        self.received.clear();
        self.owes.clear();
        self.asked.clear();
    }

    /// Its session is over.
    fn forget(&mut self) {
        self.unfinished.clear();
        self.unreleased.clear();
    }

    pub fn may_publish(&self) -> bool {
        self.is_in && self.unfinished.len() < UNFINISHED_MAX
    }

    pub fn is_done(&self) -> bool {
        self.unfinished.is_empty() && self.owes.is_empty()
    }

    pub fn disconnect(&self) -> Vec<u8> {
        self.packet(&Packet::Disconnect(Disconnect::default()))
    }

    pub fn publish(&mut self, message: Outgoing) -> Vec<u8> {
        let packet_id = if message.qos == QoS::AtMostOnce { 0 } else { self.free_id() };
        let bytes = self.publish_packet(&message, packet_id, false);
        if packet_id != 0 {
            self.unfinished.push_back(Unfinished { packet_id, message, is_received: false, is_sent: true });
        }
        bytes
    }

    pub fn subscribe(&mut self, filter: &str, qos: QoS, subscription_id: Option<u32>) -> Vec<u8> {
        let packet_id = self.free_id();
        self.asked.insert(packet_id, filter.to_owned());
        let mut filters = FiltersBuffer::new(self.plan.version);
        let options = SubscriptionOptions {
            qos,
            no_local: false,
            retain_as_published: false,
            retain_handling: RetainHandling::Send,
        };
        filters.push(filter, options).expect("a short filter");
        self.packet(&Packet::Subscribe(Subscribe {
            packet_id,
            subscription_id,
            user_properties: UserProperties::NONE,
            filters: filters.filters(),
        }))
    }

    pub fn unsubscribe(&mut self, filter: &str) -> Vec<u8> {
        let packet_id = self.free_id();
        self.asked.insert(packet_id, filter.to_owned());
        let mut filters = FilterNamesBuffer::default();
        filters.push(filter).expect("a short filter");
        self.packet(&Packet::Unsubscribe(Unsubscribe {
            packet_id,
            user_properties: UserProperties::NONE,
            filters: filters.filters(),
        }))
    }

    /// Acknowledges so much of what it owes.
    pub fn acknowledge(&mut self, most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..most {
            let Some((kind, packet_id)) = self.owes.pop_front() else { break };
            let ack = Ack { packet_id, ..Ack::default() };
            let packet = match kind {
                AckKind::Puback => Packet::Puback(ack),
                AckKind::Pubrec => Packet::Pubrec(ack),
                AckKind::Pubrel => Packet::Pubrel(ack),
                AckKind::Pubcomp => Packet::Pubcomp(ack),
            };
            packet.encode(self.plan.version, &mut bytes);
        }
        bytes
    }

    /// Whether a SUBSCRIBE or UNSUBSCRIBE of this filter is not answered.
    pub fn asks_for(&self, filter: &str) -> bool {
        self.asked.values().any(|asked| asked == filter)
    }

    pub fn owes(&self) -> usize {
        self.owes.len()
    }

    /// Bytes from the server: what it hears, and what it sends at once.
    ///
    /// # Errors
    ///
    /// Packets that no server may send.
    pub fn read(&mut self, bytes: &[u8], heard: &mut Vec<Heard>) -> Result<Vec<u8>, String> {
        self.received.extend_from_slice(bytes);
        let received = std::mem::take(&mut self.received);
        let mut rest = &received[..];
        loop {
            let frame = decode::frame(rest, u32::MAX).map_err(|error| format!("no packet: {error:?}"))?;
            let Some(frame) = frame else { break };
            let packet = decode::packet(&frame, self.plan.version)
                .map_err(|error| format!("a malformed packet: {error:?}"))?;
            self.hear(&packet, heard)?;
            rest = &rest[frame.total..];
        }
        self.received = rest.to_vec();
        Ok(self.again())
    }

    fn hear(&mut self, packet: &Packet<'_>, heard: &mut Vec<Heard>) -> Result<(), String> {
        match packet {
            Packet::Connack(connack) if connack.reason.is_error() => heard.push(Heard::Refused),
            Packet::Connack(connack) => {
                self.is_in = true;
                let present = connack.session_present;
                if !present {
                    self.forget();
                }
                heard.push(Heard::Admitted { present });
                self.unfinished.iter_mut().for_each(|one| one.is_sent = false);
            }
            Packet::Publish(publish) => {
                let is_new = match publish.qos {
                    QoS::AtMostOnce => true,
                    QoS::AtLeastOnce => {
                        self.owes.push_back((AckKind::Puback, publish.packet_id));
                        true
                    }
                    QoS::ExactlyOnce => {
                        self.owes.push_back((AckKind::Pubrec, publish.packet_id));
                        self.unreleased.insert(publish.packet_id)
                    }
                };
                if is_new {
                    heard.push(Heard::Message {
                        topic: publish.topic.to_owned(),
                        payload: publish.payload.to_vec(),
                        qos: publish.qos as u8,
                        retain: publish.retain,
                        dup: publish.dup,
                        ids: publish.properties.subscription_ids.iter().collect(),
                    });
                }
            }
            Packet::Pubrel(ack) => {
                self.unreleased.remove(&ack.packet_id);
                self.owes.push_back((AckKind::Pubcomp, ack.packet_id));
            }
            Packet::Puback(ack) | Packet::Pubcomp(ack) => {
                let Some(at) = self.unfinished.iter().position(|one| one.packet_id == ack.packet_id) else {
                    return Ok(());
                };
                if let Some(done) = self.unfinished.remove(at)
                    && !done.is_received
                {
                    let taken = !ack.reason.is_error();
                    heard.push(Heard::Answered { number: done.message.number, taken });
                }
            }
            Packet::Pubrec(ack) => {
                let Some(at) = self.unfinished.iter().position(|one| one.packet_id == ack.packet_id) else {
                    return Ok(());
                };
                let one = &mut self.unfinished[at];
                let taken = !ack.reason.is_error();
                if !one.is_received {
                    heard.push(Heard::Answered { number: one.message.number, taken });
                }
                if taken {
                    one.is_received = true;
                    self.owes.push_back((AckKind::Pubrel, ack.packet_id));
                } else {
                    self.unfinished.remove(at);
                }
            }
            Packet::Suback(suback) => {
                if let Some(filter) = self.asked.remove(&suback.packet_id) {
                    let taken = suback.reasons.iter().all(|&reason| reason < 0x80);
                    heard.push(Heard::Subscribed { filter, taken });
                }
            }
            Packet::Unsuback(unsuback) => {
                if let Some(filter) = self.asked.remove(&unsuback.packet_id) {
                    heard.push(Heard::Unsubscribed { filter });
                }
            }
            Packet::Disconnect(_) => {}
            other => return Err(format!("a server sends {other:?}")),
        }
        Ok(())
    }

    /// What is unfinished, sent again in its order: as much as it sends before it waits.
    fn again(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let waits = self.unfinished.iter().filter(|one| one.is_sent).count();
        let mut room = if self.is_in { self.repeats.saturating_sub(waits) } else { 0 };
        for at in 0..self.unfinished.len() {
            if room == 0 {
                break;
            }
            let one = &mut self.unfinished[at];
            if std::mem::replace(&mut one.is_sent, true) {
                continue;
            }
            room -= 1;
            let one = &self.unfinished[at];
            if one.is_received {
                let ack = Ack { packet_id: one.packet_id, ..Ack::default() };
                Packet::Pubrel(ack).encode(self.plan.version, &mut bytes);
            } else {
                bytes.extend(self.publish_packet(&one.message, one.packet_id, true));
            }
        }
        bytes
    }

    fn publish_packet(&self, message: &Outgoing, packet_id: u16, dup: bool) -> Vec<u8> {
        let is_v5 = self.plan.version == Version::V5;
        self.packet(&Packet::Publish(Publish {
            dup,
            qos: message.qos,
            retain: message.retain,
            topic: &message.topic,
            packet_id,
            properties: PublishProperties {
                message_expiry_s: message.expiry_s.filter(|_| is_v5),
                subscription_ids: SubscriptionIds::default(),
                ..PublishProperties::default()
            },
            payload: &message.payload,
        }))
    }

    fn free_id(&mut self) -> u16 {
        loop {
            self.last_id = self.last_id % 500 + 1;
            let id = self.last_id;
            if !self.asked.contains_key(&id) && self.unfinished.iter().all(|one| one.packet_id != id) {
                return id;
            }
        }
    }

    fn packet(&self, packet: &Packet<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        packet.encode(self.plan.version, &mut bytes);
        bytes
    }
}
