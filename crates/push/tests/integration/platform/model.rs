//! Random commands against a model that anybody can check by eye: a list of devices, a list of pushes, and where each delivery stands.
//!
//! After each command the inboxes, the counts and what went out must be the same.

use std::collections::BTreeMap;

use stadium_push::{AppSettings, CollapseKey, Command, Happened, NewPush, Options, Step, Time};
use stadium_registry::Changes;

use crate::platform::scene::{HOUR, Scene, app, device, push_id, to_all, to_one, to_tag};

const INBOX_MAX: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    OptedOut,
    Owed,
    InFlight,
    Delivered,
    Expired,
    Collapsed,
    CrowdedOut,
    Refused,
    Cancelled,
}

#[derive(Debug, Clone)]
struct Phone {
    vip: bool,
    opted_in: bool,
    connected: bool,
}

#[derive(Debug)]
struct Sent {
    id: u64,
    priority: u8,
    key: Option<u8>,
    qos: u8,
    until: Time,
    outcomes: BTreeMap<String, Outcome>,
}

/// What is done how often.
pub struct Deeds(&'static [(u8, Deed)]);

#[derive(Debug, Clone, Copy)]
enum Deed {
    Send,
    Connect,
    Disconnect,
    Answer,
    Wait,
    Cancel,
    Change,
    Remove,
    Restart,
}

impl Deeds {
    pub const ALL: Deeds = Deeds(&[
        (30, Deed::Send),
        (15, Deed::Connect),
        (10, Deed::Disconnect),
        (30, Deed::Answer),
        (5, Deed::Wait),
        (3, Deed::Cancel),
        (5, Deed::Change),
        (2, Deed::Remove),
        (0, Deed::Restart),
    ]);
    const WITH_RESTARTS: Deeds = Deeds(&[
        (30, Deed::Send),
        (20, Deed::Connect),
        (10, Deed::Disconnect),
        (30, Deed::Answer),
        (5, Deed::Wait),
        (3, Deed::Cancel),
        (2, Deed::Restart),
    ]);
}

/// A delivery that went out, for the edge's report about it.
struct Flying {
    step: Step,
    name: String,
    id: u64,
}

pub struct Model {
    pub scene: Scene,
    random: fastrand::Rng,
    phones: BTreeMap<String, Phone>,
    sent: Vec<Sent>,
    flying: Vec<Flying>,
    next: u64,
}

impl Model {
    pub fn new(seed: u64) -> Self {
        let mut scene = Scene::new(1);
        scene.settings(AppSettings { inbox_max: INBOX_MAX as u16, ..AppSettings::default() });
        let mut model = Self {
            scene,
            random: fastrand::Rng::with_seed(seed),
            phones: BTreeMap::new(),
            sent: Vec::new(),
            flying: Vec::new(),
            next: 0,
        };
        for number in 0..12 {
            model.add(&format!("phone-{number}"));
        }
        model
    }

    fn add(&mut self, name: &str) {
        let (vip, opted_in) = (self.random.bool(), self.random.u8(0..6) > 0);
        self.scene.change(name, Changes { opt_in: Some(opted_in), ..Changes::default() });
        if vip {
            self.scene.tag(name, "vip");
        }
        self.phones.insert(name.to_owned(), Phone { vip, opted_in, connected: false });
    }

    fn any_phone(&mut self) -> String {
        let place = self.random.usize(0..self.phones.len());
        self.phones.keys().nth(place).unwrap().clone()
    }

    pub fn run(&mut self, deeds: usize, which: &Deeds) {
        let total: u32 = which.0.iter().map(|&(weight, _)| u32::from(weight)).sum();
        for _ in 0..deeds {
            let mut drawn = self.random.u32(0..total);
            let deed = which.0.iter().find(|&&(weight, _)| {
                let hit = drawn < u32::from(weight);
                drawn = drawn.saturating_sub(weight.into());
                hit
            });
            let deed = deed.map_or(Deed::Send, |&(_, deed)| deed);
            self.scene.now = self.scene.now.after(self.random.u64(0..50));
            self.do_it(deed);
            self.look(deed);
        }
    }

    fn do_it(&mut self, deed: Deed) {
        match deed {
            Deed::Send => self.send(),
            Deed::Connect => {
                let name = self.any_phone();
                self.take_down(&name);
                self.scene.connect(&name);
                self.phones.get_mut(&name).unwrap().connected = true;
            }
            Deed::Disconnect => {
                let name = self.any_phone();
                self.take_down(&name);
                self.scene.disconnect(&name);
                self.phones.get_mut(&name).unwrap().connected = false;
            }
            Deed::Answer => self.answer(),
            Deed::Wait => {
                let span = self.random.u64(0..HOUR);
                self.scene.wait(span);
                let now = self.scene.now;
                for sent in self.sent.iter_mut().filter(|sent| sent.until <= now) {
                    end_all(sent, Outcome::Expired);
                }
            }
            Deed::Cancel => {
                let Some(place) = self.sent.len().checked_sub(1 + self.random.usize(0..5)) else { return };
                let sent = &mut self.sent[place];
                let _ = self.scene.ask(Command::Cancel { app: app(), push: push_id(sent.id) });
                end_all(sent, Outcome::Cancelled);
            }
            Deed::Change => {
                let name = self.any_phone();
                let opted_in = self.random.bool();
                self.scene.change(&name, Changes { opt_in: Some(opted_in), ..Changes::default() });
                self.phones.get_mut(&name).unwrap().opted_in = opted_in;
            }
            Deed::Remove => {
                let name = self.any_phone();
                self.scene.ask(Command::Remove { app: app(), devices: vec![device(&name)] }).unwrap();
                for sent in &mut self.sent {
                    end(sent, &name, Outcome::Cancelled);
                }
                // One of another name gets its slot, after a while.
                self.phones.remove(&name);
                self.scene.wait(1_000);
                self.next += 1;
                self.add(&format!("new-{}", self.next));
                let now = self.scene.now;
                for sent in self.sent.iter_mut().filter(|sent| sent.until <= now) {
                    end_all(sent, Outcome::Expired);
                }
            }
            Deed::Restart => {
                self.scene.restart();
                self.scene.tick(0);
                let now = self.scene.now;
                for sent in self.sent.iter_mut().filter(|sent| sent.until <= now) {
                    end_all(sent, Outcome::Expired);
                }
                self.flying.clear();
                let names: Vec<String> = self.phones.keys().cloned().collect();
                for name in names {
                    self.take_down(&name);
                    self.phones.get_mut(&name).unwrap().connected = false;
                }
            }
        }
    }

    fn send(&mut self) {
        self.next += 1;
        let id = self.next;
        let (name, kind) = (self.any_phone(), self.random.u8(0..4));
        let push = match kind {
            0 | 1 => to_one(id, &name),
            2 => to_all(id),
            _ => to_tag(id, "vip"),
        };
        let key = (self.random.u8(0..3) == 0).then(|| self.random.u8(0..2));
        let expiry = self.random.u64(1..3 * HOUR);
        let options = Options {
            priority: self.random.u8(3..6),
            expiry: Some(expiry),
            collapse: key.map(|key| CollapseKey::new(&key.to_string()).unwrap()),
            qos: u8::from(self.random.u8(0..5) > 0),
            ..Options::default()
        };
        let (priority, qos) = (options.priority, options.qos);
        let now = self.scene.now;
        self.scene.send(NewPush { options, ..push }).unwrap();
        let matched = self.phones.iter().filter(|(other, phone)| match kind {
            0 | 1 => **other == name,
            2 => true,
            _ => phone.vip,
        });
        let outcomes: BTreeMap<String, Outcome> = matched
            .map(|(name, phone)| {
                let outcome = if phone.opted_in || kind < 2 { Outcome::Owed } else { Outcome::OptedOut };
                (name.clone(), outcome)
            })
            .collect();
        let targeted: Vec<String> = outcomes
            .iter()
            .filter(|(_, outcome)| **outcome == Outcome::Owed)
            .map(|(name, _)| name.clone())
            .collect();
        let until = now.after(if qos == 0 { expiry.min(60_000) } else { expiry });
        for name in &targeted {
            for sent in self.sent.iter_mut().filter(|sent| key.is_some() && sent.key == key) {
                end(sent, name, Outcome::Collapsed);
            }
        }
        self.sent.push(Sent { id, priority, key, qos, until, outcomes });
        for name in &targeted {
            while self.inbox(name).len() > INBOX_MAX {
                let owing = self.sent.iter_mut().filter(|sent| is_owed(sent, name));
                let oldest = owing.min_by_key(|sent| (sent.priority, sent.id)).unwrap();
                end(oldest, name, Outcome::CrowdedOut);
            }
            if qos == 0 && !self.phones[name].connected {
                end(self.sent.last_mut().unwrap(), name, Outcome::Expired);
            }
        }
    }

    /// The edge reports the outcome of a delivery that went out, whatever the state of the push is
    /// by then.
    fn answer(&mut self) {
        for _ in 0..self.random.usize(1..6) {
            if self.flying.is_empty() {
                return;
            }
            let Flying { mut step, name, id } =
                self.flying.swap_remove(self.random.usize(0..self.flying.len()));
            let connected = self.phones.get(&name).is_some_and(|phone| phone.connected);
            let sent = self.sent.iter_mut().find(|sent| sent.id == id).unwrap();
            step.at = self.scene.now;
            let (what, outcome) = match (sent.qos, self.random.u8(0..10)) {
                (0, _) => (Happened::Sent, Outcome::Delivered),
                (_, 0) => (Happened::Refused, Outcome::Refused),
                _ => (Happened::Acknowledged, Outcome::Delivered),
            };
            step.what = what;
            self.scene.ask_shard(0, &Command::Progress { steps: vec![step, step] }).unwrap();
            // That it was written counts only for the connection that there is.
            if what != Happened::Sent || connected && sent.outcomes.get(&name) == Some(&Outcome::InFlight) {
                end(sent, &name, outcome);
            }
        }
    }

    /// A delivery that was on its way to a device is owed still, or has expired where it goes at
    /// most once.
    fn take_down(&mut self, name: &str) {
        for sent in &mut self.sent {
            if let Some(outcome) =
                sent.outcomes.get_mut(name).filter(|outcome| **outcome == Outcome::InFlight)
            {
                *outcome = if sent.qos == 0 { Outcome::Expired } else { Outcome::Owed };
            }
        }
        // Steps of QoS 0 belong to a connection; acknowledgements may come late.
        let sent = &self.sent;
        self.flying.retain(|flying| {
            let qos = sent.iter().find(|sent| sent.id == flying.id).unwrap().qos;
            flying.name != name || qos > 0
        });
    }

    pub fn leave_all(&mut self) {
        let names: Vec<String> = self.phones.keys().cloned().collect();
        for name in names {
            self.take_down(&name);
            self.scene.disconnect(&name);
            self.phones.get_mut(&name).unwrap().connected = false;
        }
    }

    fn inbox(&self, name: &str) -> Vec<u64> {
        let mut owed: Vec<_> = self
            .sent
            .iter()
            .filter(|sent| is_owed(sent, name))
            .map(|sent| (9 - sent.priority, sent.id))
            .collect();
        owed.sort_unstable();
        owed.into_iter().map(|(_, id)| id).collect()
    }

    /// Everything as the model has it.
    fn look(&mut self, deed: Deed) {
        for (shard, dispatch) in std::mem::take(&mut self.scene.sent) {
            let id: u64 = std::str::from_utf8(&dispatch.payload).unwrap().parse().unwrap();
            for to in &dispatch.to {
                let name = self.scene.shards[shard].device_at(&app(), to.slot).unwrap().to_string();
                let sent = self.sent.iter_mut().find(|sent| sent.id == id).unwrap();
                let outcome = sent.outcomes.get_mut(&name).expect("only who is targeted is sent it");
                assert!(self.phones[&name].connected, "{deed:?}: {name} is not there");
                // A delivery that ended in the same millisecond may have gone out before.
                if *outcome == Outcome::Owed {
                    *outcome = Outcome::InFlight;
                } else {
                    panic!("{deed:?}: push {id} went to {name}, where it is {outcome:?}");
                }
                let connection = dispatch.connection(to);
                let step = Step {
                    push: dispatch.push,
                    slot: to.slot,
                    connection,
                    what: Happened::Sent,
                    at: self.scene.now,
                };
                self.flying.push(Flying { step, name, id });
            }
        }
        for (name, phone) in &self.phones {
            let owed: Vec<&Sent> = self
                .sent
                .iter()
                .filter(|sent| sent.outcomes.get(name) == Some(&Outcome::Owed) && sent.qos > 0)
                .collect();
            assert!(
                !phone.connected || owed.is_empty(),
                "{deed:?}: {name} is there and was not sent {owed:?}"
            );
        }
        let names: Vec<String> = self.phones.keys().cloned().collect();
        for name in names {
            assert_eq!(self.scene.inbox(&name), self.inbox(&name), "{deed:?}: the inbox of {name}");
        }
        let from = self.sent.len().saturating_sub(30);
        for place in from..self.sent.len() {
            let counts = self.scene.counts(self.sent[place].id);
            let sent = &self.sent[place];
            let count = |outcome| sent.outcomes.values().filter(|&&other| other == outcome).count() as u64;
            let expected = [
                Outcome::OptedOut,
                Outcome::Owed,
                Outcome::InFlight,
                Outcome::Delivered,
                Outcome::Expired,
                Outcome::Collapsed,
                Outcome::CrowdedOut,
                Outcome::Refused,
                Outcome::Cancelled,
            ]
            .map(count);
            let shown = [
                counts.opted_out,
                counts.owed,
                counts.in_flight,
                counts.delivered,
                counts.expired,
                counts.collapsed,
                counts.crowded_out,
                counts.refused,
                counts.cancelled,
            ];
            assert_eq!(shown, expected, "{deed:?}: push {}, {sent:?}", sent.id);
        }
    }
}

fn is_owed(sent: &Sent, name: &str) -> bool {
    matches!(sent.outcomes.get(name), Some(Outcome::Owed | Outcome::InFlight))
}

fn end(sent: &mut Sent, name: &str, outcome: Outcome) {
    if is_owed(sent, name) {
        sent.outcomes.insert(name.to_owned(), outcome);
    }
}

fn end_all(sent: &mut Sent, outcome: Outcome) {
    for old in sent.outcomes.values_mut().filter(|old| matches!(old, Outcome::Owed | Outcome::InFlight)) {
        *old = outcome;
    }
}

#[test]
fn the_machine_does_what_the_model_does() {
    for seed in 100..130 {
        let mut model = Model::new(seed);
        model.run(300, &Deeds::ALL);
        model.leave_all();
        model.scene.check();
    }
}

#[test]
fn restarts_change_nothing_but_who_is_connected() {
    for seed in 200..215 {
        let mut model = Model::new(seed);
        model.run(200, &Deeds::WITH_RESTARTS);
        model.leave_all();
        model.scene.check();
    }
}
