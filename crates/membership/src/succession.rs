//! The duties of one node: which shards it serves, follows or drops, from its view alone.
//!
//! The node acts only while its lease is certain, and only on a view that shows itself alive. Without
//! that it changes nothing: it goes on serving, since the log decides, and answers reads behind
//! commits. [`Succession`] says what to do as [`Order`]s; the node reports back what came of them.
//!
//! A claim has two steps: the fence in the log, then the record in the map, by compare-and-swap on the
//! entry that the claim was decided by. docs/membership.md says why reads need both.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::time::Duration;

use crate::entry::Entry;
use crate::lease::BootTime;
use crate::name::{Incarnation, NodeName, Shard};
use crate::rule::{FirstInStep, Rule};
use crate::shard_set::ShardSet;
use crate::view::{Stored, View};
use crate::write::{Action, Condition, Write};

/// How long a node that was fenced, or could not claim, waits before it claims again.
///
/// Long enough for the other claimant to see that it is not the owner, short beside a failover.
pub const CLAIM_AGAIN: Duration = Duration::from_secs(1);

/// The time after which a write of this node that did not show up in the view is tried again.
const WRITE_AGAIN: Duration = Duration::from_millis(500);

/// What the node is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Read the shard's log and apply it, with state of its own. Serve no more, if it did.
    Follow(Shard),
    /// Claim the shard's log: append a fence, read up to it, report [`Succession::claimed`] with this
    /// generation. Do not serve yet.
    Claim(Shard, u64),
    /// The claim is recorded: serve.
    Serve(Shard),
    /// Take no more commands, commit, write the farewell, and report [`Succession::handed_over`].
    HandOver(Shard, NodeName),
    /// Drop the shard: this node is no replica of it any more.
    Stop(Shard),
    /// Write to etcd.
    Write(Write),
}

/// What the node does for a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Duty {
    Following,
    /// It was asked to claim, by the entry of this generation, and has not reported back.
    Claiming(u64),
    /// Its fence counts, and the record is to be written over the entry of this generation.
    Recording(u64),
    /// It serves, recorded as this incarnation.
    Serving(Incarnation),
    HandingOver,
    /// The farewell is in the log; the map is not written yet.
    HandedOver,
    /// Another claim fenced this node, or the claim failed. It may claim again from then on.
    Paused(BootTime),
}

#[derive(Clone, Debug)]
struct State {
    duty: Duty,
    /// It has applied everything up to the end of the log, as far as the node knows.
    caught_up: bool,
    /// When a record or hand-over was last written.
    wrote_at: Option<BootTime>,
}

/// The duties of a node.
#[derive(Debug)]
pub struct Succession<R = FirstInStep> {
    me: NodeName,
    incarnation: Incarnation,
    shards: BTreeMap<Shard, State>,
    announced: ShardSet,
    rule: PhantomData<R>,
}

impl<R: Rule> Succession<R> {
    /// A node that has no duties yet.
    #[must_use]
    pub fn new(me: NodeName, incarnation: Incarnation) -> Self {
        Self { me, incarnation, shards: BTreeMap::new(), announced: ShardSet::EMPTY, rule: PhantomData }
    }

    /// The node registered again, with another lease. It announces nothing until it has seen a view.
    pub fn registered(&mut self, incarnation: Incarnation) {
        self.incarnation = incarnation;
        self.announced = ShardSet::EMPTY;
        self.shards.values_mut().for_each(|state| state.wrote_at = None);
    }

    /// The fence of the claim that was decided at `generation` counts, and all before it is applied.
    pub fn claimed(&mut self, shard: Shard, generation: u64) {
        let claiming = |state: &&mut State| state.duty == Duty::Claiming(generation);
        if let Some(state) = self.shards.get_mut(&shard).filter(claiming) {
            *state = State { duty: Duty::Recording(generation), caught_up: true, wrote_at: None };
        }
    }

    /// Another claim fenced this node, or it could not claim. The node follows the log again.
    ///
    /// A claim that this node makes again by itself, because a commit failed and the last fence in the
    /// log is its own, is none of this: nobody else can have served meanwhile.
    pub fn fenced(&mut self, shard: Shard, now: BootTime) {
        if let Some(state) = self.shards.get_mut(&shard) {
            state.duty = Duty::Paused(now.after(CLAIM_AGAIN));
            state.caught_up = false;
            self.announced.remove(shard);
        }
    }

