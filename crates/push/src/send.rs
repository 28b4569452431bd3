//! Dispatches to connected devices: decided after the events, from owed deliveries and the devices
//! that read their inboxes.
//!
//! A connection has a window of deliveries on their way; the rest waits for acknowledgements. A push with a pace goes out in slices, by time. Nothing here
//! is durable: after a start everybody is sent what they are owed when they come.

use bytes::Bytes;
use compact_str::CompactString;
use roaring::RoaringBitmap;
use stadium_registry::Slot;

use crate::app::App;
use crate::lists;
use crate::outcome::Outcome;
use crate::platform::{Platform, Spot};
use crate::template;
use crate::{
    ConnectionName, Content, Dispatch, NewPush, Notification, Pace, Recipient, Time, TransportCommand,
};

/// Deliveries on their way to one connection at most; more follow when half of them are acknowledged.
///
/// As many as the edge keeps for one that is slow.
pub(crate) const WINDOW: u16 = 64;
/// Time between slices of a pace.
const SLICE: u64 = 100;
/// The part of a notification that devices get.
pub(crate) const CONTENT_TYPE: CompactString = CompactString::const_new("application/json");

/// How far the pace of a push has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paced {
    /// When it was looked at last.
    at: Time,
    /// Devices that it may go to now, with fractions.
    credit: f64,
    /// When it goes on.
    pub(crate) next: Time,
}

