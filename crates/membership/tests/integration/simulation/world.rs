//! The world: etcd, the logs, nodes, and everything that happens to them in a seed's order.
//! It judges each read, each write of the map, and the end.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use stadium_membership::{
    Action, BootTime, Change, FirstInStep, Incarnation, LEASE, NodeName, Order, Planner, Request, Rule, Seat,
    Shard, View,
};

use super::Sabotage;
use super::node::{Answer, Message, Node, SETTINGS, Task};
use crate::etcd::{Etcd, name, node};

/// How often a node sends a keep-alive.
const BEAT: Duration = Duration::from_millis(500);

/// The log of a shard.
#[derive(Clone, Copy, Default)]
struct Log {
    epoch: u64,
    /// Acknowledged writes.
    value: u64,
}

pub struct World<R> {
    random: Rng,
    sabotage: Sabotage,
    now: BootTime,
    etcd: Etcd,
    /// When each lease was last kept, in etcd's time.
    leases: BTreeMap<Incarnation, (usize, BootTime)>,
    logs: Vec<Log>,
    nodes: Vec<Node<R>>,
    incarnations: u64,
    /// Faults happen.
    rough: bool,
    steps: u32,
    /// Of a thousand steps, so many stop a node, and so on.
    stops: u32,
    kills: u32,
    cuts: u32,
    requests: u32,
}

impl<R: Rule> World<R> {
    pub fn new(seed: u64, sabotage: Sabotage) -> Self {
        let mut random = Rng::with_seed(seed);
        let shards = random.u32(1..5);
        let count = random.usize(2..5);
        let mut one_of = |choices: &[u32]| choices[random.usize(..choices.len())];
        let (steps, stops, kills) = (one_of(&[1_000, 3_000]), one_of(&[0, 3, 10]), one_of(&[0, 2, 6]));
        let (cuts, requests) = (one_of(&[0, 3, 10]), one_of(&[0, 3]));
        Self {
            sabotage,
            now: BootTime(Duration::from_secs(10)),
            etcd: Etcd::with_shards(shards),
            leases: BTreeMap::new(),
            logs: vec![Log::default(); shards as usize],
            nodes: (0..count).map(|at| Node::new(name(["a", "b", "c", "d"][at]))).collect(),
            incarnations: 0,
            rough: true,
            steps,
            stops,
            kills,
            cuts,
            requests,
            random,
        }
    }

    pub fn run(mut self) -> Result<(), String> {
        for _ in 0..self.steps {
            self.faults();
            self.step()?;
        }
        // All is well from here on.
        self.rough = false;
        let now = self.now;
        for node in &mut self.nodes {
            node.stopped_until = now;
            node.cut_until = now;
            if !node.runs {
                *node = Node::new(node.name.clone());
            }
        }
        let asked: Vec<String> = self.etcd.view.requests.keys().cloned().collect();
        asked.into_iter().for_each(|key| self.etcd.put(Change::Request(key, None)));
        let end = now.after(Duration::from_secs(60));
        while self.now < end {
            self.step()?;
        }
        self.judge_end()
    }

    fn chance(&mut self, of_a_thousand: u32) -> bool {
        self.random.u32(..1_000) < of_a_thousand
    }

    fn faults(&mut self) {
        let at = self.random.usize(..self.nodes.len());
        let until = self.now.after(Duration::from_millis(self.random.u64(100..6_000)));
        if self.chance(self.stops) {
            self.nodes[at].stopped_until = until;
        }
        if self.chance(self.cuts) {
            self.nodes[at].cut_until = until;
        }
        if self.chance(self.kills) {
            self.nodes[at].runs = false;
        }
        if self.chance(self.kills * 5) && !self.nodes[at].runs {
            self.nodes[at] = Node::new(self.nodes[at].name.clone());
        }
        if self.chance(self.requests) {
            let shard = Shard(self.random.u32(..self.logs.len() as u32));
            let request = Request::Move { shard, to: self.nodes[at].name.clone() };
            self.etcd.put(Change::Request(request.key(), Some(request)));
        }
    }

