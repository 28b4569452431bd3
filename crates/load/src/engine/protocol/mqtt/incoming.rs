//! What the server sends: answers to the step that is under way, and messages, which are acknowledged at once.
//!
//! A packet that breaks the specification ends the connection and is counted. A QoS 2 message counts once, however often
//! it comes before its PUBREL (MQTT 5.0 section 4.3.3).

use stadium_mqtt::decode::DecodeError;
use stadium_mqtt::encode;
use stadium_mqtt::packet::{AckKind, Connack, Packet, Publish, QoS, Suback};
use stadium_mqtt::reason::ReasonCode;

use super::rules::{Accepted, acknowledgement, next_packet};
use super::{Mqtt, Phase, Wait};
use crate::clock::monotonic_ns;
use crate::engine::protocol::talk::Output;
use crate::engine::reply::Failure;
use crate::words::spoken;

impl Mqtt {
    /// Takes every whole packet; returns how many bytes that was.
    pub(super) fn read(&mut self, bytes: &[u8], output: &mut Output<'_>) -> Result<usize, Failure> {
        let mut used = 0;
        loop {
            let accepted = if self.phase == Phase::Up { Accepted::Yes } else { Accepted::No };
            let next = next_packet(&bytes[used..], self.version, accepted).map_err(malformed)?;
            let Some((packet, length)) = next else { return Ok(used) };
            used += length;
            self.bytes_in += length as u64;
            self.silent_ticks = 0;
            self.take(&packet, output)?;
        }
    }

    fn take(&mut self, packet: &Packet<'_>, output: &mut Output<'_>) -> Result<(), Failure> {
        match packet {
            Packet::Connack(connack) => return self.greeted(connack, output),
            Packet::Disconnect(disconnect) => {
                return Err(match disconnect.reason {
                    ReasonCode::Success => "mqtt: disconnected".into(),
                    reason => format!("mqtt: disconnected: {}", spoken(reason)).into(),
                });
            }
            Packet::Publish(publish) => self.message_came(publish, output),
            Packet::Suback(suback) => self.subscribed(suback, output),
            Packet::Puback(ack) if self.waits_for(Wait::Puback(ack.packet_id)) => {
                self.finish(ack.reason, output);
            }
            Packet::Pubrec(ack) => {
                let is_ours = self.waits_for(Wait::Pubrec(ack.packet_id));
                if !ack.reason.is_error() {
                    // Also for one that nobody waits for any more: the server waits for it [MQTT-4.3.3-4].
                    self.acknowledge(AckKind::Pubrel, ack.packet_id, output);
                    if let Some(pending) = self.pending.as_mut().filter(|_| is_ours) {
                        pending.wait = Wait::Pubcomp(ack.packet_id);
                    }
                } else if is_ours {
                    self.finish(ack.reason, output);
                }
            }
            Packet::Pubcomp(ack) if self.waits_for(Wait::Pubcomp(ack.packet_id)) => {
                self.finish(ack.reason, output);
            }
            Packet::Pubrel(ack) => {
                self.unreleased.release(ack.packet_id);
                self.acknowledge(AckKind::Pubcomp, ack.packet_id, output);
            }
            // Answers to steps that nobody waits for any more.
            _ => {}
        }
        Ok(())
    }

    fn greeted(&mut self, connack: &Connack<'_>, output: &mut Output<'_>) -> Result<(), Failure> {
        if self.phase != Phase::Greeting {
            return Err(malformed(DecodeError::WrongSender));
        }
        if !connack.reason.is_error() {
            self.phase = Phase::Up;
            self.keep_alive_s = connack.server_keep_alive_s.unwrap_or(self.keep_alive_s);
        }
        self.finish(connack.reason, output);
        Ok(())
    }

    /// One filter that was refused fails the step.
    fn subscribed(&mut self, suback: &Suback<'_>, output: &mut Output<'_>) {
        if !self.waits_for(Wait::Suback(suback.packet_id)) {
            return;
        }
        let refused = suback.reasons.iter().copied().find(|reason| *reason >= 0x80);
        let reason = refused.or(suback.reasons.first().copied()).unwrap_or_default();
        self.finish(ReasonCode::from_byte(reason).unwrap_or(ReasonCode::UnspecifiedError), output);
    }

    fn message_came(&mut self, publish: &Publish<'_>, output: &mut Output<'_>) {
        let is_new = publish.qos != QoS::ExactlyOnce || self.unreleased.note(publish);
        if let Some(kind) = acknowledgement(publish.qos) {
            self.acknowledge(kind, publish.packet_id, output);
        }
        if !is_new {
            return;
        }
        // A retained message was kept for later subscribers: its age is no latency.
        if !publish.retain {
            self.stamps.hear(publish.payload, output.messages, monotonic_ns);
        }
        let Some(pending) = &mut self.pending else { return self.inbox.keep(publish.payload) };
        let Wait::Messages(left) = &mut pending.wait else { return self.inbox.keep(publish.payload) };
        *left -= 1;
        if *left == 0 {
            if pending.keeps_body {
                pending.reply.body.extend_from_slice(publish.payload);
            }
            self.finish(ReasonCode::Success, output);
        }
    }

    fn acknowledge(&mut self, kind: AckKind, packet_id: u16, output: &mut Output<'_>) {
        self.spoke = true;
        encode::ack(output.bytes, kind, self.version, packet_id, ReasonCode::Success);
    }

    fn waits_for(&self, wait: Wait) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.wait == wait)
    }
}

/// The words for bytes that are no MQTT.
fn malformed(error: DecodeError) -> Failure {
    format!("malformed: {error}").into()
}
