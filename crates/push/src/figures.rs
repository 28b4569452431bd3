//! Figures for operators, kept while things happen: reading them costs nothing worth counting.

use crate::feed::{Collector, FeedEvent, FeedJob, Kind};
use crate::outcome::Outcome;
use crate::platform::Platform;
use crate::{PushId, Time};

/// What a shard holds now, and what has happened on it since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Apps.
    pub apps: u64,
    /// Registered devices.
    pub devices: u64,
    /// Of those, connected and reading their inbox.
    pub connected: u64,
    /// Deliveries that devices are owed.
    pub owed: u64,
    /// Of those, on their way.
    pub in_flight: u64,
    /// Pushes that wait for their time, or for that of a time zone.
    pub pushes_scheduled: u64,
    /// Pushes that somebody is owed.
    pub pushes_sending: u64,
    /// Pushes that nobody is owed any more, and that are remembered.
    pub pushes_settled: u64,
    /// Schedules.
    pub schedules: u64,
    /// Saved audiences.
    pub audiences: u64,
    /// Since the start: pushes that came, those of an app's home included.
    pub accepted: u64,
    /// Since the start, as all below: deliveries that were to be made.
    pub targeted: u64,
    /// Deliveries handed to the edge.
    pub dispatched: u64,
    /// Acknowledged by devices; at QoS 0: sent.
    pub acknowledged: u64,
    /// Refused by devices, or too large for them.
    pub refused: u64,
    /// Given back by the edge.
    pub returned: u64,
    /// Expired before they were delivered.
    pub expired: u64,
    /// Ended by a newer push.
    pub collapsed: u64,
    /// Ended by a full inbox.
    pub crowded_out: u64,
    /// Reported as opened.
    pub opened: u64,
    /// Reported as clicked.
    pub clicked: u64,
}

/// Something that happened to a device, for its app's feeds.
pub(crate) struct Noted<'a> {
    pub(crate) kind: Kind,
    pub(crate) push: Option<PushId>,
    /// Of a click.
    pub(crate) action: Option<&'a str>,
    pub(crate) at: Time,
}

impl Platform {
    /// What it holds, and what has happened since it started.
    pub fn figures(&self) -> Figures {
        let mut figures = Figures { apps: self.apps.len() as u64, ..self.counted };
        for app in self.apps.values() {
            figures.devices += app.registry.len() as u64;
            figures.connected += app.connections.len() as u64;
            figures.owed += app.inboxes.sum();
            figures.schedules += app.schedules.len() as u64;
            figures.audiences += app.audiences.len() as u64;
        }
        let pushes = (self.singles.len() + self.manies.len()) as u64;
        figures.pushes_sending = self.ends.len() as u64;
        figures.pushes_settled = self.forgets.len() as u64;
        figures.pushes_scheduled = pushes.saturating_sub(figures.pushes_sending + figures.pushes_settled);
        figures
    }

    /// Counts deliveries that ended.
    pub(crate) fn count_ended(&mut self, outcome: Outcome, deliveries: u64) {
        let counted = &mut self.counted;
        let place = match outcome {
            Outcome::Delivered => &mut counted.acknowledged,
            Outcome::Refused | Outcome::TooLarge => &mut counted.refused,
            Outcome::Expired => &mut counted.expired,
            Outcome::Collapsed => &mut counted.collapsed,
            Outcome::CrowdedOut => &mut counted.crowded_out,
            _ => return,
        };
        *place += deliveries;
    }

    /// Takes the events of the last execute or tick, for the queues of their feeds. They go into the same record, or are lost with a crash.
    pub fn take_events(&mut self, out: &mut Vec<FeedJob>) {
        self.collector.finish(out);
    }

    /// Sends to an app's feeds what happened to a device.
    pub(crate) fn note(&mut self, app: u32, kind: Kind, slot: u32, push: Option<PushId>, at: Time) {
        self.note_about(app, slot, Noted { kind, push, action: None, at });
    }

    /// As [`Self::note`], with the action of a click.
    pub(crate) fn note_about(&mut self, app: u32, slot: u32, noted: Noted<'_>) {
        let Some(app) = self.apps.get(&app) else { return };
        if app.settings.feeds.is_empty() {
            return;
        }
        let Some(device) = app.registry.id(stadium_registry::Slot(slot)) else { return };
        let collector: &mut Collector = &mut self.collector;
        let Noted { kind, push, action, at } = noted;
        collector.note(&app.name, &app.settings.feeds, FeedEvent { kind, device, push, action, at });
    }
}