    /// Time passes, then each node does some of what it has to do.
    fn step(&mut self) -> Result<(), String> {
        self.now = self.now.after(Duration::from_millis(self.random.u64(1..60)));
        self.end_leases();
        for at in 0..self.nodes.len() {
            let turns = match self.rough {
                true => self.random.usize(..4),
                false => 3,
            };
            for _ in 0..turns {
                self.deliver(at)?;
                if self.nodes[at].is_awake(self.now) {
                    self.act(at)?;
                }
            }
            self.use_shards(at)?;
        }
        Ok(())
    }

    /// etcd ends a lease two to two and a half seconds after it was last kept.
    fn end_leases(&mut self) {
        let late = LEASE + Duration::from_millis(self.random.u64(..500));
        let ended: Vec<_> = self
            .leases
            .iter()
            .filter(|(_, (_, kept))| self.now.since(*kept) >= late)
            .map(|(one, _)| *one)
            .collect();
        for incarnation in ended {
            self.end_lease(incarnation);
        }
    }

    fn end_lease(&mut self, incarnation: Incarnation) {
        let Some((at, _)) = self.leases.remove(&incarnation) else { return };
        let name = self.nodes[at].name.clone();
        if self.etcd.view.node(&name).is_some_and(|node| node.incarnation == incarnation) {
            self.etcd.expire(&name);
        }
    }

    /// The oldest message of a node arrives at etcd, and events and answers at the node.
    fn deliver(&mut self, at: usize) -> Result<(), String> {
        if self.now < self.nodes[at].cut_until {
            return Ok(());
        }
        if let Some(message) = self.nodes[at].to_etcd.pop_front() {
            self.arrive(at, message)?;
        }
        let node = &mut self.nodes[at];
        if !node.runs {
            return Ok(());
        }
        if !self.rough || self.random.u32(..3) > 0 {
            let left = self.etcd.history.len() - node.seen;
            let some = if self.rough { self.random.usize(..=left.min(6)) } else { left };
            for (revision, change) in &self.etcd.history[node.seen..node.seen + some] {
                node.view.apply(*revision, change.clone());
            }
            node.seen += some;
        }
        Ok(())
    }

    fn arrive(&mut self, at: usize, message: Message) -> Result<(), String> {
        let me = self.nodes[at].name.clone();
        match message {
            Message::Register { incarnation, sent } => {
                // The registration waits until a former key of this name has gone.
                if self.etcd.view.node(&me).is_some() {
                    if incarnation == self.nodes[at].incarnation {
                        self.nodes[at].to_etcd.push_front(Message::Register { incarnation, sent });
                    }
                    return Ok(());
                }
                self.leases.insert(incarnation, (at, self.now));
                let mut key = node(incarnation.0, None);
                key.has_data = self.nodes[at].shards.keys().copied().collect();
                self.etcd.put(Change::Node(me, Some(Box::new(key))));
                self.nodes[at].from_etcd.push_back(Answer::Confirmed { incarnation, sent });
            }
            Message::KeepAlive { incarnation, sent } => {
                let answer = match self.leases.get_mut(&incarnation) {
                    Some((_, kept)) => {
                        *kept = self.now;
                        Answer::Confirmed { incarnation, sent }
                    }
                    None => Answer::Gone { incarnation },
                };
                self.nodes[at].from_etcd.push_back(answer);
            }
            Message::Announce { incarnation, in_step } if self.leases.contains_key(&incarnation) => {
                self.etcd.change_node(&me, |node| node.in_step = in_step);
            }
            Message::Campaign { incarnation }
                if self.leases.contains_key(&incarnation) && self.etcd.view.planner.is_none() =>
            {
                self.etcd.put(Change::Planner(Some(Seat { node: me, incarnation })));
            }
            Message::Write { incarnation, write, by_planner } => {
                let blind = by_planner && self.sabotage == Sabotage::NoCompareAndSwap;
                if self.leases.contains_key(&incarnation) && (blind || self.etcd.allows(&write)) {
                    self.judge_write(&write.action)?;
                    self.etcd.carry_out(&write.action);
                }
            }
            Message::Announce { .. } | Message::Campaign { .. } => {}
        }
        Ok(())
    }

