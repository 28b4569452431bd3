//! The checker's own record: the possible states of each device, the pushes that were asked for,
//! and the reports about each delivery.
//!
//! Nothing here is the machine's. Where an answer is outstanding or lost, everything that may be so is kept.

use std::collections::{BTreeMap, BTreeSet};

use stadium_push::{Audience, Content, NewPush, Options, PushId, State, Time, When, app_home, device_home};

use super::facts::{Facts, NAME};
use super::plan::PushPlan;
use crate::clock::{Clock, Span};

/// A device: its app and its place in the plan.
pub type Who = (usize, usize);

/// Whether something is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Is {
    /// It is not.
    No,
    /// It may be: the answer is to come, or was lost.
    Maybe,
    /// It is, durably.
    Yes,
}

/// A device, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// What it may be now.
    pub now: Vec<Facts>,
    /// The states that it may have had since the last look.
    pub since: Vec<Facts>,
    /// A command about it is under way.
    pub busy: bool,
    /// How often it may have been removed.
    pub removals: u32,
    /// The same at the last look.
    pub removals_before: u32,
}

/// A push.
#[derive(Debug, Clone)]
pub struct Push {
    /// Its app.
    pub app: usize,
    /// What was asked for.
    pub new: NewPush,
    /// The schedule that made it.
    pub is_occurrence: bool,
    pub accepted: Is,
    pub cancelled: Is,
    /// Cancellations that may have been carried out: under way, or with an answer that was lost.
    pub cancels: u32,
    /// When it may have started, as far as clocks show; the end is open while it may not have.
    pub start: Span,
    /// The possible states of each device when it started.
    pub facts: BTreeMap<usize, Vec<Facts>>,
    /// Devices whose shards have surely started it.
    pub closed: BTreeSet<usize>,
    /// The reports about each device.
    pub reports: BTreeMap<usize, Reports>,
    /// Where each device stood when it was looked at last.
    pub seen: BTreeMap<usize, State>,
    /// How often each device had been removed when it was asked for: one that was since is another one.
    pub removals: BTreeMap<usize, u32>,
    /// When it was accepted, as it states.
    pub accepted_at: Option<Time>,
    /// Times that it was asked for.
    pub asks: u32,
    /// It was answered as accepted, and not before.
    pub accepted_now: bool,
}

/// Reports of edge and devices about a delivery.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reports {
    /// Times that it was dispatched, and given back.
    pub dispatched: u32,
    pub returned: u32,
    /// The device acknowledged it: the edge reported that; and it is durable.
    pub acknowledged: bool,
    pub is_durable: bool,
    pub refused: bool,
    pub too_large: bool,
    /// The device settled it over HTTP, or asked for it in vain.
    pub settled: bool,
    /// A client reported that its user opened it.
    pub opened: bool,
    /// A client reported that its user clicked it; and was answered that this is durable.
    pub clicked: bool,
    pub click_is_durable: bool,
}

/// A live push.
#[derive(Debug, Clone)]
pub struct Live {
    /// The request, and the possible states of devices until it was answered.
    pub push: Push,
    /// Connections that the shards report to have sent it to; none until they are asked.
    pub connected: Option<u64>,
    /// The times that it was dispatched to each device.
    pub got: BTreeMap<usize, u32>,
}

/// A schedule that was asked for.
#[derive(Debug, Clone)]
pub struct Scheduled {
    pub app: usize,
    /// What it makes.
    pub push: NewPush,
    /// Its occurrences are multiples of so many seconds.
    pub every_s: u64,
    /// Whether it is there.
    pub there: Is,
    /// It was asked for at this time at the earliest.
    pub since: Time,
    /// Its place among the names.
    pub name: u8,
    /// Which of all commands about its name it was.
    pub turn: u64,
}

impl Scheduled {
    /// Whether both have the same name.
    pub fn is_named_as(&self, other: &Scheduled) -> bool {
        (self.app, self.name) == (other.app, other.name)
    }
}

