//! Publishes of devices: uplinks, and the broadcaster's messages, at QoS 0, 1 and 2.
//!
//! A message in flight is remembered by its number alone: its payload is made again from it when the broker, after
//! a reconnect with its session kept, must get it again (MQTT 5.0, section 4.4).

use stadium_mqtt::encode::{self, PublishHead};
use stadium_mqtt::packet::{AckKind, QoS};
use stadium_mqtt::reason::ReasonCode;

use super::device::Phase;
use super::driver::Driver;
use super::flight::{Copy, Flight, Published, What};
use crate::engine::order::Io;
use crate::engine::protocol::mqtt::rules;
use crate::stamp::Stamp;
use crate::swarm::config::Traffic;

impl Driver {
    /// Publishes an uplink, or keeps it while its device is asleep, and counts what became of it.
    pub(super) fn publish_uplink(&mut self, io: &mut Io, slot: u32, intended_ns: u64) {
        if self.is_asleep(slot) {
            return self.defer_uplink(slot, intended_ns);
        }
        match self.publish(io, slot, intended_ns) {
            Published::Sent => self.sums.uplinks += 1,
            Published::Skipped => self.sums.uplinks_skipped += 1,
        }
    }

    /// Publishes what `slot` publishes, intended for `intended_ns`.
    pub(super) fn publish(&mut self, io: &mut Io, slot: u32, intended_ns: u64) -> Published {
        let Some(qos) = self.traffic(slot).map(|traffic| traffic.qos.0) else { return Published::Skipped };
        let Some((packet_id, sequence)) = self.take_off(slot, qos, What::Traffic, intended_ns) else {
            return Published::Skipped;
        };
        self.send_publish(io, slot, packet_id, sequence, intended_ns, Copy::First);
        Published::Sent
    }

    /// Numbers a message of a device, and notes that it is in flight; its packet id and sequence number.
    pub(super) fn take_off(
        &mut self,
        slot: u32,
        qos: QoS,
        what: What,
        intended_ns: u64,
    ) -> Option<(u16, u32)> {
        let device = &mut self.devices[slot as usize];
        if device.phase != Phase::Up {
            return None;
        }
        let packet_id = match qos {
            QoS::AtMostOnce => 0,
            QoS::AtLeastOnce | QoS::ExactlyOnce => device.free_packet_id()?,
        };
        device.published += 1;
        let sequence = device.published;
        if packet_id > 0 {
            device.in_flight |= 1 << (packet_id - 1);
            self.flights.insert((slot, packet_id), Flight { intended_ns, sequence, what, received: false });
        }
        Some((packet_id, sequence))
    }

    fn traffic(&self, slot: u32) -> Option<&Traffic> {
        let config = &self.plan.config;
        if self.is_broadcaster(slot) { config.broadcast.as_ref() } else { config.uplink.as_ref() }
    }

    fn send_publish(
        &mut self,
        io: &mut Io,
        slot: u32,
        packet_id: u16,
        sequence: u32,
        sent_ns: u64,
        copy: Copy,
    ) {
        self.touch(io, slot);
        let broadcaster = self.is_broadcaster(slot);
        let number = self.share.nth(slot);
        let (config, version) = (&self.plan.config, self.plan.version);
        let traffic = if broadcaster { config.broadcast.as_ref() } else { config.uplink.as_ref() };
        let Some(traffic) = traffic else { return };
        // Uplinks of many devices are no stream: their numbers would be mixed.
        let stream = if broadcaster { self.own_stream } else { 0 };
        self.payload.clear();
        Stamp { sent_ns, stream, sequence }.append_payload(&mut self.payload, traffic.size);
        self.text.topic.clear();
        traffic.topic.write(
            &mut self.text.topic,
            &config.id_prefix,
            config.first_number.wrapping_add(number),
        );
        let head = PublishHead {
            dup: copy == Copy::Again,
            ..rules::message(&self.text.topic, traffic.qos.0, packet_id)
        };
        let payload = &self.payload;
        io.send(self.devices[slot as usize].connection, |buffer| {
            encode::publish(buffer, version, &head, payload);
        });
    }

    /// PUBACK or PUBCOMP came, or a PUBREC that refuses.
    pub(super) fn flight_ended(&mut self, slot: u32, packet_id: u16, reason: ReasonCode, now_ns: u64) {
        let broadcaster = self.is_broadcaster(slot);
        let device = self.device(slot);
        if !device.has_in_flight(packet_id) {
            return;
        }
        device.in_flight &= !(1 << (packet_id - 1));
        if let Some(flight) = self.flights.remove(&(slot, packet_id))
            && !broadcaster
        {
            if flight.what == What::Answer {
                let count = if reason.is_error() {
                    &mut self.sums.answers_lost
                } else {
                    &mut self.sums.answers_acknowledged
                };
                *count += 1;
            } else if reason.is_error() {
                self.sums.uplinks_refused += 1;
            } else {
                self.sums.uplinks_acknowledged += 1;
                self.latencies.uplink.record(now_ns.saturating_sub(flight.intended_ns));
            }
        }
    }

    /// PUBREC came.
    pub(super) fn flight_received(
        &mut self,
        io: &mut Io,
        slot: u32,
        packet_id: u16,
        reason: ReasonCode,
        now_ns: u64,
    ) {
        if reason.is_error() {
            return self.flight_ended(slot, packet_id, reason, now_ns);
        }
        if let Some(flight) = self.flights.get_mut(&(slot, packet_id)) {
            flight.received = true;
        }
        // Also for a packet id that we do not know: the broker waits for it [MQTT-4.3.3-4].
        self.send_ack(io, slot, AckKind::Pubrel, packet_id);
    }

    /// The session was kept: what is in flight goes out again, in order.
    pub(super) fn resend(&mut self, io: &mut Io, slot: u32) {
        let mut again: Vec<(u32, u16, u64, What, bool)> = Vec::new();
        for packet_id in self.device(slot).packet_ids() {
            if let Some(flight) = self.flights.get(&(slot, packet_id)) {
                again.push((flight.sequence, packet_id, flight.intended_ns, flight.what, flight.received));
            }
        }
        again.sort_unstable_by_key(|(sequence, ..)| *sequence);
        for (sequence, packet_id, intended_ns, what, received) in again {
            if what == What::Answer {
                self.send_answer(io, slot, packet_id, sequence, Copy::Again);
            } else if received {
                self.send_ack(io, slot, AckKind::Pubrel, packet_id);
            } else {
                self.send_publish(io, slot, packet_id, sequence, intended_ns, Copy::Again);
            }
        }
    }

    /// The session is gone, and with it what was in flight.
    pub(super) fn forget_flights(&mut self, slot: u32) {
        let broadcaster = self.is_broadcaster(slot);
        for packet_id in self.device(slot).packet_ids() {
            match self.flights.remove(&(slot, packet_id)) {
                Some(Flight { what: What::Answer, .. }) => self.sums.answers_lost += 1,
                Some(_) if !broadcaster => self.sums.uplinks_lost += 1,
                _ => {}
            }
        }
        self.device(slot).in_flight = 0;
    }
}