impl Platform {
    /// Sends what the events have made possible.
    pub(crate) fn send(&mut self, now: Time) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        for number in touched.drain(..) {
            match self.find_number(number) {
                Some(Spot::Single(place)) => self.send_single(now, place),
                Some(Spot::Many(place)) => self.send_many(now, place),
                None => {}
            }
        }
        self.touched = touched;
        let mut woken = std::mem::take(&mut self.woken);
        woken.sort_unstable();
        woken.dedup();
        for (app, slot) in woken.drain(..) {
            self.send_inbox(now, app, slot);
        }
        self.woken = woken;
    }

    fn send_single(&mut self, now: Time, place: u32) {
        let single = self.singles.at(place);
        if single.outcome != Outcome::Owed || single.in_flight {
            return;
        }
        let Some(app) = self.apps.get_mut(&single.app) else { return };
        if !app.reading.contains(single.slot) {
            return;
        }
        let slot = single.slot;
        let Some(connection) = app.connections.get_mut(&slot) else { return };
        if connection.more || connection.in_flight >= WINDOW {
            connection.more = true;
            if single.qos == 0 {
                self.lost.insert((single.number, slot));
            }
            return;
        }
        connection.in_flight += 1;
        self.counted.in_flight += 1;
        self.counted.dispatched += 1;
        let name = connection.name;
        let push = single.push();
        let what = Outgoing { push: single.number, content: &push, until: single.until, now };
        let payload = payload(app, &push, slot);
        let to = vec![Recipient { connection: name.connection, slot }];
        self.to_transport.push(TransportCommand::Dispatch(what.dispatch(name, payload, to)));
        self.singles.at_mut(place).in_flight = true;
    }

    fn send_many(&mut self, now: Time, place: u32) {
        let many = self.many(place);
        if many.push.options.pace != Pace::AtOnce {
            let paced = Paced { at: now, credit: 1.0, next: now };
            let number = many.number;
            self.paced.entry(number).or_insert(paced);
            self.send_slice(now, number);
            return;
        }
        let Some(app) = self.apps.get(&many.app) else { return };
        let candidates = (&many.sets[Outcome::Owed] & &app.reading) - &many.in_flight;
        self.dispatch_many(now, place, &candidates, usize::MAX);
    }

    /// Sends a push to those of these whose window is open, so many at most. Returns to how many.
    fn dispatch_many(&mut self, now: Time, place: u32, candidates: &RoaringBitmap, at_most: usize) -> usize {
        if candidates.is_empty() {
            return 0;
        }
        let many = self.manies.at_mut(place).many_mut();
        let app = self.apps.get_mut(&many.app).expect("an app's pushes go before it does");
        let push = many.push.clone();
        let what = Outgoing { push: many.number, content: &push, until: many.until, now };
        let mut groups = Groups::default();
        let mut sent = 0;
        for slot in candidates {
            if sent >= at_most {
                break;
            }
            let Some(connection) = app.connections.get_mut(&slot) else { continue };
            if connection.more || connection.in_flight >= WINDOW {
                connection.more = true;
                if push.options.qos == 0 && push.options.pace == Pace::AtOnce {
                    self.lost.insert((many.number, slot));
                }
                continue;
            }
            connection.in_flight += 1;
            let name = connection.name;
            many.in_flight.insert(slot);
            groups.add(app, &push, name, slot);
            sent += 1;
        }
        self.counted.in_flight += sent as u64;
        self.counted.dispatched += sent as u64;
        for group in groups.0 {
            let dispatch = what.dispatch(group.first, group.payload, group.to);
            self.to_transport.push(TransportCommand::Dispatch(dispatch));
        }
        sent
    }

    /// Sends a device what it is owed, in its order, as far as its window goes.
    fn send_inbox(&mut self, now: Time, app_number: u32, slot: u32) {
        let Some(app) = self.apps.get_mut(&app_number) else { return };
        if !app.reading.contains(slot) {
            return;
        }
        let owed = app.inboxes.of(slot);
        let Some(connection) = app.connections.get_mut(&slot) else { return };
        connection.more = false;
        let room = usize::from(WINDOW.saturating_sub(connection.in_flight));
        if owed <= u64::from(connection.in_flight) {
            return;
        }
        let name = connection.name;
        let (mut next, paced) = self.sendable(&self.apps[&app_number], slot);
        next.sort_unstable_by_key(|&(rank, number, _)| (rank, number));
        let more = next.len() > room;
        next.truncate(room);
        let app = self.apps.get_mut(&app_number).expect("it was there just now");
        if let Some(connection) = app.connections.get_mut(&slot) {
            connection.in_flight += next.len() as u16;
            connection.more = more;
            self.counted.in_flight += next.len() as u64;
            self.counted.dispatched += next.len() as u64;
        }
        for (_, number, spot) in next {
            let to = vec![Recipient { connection: name.connection, slot }];
            let dispatch = match spot {
                Spot::Single(place) => {
                    let single = self.singles.at_mut(place);
                    single.in_flight = true;
                    let push = single.push();
                    let what = Outgoing { push: number, content: &push, until: single.until, now };
                    what.dispatch(name, payload(app, &push, slot), to)
                }
                Spot::Many(place) => {
                    let many = self.manies.at_mut(place).many_mut();
                    many.in_flight.insert(slot);
                    let what = Outgoing { push: number, content: &many.push, until: many.until, now };
                    what.dispatch(name, payload(app, &many.push, slot), to)
                }
            };
            self.to_transport.push(TransportCommand::Dispatch(dispatch));
        }
        for number in paced {
            let paced = Paced { at: now, credit: 0.0, next: now };
            self.paced.entry(number).or_insert(paced);
        }
    }

    /// What may be sent to a device now, by rank and number; and the pushes that go to it at their own pace.
    fn sendable(&self, app: &App, slot: u32) -> (Vec<(u8, u64, Spot)>, Vec<u64>) {
        let mut next = Vec::new();
        let mut paced = Vec::new();
        for place in lists::owed(&self.singles, app, slot) {
            let single = self.singles.at(place);
            if single.outcome == Outcome::Owed && !single.in_flight && single.qos > 0 {
                next.push((9 - single.priority, single.number, Spot::Single(place)));
            }
        }
        for &(rank, number, place) in &app.open {
            let many = self.many(place);
            if !many.sets[Outcome::Owed].contains(slot) || many.in_flight.contains(slot) {
                continue;
            }
            if many.push.options.pace != Pace::AtOnce {
                paced.push(number);
            } else if many.push.options.qos > 0 {
                next.push((rank, number, Spot::Many(place)));
            }
        }
        (next, paced)
    }

    /// The next slice of a push with a pace.
    pub(crate) fn send_slice(&mut self, now: Time, number: u64) {
        let Some(Spot::Many(place)) = self.find_number(number) else {
            self.paced.remove(&number);
            return;
        };
        let many = self.many(place);
        let Some(app) = self.apps.get(&many.app) else { return };
        let candidates = (&many.sets[Outcome::Owed] & &app.reading) - &many.in_flight;
        if candidates.is_empty() {
            self.paced.remove(&number);
            return;
        }
        let started_at = many.started_at.unwrap_or(now);
        let rate = match many.push.options.pace {
            Pace::AtOnce => f64::INFINITY,
            Pace::PerSecond(devices) => f64::from(devices) / f64::from(self.place.shards),
            Pace::Over(span) if now >= started_at.after(span) => f64::INFINITY,
            Pace::Over(span) => many.counts().targeted as f64 * 1_000.0 / span.max(1) as f64,
        };
        let Some(paced) = self.paced.get_mut(&number) else { return };
        let passed = now.0.saturating_sub(paced.at.0).min(10 * SLICE);
        // Credit that was not used in a second is gone, so that accumulated credit floods nobody.
        paced.credit = (paced.credit + rate * passed as f64 / 1_000.0).min(rate.max(1.0));
        if rate.is_infinite() {
            paced.credit = f64::INFINITY;
        }
        paced.at = now;
        let wait =
            if rate.is_infinite() { SLICE } else { ((1.0 - paced.credit.fract()) / rate * 1_000.0) as u64 };
        paced.next = now.after(wait.clamp(SLICE, 3_600_000));
        let at_most = if paced.credit.is_finite() { paced.credit as usize } else { usize::MAX };
        let sent = self.dispatch_many(now, place, &candidates, at_most);
        if let Some(paced) = self.paced.get_mut(&number)
            && paced.credit.is_finite()
        {
            paced.credit -= sent as f64;
        }
    }

    /// When a pace goes on next.
    pub(crate) fn next_slice(&self) -> Option<Time> {
        self.paced.values().map(|paced| paced.next).min()
    }

    /// A delivery is on its way no more: another one may take its place.
    pub(crate) fn landed(&mut self, app_number: u32, slot: u32) {
        let connection = self.apps.get_mut(&app_number).and_then(|app| app.connections.get_mut(&slot));
        let Some(connection) = connection else { return };
        if connection.in_flight > 0 {
            connection.in_flight -= 1;
            self.counted.in_flight -= 1;
        }
        if connection.more && connection.in_flight <= WINDOW / 2 {
            self.woken.push((app_number, slot));
        }
    }

    /// Those who are there of whom a push of QoS 0 targets; none for another one, or one that has not started.
    pub(crate) fn reached_at_once(&self, number: u64) -> Option<RoaringBitmap> {
        match self.find_number(number)? {
            Spot::Single(place) => {
                let single = self.singles.at(place);
                let app = self.apps.get(&single.app)?;
                let is_there = single.outcome == Outcome::Owed && app.reading.contains(single.slot);
                (single.qos == 0 && single.outcome.is_open())
                    .then(|| is_there.then_some(single.slot).into_iter().collect())
            }
            Spot::Many(place) => {
                let many = self.many(place);
                let app = self.apps.get(&many.app)?;
                (many.push.options.qos == 0 && many.is_open())
                    .then(|| &many.sets[Outcome::Owed] & &app.reading)
            }
        }
    }
}

