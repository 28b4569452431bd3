//! Chooses what applications ask next, from what they know.
//!
//! Most commands are right; some come twice, or name what is over.

use fastrand::Rng;
use stadium_push::{
    AppName, Audience, Cap, Civil, CollapseKey, Command, Content, DeviceId, NewPush, Notification, Options,
    Pace, PushId, QuietHours, When, Words,
};
use stadium_registry::{Selector, Tag};

use super::asked::{ACTIONS, Ask};
use super::books::{Books, Is, Scheduled, Who};
use super::facts::{Change, NAME, TAGS};
use super::plan::{Kind, PushPlan};
use crate::clock::Clock;

/// What a choice depends on.
pub struct Choice<'a> {
    pub plan: &'a PushPlan,
    pub books: &'a mut Books,
    pub clock: &'a Clock,
    pub random: &'a mut Rng,
}

impl Choice<'_> {
    /// The next command.
    pub fn next(&mut self) -> Option<Ask> {
        if let Some((app, push)) = self.books.soon.take()
            && self.random.bool()
        {
            return Some(Ask::Send { app, push: Box::new(push) });
        }
        let all: u32 = self.plan.weights.iter().map(|(_, weight)| weight).sum();
        let mut at = self.random.u32(..all);
        let kind = self.plan.weights.iter().find(|(_, weight)| {
            let found = at < *weight;
            at = at.saturating_sub(*weight);
            found
        });
        let (kind, _) = kind.expect("a number below the sum falls into one of them");
        let app = self.random.usize(..self.plan.apps.len());
        let who = (app, self.random.usize(..self.plan.devices.len()));
        match kind {
            Kind::Single => {
                let device = self.plan.devices[who.1].clone();
                self.send(app, Audience::Device(device), When::Now)
            }
            Kind::Many => {
                let selector = self.selector(2);
                self.send(app, Audience::Selector(selector), When::Now)
            }
            Kind::Live => {
                let audience = if self.random.bool() {
                    Audience::Device(self.plan.devices[who.1].clone())
                } else {
                    Audience::Selector(self.selector(2))
                };
                let mut push = self.push(app, audience, When::Now);
                let Options { cap, quiet_hours, qos, holdout, .. } = push.options;
                push.options = Options { cap, quiet_hours, qos, holdout, ..Options::default() };
                let token = self.books.add_live(app, push.clone(), self.clock);
                Some(Ask::Live { push: Box::new(push), token })
            }
            Kind::Later => {
                let at = self.clock.now().after(self.random.u64(..20_000));
                let audience = if self.random.bool() {
                    Audience::Device(self.plan.devices[who.1].clone())
                } else {
                    Audience::Selector(self.selector(1))
                };
                self.send(app, audience, When::At(at))
            }
            Kind::Local => {
                let hours = [0, 1, 9][self.random.usize(..3)];
                let civil = self.clock.now().0 / 1_000 + hours * 3_600 + self.random.u64(..120);
                let selector = self.selector(1);
                self.send(app, Audience::Selector(selector), When::Local(Civil(civil as i64)))
            }
            Kind::Repeat => {
                let push = self.some_push(app, Is::No)?;
                Some(Ask::Send { app, push: Box::new(push) })
            }
            Kind::Reuse => {
                let push = self.some_push(app, Is::Yes)?;
                let options = Options { priority: (push.options.priority + 1) % 10, ..push.options.clone() };
                Some(Ask::Reuse { push: Box::new(NewPush { options, ..push }) })
            }
            Kind::Cancel => self.cancel(app),
            Kind::Schedule => {
                if self.books.pushes.len() >= self.plan.pushes_max {
                    return None;
                }
                let audience = Audience::Selector(self.selector(1));
                let push = self.push(app, audience, When::Now);
                // By its bytes it is found out which occurrence it is: only words name it.
                let content = self.notification(app);
                let push = NewPush { content, ..push };
                let half = (push.id.0 >> 64) as u64;
                let name = self.random.u8(..2);
                self.books.tags += 1;
                let since = self.clock.now();
                let every_s = [60, 300][self.random.usize(..2)];
                self.books
                    .schedules
                    .insert(half, Scheduled { app, push, every_s, there: Is::No, since, name, turn: 0 });
                Some(Ask::Schedule(half))
            }
            Kind::Unschedule => Some(Ask::Unschedule { app, name: self.random.u8(..2) }),
            Kind::Change => self.alone(who).then(|| Ask::Change { who, change: self.change() }),
            Kind::Revoke => {
                let change = Change { revoked: Some(self.random.u8(..3) > 0), ..Change::default() };
                self.alone(who).then_some(Ask::Change { who, change })
            }
            Kind::Remove => self.alone(who).then_some(Ask::Remove { who }),
            Kind::Opened => Some(Ask::Opened { who, push: self.got(who)? }),
            Kind::Clicked => {
                let action = self.random.u8(..ACTIONS);
                Some(Ask::Clicked { who, push: self.got(who)?, action })
            }
            Kind::Settle => {
                let pushes = self.some_of(app);
                (!pushes.is_empty()).then_some(Ask::Settle { who, pushes })
            }
            Kind::Ask => {
                let (app_name, device) = self.names(who);
                let push = self.some_push(app, Is::No)?.id;
                Some(Ask::Question(match self.random.u8(..3) {
                    0 => Command::Push { app: app_name, push },
                    1 => Command::Trace { app: app_name, push, device },
                    _ => Command::Preview {
                        app: app_name,
                        audience: self.selector(2),
                        sample_max: 3,
                        push: None,
                    },
                }))
            }
            Kind::Wrong => {
                let (app, device) = self.names(who);
                let nobody = AppName::new("nobody").expect("a name");
                Some(match self.random.u8(..3) {
                    0 => Ask::Wrong(Command::Push { app: nobody, push: PushId(1) }, "PSH-020"),
                    1 => Ask::Wrong(Command::Remove { app, devices: Vec::new() }, "PSH-001"),
                    _ => Ask::Wrong(Command::Trace { app, push: PushId(1), device }, "PSH-021"),
                })
            }
        }
    }

    fn names(&self, who: Who) -> (AppName, DeviceId) {
        (self.plan.apps[who.0].0.clone(), self.plan.devices[who.1].clone())
    }

    /// One of the pushes that a device got.
    fn got(&mut self, who: Who) -> Option<PushId> {
        let got = self.books.pushes.values().filter(|push| {
            push.app == who.0 && push.reports.get(&who.1).is_some_and(|reports| reports.dispatched > 0)
        });
        let got: Vec<PushId> = got.map(|push| push.new.id).collect();
        (!got.is_empty()).then(|| got[self.random.usize(..got.len())])
    }

    /// A few pushes of an app, whether or not any device is owed them, without repetition.
    fn some_of(&mut self, app: usize) -> Vec<PushId> {
        let of_app = self.books.pushes.range((app, PushId(0))..=(app, PushId(u128::MAX)));
        let mut known: Vec<PushId> = of_app.map(|((_, id), _)| *id).collect();
        self.random.shuffle(&mut known);
        known.truncate(self.random.usize(1..5));
        known
    }

    /// Whether nobody changes the device now.
    fn alone(&self, who: Who) -> bool {
        !self.books.devices[&who].busy
    }

    fn some_push(&mut self, app: usize, at_least: Is) -> Option<NewPush> {
        let known = self.books.pushes.values().filter(|push| push.app == app && push.accepted >= at_least);
        let known: Vec<&NewPush> = known.filter(|push| !push.is_occurrence).map(|push| &push.new).collect();
        (!known.is_empty()).then(|| known[self.random.usize(..known.len())].clone())
    }

    /// A cancellation: of any push, of the newest one, whose messages may be on their way, or of
    /// one that is only sent after it.
    fn cancel(&mut self, app: usize) -> Option<Ask> {
        if self.random.u8(..4) == 0 && self.books.pushes.len() < self.plan.pushes_max {
            let audience = Audience::Selector(self.selector(1));
            let push = self.push(app, audience, When::Now);
            let id = push.id;
            self.books.add_unasked(app, push, self.clock);
            return Some(Ask::Cancel { app, push: id });
        }
        let of_app = self.books.pushes.range((app, PushId(0))..=(app, PushId(u128::MAX)));
        let known: Vec<PushId> = of_app.map(|((_, id), _)| *id).collect();
        let newest = *known.last()?;
        let any = known[self.random.usize(..known.len())];
        Some(Ask::Cancel { app, push: if self.random.bool() { newest } else { any } })
    }

    fn send(&mut self, app: usize, audience: Audience, when: When) -> Option<Ask> {
        if self.books.pushes.len() >= self.plan.pushes_max {
            return None;
        }
        let push = self.push(app, audience, when);
        Some(Ask::Send { app, push: Box::new(push) })
    }

    fn push(&mut self, app: usize, audience: Audience, when: When) -> NewPush {
        let random = &mut *self.random;
        let is_single = matches!(audience, Audience::Device(_));
        let options = Options {
            expiry: random.bool().then_some(self.plan.expiry),
            priority: [4, 4, 4, 0, 9][random.usize(..5)],
            collapse: (random.u8(..4) == 0)
                .then(|| CollapseKey::new(["score", "news"][random.usize(..2)]).expect("a key")),
            pace: match random.u8(..6) {
                0 if !is_single => Pace::PerSecond(random.u32(1..5)),
                _ => Pace::AtOnce,
            },
            cap: (random.u8(..8) == 0).then(|| Cap { pushes: random.u16(1..4), within: 60_000 }),
            quiet_hours: [QuietHours::Ignore, QuietHours::Wait, QuietHours::Skip][random.usize(..3)],
            qos: u8::from(random.u8(..6) > 0),
            holdout: if random.u8(..6) == 0 && !is_single { 40 } else { 0 },
            trace: None,
        };
        let id = PushId(u128::from(self.books.tags + 1) << 64);
        let content = if random.bool() {
            self.notification(app)
        } else {
            let app = &self.plan.apps[app].0;
            let filler = ".".repeat(random.usize(..400));
            let payload = format!("{{\"push\":\"{id}\",\"body\":\"from {app}\"}}{filler}").into();
            Content::Raw { payload, content_type: None, properties: Vec::new() }
        };
        NewPush { app: self.plan.apps[app].0.clone(), id, audience, content, options, when }
    }

    fn notification(&mut self, app: usize) -> Content {
        let app = &self.plan.apps[app].0;
        let titles = [format!("Hello {{{{{NAME}}}}}"), format!("Hello {{{{{NAME}|you}}}}"), "Hello".into()];
        let title = titles[self.random.usize(..3)].clone();
        let words = Words { title: Some(title), body: Some(format!("from {app}")), data: None };
        Content::Notification(Box::new(Notification { words, ..Notification::default() }))
    }

    fn selector(&mut self, depth: u32) -> Selector {
        let tag =
            |random: &mut Rng| Selector::Tag(Tag::new("", TAGS[random.usize(..TAGS.len())]).expect("a tag"));
        match self.random.u8(..if depth > 0 { 7 } else { 2 }) {
            0 => Selector::All,
            1 | 2 => tag(self.random),
            3 => Selector::Not(Box::new(self.selector(depth - 1))),
            4 => Selector::And(vec![self.selector(depth - 1), self.selector(depth - 1)]),
            5 => Selector::Or(vec![self.selector(depth - 1), self.selector(depth - 1)]),
            _ => Selector::All,
        }
    }

    fn change(&mut self) -> Change {
        let random = &mut *self.random;
        let mut change = Change::default();
        match random.u8(..8) {
            0 => change.opted_in = Some(random.bool()),
            1 => change.name = Some(random.bool().then(|| random.u8(..9))),
            2 => change.zone = Some(random.usize(..3)),
            3 => change.quiet = Some(random.bool()),
            _ => change.tag = Some((random.usize(..3), random.u8(..3) > 0)),
        }
        change
    }
}
