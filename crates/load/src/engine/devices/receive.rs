//! Packets of brokers: they are read, messages measured, and acknowledged as configured.
//!
//! A packet that breaks the specification ends the connection and is counted. A QoS 2 message is counted once,
//! however often it comes before its PUBREL.

use stadium_mqtt::decode::DecodeError;
use stadium_mqtt::encode;
use stadium_mqtt::packet::{AckKind, Packet, Publish, QoS};
use stadium_mqtt::reason::ReasonCode;

use super::device::{Ending, Phase};
use super::driver::Driver;
use super::flight::LateAck;
use super::sequence::Heard;
use crate::clock::monotonic_ns;
use crate::engine::order::Io;
use crate::engine::protocol::mqtt::rules::{Accepted, acknowledgement, next_packet};
use crate::stamp::Stamp;
use crate::swarm::config::Acknowledge;

impl Driver {
    /// Takes every whole packet; returns how many bytes that was.
    pub(super) fn read(&mut self, io: &mut Io, slot: u32, bytes: &[u8]) -> usize {
        let now_ns = monotonic_ns();
        let mut used = 0;
        loop {
            let accepted = match self.device(slot).phase {
                Phase::Opening | Phase::Greeting => Accepted::No,
                _ => Accepted::Yes,
            };
            let taken = match next_packet(&bytes[used..], self.plan.version, accepted) {
                Ok(None) => return used,
                Ok(Some((packet, length))) => self.take(io, slot, &packet, now_ns).map(|()| length),
                Err(error) => Err(error),
            };
            match taken {
                Ok(total) => used += total,
                Err(_) => {
                    self.sums.malformed += 1;
                    self.abort(io, slot, Ending::Malformed);
                }
            }
            if self.device(slot).ending != Ending::Theirs {
                // Nothing after our end counts.
                return bytes.len();
            }
        }
    }

    fn take(&mut self, io: &mut Io, slot: u32, packet: &Packet<'_>, now_ns: u64) -> Result<(), DecodeError> {
        match packet {
            Packet::Connack(connack) => return self.greeted(io, slot, connack),
            Packet::Disconnect(disconnect) => self.dismissed(io, slot, disconnect),
            Packet::Suback(suback) => return self.subscribed(io, slot, suback),
            Packet::Publish(publish) => self.message_came(io, slot, publish, now_ns),
            Packet::Pubrel(ack) => {
                if let Some(unreleased) = self.unreleased.get_mut(&slot) {
                    unreleased.release(ack.packet_id);
                }
                self.acknowledge(io, slot, AckKind::Pubcomp, ack.packet_id, now_ns);
            }
            Packet::Puback(ack) => self.flight_ended(slot, ack.packet_id, ack.reason, now_ns),
            Packet::Pubrec(ack) => self.flight_received(io, slot, ack.packet_id, ack.reason, now_ns),
            Packet::Pubcomp(ack) => self.flight_ended(slot, ack.packet_id, ack.reason, now_ns),
            Packet::Pingresp => self.ping_answered(io, slot),
            _ => {}
        }
        Ok(())
    }

    fn message_came(&mut self, io: &mut Io, slot: u32, publish: &Publish<'_>, now_ns: u64) {
        let came_before =
            publish.qos == QoS::ExactlyOnce && !self.unreleased.entry(slot).or_default().note(publish);
        let is_new = !came_before && self.measure(slot, publish, now_ns);
        if is_new {
            self.answer(io, slot, publish, now_ns);
        }
        if let Some(kind) = acknowledgement(publish.qos) {
            self.acknowledge(io, slot, kind, publish.packet_id, now_ns);
        }
    }

    /// Whether it came for the first time, as far as its stamp shows.
    fn measure(&mut self, slot: u32, publish: &Publish<'_>, now_ns: u64) -> bool {
        let stamp = match Stamp::decode(publish.payload) {
            // A retained message was kept for later subscribers: its age is no latency.
            Some(stamp) if !publish.retain => stamp,
            _ => {
                self.sums.unstamped += 1;
                self.count(publish);
                return true;
            }
        };
        if stamp.stream != 0 {
            if self.stream == 0 {
                self.stream = stamp.stream;
            }
            if self.stream == stamp.stream {
                match self.device(slot).window.hear(stamp.sequence) {
                    Heard::New { lost } => self.sums.lost += u64::from(lost),
                    Heard::Rejoined { missed } => self.sums.missed_away += u64::from(missed),
                    Heard::Again => {
                        self.sums.duplicates += 1;
                        return false;
                    }
                }
            }
            self.following.hear(stamp, now_ns, self.now.up);
        }
        self.record_delivery(slot, stamp.sent_ns, now_ns);
        self.count(publish);
        true
    }

    fn count(&mut self, publish: &Publish<'_>) {
        self.sums.deliveries += 1;
        self.sums.payload_bytes += publish.payload.len() as u64;
    }

    fn acknowledge(&mut self, io: &mut Io, slot: u32, kind: AckKind, packet_id: u16, now_ns: u64) {
        let connection = self.device(slot).connection;
        match self.plan.config.acknowledge {
            Acknowledge::AtOnce => self.send_ack(io, slot, kind, packet_id),
            Acknowledge::After { ms } => self.late_acks.push_back(LateAck {
                due_ns: now_ns + ms * 1_000_000,
                connection,
                slot,
                kind,
                packet_id,
            }),
            Acknowledge::Never => {}
        }
    }

    /// Sends an acknowledgement; to nobody, where the connection is another one by now.
    pub(super) fn send_late_ack(&mut self, io: &mut Io, ack: &LateAck) {
        if self.device(ack.slot).connection == ack.connection {
            // An acknowledgement to send wakes it.
            if self.is_asleep(ack.slot) {
                self.wake(io, ack.slot);
            }
            self.send_ack(io, ack.slot, ack.kind, ack.packet_id);
        }
    }

    pub(super) fn send_ack(&mut self, io: &mut Io, slot: u32, kind: AckKind, packet_id: u16) {
        self.touch(io, slot);
        let version = self.plan.version;
        let id = self.device(slot).connection;
        io.send(id, |buffer| encode::ack(buffer, kind, version, packet_id, ReasonCode::Success));
    }
}
