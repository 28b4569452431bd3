//! The edge and its devices: connections, deliveries in hand, and reports to shards.
//!
//! It does what the product's edge does: steps and arrivals are reported in batches, a delivery for
//! a connection that is gone is given back, and connected devices arrive again at a shard that has
//! started over. Nobody hears whether the report was answered.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use stadium_push::live::LiveDispatch;
use stadium_push::{
    Arrival, Command, ConnectionName, Departure, Dispatch, Happened, PushId, Step, Time, device_home,
};

use super::books::{Books, Turn, Who};
use super::facts::Facts;
use super::plan::PushPlan;
use crate::clock::Clock;

/// The nodes of connections, which both are this edge.
const NODES: [u32; 2] = [0, 3_000_000_001];

/// A device's connection.
#[derive(Debug, Clone)]
pub struct Link {
    pub name: ConnectionName,
    /// The shard answered its arrival, and has not started over since.
    pub is_known: bool,
    /// Its app knew it when it arrived, or registered it.
    is_ours: bool,
    /// Its arrival waits in a batch.
    is_unreported: bool,
    /// That arrival was reported before, to a shard that started over.
    is_again: bool,
    /// Something was given back, so that the shard sends nothing for a while.
    pub is_slow: bool,
    /// How often each push may be dispatched to it: for each arrival once, and again where it was given back.
    may: u32,
    /// How often it was.
    got: BTreeMap<PushId, u32>,
    /// The pushes that it was owed when it arrived, as the last look saw them.
    pub backlog: BTreeMap<PushId, Turn>,
    /// What came of it last.
    pub last: Option<Turn>,
}

/// A delivery that a device has in hand.
#[derive(Debug, Clone)]
struct InHand {
    who: Who,
    push: PushId,
    shard: u16,
    step: Step,
    /// Steps of the run until it answers.
    wait: u32,
}

/// The content of a report.
#[derive(Debug, Clone)]
pub enum Note {
    /// Each delivery, and what happened to it.
    Steps(Vec<(Who, PushId, Happened)>),
    /// Who arrived, on which connection, and who left.
    Presence(Vec<(Who, ConnectionName)>, Vec<Who>),
}

/// What one shard is to hear.
#[derive(Debug, Clone, Default)]
struct Batch {
    steps: Vec<Step>,
    notes: Vec<(Who, PushId, Happened)>,
    arrived: Vec<(Who, Arrival)>,
    left: Vec<(Who, Departure)>,
    /// No timestamp in it is before this one, also where the clock was set back.
    latest: Time,
}

impl Batch {
    fn timestamp(&mut self, clock: &Clock) -> Time {
        self.latest = self.latest.max(clock.now());
        self.latest
    }
}

/// The edge.
#[derive(Debug)]
pub struct Edge {
    pub links: BTreeMap<Who, Link>,
    /// Every connection that ever was.
    owners: BTreeMap<ConnectionName, Who>,
    in_hand: Vec<InHand>,
    batches: Vec<Batch>,
    connections: u64,
    /// What each number on each shard stands for.
    numbers: BTreeMap<(u16, u64), (usize, PushId)>,
    /// Devices that left while their shard heard nothing.
    pub unheard: BTreeSet<Who>,
    /// Devices that want to connect, whose secrets are looked at.
    pub knocking: BTreeSet<Who>,
}

impl Edge {
    pub fn new(shards: u16) -> Edge {
        Edge {
            links: BTreeMap::new(),
            owners: BTreeMap::new(),
            in_hand: Vec::new(),
            batches: vec![Batch::default(); usize::from(shards)],
            connections: 0,
            numbers: BTreeMap::new(),
            unheard: BTreeSet::new(),
            knocking: BTreeSet::new(),
        }
    }

    /// The process ended.
    pub fn crash(&mut self) {
        self.links.clear();
        self.in_hand.clear();
        self.knocking.clear();
        self.unheard.clear();
        self.batches.iter_mut().for_each(|batch| *batch = Batch::default());
    }

    /// A device connects and reads its inbox.
    pub fn connect(&mut self, plan: &PushPlan, books: &mut Books, who: Who, clock: &Clock, random: &mut Rng) {
        self.leave(plan, who, clock);
        self.connections += 1;
        let name = ConnectionName {
            node: NODES[random.usize(..NODES.len())],
            loop_index: random.u16(..2),
            connection: self.connections,
        };
        self.owners.insert(name, who);
        let link = Link {
            name,
            is_known: false,
            is_ours: true,
            is_unreported: false,
            is_again: false,
            is_slow: false,
            may: 0,
            got: BTreeMap::new(),
            backlog: BTreeMap::new(),
            last: None,
        };
        self.links.insert(who, link);
        self.arrive(plan, books, who, clock);
    }

