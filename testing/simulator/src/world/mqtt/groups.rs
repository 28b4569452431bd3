//! Shared subscriptions in the simulation: devices join groups, leave them, and publish to their topics.

use stadium_mqtt::packet::{QoS, Version};

use super::{Mqtt, World};
use crate::mqtt::{Device, Shared};

/// Topics that groups share.
const TOPICS: u32 = 2;

/// What all topics of groups begin with.
const PREFIX: &str = "s/";

impl Mqtt {
    pub(super) fn has_groups(&self) -> bool {
        !self.plan.groups.is_empty()
    }

    /// A topic that groups share.
    pub(super) fn group_topic(&mut self) -> String {
        format!("{PREFIX}{}", self.groups.u32(..TOPICS))
    }

    /// The only group that a device of 3.1.1 joins: its messages do not name the subscription.
    fn only_group(&self, at: usize) -> usize {
        at % self.plan.groups.len()
    }

    fn is_v5(device: &Device) -> bool {
        device.plan.version == Version::V5
    }

    /// The group by which a message came; none where it came by a subscription of the device's own.
    fn came_by(&self, at: usize, topic: &str, ids: &[u32]) -> Option<usize> {
        if !self.has_groups() || !topic.starts_with(PREFIX) {
            return None;
        }
        match Self::is_v5(&self.devices[at]) {
            true => ids.first().map(|&id| id as usize - 1),
            false => Some(self.only_group(at)),
        }
    }

    /// The message as the books of groups know it, where it came by one.
    pub(super) fn shared<'a>(
        &self,
        at: usize,
        topic: &'a str,
        ids: &[u32],
        (number, qos, dup): (u64, u8, bool),
    ) -> Result<Option<Shared<'a>>, String> {
        let Some(group) = self.came_by(at, topic, ids) else { return Ok(None) };
        if ids.len() > 1 || group >= self.plan.groups.len() {
            return Err(format!("device {at} got message {number} with the identifiers {ids:?}"));
        }
        Ok(Some(Shared { group, number, topic, qos, dup }))
    }

    /// The group with this text.
    pub(super) fn group_of(&self, text: &str) -> Option<usize> {
        self.plan.groups.iter().position(|group| group.text == text)
    }
}

impl World {
    /// A device joins a group or leaves it.
    pub(super) fn act_in_groups(&mut self, at: usize) {
        let Some(mqtt) = &mut self.mqtt else { return };
        let is_v5 = Mqtt::is_v5(&mqtt.devices[at]);
        let group = match is_v5 {
            true => mqtt.groups.usize(..mqtt.plan.groups.len()),
            false => mqtt.only_group(at),
        };
        let plan = mqtt.plan.groups[group].clone();
        if mqtt.devices[at].asks_for(&plan.text) {
            return;
        }
        if mqtt.books.is_member(at, group) {
            if mqtt.groups.u8(..3) == 0 {
                self.trace.line(&self.clock, || format!("device {at} unsubscribes from {}", plan.text));
                mqtt.books.leaves_group(at, group);
                let bytes = mqtt.devices[at].unsubscribe(&plan.text);
                mqtt.send(at, &bytes);
            }
            return;
        }
        if plan.is_kept && !mqtt.books.is_sure(at) {
            return;
        }
        let qos = if plan.is_kept { 1 + (at + group) % 2 } else { (at + group) % 3 };
        self.trace.line(&self.clock, || format!("device {at} subscribes to {} at {qos}", plan.text));
        mqtt.books.joins(at, group, qos as u8);
        let qos = [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce][qos];
        let id = is_v5.then_some(group as u32 + 1);
        let bytes = mqtt.devices[at].subscribe(&plan.text, qos, id);
        mqtt.send(at, &bytes);
    }

    /// A filter of a device's own that selects what groups share; none for a device that cannot
    /// distinguish the copies.
    pub(super) fn own_group_filter(&mut self, at: usize) -> Option<String> {
        let mqtt = self.mqtt.as_mut()?;
        Mqtt::is_v5(&mqtt.devices[at]).then(|| mqtt.group_topic())
    }
}