    /// The farewell is in the log: nothing of this node counts behind it.
    pub fn handed_over(&mut self, shard: Shard) {
        if let Some(state) = self.shards.get_mut(&shard).filter(|state| state.duty == Duty::HandingOver) {
            state.duty = Duty::HandedOver;
            state.wrote_at = None;
        }
    }

    /// The node follows the shard and has applied everything up to the end of the log.
    pub fn caught_up(&mut self, shard: Shard) {
        if let Some(state) = self.shards.get_mut(&shard) {
            state.caught_up = true;
        }
    }

    /// The node fell behind with a shard that it follows: it would need long to take over.
    pub fn fell_behind(&mut self, shard: Shard) {
        let follows = |state: &&mut State| matches!(state.duty, Duty::Following | Duty::Paused(_));
        if let Some(state) = self.shards.get_mut(&shard).filter(follows) {
            state.caught_up = false;
            self.announced.remove(shard);
        }
    }

    /// The node cannot write the shard's log although others can: the write that takes its record back,
    /// so that a standby in step is the owner. The node follows.
    pub fn give_up(&mut self, shard: Shard, view: &View, now: BootTime) -> Option<Write> {
        self.fenced(shard, now);
        let stored = view.map.get(&shard)?;
        stored.value.is_recorded(&self.me, self.incarnation).then(|| {
            let entry = Entry { recorded: None, ..stored.value.with_replicas(stored.value.replicas.clone()) };
            Write {
                action: Action::Entry(shard, entry),
                conditions: vec![Condition::Entry(shard, stored.revision)],
            }
        })
    }

    /// The shards that the node's key in etcd is to name as in step.
    #[must_use]
    pub fn announced(&self) -> ShardSet {
        self.announced
    }