/// The whole record.
#[derive(Debug, Default)]
pub struct Books {
    pub devices: BTreeMap<Who, Known>,
    pub pushes: BTreeMap<(usize, PushId), Push>,
    /// Live pushes that this process was asked for, by their tokens.
    pub lives: BTreeMap<u64, Live>,
    /// By the first half of the ids that they make.
    pub schedules: BTreeMap<u64, Scheduled>,
    /// Commands so far about each name of a schedule.
    pub turns: BTreeMap<(usize, u8), u64>,
    /// Pushes and schedules that were asked for.
    pub tags: u64,
    pub shards: u16,
    /// A push whose client cancelled it before it sends it, which it does next.
    pub soon: Option<(usize, NewPush)>,
    /// A journal may have failed, or a disk been full, at some time.
    pub trouble: bool,
}

/// What decides which of two deliveries a device gets first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    pub priority: u8,
    pub accepted_at: Time,
    /// It comes from no other shard: it is for one device, or the device lives where its app does.
    pub is_here: bool,
}

impl Turn {
    /// Whether this one is to come first. Those that come from another shard are in an order of their own.
    pub fn comes_before(self, other: Turn) -> bool {
        let is_earlier = self.is_here == other.is_here && self.accepted_at < other.accepted_at;
        self.priority > other.priority || (self.priority == other.priority && is_earlier)
    }
}

/// No end is known.
pub const OPEN: Time = Time(u64::MAX);

impl Books {
    /// Nothing has happened.
    pub fn new(plan: &PushPlan, shards: u16) -> Books {
        let who =
            (0..plan.apps.len()).flat_map(|app| (0..plan.devices.len()).map(move |device| (app, device)));
        let known = Known { now: vec![Facts::default()], since: vec![Facts::default()], ..Known::default() };
        Books { devices: who.map(|who| (who, known.clone())).collect(), shards, ..Books::default() }
    }

    /// What is known of a device.
    pub fn device(&mut self, who: Who) -> &mut Known {
        self.devices.get_mut(&who).expect("every device is in the books")
    }

    /// A device may be something else from now on.
    pub fn may_be(&mut self, who: Who, change: impl Fn(Facts) -> Facts) {
        let known = self.device(who);
        let more: Vec<Facts> = known.now.iter().map(|&facts| change(facts)).collect();
        add(&mut known.now, &more);
        add(&mut known.since, &more);
        for push in self.pushes.values_mut().filter(|push| push.app == who.0 && !push.closed.contains(&who.1))
        {
            add(push.facts.entry(who.1).or_default(), &more);
        }
        for live in self.lives.values_mut().filter(|live| live.push.app == who.0 && live.connected.is_none())
        {
            add(live.push.facts.entry(who.1).or_default(), &more);
        }
    }

    /// Nothing is under way: live pushes that were answered have left, each to as many devices as
    /// reported. A shard whose journal failed may have lost those that had not left.
    ///
    /// # Errors
    ///
    /// One has not.
    pub fn lives_left(&mut self) -> Result<(), String> {
        for (token, live) in &self.lives {
            let got = live.got.values().map(|&got| u64::from(got)).sum::<u64>();
            let is_wrong = |&connected: &u64| connected < got || (connected > got && !self.trouble);
            if let Some(connected) = live.connected.filter(is_wrong) {
                return Err(format!("live push {token} was sent to {connected} devices, and left for {got}"));
            }
        }
        self.lives.retain(|_, live| live.connected.is_none());
        Ok(())
    }

    /// A live push is asked for: its token.
    pub fn add_live(&mut self, app: usize, new: NewPush, clock: &Clock) -> u64 {
        let push = self.asked_now(app, new, clock, None);
        let token = self.tags;
        self.lives.insert(token, Live { push, connected: None, got: BTreeMap::new() });
        token
    }

    /// Of what a device may be, this holds.
    pub fn is(&mut self, who: Who, holds: impl Fn(&Facts) -> bool) -> bool {
        let known = self.device(who);
        known.now.retain(holds);
        !known.now.is_empty()
    }

    /// A push is asked for, or was made by a schedule.
    pub fn add(&mut self, app: usize, new: NewPush, clock: &Clock, from: Option<Time>) -> &mut Push {
        let push = self.asked_now(app, new, clock, from);
        let key = (app, push.new.id);
        self.pushes.entry(key).or_insert(push)
    }

