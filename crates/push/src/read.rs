//! What can be looked up: apps, devices, previews, pushes, deliveries.
//!
//! Nothing here changes anything; a page is bounded, and its last line is where the next one
//! begins.

use std::ops::Bound;

use stadium_registry::{AppName, DeviceId, Filter, Selector, Slot};

use crate::app::App;
use crate::execute::unknown;
use crate::inbox;
use crate::latency::Spread;
use crate::lists;
use crate::outcome::Outcome;
use crate::platform::{Platform, Spot};
use crate::refusal::{COUNT, DEVICE_UNKNOWN, MISDIRECTED, rejected};
use crate::single::{NEVER, Single};
use crate::{
    Answer, AppView, Authenticated, ClickAction, Command, Counts, DeliveryView, DeviceView, PushId, PushView,
    Refusal, Sample, Stage, Time,
};

/// The pushes that a device is owed, as far as they are shown.
const INBOX_SHOWN: usize = 100;
/// Pushes of a device that are shown.
const NEWEST_SHOWN: usize = 20;
/// Pushes to many that are looked at for them.
const NEWEST_LOOKED_AT: usize = 1_000;

impl Platform {
    pub(crate) fn look_up(&mut self, now: Time, command: &Command) -> Result<Answer, Refusal> {
        match command {
            Command::Apps { after, apps_max } => {
                let apps_max = page(*apps_max, 1_000)?;
                let begin = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                let apps = self.by_name.range::<AppName, _>((begin, Bound::Unbounded)).take(apps_max);
                Ok(Answer::Apps(apps.map(|(_, number)| self.app_view(&self.apps[number])).collect()))
            }
            Command::Device { app, device } => {
                let app = self.app(app)?;
                let slot = app.registry.find(device);
                Ok(Answer::Device(slot.and_then(|slot| self.device_view(app, slot)).map(Box::new)))
            }
            Command::Devices { app, audience, prefix, after, devices_max } => {
                let devices_max = page(*devices_max, 1_000)?;
                let app = self.app(app)?;
                Ok(Answer::Devices(self.devices(
                    now,
                    app,
                    audience.as_ref(),
                    prefix,
                    after.as_ref(),
                    devices_max,
                )))
            }
            Command::Authenticate { app, device, secret } => {
                if self.is_named_as_app(app, device) {
                    return Ok(Answer::Authenticated(Authenticated::NamedAsApp));
                }
                let unknown = Ok(Answer::Authenticated(Authenticated::Unknown));
                let Ok(app) = self.app(app) else { return unknown };
                let Some(slot) = app.registry.find(device) else { return unknown };
                let fits = app.registry.credential_fits(slot, &secret.unwrap_or_default());
                if app.registry.revoked().contains(slot.0) {
                    let proved = secret.is_some() && fits == Some(true);
                    return Ok(Answer::Authenticated(Authenticated::Revoked { proved }));
                }
                Ok(Answer::Authenticated(match fits {
                    None => Authenticated::Unknown,
                    Some(true) if secret.is_some() => Authenticated::Yes,
                    Some(_) => Authenticated::No,
                }))
            }
            Command::Inbox { app, device, after, pushes_max } => {
                let pushes_max = page(*pushes_max, inbox::PAGE_MAX)?;
                self.inbox(app, device, *after, pushes_max).map(Answer::Inbox)
            }
            Command::Preview { app, audience, sample_max, push } => {
                let app = self.app(app)?;
                Ok(Answer::Preview(Box::new(self.preview(
                    now,
                    app,
                    audience,
                    (*sample_max).min(100) as usize,
                    push.as_deref(),
                ))))
            }
            Command::Audiences { app } => {
                let audiences = self.app(app)?.audiences.iter();
                Ok(Answer::Audiences(
                    audiences.map(|(name, selector)| (name.clone(), selector.clone())).collect(),
                ))
            }
            Command::Check { push } => self.check_send(now, push).map(Answer::Accepted),
            Command::Push { app, push } => {
                let app = self.app_number(app)?;
                Ok(Answer::Push(self.find_id(app, *push).map(|spot| Box::new(self.push_view(spot)))))
            }
            Command::Pushes { app, before, pushes_max } => {
                let app = self.app(app)?;
                Ok(Answer::Pushes(self.newest(app, *before, page(*pushes_max, 1_000)?)))
            }
            Command::Trace { app, push, device } => self.trace(now, app, *push, device),
            Command::Deliveries { app, push, after, deliveries_max } => {
                let deliveries_max = page(*deliveries_max, 10_000)?;
                let app = self.app_number(app)?;
                let spot = self.find_id(app, *push).ok_or_else(|| unknown(*push))?;
                self.deliveries(&self.apps[&app], spot, after.as_ref(), deliveries_max)
                    .map(Answer::Deliveries)
            }
            Command::Schedules { app } => {
                Ok(Answer::Schedules(self.views_of_schedules(self.app_number(app)?)))
            }
            _ => Err(rejected(MISDIRECTED, "this command changes something")),
        }
    }

