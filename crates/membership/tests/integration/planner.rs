//! The planner on nodes that do as they are asked: balance, pace, zones, drains, deaths, requests.
//! Each write of a plan is judged before it is carried out.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use stadium_membership::{
    Action, BootTime, Change, FirstInStep, NodeName, Planner, Request, Rule as _, Settings, Shard, View,
    Write,
};

use super::etcd::{Etcd, name, node};

/// A second of the planner and the nodes.
const STEP: Duration = Duration::from_secs(1);

struct Stage {
    etcd: Etcd,
    planner: Planner,
    settings: Settings,
    now: BootTime,
    /// Replicas that were added to shards that had some.
    copies: usize,
    incarnations: u64,
    /// A node that never has anything in step.
    stuck: Option<NodeName>,
}

impl Stage {
    fn set(shards: u32, nodes: &[(&str, Option<&str>)], settings: Settings) -> Self {
        let mut stage = Self {
            etcd: Etcd::with_shards(shards),
            planner: Planner::new(settings),
            settings,
            now: BootTime::default(),
            copies: 0,
            incarnations: 0,
            stuck: None,
        };
        for (name, zone) in nodes {
            stage.join(name, *zone);
        }
        stage
    }

    /// A cluster that has found its balance.
    fn settled(shards: u32, nodes: &[(&str, Option<&str>)]) -> Self {
        let mut stage = Self::set(shards, nodes, Settings::default());
        stage.settle();
        stage
    }

    fn view(&self) -> &View {
        &self.etcd.view
    }

    fn join(&mut self, text: &str, zone: Option<&str>) {
        self.incarnations += 1;
        self.etcd.put(Change::Node(name(text), Some(Box::new(node(self.incarnations, zone)))));
    }

    fn die(&mut self, text: &str) {
        self.etcd.expire(&name(text));
    }

    fn ask(&mut self, request: Request) {
        self.etcd.put(Change::Request(request.key(), Some(request)));
    }

    /// One second: the planner plans, its writes are judged and carried out, the nodes follow.
    fn step(&mut self) -> usize {
        self.now = self.now.after(STEP);
        let writes = self.planner.plan(&self.etcd.view, self.now);
        let moving_before = self.moving();
        for write in &writes {
            self.judge(write);
            assert!(self.etcd.write(write), "a plan contradicts itself: {write:?}");
        }
        let started = self.moving().saturating_sub(moving_before);
        let free = self.settings.moves_max.saturating_sub(moving_before);
        assert!(started <= free, "{started} moves began where {free} may");
        self.nodes_follow();
        writes.len()
    }

    /// Shards that are on their way.
    fn moving(&self) -> usize {
        let view = self.view();
        let moves = |(shard, stored): &(&Shard, &stadium_membership::Stored<stadium_membership::Entry>)| {
            let warms = |one: &NodeName| view.node(one).is_some() && !view.is_in_step(one, **shard);
            stored.value.generation > 1
                && (stored.value.successor.is_some() || stored.value.replicas.iter().any(warms))
        };
        view.map.iter().filter(moves).count()
    }

    /// What no write of a planner may do.
    fn judge(&mut self, write: &Write) {
        let Action::Entry(shard, after) = &write.action else { return };
        after.check().expect("a good entry");
        let Some(before) = self.view().entry(*shard) else { return };
        let view = self.view();
        let in_step = |names: &[NodeName]| names.iter().any(|one| view.is_in_step(one, *shard));
        assert!(
            !in_step(&before.replicas) || in_step(&after.replicas),
            "the last replica in step was removed: {before:?} {after:?}"
        );
        assert_eq!(after.generation, before.generation + 1);
        let owner = FirstInStep::owner(view, *shard).cloned();
        self.copies += after.replicas.iter().filter(|one| !before.has(one)).count();
        let mut next = self.etcd.view.clone();
        next.apply(next.revision + 1, Change::Entry(*shard, Some(after.clone())));
        if owner.is_some() {
            assert_eq!(FirstInStep::owner(&next, *shard), owner.as_ref(), "the planner chose the owner");
        }
    }

