//! The planner: which node has which shard, changed step by step.
//!
//! It is a function of the view and the time, but for two memories that a new planner builds up
//! again: since when a node is missed, and since when a shard is on its way. Each plan is a list of
//! writes with conditions; a write that lost its race is planned anew from the next view. The
//! planner never changes who the owner is: it asks the owner to hand over.
//!
//! [`placement`] counts and compares; here is what is done for a shard, in the order of urgency.

mod placement;

use std::collections::BTreeMap;
use std::time::Duration;

use self::placement::Placement;
use crate::entry::{Entry, REPLICAS_MAX};
use crate::lease::BootTime;
use crate::name::{NodeName, Shard};
use crate::request::Request;
use crate::rule::{FirstInStep, Rule as _};
use crate::view::{Stored, View};
use crate::write::{Action, Condition, Write};

/// How the planner works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Standbys of each shard, on other nodes. Default 1, at most 6.
    pub standbys: usize,
    /// Shards that are on their way at one time. Default 4.
    pub moves_max: usize,
    /// How long a node is missed before its replicas are given to others. Default 5 minutes: a restart
    /// costs less than a copy.
    pub grace: Duration,
    /// How long the first nodes of a cluster are waited for before shards are given out. Default 5 s.
    pub settle: Duration,
    /// How long a shard may be on its way before it no longer holds up others, and its newest replica is
    /// taken back; that node gets no more for as long. Default 10 minutes.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            standbys: 1,
            moves_max: 4,
            grace: Duration::from_secs(300),
            settle: Duration::from_secs(5),
            patience: Duration::from_secs(600),
        }
    }
}

/// Standbys that a shard may have: a move adds a replica for a while.
const STANDBYS_MAX: usize = REPLICAS_MAX - 2;

/// The planner of a cluster.
#[derive(Debug)]
pub struct Planner {
    settings: Settings,
    /// Replicas that are not alive, and since when.
    missed: BTreeMap<NodeName, BootTime>,
    /// Shards that are on their way, and since when.
    under_way: BTreeMap<Shard, BootTime>,
    /// Nodes that did not catch up with a shard in time, and until when they get no more.
    avoided: BTreeMap<NodeName, BootTime>,
    /// When the first node was seen.
    began: Option<BootTime>,
}

/// What the planner knows of one shard.
struct Case<'v> {
    shard: Shard,
    stored: &'v Stored<Entry>,
    owner: Option<&'v NodeName>,
    /// It was on its way for longer than anything should be.
    overdue: bool,
    may_balance: bool,
}