    fn arrive(&mut self, plan: &PushPlan, books: &mut Books, who: Who, clock: &Clock) {
        let shards = self.shards();
        let Some(link) = self.links.get_mut(&who) else { return };
        if link.is_unreported {
            return;
        }
        (link.is_known, link.is_slow, link.last) = (false, false, None);
        link.is_again = link.may > 0;
        link.is_unreported = true;
        link.may += 1;
        // Where the clock was set back, timestamps give no order.
        link.backlog = if clock.jumps_back() == 0 { books.backlog(plan, who) } else { BTreeMap::new() };
        let (app, device) = (plan.apps[who.0].0.clone(), plan.devices[who.1].clone());
        let shard = device_home(&app, &device, shards);
        // An app that registers nobody may not know it yet.
        let settings = &plan.apps[who.0].1;
        link.is_ours =
            settings.register_at_connect || books.devices[&who].now.iter().all(|facts| facts.registered);
        let batch = &mut self.batches[usize::from(shard)];
        let arrival = Arrival { app, device, connection: link.name, at: batch.timestamp(clock) };
        batch.arrived.push((who, arrival));
    }

    /// Its connection ends, whatever it has in hand.
    pub fn leave(&mut self, plan: &PushPlan, who: Who, clock: &Clock) {
        let Some(link) = self.links.remove(&who) else { return };
        self.in_hand.retain(|delivery| delivery.step.connection != link.name);
        let (app, device) = (plan.apps[who.0].0.clone(), plan.devices[who.1].clone());
        let shard = device_home(&app, &device, self.shards());
        let batch = &mut self.batches[usize::from(shard)];
        if link.is_unreported && link.is_again {
            batch.arrived.retain(|(_, arrival)| arrival.connection != link.name);
        }
        let left = Departure { app, device, connection: link.name, at: batch.timestamp(clock) };
        batch.left.push((who, left));
    }

    /// A shard has started over: its devices arrive again.
    pub fn started_over(&mut self, plan: &PushPlan, books: &mut Books, shard: u16, clock: &Clock) {
        let whose: Vec<Who> = self.links.keys().copied().collect();
        for who in whose {
            if device_home(&plan.apps[who.0].0, &plan.devices[who.1], self.shards()) == shard {
                self.arrive(plan, books, who, clock);
            }
        }
    }

    /// What a shard sends: each device gets it, or it is given back.
    ///
    /// # Errors
    ///
    /// It should not have been sent.
    pub fn take(
        &mut self,
        plan: &PushPlan,
        books: &mut Books,
        shard: u16,
        dispatch: &Dispatch,
        clock: &Clock,
        random: &mut Rng,
    ) -> Result<(), String> {
        for recipient in &dispatch.to {
            let connection = dispatch.connection(recipient);
            let Some(&who) = self.owners.get(&connection) else {
                return Err(format!("a dispatch is for {connection:?}, which never was"));
            };
            let push = books.dispatched(plan, who, dispatch, clock)?;
            if *self.numbers.entry((shard, dispatch.push)).or_insert((who.0, push)) != (who.0, push) {
                return Err(format!("number {} of shard {shard} stands for two pushes", dispatch.push));
            }
            let step = Step {
                push: dispatch.push,
                slot: recipient.slot,
                connection,
                what: Happened::Sent,
                at: clock.now(),
            };
            let link = self.links.get_mut(&who).filter(|link| link.name == connection);
            let slow = random.u8(..60) == 0;
            let Some(link) = link.filter(|_| !slow) else {
                if let Some(link) = self.links.get_mut(&who).filter(|link| link.name == connection) {
                    link.is_slow = true;
                    link.may += 1;
                }
                books.reports(who, push).returned += 1;
                self.step(shard, who, push, Step { what: Happened::Returned, ..step });
                continue;
            };
            let got = link.got.entry(push).or_default();
            *got += 1;
            if *got > link.may {
                return Err(format!(
                    "push {push} is dispatched twice to {}/{} on {connection:?}",
                    plan.apps[who.0].0, plan.devices[who.1]
                ));
            }
            if let Some(&turn) = link.backlog.get(&push) {
                if link.last.is_some_and(|last| !link.is_slow && turn.comes_before(last)) {
                    return Err(format!(
                        "push {push} comes to {}/{} after one that it should come before: {turn:?}, {:?}",
                        plan.apps[who.0].0, plan.devices[who.1], link.last
                    ));
                }
                link.last = Some(turn);
            }
            self.step(shard, who, push, step);
            if dispatch.qos == 0 {
                continue;
            }
            let wait = random.u32(..plan.answer_steps_max);
            if random.u8(..100) < plan.acknowledges {
                let step = Step { what: Happened::Acknowledged, ..step };
                self.in_hand.push(InHand { who, push, shard, step, wait });
            } else if random.u8(..100) < plan.refuses {
                let what = [Happened::Refused, Happened::TooLarge][random.usize(..2)];
                self.in_hand.push(InHand { who, push, shard, step: Step { what, ..step }, wait });
            }
        }
        Ok(())
    }

