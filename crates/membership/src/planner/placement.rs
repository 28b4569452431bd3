//! Counts of owners and replicas for each node, and the choices that follow from them. Steps of the
//! plan count when they are chosen; moves that are under way, before balancing begins.
//!
//! Ties are broken by load, then by name, so that equal views give equal plans. A step is only taken
//! where it brings two counts nearer to each other, so balancing ends.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::entry::{Entry, REPLICAS_MAX};
use crate::lease::BootTime;
use crate::name::{NodeName, Shard};
use crate::rule::{FirstInStep, Rule as _};
use crate::view::View;

/// A count for each node that may get shards.
type Counts<'v> = BTreeMap<&'v NodeName, isize>;

/// Where everything is, and where it might go.
pub(super) struct Placement<'v> {
    view: &'v View,
    /// Replicas that each shard is to have.
    wanted: usize,
    /// Nodes that are alive and may get more.
    usable: Vec<&'v NodeName>,
    owners: Counts<'v>,
    replicas: Counts<'v>,
}

impl<'v> Placement<'v> {
    /// Counts. Each shard is to have `wanted` replicas, or as many as there are nodes that stay. The
    /// nodes that are `avoided` get no more.
    pub(super) fn new(view: &'v View, wanted: usize, avoided: &BTreeMap<NodeName, BootTime>) -> Self {
        let may_get = |name: &&NodeName| !view.is_draining(name) && !avoided.contains_key(*name);
        let usable: Vec<_> = view.nodes.keys().filter(may_get).collect();
        let staying = view.nodes.keys().filter(|name| !view.is_leaving(name)).count();
        let mut owners: Counts<'v> = view.nodes.keys().map(|name| (name, 0)).collect();
        let mut replicas = owners.clone();
        for (shard, stored) in &view.map {
            let to = stored.value.successor.as_ref();
            if let Some(count) =
                to.or_else(|| FirstInStep::owner(view, *shard)).and_then(|name| owners.get_mut(name))
            {
                *count += 1;
            }
            for name in &stored.value.replicas {
                replicas.entry(name).and_modify(|count| *count += 1);
            }
        }
        Self { view, wanted: wanted.min(staying.max(1)), usable, owners, replicas }
    }

    /// Counts a move that has begun as if it had ended: its shard has a replica too many.
    pub(super) fn foresee(&mut self, shard: Shard) {
        let Some(entry) = self.view.entry(shard).filter(|entry| entry.replicas.len() > self.wanted) else {
            return;
        };
        let owner = self.owner(shard);
        if let (None, Some(owner), Some(last)) = (&entry.successor, owner, entry.replicas.last())
            && !self.view.is_in_step(last, shard)
            && self.is_better_owner(owner, last)
        {
            self.owner_moves(Some(owner), last);
        }
        let spare = |name: &&NodeName| Some(*name) != owner && Some(*name) != entry.replicas.last();
        let alive = |name: &&NodeName| self.view.node(name).is_some();
        if let Some(surplus) = entry
            .replicas
            .iter()
            .filter(spare)
            .filter(alive)
            .max_by_key(|name| self.count(&self.replicas, name))
        {
            self.removed(surplus);
        }
    }

