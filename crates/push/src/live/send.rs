//! A live push on a shard: its audience is evaluated, connected devices get it, no event is written.
//!
//! The same functions take the audience apart as when a durable push starts. The window of a
//! connection does not count: a transport bounds what it holds for a slow connection, and counts
//! the rest as dropped.

use roaring::RoaringBitmap;
use stadium_registry::Selector;

use super::{LiveDispatch, LiveReach, LiveToken, Message, Qos, check};
use crate::app::App;
use crate::outcome::Outcome;
use crate::platform::Platform;
use crate::refusal::{ID_CONTENT, rejected};
use crate::send::{Groups, head};
use crate::split::Split;
use crate::{Answer, Audience, NewPush, Refusal, Time, TransportCommand};

impl Platform {
    /// Dispatches a live push to the devices of this shard.
    pub(crate) fn send_live(
        &mut self,
        now: Time,
        push: &NewPush,
        token: LiveToken,
    ) -> Result<Answer, Refusal> {
        check(push)?;
        let number = self.app_number(&push.app)?;
        let app = &self.apps[&number];
        self.check_push(now, app, push)?;
        if self.find_id(number, push.id).is_some() {
            let reason = format!("push {} is a durable one: a new push needs a new id", push.id);
            return Err(rejected(ID_CONTENT, reason));
        }
        let (matched, split) = self.live_split(now, app, push);
        let reached = &split.owed & &app.reading;
        let mut reach = LiveReach {
            devices: app.registry.len() as u64,
            matched: matched.len(),
            targeted: split.owed.len(),
            ..LiveReach::default()
        };
        // A live push does not wait: devices in their quiet hours are left out.
        reach.quiet = split.waiting.iter().map(|(_, slots)| slots.len()).sum();
        for (outcome, slots) in &split.left_out {
            let count = match outcome {
                Outcome::HeldOut => &mut reach.held_out,
                Outcome::NoValue => &mut reach.no_value,
                Outcome::Capped => &mut reach.capped,
                Outcome::Quiet => &mut reach.quiet,
                _ => &mut reach.opted_out,
            };
            *count += slots.len();
        }
        let mut groups = Groups::default();
        for slot in &reached {
            let Some(connection) = app.connections.get(&slot) else { continue };
            groups.add(app, push, connection.name, slot);
            reach.connected += 1;
        }
        let (content_type, properties) = head(&push.content);
        let qos = Qos::of(push.options.qos);
        let dispatches = groups.0.into_iter().map(|group| {
            TransportCommand::Live(LiveDispatch {
                token,
                node: group.first.node,
                loop_index: group.first.loop_index,
                message: Message {
                    payload: group.payload,
                    content_type: content_type.clone(),
                    properties: properties.clone(),
                },
                qos,
                trace: push.options.trace,
                to: group.to.iter().map(|to| to.connection).collect(),
            })
        });
        self.to_transport.extend(dispatches);
        self.counted.dispatched += reach.connected;
        Ok(Answer::Live(Box::new(reach)))
    }

    fn live_split(&self, now: Time, app: &App, push: &NewPush) -> (RoaringBitmap, Split) {
        let everybody = |selector: &Selector| {
            let matched = app.registry.evaluate(selector, now);
            let split = self.split(now, app, push, matched.clone());
            (matched, split)
        };
        match &push.audience {
            Audience::Device(device) => {
                let slot = app.registry.find(device).map(|slot| slot.0);
                let matched: RoaringBitmap = slot.into_iter().collect();
                let split = self.one_apart(now, app, push, &matched);
                (matched, split)
            }
            Audience::Selector(selector) => everybody(selector),
            // The asking shard resolves the name at the app's home: other shards do not know it.
            Audience::Saved(name) => app.audiences.get(name).map(everybody).unwrap_or_default(),
        }
    }
}