    fn asked_now(&mut self, app: usize, new: NewPush, clock: &Clock, from: Option<Time>) -> Push {
        self.tags += 1;
        let is_occurrence = from.is_some();
        let mut facts = BTreeMap::new();
        let mut removals = BTreeMap::new();
        for (&(_, device), known) in self.devices.iter().filter(|(who, _)| who.0 == app) {
            facts.insert(device, if is_occurrence { known.since.clone() } else { known.now.clone() });
            // One that a schedule made since the last look may be for a device that was removed since.
            removals.insert(device, if is_occurrence { known.removals_before } else { known.removals });
        }
        let min = match new.when {
            When::At(at) => at.max(clock.now()),
            When::Now | When::Local(_) => from.unwrap_or(clock.now()),
        };
        Push {
            app,
            is_occurrence,
            accepted: Is::Maybe,
            cancelled: Is::No,
            cancels: 0,
            start: Span { min, max: OPEN },
            facts,
            closed: BTreeSet::new(),
            reports: BTreeMap::new(),
            seen: BTreeMap::new(),
            removals,
            accepted_at: None,
            asks: 1,
            accepted_now: false,
            new,
        }
    }

    /// What a push was asked for.
    pub fn push(&mut self, app: usize, id: PushId) -> &mut Push {
        self.pushes.get_mut(&(app, id)).expect("it was noted when it was asked for")
    }

    /// A push that nobody has asked for, and a client is to cancel.
    pub fn add_unasked(&mut self, app: usize, new: NewPush, clock: &Clock) {
        let push = self.add(app, new.clone(), clock, None);
        (push.accepted, push.asks) = (Is::No, 0);
        self.soon = Some((app, new));
    }

    /// The clock shows something else: where it was set back, what has not begun may do so earlier than when it was asked for.
    pub fn time_passes(&mut self, now: Span) {
        if now.min >= now.max {
            return;
        }
        for push in self.pushes.values_mut().filter(|push| push.start.max == OPEN) {
            let earliest = match push.new.when {
                // Where its time has come, it may have begun: shards that have yet to hear of it begin by their own clocks.
                When::At(at) if at > now.max => at,
                When::At(_) => now.min,
                When::Now | When::Local(_) => now.min,
            };
            push.start.min = push.start.min.min(earliest);
        }
        for scheduled in self.schedules.values_mut().filter(|scheduled| scheduled.there != Is::Yes) {
            scheduled.since = scheduled.since.min(now.min);
        }
    }

    /// The place of a command among all about the name of a schedule.
    pub fn next_turn(&mut self, app: usize, name: u8) -> u64 {
        let turn = self.turns.entry((app, name)).or_default();
        *turn += 1;
        *turn
    }

    /// The reports about a delivery.
    pub fn reports(&mut self, who: Who, push: PushId) -> &mut Reports {
        let push = self.pushes.get_mut(&(who.0, push)).expect("only what is known is dispatched");
        push.reports.entry(who.1).or_default()
    }

    /// A delivery that is owed to a device that can come and get it, as the last look saw it.
    pub fn owed(&self) -> Option<(Who, PushId, State)> {
        self.pushes.values().find_map(|push| {
            push.seen.iter().find_map(|(&device, state)| {
                let who = (push.app, device);
                let known = &self.devices[&who];
                let can_come = known.now.iter().all(|facts| facts.registered && !facts.revoked);
                let is_owed =
                    matches!(state, State::Owed | State::InFlight | State::Waiting(_) | State::Scheduled);
                (can_come && is_owed && !push.is_other(device, known))
                    .then(|| (who, push.new.id, state.clone()))
            })
        })
    }

    /// The pushes that a device is owed, as the last look saw them, in their order. Only those that
    /// go out at once, and whose acceptance is known without doubt.
    pub fn backlog(&self, plan: &PushPlan, who: Who) -> BTreeMap<PushId, Turn> {
        let (app, device) = (&plan.apps[who.0].0, &plan.devices[who.1]);
        let is_home = device_home(app, device, self.shards) == app_home(app, self.shards);
        // A message that was refused while a journal was broken, or is late, is taken in after
        // later ones.
        let in_order = plan.messages == 0 && !self.trouble;
        let owed = self.pushes.values().filter(|push| {
            push.app == who.0
                && !push.is_other(who.1, &self.devices[&who])
                && matches!(push.seen.get(&who.1), Some(State::Owed | State::InFlight))
                && push.options().pace == stadium_push::Pace::AtOnce
        });
        let owed = owed.filter_map(|push| Some((push.new.id, push.turn(is_home)?)));
        owed.filter(|(_, turn)| turn.is_here || in_order).collect()
    }