/// What all dispatches of a push have in common.
struct Outgoing<'a> {
    push: u64,
    content: &'a NewPush,
    until: Time,
    now: Time,
}

impl Outgoing<'_> {
    /// The dispatch to connections on the loop of `name`.
    fn dispatch(&self, name: ConnectionName, payload: Bytes, to: Vec<Recipient>) -> Dispatch {
        let (content_type, properties) = head(&self.content.content);
        let qos = self.content.options.qos;
        let expires_at = (self.until > self.now && qos > 0).then_some(self.until);
        Dispatch {
            node: name.node,
            loop_index: name.loop_index,
            push: self.push,
            payload,
            content_type,
            properties,
            qos,
            expires_at,
            trace: self.content.options.trace,
            to,
        }
    }
}

/// The MIME type and the user properties of what devices get.
pub(crate) fn head(content: &Content) -> (Option<CompactString>, Vec<(CompactString, CompactString)>) {
    match content {
        Content::Raw { content_type, properties, .. } => (content_type.clone(), properties.clone()),
        Content::Notification(_) => (Some(CONTENT_TYPE), Vec::new()),
    }
}

/// What a device gets.
pub(crate) fn payload(app: &App, push: &NewPush, slot: u32) -> Bytes {
    match &push.content {
        Content::Raw { payload, .. } => payload.clone(),
        Content::Notification(notification) => words(app, push, notification, slot),
    }
}

fn words(app: &App, push: &NewPush, notification: &Notification, slot: u32) -> Bytes {
    let (registry, slot) = (&app.registry, Slot(slot));
    let (platform, language) = (registry.platform(slot), registry.language(slot));
    template::json(Some(push.id), notification, platform, language, |name| registry.value(slot, name))
}

/// Devices that get the same bytes on the same loop of the same node.
#[derive(Default)]
pub(crate) struct Groups(pub(crate) Vec<Group>);

pub(crate) struct Group {
    /// The connection of the first device: all others are on its loop.
    pub(crate) first: ConnectionName,
    /// What makes the words the same; none where each device has its own.
    variant: Option<[usize; 3]>,
    pub(crate) payload: Bytes,
    pub(crate) to: Vec<Recipient>,
}

impl Groups {
    pub(crate) fn add(&mut self, app: &App, push: &NewPush, name: ConnectionName, slot: u32) {
        let to = Recipient { connection: name.connection, slot };
        let variant = match &push.content {
            Content::Raw { .. } => Some([0; 3]),
            Content::Notification(notification) if template::has_values(notification) => None,
            Content::Notification(notification) => {
                let (registry, slot) = (&app.registry, Slot(slot));
                Some(template::variant(notification, registry.platform(slot), registry.language(slot)))
            }
        };
        let same = |group: &&mut Group| {
            let first = group.first;
            (first.node, first.loop_index) == (name.node, name.loop_index) && group.variant == variant
        };
        if variant.is_some()
            && let Some(group) = self.0.iter_mut().rev().find(same)
        {
            group.to.push(to);
            return;
        }
        let other = self.0.iter().find(|group| variant.is_some() && group.variant == variant);
        let payload = other.map_or_else(|| payload(app, push, slot), |group| group.payload.clone());
        self.0.push(Group { first: name, variant, payload, to: vec![to] });
    }
}