    /// Nodes catch up with their replicas, owners record themselves and hand over.
    fn nodes_follow(&mut self) {
        let shards: Vec<Shard> = self.view().map.keys().copied().collect();
        for shard in shards {
            let Some(owner) = FirstInStep::owner(self.view(), shard).cloned() else { continue };
            let entry = self.view().entry(shard).expect("listed").clone();
            if entry.replicas.first() != Some(&owner) {
                let recorded = self.view().node(&owner).map(|node| node.incarnation);
                self.etcd.put(Change::Entry(shard, Some(entry.with_first(&owner, recorded))));
            } else if let Some(to) = entry.successor.clone().filter(|to| self.view().is_in_step(to, shard)) {
                self.etcd.put(Change::Entry(shard, Some(entry.with_first(&to, None))));
            }
        }
        let names: Vec<NodeName> = self.view().nodes.keys().cloned().collect();
        for one in names.into_iter().filter(|one| self.stuck.as_ref() != Some(one)) {
            let has: Vec<Shard> = self
                .view()
                .map
                .iter()
                .filter(|(_, entry)| entry.value.has(&one))
                .map(|(shard, _)| *shard)
                .collect();
            self.etcd.change_node(&one, |node| {
                node.in_step = has.iter().copied().collect();
                node.has_data = node.in_step;
            });
        }
    }

    /// Runs until the planner has had nothing to do for longer than its grace.
    fn settle(&mut self) -> u32 {
        let quiet_for = u32::try_from(self.settings.grace.as_secs()).expect("short") + 5;
        let mut quiet = 0;
        let mut busy_until = 0;
        for step in 0..20_000 {
            match self.step() {
                0 => quiet += 1,
                _ => (quiet, busy_until) = (0, step),
            }
            if quiet > quiet_for {
                return busy_until;
            }
        }
        panic!("the planner never ends: {:?}", self.planner);
    }

    /// How many shards each living node owns, and of how many it is a replica.
    fn counts(&self) -> BTreeMap<NodeName, (usize, usize)> {
        let mut counts: BTreeMap<NodeName, (usize, usize)> =
            self.view().nodes.keys().map(|one| (one.clone(), (0, 0))).collect();
        for (shard, stored) in &self.view().map {
            if let Some(count) = FirstInStep::owner(self.view(), *shard).and_then(|one| counts.get_mut(one)) {
                count.0 += 1;
            }
            for one in &stored.value.replicas {
                if let Some(count) = counts.get_mut(one) {
                    count.1 += 1;
                }
            }
        }
        counts
    }

    fn spread(&self, of: impl Fn(&(usize, usize)) -> usize) -> usize {
        let counts = self.counts();
        let counts =
            counts.iter().filter(|(one, _)| !self.view().is_draining(one)).map(|(_, count)| of(count));
        let (min, max) = counts.fold((usize::MAX, 0), |(min, max), count| (min.min(count), max.max(count)));
        max.saturating_sub(min)
    }

    fn assert_balanced(&self) {
        assert!(self.spread(|count| count.0) <= 1, "owners: {:?}", self.counts());
        assert!(self.spread(|count| count.1) <= 1, "replicas: {:?}", self.counts());
    }

    fn assert_replicas(&self, wanted: usize) {
        for (shard, stored) in &self.view().map {
            assert_eq!(stored.value.replicas.len(), wanted, "shard {shard}: {:?}", stored.value);
        }
    }

    fn zone_of(&self, one: &NodeName) -> Option<String> {
        self.view().node(one).and_then(|node| node.zone.clone())
    }
}

#[test]
fn a_new_cluster_is_balanced_at_once() {
    let mut stage = Stage::set(64, &[("a", None), ("b", None), ("c", None)], Settings::default());
    let busy = stage.settle();
    assert!(busy <= 6, "shards are given out when the nodes had their time to come, not at {busy} s");
    assert_eq!(stage.view().map.len(), 64);
    stage.assert_balanced();
    stage.assert_replicas(2);
    assert_eq!(stage.copies, 0, "nothing was copied");
}

#[test]
fn a_node_that_joins_gets_its_share_with_about_as_many_copies_as_it_takes() {
    let mut stage = Stage::settled(64, &[("a", None), ("b", None), ("c", None)]);
    stage.join("d", None);
    stage.settle();
    stage.assert_balanced();
    stage.assert_replicas(2);
    let least = 64 * 2 / 4;
    assert!(stage.copies <= least + 2, "{} copies where {least} are needed", stage.copies);
}

