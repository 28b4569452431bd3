//! Answers of devices to a message that asks them: all at once, which makes a herd.
//!
//! An answer is made from the device's number and the answer's own, so that it can be made again when the broker, after a
//! reconnect with its session kept, must get it again; its Correlation Data is its number, the same each time.

use stadium_mqtt::packet::{Packet, Publish, PublishProperties, QoS};

use super::driver::Driver;
use super::flight::{Copy, What};
use crate::engine::order::Io;

impl Driver {
    /// Answers a message if it asks.
    pub(super) fn answer(&mut self, io: &mut Io, slot: u32, asking: &Publish<'_>, now_ns: u64) {
        let Some(answer) = self.plan.config.answer.as_ref() else { return };
        if self.is_broadcaster(slot) || !contains(asking.payload, answer.when.as_bytes()) {
            return;
        }
        let qos = answer.qos.0;
        match self.take_off(slot, qos, What::Answer, now_ns) {
            Some((packet_id, sequence)) => {
                self.sums.answers += 1;
                self.send_answer(io, slot, packet_id, sequence, Copy::First);
            }
            None => self.sums.answers_lost += 1,
        }
    }

    pub(super) fn send_answer(&mut self, io: &mut Io, slot: u32, packet_id: u16, sequence: u32, copy: Copy) {
        self.touch(io, slot);
        let (config, version) = (&self.plan.config, self.plan.version);
        let Some(answer) = config.answer.as_ref() else { return };
        let number = config.first_number.wrapping_add(self.share.nth(slot));
        let texts = &mut self.text;
        texts.topic.clear();
        answer.topic.write(&mut texts.topic, &config.id_prefix, number);
        texts.respond_to.clear();
        answer.respond_to.write(&mut texts.respond_to, &config.id_prefix, number);
        let publish = Packet::Publish(Publish {
            dup: copy == Copy::Again,
            qos: answer.qos.0,
            retain: false,
            topic: &texts.topic,
            packet_id: if answer.qos.0 == QoS::AtMostOnce { 0 } else { packet_id },
            properties: PublishProperties {
                response_topic: Some(&texts.respond_to),
                correlation_data: Some(&sequence.to_be_bytes()),
                ..PublishProperties::default()
            },
            payload: payload_of(&answer.payloads, number).as_bytes(),
        });
        io.send(self.devices[slot as usize].connection, |buffer| publish.encode(version, buffer));
    }
}

/// The answer of the device with this number. The configuration holds at least one.
fn payload_of(payloads: &[String], number: u32) -> &str {
    // Neighbours answer differently: Fibonacci hashing.
    let spread = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    payloads.get(spread as usize % payloads.len().max(1)).map_or("", String::as_str)
}

fn contains(payload: &[u8], text: &[u8]) -> bool {
    payload.windows(text.len().max(1)).any(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_shared_out_and_stay_the_same() {
        let payloads = ["a", "b", "c"].map(str::to_owned);
        let mut counts = [0; 3];
        for number in 0..3_000 {
            let payload = payload_of(&payloads, number);
            assert_eq!(payload, payload_of(&payloads, number));
            counts[usize::from(payload.as_bytes()[0] - b'a')] += 1;
        }
        assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_text_is_found_wherever_it_stands() {
        assert!(contains(b"stamp Vote now", b"Vote now"));
        assert!(contains(b"Vote now", b"Vote now"));
        assert!(!contains(b"Vote no", b"Vote now"));
    }
}