    fn app_view(&self, app: &App) -> AppView {
        AppView {
            app: app.name.clone(),
            settings: self.is_home(&app.name).then(|| app.settings.clone()),
            devices: app.registry.len() as u64,
            connected: app.connections.len() as u64,
            opted_in: app.registry.opted_in().len(),
            pushes: app.order.len() as u64,
            owed: app.inboxes.sum(),
            bytes: app.registry.bytes() as u64,
        }
    }

    fn devices(
        &self,
        now: Time,
        app: &App,
        audience: Option<&Selector>,
        prefix: &str,
        after: Option<&DeviceId>,
        devices_max: usize,
    ) -> Vec<DeviceView> {
        let filter = Filter { prefix: prefix.to_owned(), ..Filter::default() };
        let matched = audience.map(|audience| app.registry.evaluate(audience, now));
        let mut views = Vec::new();
        let mut after = after.cloned();
        loop {
            let page = app.registry.list(&filter, after.as_ref(), devices_max.max(100));
            let Some(last) = page.last() else { return views };
            after = Some(last.id.clone());
            for device in page {
                let Some(slot) = app.registry.find(&device.id) else { continue };
                if matched.as_ref().is_none_or(|matched| matched.contains(slot.0)) {
                    views.extend(self.device_view(app, slot));
                    if views.len() == devices_max {
                        return views;
                    }
                }
            }
        }
    }

    fn device_view(&self, app: &App, slot: Slot) -> Option<DeviceView> {
        let device = app.registry.device(slot)?;
        let slot = slot.0;
        let owed = self.owed_to(app, slot).into_iter().take(INBOX_SHOWN);
        let inbox = owed.map(|(_, spot)| self.owed_at(spot)).collect();
        let mut newest = Vec::new();
        for place in lists::newest(&self.singles, app, slot).take(NEWEST_SHOWN) {
            let single = self.singles.at(place);
            newest.push((single.id, single.started_at, self.state_of_single(app, single)));
        }
        let manies = app.started.iter().rev().take(NEWEST_LOOKED_AT);
        let manies = manies.filter_map(|&(at, place)| {
            let many = self.many(place);
            app.outcome(many, slot)
                .map(|outcome| (many.push.id, at, self.state_of_many(app, many, slot, outcome)))
        });
        newest.extend(manies.take(NEWEST_SHOWN));
        newest.sort_by_key(|&(_, at, _)| std::cmp::Reverse(at));
        newest.truncate(NEWEST_SHOWN);
        let connection = app.connections.get(&slot).map(|connection| connection.name);
        Some(DeviceView { device, connection, inbox, newest })
    }