#[test]
fn a_dead_node_is_replaced_after_the_grace_and_not_before() {
    let mut stage = Stage::settled(30, &[("a", None), ("b", None), ("c", None)]);
    stage.die("c");
    for _ in 0..290 {
        stage.step();
    }
    assert_eq!(stage.copies, 0, "a restart costs no copies");
    stage.settle();
    stage.assert_balanced();
    stage.assert_replicas(2);
    let c = name("c");
    assert!(stage.view().map.values().all(|stored| !stored.value.has(&c)));
    assert_eq!(stage.copies, 20, "the replicas that c had");
}

#[test]
fn standbys_are_in_other_zones() {
    let zones = [("a", Some("x")), ("b", Some("x")), ("c", Some("y")), ("d", Some("y"))];
    let mut stage = Stage::settled(32, &zones);
    let assert_apart = |stage: &Stage| {
        for stored in stage.view().map.values() {
            let zones: BTreeSet<_> = stored.value.replicas.iter().map(|one| stage.zone_of(one)).collect();
            assert_eq!(zones.len(), 2, "{:?}", stored.value);
        }
    };
    assert_apart(&stage);
    stage.assert_balanced();
    stage.join("e", Some("y"));
    stage.settle();
    assert_apart(&stage);
    assert!(stage.spread(|count| count.0) <= 1, "{:?}", stage.counts());
}

#[test]
fn a_second_zone_that_comes_later_gets_the_standbys() {
    let mut stage = Stage::settled(16, &[("a", Some("x")), ("b", Some("x"))]);
    stage.join("c", Some("y"));
    stage.settle();
    for stored in stage.view().map.values() {
        let zones: BTreeSet<_> = stored.value.replicas.iter().map(|one| stage.zone_of(one)).collect();
        assert_eq!(zones.len(), 2, "{:?}", stored.value);
    }
}

#[test]
fn a_node_that_stops_hands_over_and_stays_a_standby() {
    let mut stage = Stage::settled(32, &[("a", None), ("b", None), ("c", None)]);
    stage.etcd.change_node(&name("b"), |node| node.draining = true);
    for _ in 0..60 {
        stage.step();
    }
    assert_eq!(stage.counts()[&name("b")].0, 0);
    assert_eq!(stage.copies, 0, "a rolling restart copies nothing");
    stage.etcd.change_node(&name("b"), |node| node.draining = false);
    stage.settle();
    stage.assert_balanced();
}

#[test]
fn a_node_that_is_drained_by_an_operator_keeps_nothing() {
    let mut stage = Stage::settled(32, &[("a", None), ("b", None), ("c", None)]);
    stage.ask(Request::Drain { node: name("b") });
    stage.settle();
    assert_eq!(stage.counts()[&name("b")], (0, 0));
    stage.assert_replicas(2);
    stage.assert_balanced();
}

#[test]
fn a_move_that_is_asked_for_is_done_once_and_its_request_removed() {
    let mut stage = Stage::settled(9, &[("a", None), ("b", None), ("c", None)]);
    stage.ask(Request::BalanceOff);
    for shard in 0..9 {
        stage.ask(Request::Move { shard: Shard(shard), to: name("c") });
    }
    stage.settle();
    assert_eq!(stage.counts()[&name("c")].0, 9);
    stage.assert_replicas(2);
    assert_eq!(stage.view().requests.len(), 1, "balance stays off");
    stage.etcd.put(Change::Request("balance-off".to_owned(), None));
    stage.settle();
    stage.assert_balanced();
}

#[test]
fn without_standbys_a_shard_moves_and_a_dead_owner_is_replaced() {
    let settings = Settings { standbys: 0, ..Settings::default() };
    let mut stage = Stage::set(12, &[("a", None), ("b", None)], settings);
    stage.settle();
    stage.join("c", None);
    stage.settle();
    stage.assert_balanced();
    stage.assert_replicas(1);
    stage.die("a");
    stage.settle();
    stage.assert_balanced();
    stage.assert_replicas(1);
}

#[test]
fn of_equal_nodes_the_one_with_less_load_is_chosen() {
    let mut stage = Stage::set(1, &[("a", None), ("b", None), ("c", None)], Settings::default());
    for (busy, load) in [("a", 0.9), ("b", 0.1), ("c", 0.5)] {
        stage.etcd.change_node(&name(busy), |node| node.load = load);
    }
    stage.settle();
    assert_eq!(stage.view().entry(Shard(0)).expect("an entry").replicas, ["b", "c"].map(name));
}