    /// A shard dispatches a live push, whose outcomes are not reported to it.
    ///
    /// # Errors
    ///
    /// It should not have been sent.
    pub fn take_live(
        &mut self,
        plan: &PushPlan,
        books: &mut Books,
        dispatch: &LiveDispatch,
    ) -> Result<(), String> {
        for &connection in &dispatch.to {
            let LiveDispatch { node, loop_index, .. } = *dispatch;
            let connection = ConnectionName { node, loop_index, connection };
            let Some(&who) = self.owners.get(&connection) else {
                return Err(format!("a live push is for {connection:?}, which never was"));
            };
            books.live_dispatched(plan, who, dispatch)?;
        }
        Ok(())
    }

    /// Time passes for devices: some answer.
    pub fn answer(&mut self, books: &mut Books, clock: &Clock) {
        let (due, later) =
            std::mem::take(&mut self.in_hand).into_iter().partition(|delivery| delivery.wait == 0);
        self.in_hand = later;
        self.in_hand.iter_mut().for_each(|delivery| delivery.wait -= 1);
        let due: Vec<InHand> = due;
        for InHand { who, push, shard, step, .. } in due {
            let reports = books.reports(who, push);
            match step.what {
                Happened::Acknowledged => reports.acknowledged = true,
                Happened::Refused => reports.refused = true,
                Happened::TooLarge => reports.too_large = true,
                Happened::Sent | Happened::Returned => {}
            }
            self.step(shard, who, push, Step { at: clock.now(), ..step });
        }
    }

    fn step(&mut self, shard: u16, who: Who, push: PushId, step: Step) {
        let batch = &mut self.batches[usize::from(shard)];
        batch.steps.push(step);
        batch.notes.push((who, push, step.what));
    }

    /// What shards are to hear now, in this order.
    pub fn report(&mut self, plan: &PushPlan, books: &mut Books) -> Vec<(u16, Command, Note)> {
        let mut reports = Vec::new();
        for (shard, batch) in (0..).zip(&mut self.batches) {
            let Batch { steps, notes, arrived, left, .. } = std::mem::take(batch);
            if !steps.is_empty() {
                reports.push((shard, Command::Progress { steps }, Note::Steps(notes)));
            }
            if !arrived.is_empty() || !left.is_empty() {
                for (who, arrival) in &arrived {
                    if plan.apps[who.0].1.register_at_connect {
                        books.may_be(*who, Facts::registered);
                    }
                    if let Some(link) = self.links.get_mut(who).filter(|link| link.name == arrival.connection)
                    {
                        link.is_unreported = false;
                    }
                }
                let whose = arrived.iter().map(|(who, arrival)| (*who, arrival.connection)).collect();
                let arrived = arrived.into_iter().map(|(_, arrival)| arrival).collect();
                let gone = left.iter().map(|(who, _)| *who).collect();
                let left = left.into_iter().map(|(_, departure)| departure).collect();
                reports.push((shard, Command::Presence { arrived, left }, Note::Presence(whose, gone)));
            }
        }
        reports
    }

    /// A shard answered a report: it is durable.
    pub fn heard(&mut self, books: &mut Books, note: &Note) {
        match note {
            Note::Steps(steps) => {
                for &(who, push, what) in steps {
                    let is_end =
                        matches!(what, Happened::Acknowledged | Happened::Refused | Happened::TooLarge);
                    if is_end {
                        books.reports(who, push).is_durable = true;
                    }
                }
            }
            Note::Presence(whose, gone) => {
                gone.iter().for_each(|who| {
                    self.unheard.remove(who);
                });
                for (who, connection) in whose {
                    if let Some(link) = self.links.get_mut(who).filter(|link| link.name == *connection) {
                        link.is_known = link.is_ours;
                    }
                }
            }
        }
    }

    /// A shard was busy, and did not hear it.
    pub fn unheard(&mut self, note: &Note) {
        if let Note::Presence(_, gone) = note {
            self.unheard.extend(gone);
        }
    }

    fn shards(&self) -> u16 {
        self.batches.len() as u16
    }
}