    /// One turn of a node that is awake.
    fn act(&mut self, at: usize) -> Result<(), String> {
        let now = self.now;
        self.take_answers(at);
        let node = &mut self.nodes[at];
        if node.incarnation == Incarnation(0) {
            self.incarnations += 1;
            node.register(Incarnation(self.incarnations), now);
            return Ok(());
        }
        if !node.registered {
            return Ok(());
        }
        if now.since(node.sent_keep_alive) >= BEAT {
            node.sent_keep_alive = now;
            node.to_etcd.push_back(Message::KeepAlive { incarnation: node.incarnation, sent: now });
        }
        let certain = node.lease.is_certain(now);
        let orders = node.succession.turn(&node.view, certain, now);
        for order in orders {
            match order {
                Order::Follow(shard) => {
                    let log = self.logs[shard.0 as usize];
                    node.shards.insert(shard, (0, log.value));
                    node.hasty.retain(|one| *one != shard);
                }
                Order::Claim(shard, _) if is_passed_over(&node.view, &node.name, shard) => {
                    return Err(format!("{} claims shard {shard} out of step, over one in step", node.name));
                }
                Order::Claim(shard, generation) => node.tasks.push_back(Task::Fence(shard, generation)),
                Order::Serve(shard) => node.hasty.retain(|one| *one != shard),
                Order::HandOver(shard, _) => node.tasks.push_back(Task::Farewell(shard)),
                Order::Stop(shard) => _ = node.shards.remove(&shard),
                Order::Write(write) => node.to_etcd.push_back(Message::Write {
                    incarnation: node.incarnation,
                    write,
                    by_planner: false,
                }),
            }
        }
        if node.succession.announced() != node.announced {
            node.announced = node.succession.announced();
            let in_step = node.announced;
            node.to_etcd.push_back(Message::Announce { incarnation: node.incarnation, in_step });
        }
        if let Some(task) = node.tasks.pop_front() {
            self.work(at, task);
        }
        // A follower is as far as its log.
        if let Some(shard) = self.random.choice(self.nodes[at].shards.keys().copied().collect::<Vec<_>>()) {
            self.nodes[at].succession.caught_up(shard);
        }
        self.plan(at);
        Ok(())
    }

    fn take_answers(&mut self, at: usize) {
        let now = self.now;
        let is_late = self.rough && self.random.u32(..4) == 0;
        if is_late || now < self.nodes[at].cut_until {
            return;
        }
        while let Some(answer) = self.nodes[at].from_etcd.pop_front() {
            let node = &mut self.nodes[at];
            match answer {
                Answer::Confirmed { incarnation, sent } if incarnation == node.incarnation => {
                    node.registered = true;
                    let from_answer = self.sabotage == Sabotage::LeaseFromAnswer;
                    node.lease.confirm(if from_answer { now } else { sent });
                }
                Answer::Gone { incarnation } if incarnation == node.incarnation => {
                    self.incarnations += 1;
                    node.register(Incarnation(self.incarnations), now);
                }
                _ => {}
            }
        }
    }

    fn work(&mut self, at: usize, task: Task) {
        let now = self.now;
        let node = &mut self.nodes[at];
        match task {
            Task::Fence(shard, generation) => {
                let log = &mut self.logs[shard.0 as usize];
                log.epoch += 1;
                node.shards.insert(shard, (log.epoch, log.value));
                node.tasks.push_back(Task::Claimed(shard, generation));
            }
            Task::Claimed(shard, generation) => {
                let epoch = self.logs[shard.0 as usize].epoch;
                match node.shards.get(&shard).is_some_and(|(claimed, _)| *claimed == epoch) {
                    true => node.succession.claimed(shard, generation),
                    false => node.succession.fenced(shard, now),
                }
                if self.sabotage == Sabotage::ServesBeforeRecord {
                    node.hasty.push(shard);
                }
            }
            Task::Farewell(shard) => node.succession.handed_over(shard),
        }
    }