#[test]
fn a_node_that_never_catches_up_holds_up_no_other() {
    let settings = Settings { moves_max: 1, ..Settings::default() };
    let mut stage = Stage::set(12, &[("a", None), ("b", None)], settings);
    stage.settle();
    stage.join("c", None);
    stage.stuck = Some(name("c"));
    (0..100).for_each(|_| _ = stage.step());
    assert_eq!(stage.copies, 1, "the pace is kept while it is waited for");
    stage.join("d", None);
    (0..1_000).for_each(|_| _ = stage.step());
    let counts = stage.counts();
    assert_eq!(counts[&name("c")], (0, 0), "{counts:?}");
    assert_eq!(counts[&name("d")], (4, 8), "{counts:?}");
}

#[test]
fn the_same_view_gives_the_same_plan() {
    let mut stage = Stage::settled(32, &[("a", None), ("b", None), ("c", None)]);
    stage.join("d", None);
    let mut other = Planner::new(stage.settings);
    other.plan(&stage.etcd.view, stage.now);
    let now = stage.now.after(STEP);
    assert_eq!(other.plan(&stage.etcd.view, now), stage.planner.plan(&stage.etcd.view, now));
}

/// Something that happens to a cluster.
#[derive(Clone, Debug)]
enum Event {
    Join(usize),
    Die(usize),
    Drain(usize),
    StayOn(usize),
    Move(u32, usize),
    Wait(u32),
    Elect,
}

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0..NAMES.len()).prop_map(Event::Join),
        2 => (0..NAMES.len()).prop_map(Event::Die),
        1 => (0..NAMES.len()).prop_map(Event::Drain),
        1 => (0..NAMES.len()).prop_map(Event::StayOn),
        1 => (0..12_u32, 0..NAMES.len()).prop_map(|(shard, to)| Event::Move(shard, to)),
        3 => (1..400_u32).prop_map(Event::Wait),
        1 => Just(Event::Elect),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_happens_the_map_is_whole_and_finds_its_balance(
        events in prop::collection::vec(event(), 1..30),
        zones in prop::collection::vec(prop::option::of(0..3_usize), NAMES.len()),
        standbys in 0..3_usize,
        shards in 1..24_u32,
    ) {
        let settings = Settings { standbys, ..Settings::default() };
        let mut stage = Stage::set(shards, &[], settings);
        let zone = |at: usize| zones[at].map(|zone| ["x", "y", "z"][zone]);
        let has_zones = zones.iter().any(Option::is_some);
        stage.join("a", zone(0));
        for event in events {
            match event {
                Event::Join(at) if stage.view().node(&name(NAMES[at])).is_none() => stage.join(NAMES[at], zone(at)),
                Event::Die(at) if stage.view().nodes.len() > 1 && stage.view().node(&name(NAMES[at])).is_some() => {
                    stage.die(NAMES[at]);
                }
                Event::Drain(at) => stage.ask(Request::Drain { node: name(NAMES[at]) }),
                Event::StayOn(at) => {
                    stage.etcd.put(Change::Request(format!("drain/{}", NAMES[at]), None));
                }
                Event::Move(shard, to) if shard < shards => {
                    stage.ask(Request::Move { shard: Shard(shard), to: name(NAMES[to]) });
                }
                Event::Wait(steps) => (0..steps).for_each(|_| _ = stage.step()),
                Event::Elect => stage.planner = Planner::new(settings),
                _ => {}
            }
        }
        let asked: Vec<String> = stage.view().requests.keys().cloned().collect();
        for key in asked {
            stage.etcd.put(Change::Request(key, None));
        }
        stage.settle();
        prop_assert_eq!(stage.view().map.len(), shards as usize);
        let wanted = (standbys + 1).min(stage.view().nodes.len());
        stage.assert_replicas(wanted);
        for shard in stage.view().map.keys() {
            prop_assert!(FirstInStep::owner(stage.view(), *shard).is_some());
        }
        if has_zones {
            let all: BTreeSet<_> = stage.view().nodes.keys().map(|one| stage.zone_of(one)).collect();
            for stored in stage.view().map.values() {
                let has: BTreeSet<_> = stored.value.replicas.iter().map(|one| stage.zone_of(one)).collect();
                prop_assert_eq!(has.len(), all.len().min(wanted));
            }
        } else {
            stage.assert_balanced();
        }
    }
}