impl Planner {
    /// A planner that was elected just now.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let settings = Settings { standbys: settings.standbys.min(STANDBYS_MAX), ..settings };
        let (missed, under_way, avoided) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { settings, missed, under_way, avoided, began: None }
    }

    /// What is to be written now. Call it when the view changed, and about once a second.
    pub fn plan(&mut self, view: &View, now: BootTime) -> Vec<Write> {
        let Some(cluster) = &view.cluster else { return Vec::new() };
        if view.nodes.is_empty() {
            return Vec::new();
        }
        let began = *self.began.get_or_insert(now);
        self.watch(view, now);
        let mut placement = Placement::new(view, self.settings.standbys + 1, &self.avoided);
        let mut writes = done_requests(view);

        let shards = (0..cluster.shards).map(Shard);
        let missing: Vec<Shard> =
            shards.filter(|shard| !view.map.contains_key(shard) && !view.damaged.contains(shard)).collect();
        if now.since(began) >= self.settings.settle {
            for shard in missing {
                let replicas = placement.first_replicas();
                if replicas.is_empty() {
                    break;
                }
                let action = Action::Entry(shard, Entry::new(replicas));
                writes.push(Write { action, conditions: vec![Condition::Entry(shard, 0)] });
            }
        }

        let overdue = |since: &BootTime| now.since(*since) >= self.settings.patience;
        let moving = self.under_way.values().filter(|since| !overdue(since)).count();
        let mut free = self.settings.moves_max.saturating_sub(moving);
        let may_balance = !view.requests.values().any(|stored| *stored.value == Request::BalanceOff);
        let mut steady = Vec::new();
        for (shard, stored) in view.map.iter().filter(|(shard, _)| shard.0 < cluster.shards) {
            let is_overdue = self.under_way.get(shard).is_some_and(overdue);
            let owner = placement.owner(*shard).cloned();
            let case =
                Case { shard: *shard, stored, owner: owner.as_ref(), overdue: is_overdue, may_balance };
            match self.mend(&case, view, &mut placement, &mut free, now) {
                Some(write) => writes.push(write),
                None if !self.under_way.contains_key(shard) => steady.push(*shard),
                None => {}
            }
        }
        self.under_way.keys().for_each(|shard| placement.foresee(*shard));
        while may_balance && free > 0 {
            let Some((shard, entry)) = placement.balance(&steady) else { break };
            steady.retain(|one| *one != shard);
            free -= 1;
            writes.push(write(shard, &view.map[&shard], entry));
        }
        writes
    }

    /// Notes which nodes are missed, which shards are on their way, and which nodes hold them up.
    fn watch(&mut self, view: &View, now: BootTime) {
        self.avoided.retain(|_, until| now < *until);
        let named = || view.map.values().flat_map(|stored| &stored.value.replicas);
        self.missed.retain(|name, _| view.node(name).is_none());
        for name in named().filter(|name| view.node(name).is_none()) {
            self.missed.entry(name.clone()).or_insert(now);
        }
        let is_under_way = |shard: Shard, entry: &Entry| {
            let warms_up = |name: &NodeName| view.node(name).is_some() && !view.is_in_step(name, shard);
            entry.successor.is_some() || entry.replicas.iter().any(warms_up)
        };
        self.under_way.retain(|shard, _| view.entry(*shard).is_some_and(|entry| is_under_way(*shard, entry)));
        for (shard, stored) in &view.map {
            if is_under_way(*shard, &stored.value) {
                let since = *self.under_way.entry(*shard).or_insert(now);
                if now.since(since) >= self.settings.patience
                    && let Some(stuck) = stuck(view, *shard)
                {
                    self.avoided.insert(stuck.clone(), now.after(self.settings.patience));
                }
            }
        }
    }

    fn is_gone(&self, name: &NodeName, now: BootTime) -> bool {
        self.missed.get(name).is_some_and(|since| now.since(*since) >= self.settings.grace)
    }

    /// The next step of a shard that is not as it should be; `free` steps that take a place may begin.
    fn mend(
        &self,
        case: &Case<'_>,
        view: &View,
        placement: &mut Placement<'_>,
        free: &mut usize,
        now: BootTime,
    ) -> Option<Write> {
        let Case { shard, stored, owner, overdue, may_balance } = *case;
        let entry = &*stored.value;
        let in_step = |name: &NodeName| view.is_in_step(name, shard);
        let asked = view.requests.get(&format!("move/{shard}")).and_then(|one| match &*one.value {
            Request::Move { to, .. } => Some(to),
            _ => None,
        });

        // A hand-over that cannot happen any more is taken back; one that can is waited for.
        if let Some(to) = &entry.successor {
            let is_possible = entry.has(to) && view.node(to).is_some() && !overdue;
            let is_wanted = !view.is_draining(to) || asked == Some(to);
            return match is_possible && is_wanted && Some(to) != owner {
                true => None,
                false => Some(write(shard, stored, entry.with_successor(None))),
            };
        }

        // The dead go when others have the shard in step.
        let alive_in_step = entry.replicas.iter().filter(|name| in_step(name)).count();
        if let Some(gone) = entry.replicas.iter().find(|name| self.is_gone(name, now))
            && alive_in_step > 0
        {
            return Some(remove(case, view, gone));
        }

        // A replica that does not catch up is taken back, and another one is tried.
        if overdue
            && let Some(stuck) = stuck(view, shard)
            && alive_in_step > 0
        {
            return Some(remove(case, view, stuck));
        }

        let add = |to: &NodeName, free: &mut usize, placement: &mut Placement<'_>| {
            if *free == 0 || entry.replicas.len() >= REPLICAS_MAX {
                return None;
            }
            *free -= 1;
            placement.added(to);
            let replicas = entry.replicas.iter().chain([to]).cloned().collect();
            Some(write(shard, stored, entry.with_replicas(replicas)))
        };
        let hand_over = |to: &NodeName, free: &mut usize, placement: &mut Placement<'_>| {
            if *free == 0 {
                return None;
            }
            *free -= 1;
            placement.owner_moves(owner, to);
            Some(write(shard, stored, entry.with_successor(Some(to.clone()))))
        };

        // A move that an operator asks for.
        if let Some(to) = asked.filter(|to| Some(*to) != owner && view.node(to).is_some()) {
            return match (entry.has(to), in_step(to)) {
                (false, _) => add(to, free, placement),
                (true, true) if owner.is_some() => hand_over(to, free, placement),
                (true, _) => None,
            };
        }

        // Too few replicas on nodes that stay.
        let stays = |name: &NodeName| !view.is_leaving(name) && !self.is_gone(name, now);
        let staying = entry.replicas.iter().filter(|name| stays(name)).count();
        if staying < placement.wanted()
            && let Some(to) = placement.next_replica(shard, &stays)
        {
            return add(&to, free, placement);
        }

        // An owner that drains hands over to the replica that is in step and has least to do.
        if let Some(owner) = owner.filter(|name| view.is_draining(name))
            && let Some(to) = placement.next_owner(shard, owner)
        {
            return hand_over(&to, free, placement);
        }

        // A move has warmed up a replica that is to be the owner.
        if may_balance
            && let Some(owner) = owner
            && let Some(to) = placement.better_owner(shard, owner)
        {
            return hand_over(&to, free, placement);
        }

        let surplus = placement.surplus(shard, &stays)?;
        if asked == Some(&surplus) {
            return None;
        }
        placement.removed(&surplus);
        Some(remove(case, view, &surplus))
    }
}