    /// The owner by the rule.
    pub(super) fn owner(&self, shard: Shard) -> Option<&'v NodeName> {
        FirstInStep::owner(self.view, shard)
    }

    /// Replicas that each shard is to have.
    pub(super) fn wanted(&self) -> usize {
        self.wanted
    }

    /// The node is to get a replica more.
    pub(super) fn added(&mut self, name: &NodeName) {
        change(&mut self.replicas, name, 1);
    }

    /// The node is to have a replica less.
    pub(super) fn removed(&mut self, name: &NodeName) {
        change(&mut self.replicas, name, -1);
    }

    /// A shard is to have another owner.
    pub(super) fn owner_moves(&mut self, from: Option<&NodeName>, to: &NodeName) {
        if let Some(from) = from {
            change(&mut self.owners, from, -1);
        }
        change(&mut self.owners, to, 1);
    }

    /// The replicas of a shard that has none: nodes with the least to do, in zones of their own where
    /// there are.
    pub(super) fn first_replicas(&mut self) -> Vec<NodeName> {
        let mut chosen: Vec<NodeName> = Vec::new();
        let first = |name: &&&NodeName| {
            (self.count(&self.owners, name), self.count(&self.replicas, name), self.load(name))
        };
        let Some(owner) = self.usable.iter().min_by_key(first).copied() else { return chosen };
        self.owner_moves(None, owner);
        self.added(owner);
        chosen.push(owner.clone());
        while chosen.len() < self.wanted {
            let Some(next) = self.next_beside(&chosen.iter().collect::<Vec<_>>(), &[]) else { break };
            self.added(next);
            chosen.push(next.clone());
        }
        chosen
    }

    /// A node for one more replica of the shard, beside the replicas that stay.
    pub(super) fn next_replica(&self, shard: Shard, stays: &dyn Fn(&NodeName) -> bool) -> Option<NodeName> {
        let replicas = &self.view.entry(shard)?.replicas;
        let staying: Vec<&NodeName> = replicas.iter().filter(|name| stays(name)).collect();
        self.next_beside(&staying, replicas).cloned()
    }

    /// The best node that is neither in `beside`, whose zones are avoided, nor in `not`.
    fn next_beside(&self, beside: &[&NodeName], not: &[NodeName]) -> Option<&'v NodeName> {
        let zones: BTreeSet<_> = beside.iter().map(|name| self.zone(name)).collect();
        let rank = |name: &&&NodeName| {
            let shares_zone = zones.contains(&self.zone(name));
            (shares_zone, self.count(&self.replicas, name), self.load(name))
        };
        let free = |name: &&&NodeName| !beside.contains(*name) && !not.contains(**name);
        self.usable.iter().filter(free).min_by_key(rank).copied()
    }

    /// The replica that is to own the shard after `owner`: in step, and with the fewest shards.
    pub(super) fn next_owner(&self, shard: Shard, owner: &NodeName) -> Option<NodeName> {
        let ready =
            |name: &&NodeName| *name != owner && self.is_usable(name) && self.view.is_in_step(name, shard);
        let replicas = &self.view.entry(shard)?.replicas;
        let rank = |name: &&NodeName| (self.count(&self.owners, name), self.load(name));
        replicas.iter().filter(ready).min_by_key(rank).cloned()
    }

    /// A replica that a move has warmed up and that would be a better owner than `owner`.
    pub(super) fn better_owner(&self, shard: Shard, owner: &NodeName) -> Option<NodeName> {
        let entry = self.view.entry(shard)?;
        let to = self.next_owner(shard, owner)?;
        (entry.replicas.len() > self.wanted && self.is_better_owner(owner, &to)).then_some(to)
    }

    fn is_better_owner(&self, owner: &NodeName, to: &NodeName) -> bool {
        self.is_usable(to) && self.count(&self.owners, owner) - self.count(&self.owners, to) >= 2
    }

    /// A replica too many, when none warms up: never the owner, and never one whose loss leaves less than
    /// is wanted in step.
    pub(super) fn surplus(&self, shard: Shard, stays: &dyn Fn(&NodeName) -> bool) -> Option<NodeName> {
        let replicas = &self.view.entry(shard)?.replicas;
        let owner = self.owner(shard)?;
        let counts = |name: &&NodeName| stays(name) && self.view.is_in_step(name, shard);
        let steady = replicas.iter().filter(counts).count();
        let warms_up = |name: &NodeName| {
            stays(name) && self.view.node(name).is_some() && !self.view.is_in_step(name, shard)
        };
        if replicas.iter().any(warms_up) {
            return None;
        }
        let may_go = |name: &&NodeName| {
            *name != owner
                && self.view.node(name).is_some()
                && steady - usize::from(counts(name)) >= self.wanted
        };
        let rank = |name: &&NodeName| {
            let rest = self.zones(replicas.iter().filter(|one| one != name));
            (!stays(name), rest, self.count(&self.replicas, name), self.load(name))
        };
        replicas.iter().filter(may_go).max_by_key(rank).cloned()
    }

    /// The next step towards balance, among shards of which nothing is under way.
    pub(super) fn balance(&mut self, steady: &[Shard]) -> Option<(Shard, Entry)> {
        self.spread_zones(steady)
            .or_else(|| self.balance_owners(steady))
            .or_else(|| self.balance_replicas(steady))
    }

    /// A shard whose replicas share a zone although another zone has room.
    fn spread_zones(&mut self, steady: &[Shard]) -> Option<(Shard, Entry)> {
        let zones = self.zones(self.usable.iter().copied());
        let (shard, entry, to) = steady.iter().find_map(|shard| {
            let entry = self.view.entry(*shard)?;
            let has = self.zones(entry.replicas.iter());
            let to = self.next_replica(*shard, &|_| true)?;
            let gains = self.zones(entry.replicas.iter().chain([&to])) > has;
            (has < self.wanted.min(zones) && entry.replicas.len() == self.wanted && gains)
                .then_some((*shard, entry, to))
        })?;
        self.add(shard, entry, &to)
    }

    /// Moves an owner from a node with many to a node with few.
    fn balance_owners(&mut self, steady: &[Shard]) -> Option<(Shard, Entry)> {
        for (from, to) in self.pairs(&self.owners) {
            let owned = |shard: &&Shard| self.owner(**shard) == Some(from);
            let entry_of = |shard: &Shard| Some((*shard, self.view.entry(*shard)?));
            let owned: Vec<_> = steady.iter().filter(owned).filter_map(entry_of).collect();
            // Where it has the shard in step already, nothing has to be copied.
            if let Some((shard, entry)) = owned.iter().find(|(shard, _)| self.view.is_in_step(to, *shard))
                && entry.has(to)
            {
                self.owner_moves(Some(from), to);
                return Some((*shard, entry.with_successor(Some(to.clone()))));
            }
            let fits = |(_, entry): &&(Shard, &'v Entry)| !entry.has(to) && self.keeps_zones(entry, to, None);
            let most = |(_, entry): &&(Shard, &'v Entry)| {
                entry.replicas.iter().map(|name| self.count(&self.replicas, name)).max()
            };
            if let Some((shard, entry)) = owned.iter().filter(fits).max_by_key(most).copied() {
                self.owner_moves(Some(from), to);
                self.foresee_surplus(entry, to);
                return self.add(shard, entry, to);
            }
        }
        None
    }

    /// Moves a standby from a node with many replicas to a node with few.
    fn balance_replicas(&mut self, steady: &[Shard]) -> Option<(Shard, Entry)> {
        for (from, to) in self.pairs(&self.replicas) {
            let found = steady.iter().find_map(|shard| {
                let entry = self.view.entry(*shard)?;
                let fits = entry.has(from)
                    && !entry.has(to)
                    && self.owner(*shard) != Some(from)
                    && self.keeps_zones(entry, to, Some(from));
                fits.then_some((*shard, entry))
            });
            if let Some((shard, entry)) = found {
                self.removed(from);
                return self.add(shard, entry, to);
            }
        }
        None
    }

    fn add(&mut self, shard: Shard, entry: &Entry, to: &NodeName) -> Option<(Shard, Entry)> {
        if entry.replicas.len() >= REPLICAS_MAX {
            return None;
        }
        self.added(to);
        let replicas = entry.replicas.iter().chain([to]).cloned().collect();
        Some((shard, entry.with_replicas(replicas)))
    }

    /// Counts the replica that will be one too many when `to` has the shard.
    fn foresee_surplus(&mut self, entry: &Entry, to: &NodeName) {
        let rank = |name: &&NodeName| {
            let rest = self.zones(entry.replicas.iter().filter(|one| one != name).chain([to]));
            (rest, self.count(&self.replicas, name))
        };
        if let Some(surplus) = entry.replicas.iter().max_by_key(rank) {
            self.removed(surplus);
        }
    }

    /// Pairs of nodes, the first with at least two more than the second, the largest differences first.
    fn pairs(&self, counts: &Counts<'v>) -> Vec<(&'v NodeName, &'v NodeName)> {
        let of = |name: &NodeName| self.count(counts, name);
        let pair = |from: &'v NodeName| self.usable.iter().map(move |to| (from, *to));
        let mut pairs: Vec<_> = self.usable.iter().flat_map(|from| pair(from)).collect();
        pairs.retain(|(from, to)| of(from) - of(to) >= 2);
        pairs.sort_by_key(|(from, to)| (of(to) - of(from), Reverse(self.load(from)), self.load(to)));
        pairs
    }

    /// Whether the shard's replicas stay in as many zones when `to` takes the place of one of them.
    fn keeps_zones(&self, entry: &Entry, to: &NodeName, place_of: Option<&NodeName>) -> bool {
        let before = self.zones(entry.replicas.iter());
        let after =
            |gone: &NodeName| self.zones(entry.replicas.iter().filter(|one| *one != gone).chain([to]));
        match place_of {
            Some(gone) => after(gone) >= before,
            None => entry.replicas.iter().any(|gone| after(gone) >= before),
        }
    }

    /// The number of different zones; nodes without one count as one zone.
    fn zones<'a>(&self, names: impl Iterator<Item = &'a NodeName>) -> usize {
        names.map(|name| self.zone(name)).collect::<BTreeSet<_>>().len()
    }

    fn zone(&self, name: &NodeName) -> Option<&'v str> {
        self.view.nodes.get(name).and_then(|node| node.value.zone.as_deref())
    }

    fn is_usable(&self, name: &NodeName) -> bool {
        self.usable.contains(&name)
    }

    fn count(&self, counts: &Counts<'v>, name: &NodeName) -> isize {
        counts.get(name).copied().unwrap_or(0)
    }

    /// A node's load in hundredths, so that it has an order.
    fn load(&self, name: &NodeName) -> u32 {
        self.view.node(name).map_or(0, |node| (node.load * 100.0) as u32)
    }
}

fn change(counts: &mut Counts<'_>, name: &NodeName, by: isize) {
    if let Some(count) = counts.get_mut(name) {
        *count += by;
    }
}