    pub(crate) fn push_view(&self, spot: Spot) -> PushView {
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at(place);
                let stage = match single.outcome {
                    _ if single.cancelled => Stage::Cancelled,
                    Outcome::Scheduled => Stage::Scheduled,
                    outcome if outcome.is_open() => Stage::Sending,
                    _ => Stage::Settled,
                };
                let (sent, acknowledged) = (spread(single.sent_after), spread(single.acknowledged_after));
                PushView {
                    push: Box::new(single.push()),
                    schedule: single.schedule.as_deref().cloned(),
                    accepted_at: single.accepted_at,
                    started_at: (single.until != Time(0)).then_some(single.started_at),
                    stage,
                    counts: counts_of_one(single),
                    actions: action_of_one(single),
                    sent: sent.latency(),
                    acknowledged: acknowledged.latency(),
                    series: series_of_one(single),
                    spread: (sent, acknowledged),
                }
            }
            Spot::Many(place) => {
                let many = self.many(place);
                PushView {
                    push: Box::new((*many.push).clone()),
                    schedule: many.schedule.clone(),
                    accepted_at: many.accepted_at,
                    started_at: many.started_at,
                    stage: many.stage(),
                    counts: many.counts(),
                    actions: many.actions.clone(),
                    sent: many.sent.latency(),
                    acknowledged: many.acknowledged.latency(),
                    spread: (many.sent.clone(), many.acknowledged.clone()),
                    series: many.series.clone(),
                }
            }
        }
    }

    /// Pushes of an app, newest first: by acceptance, then by id.
    fn newest(&self, app: &App, before: Option<(Time, PushId)>, pushes_max: usize) -> Vec<PushView> {
        let end = before.map_or(Bound::Unbounded, |(at, _)| Bound::Included((at, u64::MAX)));
        let mut found: Vec<(Time, PushId, Spot)> = Vec::new();
        for &(at, push) in app.order.range((Bound::Unbounded, end)).rev() {
            // Those of one millisecond stand together, to be put in the order of their ids.
            if found.len() >= pushes_max && found.last().is_some_and(|last| last.0 != at) {
                break;
            }
            let Some(spot) = self.find_number(push) else { continue };
            let (_, id) = self.name_at(spot);
            if before.is_none_or(|before| (at, id) < before) {
                found.push((at, id, spot));
            }
        }
        found.sort_unstable_by_key(|&(at, id, _)| std::cmp::Reverse((at, id)));
        found.truncate(pushes_max);
        found.into_iter().map(|(_, _, spot)| self.push_view(spot)).collect()
    }

    /// Deliveries of a push on this shard, in the order of slots. Of those before the shard of `after`: none.
    fn deliveries(
        &self,
        app: &App,
        spot: Spot,
        after: Option<&DeviceId>,
        deliveries_max: usize,
    ) -> Result<Vec<DeliveryView>, Refusal> {
        let mut begin = 0;
        if let Some(after) = after {
            let home = self.home_of(&app.name, after);
            if home > self.place.shard {
                return Ok(Vec::new());
            }
            if home == self.place.shard {
                let Some(slot) = app.registry.find(after) else {
                    let reason = format!("device {:?} was removed meanwhile: begin again", after.as_str());
                    return Err(rejected(DEVICE_UNKNOWN, reason));
                };
                begin = slot.0 + 1;
            }
        }
        let place = match spot {
            Spot::Many(place) => place,
            Spot::Single(place) => {
                let single = self.singles.at(place);
                // One that was cancelled before its start was for nobody yet.
                let never_started = single.outcome == Outcome::Cancelled && single.until == Time(0);
                if after.is_some() || never_started {
                    return Ok(Vec::new());
                }
                let crate::Audience::Device(device) = single.push().audience else { return Ok(Vec::new()) };
                return Ok(vec![DeliveryView {
                    device,
                    state: self.state_of_single(app, single),
                    sent_at: single.at(single.sent_after),
                    acknowledged_at: single.at(single.acknowledged_after),
                }]);
            }
        };
        let many = self.many(place);
        let Some(started_at) = many.started_at else { return Ok(Vec::new()) };
        let matched = many.matched();
        let mut views = Vec::new();
        for slot in matched.range(begin..) {
            let Some(device) = app.registry.device(Slot(slot)) else { continue };
            // Another one may have the slot now.
            let Some(outcome) = app.outcome(many, slot) else { continue };
            let state = self.state_of_many(app, many, slot, outcome);
            views.push((
                slot,
                DeliveryView { device: device.id, state, sent_at: None, acknowledged_at: None },
            ));
            if views.len() == deliveries_max {
                break;
            }
        }
        for step in many.log.iter().flat_map(|&piece| self.logs.at(piece).steps()) {
            let Ok(place) = views.binary_search_by_key(&step.slot, |&(slot, _)| slot) else { continue };
            let view = &mut views[place].1;
            let at = Some(started_at.after(step.after));
            match step.what {
                crate::log::What::Sent => view.sent_at = at,
                crate::log::What::Acknowledged => view.acknowledged_at = at,
                _ => {}
            }
        }
        Ok(views.into_iter().map(|(_, view)| view).collect())
    }

    pub(crate) fn bytes_held(&self) -> usize {
        let apps: usize = self
            .apps
            .values()
            .map(|app| app.registry.bytes() + app.slot_owners.bytes() + size_of::<App>() + 4_096)
            .sum();
        let tables = self.singles.bytes() + self.manies.bytes() + self.logs.bytes();
        let indexes = self.by_id.bytes() + self.by_number.bytes();
        let timers = (self.ends.len() + self.forgets.len()) * 24 + self.due.len() * 64;
        apps + tables
            + indexes
            + timers
            + self.pushes_bytes as usize
            + self.many_bytes
            + self.scratch.capacity()
            + self.unregistered.bytes()
    }
}