/// The newest replica that is alive and not in step, where another one is the owner.
fn stuck(view: &View, shard: Shard) -> Option<&NodeName> {
    let owner = FirstInStep::owner(view, shard);
    let is_stuck =
        |name: &&NodeName| view.node(name).is_some() && !view.is_in_step(name, shard) && Some(*name) != owner;
    view.entry(shard)?.replicas.iter().rev().find(is_stuck)
}

/// Requests that are done, or that name what does not exist.
fn done_requests(view: &View) -> Vec<Write> {
    let is_done = |request: &Request| match request {
        Request::Move { shard, to } => match view.entry(*shard) {
            Some(entry) => entry.replicas.first() == Some(to) && view.is_in_step(to, *shard),
            None => view.cluster.as_ref().is_some_and(|cluster| shard.0 >= cluster.shards),
        },
        Request::Drain { .. } | Request::BalanceOff => false,
    };
    let done = view.requests.iter().filter(|(_, stored)| is_done(&stored.value));
    done.map(|(key, stored)| Write {
        action: Action::Done(key.clone()),
        conditions: vec![Condition::Request(key.clone(), stored.revision)],
    })
    .collect()
}

/// Takes a replica out, if it and the owner are still as they were seen: the last replica that has
/// the shard in step stays, also when the owner dies while this is written.
fn remove(case: &Case<'_>, view: &View, name: &NodeName) -> Write {
    let entry = &*case.stored.value;
    let rest = entry.replicas.iter().filter(|one| *one != name).cloned().collect();
    let mut planned = write(case.shard, case.stored, entry.with_replicas(rest));
    let seen = |name: &NodeName| view.nodes.get(name).map_or(0, |stored| stored.revision);
    let as_seen = [Some(name), case.owner].into_iter().flatten();
    planned.conditions.extend(as_seen.map(|name| Condition::Node(name.clone(), seen(name))));
    planned
}

fn write(shard: Shard, stored: &Stored<Entry>, entry: Entry) -> Write {
    Write { action: Action::Entry(shard, entry), conditions: vec![Condition::Entry(shard, stored.revision)] }
}