    fn plan(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        let incarnation = node.incarnation;
        if node.view.planner.is_none() {
            if self.random.u32(..10) == 0 {
                node.to_etcd.push_back(Message::Campaign { incarnation });
            }
            return;
        }
        let is_mine = node.view.planner.as_ref().is_some_and(|seat| seat.incarnation == incarnation);
        if !is_mine || self.random.u32(..10) > 0 {
            return;
        }
        let planner = node.planner.get_or_insert_with(|| Planner::new(SETTINGS));
        for write in planner.plan(&node.view, self.now) {
            node.to_etcd.push_back(Message::Write { incarnation, write, by_planner: true });
        }
    }

    /// Clients write and read at a node that serves.
    fn use_shards(&mut self, at: usize) -> Result<(), String> {
        let now = self.now;
        let writes = self.random.bool();
        let node = &mut self.nodes[at];
        if !node.is_awake(now) {
            return Ok(());
        }
        let served: Vec<Shard> = node.succession.serves().chain(node.hasty.iter().copied()).collect();
        for shard in served {
            let log = &mut self.logs[shard.0 as usize];
            let Some((epoch, value)) = node.shards.get_mut(&shard) else { continue };
            let certain = node.lease.is_certain(now);
            if certain && node.succession.reads_under_lease(shard) && *value != log.value {
                let what = format!("{} reads {value} of shard {shard} under its lease", node.name);
                return Err(format!("{what}, and {} was acknowledged", log.value));
            }
            if !writes {
                continue;
            }
            // The log takes only the newest claim; an older one finds that out by its offsets.
            if *epoch == log.epoch {
                log.value += 1;
                *value = log.value;
            } else {
                node.succession.fenced(shard, now);
            }
        }
        Ok(())
    }

    /// No write of the map takes the last replica in step away, or makes an owner of one that is not.
    fn judge_write(&self, action: &Action) -> Result<(), String> {
        let Action::Entry(shard, after) = action else { return Ok(()) };
        after.check().map_err(|why| why.to_string())?;
        let view = &self.etcd.view;
        let Some(before) = view.entry(*shard) else { return Ok(()) };
        let is_in_step = |names: &[_]| names.iter().any(|one| view.is_in_step(one, *shard));
        if is_in_step(&before.replicas) && !is_in_step(&after.replicas) {
            return Err(format!(
                "the last replica in step of shard {shard} is removed: {before:?} {after:?}"
            ));
        }
        if after.generation != before.generation + 1 {
            return Err(format!("a change of shard {shard} is lost: {before:?} {after:?}"));
        }
        Ok(())
    }

    /// Each shard has one owner that serves, is recorded, and has a standby in step.
    fn judge_end(&self) -> Result<(), String> {
        let view = &self.etcd.view;
        for number in 0..self.logs.len() as u32 {
            let shard = Shard(number);
            let Some(entry) = view.entry(shard) else { return Err(format!("shard {shard} has no entry")) };
            let servers: Vec<_> =
                self.nodes.iter().filter(|node| node.succession.serves().any(|one| one == shard)).collect();
            let [server] = &servers[..] else {
                let names: Vec<_> = servers.iter().map(|node| &node.name).collect();
                return Err(format!("shard {shard} is served by {names:?}: {entry:?}"));
            };
            let is_owner = FirstInStep::owner(view, shard) == Some(&server.name);
            if !is_owner || !server.succession.reads_under_lease(shard) {
                return Err(format!("{} serves shard {shard} and is not recorded: {entry:?}", server.name));
            }
            let wanted = (SETTINGS.standbys + 1).min(self.nodes.len());
            let in_step = entry.replicas.iter().filter(|one| view.is_in_step(one, shard)).count();
            if entry.replicas.len() != wanted || in_step != wanted || entry.successor.is_some() {
                return Err(format!("shard {shard} has {in_step} replicas in step: {entry:?}"));
            }
        }
        Ok(())
    }
}

/// Whether a replica is in step and the node is not.
fn is_passed_over(view: &View, me: &NodeName, shard: Shard) -> bool {
    let mut replicas = view.entry(shard).into_iter().flat_map(|entry| &entry.replicas);
    !view.is_in_step(me, shard) && replicas.any(|one| view.is_in_step(one, shard))
}