fn page(wanted: u32, most: u32) -> Result<usize, Refusal> {
    if (1..=most).contains(&wanted) {
        return Ok(wanted as usize);
    }
    Err(rejected(COUNT, format!("a page of {wanted} is out of bounds: 1 to {most}")))
}

fn spread(after: u32) -> Spread {
    let mut spread = Spread::default();
    if after != NEVER {
        spread.count(after.into());
    }
    spread
}

fn series_of_one(single: &Single) -> Vec<Sample> {
    let mut series: Vec<Sample> = Vec::new();
    let clicked_after = single.click.as_ref().map_or(NEVER, |click| click.after);
    let steps = [single.sent_after, single.acknowledged_after, single.opened_after, clicked_after];
    for (kind, after) in steps.into_iter().enumerate().filter(|&(_, after)| after != NEVER) {
        let second = after / 1_000;
        let from_s = if second < 600 { second } else { second / 60 * 60 };
        let place = series.binary_search_by_key(&from_s, |sample| sample.from_s).unwrap_or_else(|place| {
            series.insert(place, Sample { from_s, ..Sample::default() });
            place
        });
        let sample = &mut series[place];
        *[&mut sample.sent, &mut sample.acknowledged, &mut sample.opened, &mut sample.clicked][kind] += 1;
    }
    series
}

fn action_of_one(single: &Single) -> Vec<(ClickAction, u64)> {
    let action = single.click.as_ref().and_then(|click| click.action.clone());
    action.into_iter().map(|action| (action, 1)).collect()
}

fn counts_of_one(single: &Single) -> Counts {
    let outcome = single.outcome;
    // One that was cancelled before its start was for nobody yet.
    if matches!(outcome, Outcome::Scheduled | Outcome::NotRegistered)
        || outcome == Outcome::Cancelled && single.until == Time(0)
    {
        return Counts::default();
    }
    let mut counts = Counts { devices: 1, ..Counts::default() };
    counts.matched = 1;
    counts.targeted = u64::from(!outcome.is_left_out());
    counts.opened = u64::from(single.opened_after != NEVER);
    counts.clicked = u64::from(single.click.is_some());
    let place = match outcome {
        Outcome::OptedOut | Outcome::Revoked => &mut counts.opted_out,
        Outcome::HeldOut => &mut counts.held_out,
        Outcome::Capped => &mut counts.capped,
        Outcome::Quiet => &mut counts.quiet,
        Outcome::NoValue => &mut counts.no_value,
        Outcome::Owed if single.in_flight => &mut counts.in_flight,
        Outcome::Owed | Outcome::Scheduled | Outcome::NotRegistered => &mut counts.owed,
        Outcome::Waiting => &mut counts.waiting,
        Outcome::Delivered => &mut counts.delivered,
        Outcome::Expired => &mut counts.expired,
        Outcome::Collapsed => &mut counts.collapsed,
        Outcome::CrowdedOut => &mut counts.crowded_out,
        Outcome::Refused | Outcome::TooLarge => &mut counts.refused,
        Outcome::Cancelled => &mut counts.cancelled,
    };
    *place = 1;
    counts
}