    /// The schedule that makes pushes with such an id, where there is one.
    pub fn maker(&self, id: PushId) -> Option<&Scheduled> {
        self.schedules.get(&((id.0 >> 64) as u64))
    }

    /// A push that nobody asked for and a schedule may have made: it is in the books from now on.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn discover(&mut self, app: usize, id: PushId, clock: &Clock) -> Result<(), String> {
        if self.pushes.contains_key(&(app, id)) {
            return Ok(());
        }
        let Some(maker) = self.maker(id) else { return Err("nobody asked for it".into()) };
        let second = id.0 as u64;
        let at = Time(second.saturating_mul(1_000));
        if maker.app != app {
            return Err("it comes of a schedule of another app".into());
        }
        if second == 0 || !second.is_multiple_of(maker.every_s) {
            return Err(format!(
                "it comes of a schedule, which is every {} s, and not at {second}",
                maker.every_s
            ));
        }
        if at > clock.high() || at < maker.since {
            return Err(format!(
                "it comes of a schedule that is there since {}, at {}",
                maker.since.0,
                clock.high().0
            ));
        }
        let new = NewPush { id, when: When::Now, ..maker.push.clone() };
        let push = self.add(app, new, clock, Some(at));
        // It came by itself: nobody waits for an answer.
        push.accepted = Is::Yes;
        Ok(())
    }
}

/// Adds what is not there.
fn add(all: &mut Vec<Facts>, more: &[Facts]) {
    for facts in more {
        if !all.contains(facts) {
            all.push(*facts);
        }
    }
}

impl Push {
    /// Whether its audience may mean the device, and whether it surely does.
    pub fn means(&self, device: usize, id: &str) -> (bool, bool) {
        let Some(facts) = self.facts.get(&device) else { return (false, false) };
        let meant = |facts: &Facts| match &self.new.audience {
            Audience::Device(other) => other.as_str() == id && facts.registered,
            Audience::Selector(selector) => facts.is_meant(selector),
            Audience::Saved(_) => unreachable!("no client here saves audiences"),
        };
        (facts.iter().any(meant), facts.iter().all(meant))
    }

    /// Whether the device was removed since it was asked for, or may have been.
    pub fn is_other(&self, device: usize, known: &Known) -> bool {
        self.removals.get(&device).copied() != Some(known.removals)
    }

    /// A cancellation was answered as not carried out.
    pub fn was_not_cancelled(&mut self) {
        self.cancels -= 1;
        if self.cancels == 0 && self.cancelled == Is::Maybe {
            self.cancelled = Is::No;
        }
    }

    /// Whether any of what the device may have been is so.
    pub fn any(&self, device: usize, is: impl Fn(&Facts) -> bool) -> bool {
        self.facts.get(&device).is_some_and(|facts| facts.iter().any(is))
    }

    /// Its place in the order of an inbox, where its acceptance is known. Where it waits for its time, other shards learn of it only then.
    fn turn(&self, is_home: bool) -> Option<Turn> {
        if self.new.when != When::Now {
            return None;
        }
        let is_here = is_home || matches!(self.new.audience, Audience::Device(_));
        Some(Turn { priority: self.options().priority, accepted_at: self.accepted_at?, is_here })
    }

    /// How it is made.
    pub fn options(&self) -> &Options {
        &self.new.options
    }

    /// Whether a text of it asks for the device's name.
    pub fn asks_for_name(&self) -> bool {
        let Content::Notification(notification) = &self.new.content else { return false };
        notification.words.title.as_ref().is_some_and(|title| title.contains(&format!("{{{{{NAME}}}}}")))
    }

    /// Whether it has surely started on the device's shard.
    pub fn has_started(&self, device: usize) -> bool {
        self.closed.contains(&device)
    }
}
