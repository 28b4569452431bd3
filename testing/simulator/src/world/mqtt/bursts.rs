//! Bursts of retained messages that all expire in one millisecond: more than fit in a turn.
//!
//! In some runs they follow each other. A checkpoint begins while the messages of one are removed, and those of the next one take
//! their places: after a recovery these are other ones than in the running shard.

use stadium_mqtt::packet::{QoS, Version};
use stadium_shard::core::Core;

use super::payload;
use crate::ledger::Violation;
use crate::mqtt::{Device, Outgoing, Over, Timestamp};
use crate::world::World;
use crate::world::breaking::Descriptors;

/// How long the messages of a burst are retained.
const BURST_MS: u64 = 60_000;

/// What comes next of bursts that follow each other.
#[derive(Debug, Clone, Copy)]
pub(super) enum OfBursts {
    Begin,
    /// Its messages are over.
    End,
    /// One begins while these are removed.
    Checkpoint,
}

impl World {
    /// Begins or ends one of the bursts that follow each other, or a checkpoint between two.
    pub(super) fn many_bursts(&mut self) -> Result<(), Violation> {
        let Some(mqtt) = &mut self.mqtt else { return Ok(()) };
        match mqtt.next_of_bursts {
            OfBursts::Begin if mqtt.absences.u8(..3) == 0 => {
                let bursts = mqtt.bursts;
                self.burst();
                if let Some(mqtt) = self.mqtt.as_mut().filter(|mqtt| mqtt.bursts > bursts) {
                    mqtt.next_of_bursts = OfBursts::End;
                    // Its shard has all of it before the first message is over.
                    self.descriptors(Descriptors::Free);
                    self.quiet()?;
                }
            }
            OfBursts::End if mqtt.absences.u8(..3) == 0 => {
                mqtt.next_of_bursts = OfBursts::Checkpoint;
                self.trace.line(&self.clock, || "the time of the burst is over".into());
                self.advance(BURST_MS);
            }
            OfBursts::Checkpoint if mqtt.absences.u8(..10) == 0 => {
                mqtt.next_of_bursts = OfBursts::Begin;
                let cores = self.machines.iter_mut().filter_map(|machine| machine.core.as_mut());
                cores.for_each(Core::checkpoint_soon);
            }
            _ => {}
        }
        Ok(())
    }

    /// Many retained messages that all end at one time.
    pub(super) fn burst(&mut self) {
        let now = Timestamp::of(&self.clock);
        let Some(mqtt) = &mut self.mqtt else { return };
        let can = |device: &Device| device.is_in && device.plan.version == Version::V5;
        let Some(at) = mqtt.devices.iter().position(can) else { return };
        mqtt.bursts += 1;
        let burst = mqtt.plan.burst;
        self.trace
            .line(&self.clock, || format!("device {at} publishes a burst of {burst} retained messages"));
        let mut bytes = Vec::new();
        for topic in 0..burst {
            let topic = format!("b/{topic}");
            mqtt.messages += 1;
            let over = Over::new(now, BURST_MS);
            mqtt.retained.publishes(&topic, Some(mqtt.messages), Some(over), at);
            bytes.extend(mqtt.devices[at].publish(Outgoing {
                number: mqtt.messages,
                topic,
                qos: QoS::AtMostOnce,
                retain: true,
                expiry_s: Some((BURST_MS / 1_000) as u32),
                payload: payload(mqtt.messages),
            }));
        }
        mqtt.send(at, &bytes);
    }
}