    /// The shards that the node serves.
    pub fn serves(&self) -> impl Iterator<Item = Shard> + '_ {
        let serving = |state: &State| matches!(state.duty, Duty::Serving(_));
        self.shards.iter().filter(move |(_, state)| serving(state)).map(|(shard, _)| *shard)
    }

    /// Whether the node may answer reads of the shard while its lease is certain.
    ///
    /// It serves, and this incarnation is the recorded owner. A node whose lease ended serves on under
    /// its former record, but its reads wait for a commit.
    #[must_use]
    pub fn reads_under_lease(&self, shard: Shard) -> bool {
        self.shards.get(&shard).is_some_and(|state| state.duty == Duty::Serving(self.incarnation))
    }

    /// When [`Self::turn`] has something to do although nothing changes.
    #[must_use]
    pub fn deadline(&self) -> Option<BootTime> {
        let of = |state: &State| match state.duty {
            Duty::Paused(until) => Some(until),
            Duty::Recording(_) | Duty::Serving(_) | Duty::HandedOver => {
                state.wrote_at.map(|at| at.after(WRITE_AGAIN))
            }
            _ => None,
        };
        self.shards.values().filter_map(of).min()
    }

    /// Decides anew. Call it when the view changed, after each report, and at the deadline.
    ///
    /// `lease_is_certain` is [`crate::Lease::is_certain`] at `now`. Without certainty nothing changes, and
    /// neither does it while the view does not show this incarnation.
    pub fn turn(&mut self, view: &View, lease_is_certain: bool, now: BootTime) -> Vec<Order> {
        let mut orders = Vec::new();
        // A view without this incarnation is older than its registration, or the lease has ended.
        let is_mine = view.node(&self.me).is_some_and(|node| node.incarnation == self.incarnation);
        if !lease_is_certain || !is_mine {
            return orders;
        }
        let dropped = |shard: &Shard| !view.entry(*shard).is_some_and(|entry| entry.has(&self.me));
        // An entry that cannot be read says nothing.
        let gone: Vec<Shard> = self.shards.keys().copied().filter(dropped).collect();
        for shard in gone.into_iter().filter(|shard| !view.damaged.contains(shard)) {
            self.shards.remove(&shard);
            self.announced.remove(shard);
            orders.push(Order::Stop(shard));
        }
        for (shard, stored) in &view.map {
            if !stored.value.has(&self.me) {
                continue;
            }
            match R::owner(view, *shard) == Some(&self.me) {
                true => self.own(*shard, stored, view, now, &mut orders),
                false => self.follow(*shard, &mut orders),
            }
            self.announce(*shard, view);
        }
        orders
    }

    fn state(&mut self, shard: Shard, orders: &mut Vec<Order>) -> &mut State {
        self.shards.entry(shard).or_insert_with(|| {
            orders.push(Order::Follow(shard));
            State { duty: Duty::Following, caught_up: false, wrote_at: None }
        })
    }

    /// Another replica is the owner, or none.
    fn follow(&mut self, shard: Shard, orders: &mut Vec<Order>) {
        let state = self.state(shard, orders);
        let before = std::mem::replace(&mut state.duty, Duty::Following);
        if !matches!(before, Duty::Following | Duty::Paused(_)) {
            state.wrote_at = None;
            orders.push(Order::Follow(shard));
        }
    }

    /// This node is the owner.
    fn own(
        &mut self,
        shard: Shard,
        stored: &Stored<Entry>,
        view: &View,
        now: BootTime,
        orders: &mut Vec<Order>,
    ) {
        let (me, incarnation) = (self.me.clone(), self.incarnation);
        let entry = &*stored.value;
        let conditions = || vec![Condition::Entry(shard, stored.revision)];
        let record = || Write {
            action: Action::Entry(shard, entry.with_first(&me, Some(incarnation))),
            conditions: conditions(),
        };
        let successor = entry.successor.as_ref().filter(|to| {
            // A successor that is not ready would leave the shard without an owner.
            **to != me && entry.has(to) && view.is_in_step(to, shard)
        });
        let state = self.state(shard, orders);
        let may_write = state.wrote_at.is_none_or(|at| now.since(at) >= WRITE_AGAIN);
        let claim = |state: &mut State, orders: &mut Vec<Order>| {
            state.duty = Duty::Claiming(entry.generation);
            orders.push(Order::Claim(shard, entry.generation));
        };
        match state.duty {
            Duty::Following => claim(state, orders),
            Duty::Paused(until) if now >= until => claim(state, orders),
            // The map changed after the claim was decided: somebody else may have claimed and served
            // meanwhile, so the fence may be an old one.
            Duty::Claiming(generation) if generation != entry.generation => claim(state, orders),
            Duty::Recording(generation)
                if generation + 1 == entry.generation && entry.is_recorded(&me, incarnation) =>
            {
                *state = State { duty: Duty::Serving(incarnation), caught_up: true, wrote_at: None };
                orders.push(Order::Serve(shard));
            }
            Duty::Recording(generation) if generation != entry.generation => claim(state, orders),
            Duty::Recording(_) if may_write => {
                state.wrote_at = Some(now);
                orders.push(Order::Write(record()));
            }
            Duty::Serving(_) if entry.is_recorded(&me, incarnation) => {
                state.duty = Duty::Serving(incarnation);
                state.wrote_at = None;
                if let Some(to) = successor {
                    state.duty = Duty::HandingOver;
                    orders.push(Order::HandOver(shard, to.clone()));
                }
            }
            // Its lease ended and another one began, and nobody claimed between.
            Duty::Serving(former) if entry.is_recorded(&me, former) => {
                if may_write {
                    state.wrote_at = Some(now);
                    orders.push(Order::Write(record()));
                }
            }
            Duty::Serving(_) => claim(state, orders),
            Duty::HandedOver => match successor {
                Some(to) if may_write => {
                    state.wrote_at = Some(now);
                    let action = Action::Entry(shard, entry.with_first(to, None));
                    orders.push(Order::Write(Write { action, conditions: conditions() }));
                }
                Some(_) => {}
                // The successor went away or is no longer wanted: the shard still needs an owner.
                None => claim(state, orders),
            },
            Duty::Claiming(_) | Duty::Recording(_) | Duty::HandingOver | Duty::Paused(_) => {}
        }
    }

    /// Announces the shard as in step where that takes it from nobody: the node serves it, or an owner
    /// that is in step stands before it.
    ///
    /// A first replica that comes back would otherwise be the owner again by being in step, over a
    /// successor that serves.
    fn announce(&mut self, shard: Shard, view: &View) {
        let (Some(state), Some(entry)) = (self.shards.get(&shard), view.entry(shard)) else { return };
        let serves = matches!(state.duty, Duty::Serving(_) | Duty::HandingOver | Duty::HandedOver);
        let mut before = entry.replicas.iter().take_while(|name| **name != self.me);
        if serves || state.caught_up && before.any(|name| view.is_in_step(name, shard)) {
            self.announced.insert(shard);
        }
    }
}
