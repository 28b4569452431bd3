//! The demo of a cluster from start to end: start, connect, push, vote, kill, push, compare.
//!
//! Each step waits for a condition with a deadline and looks for Ctrl-C while it waits. Voters and devices end
//! before the nodes, the nodes before Kafka and etcd, whichever step fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stadium_cluster_admin::ShardReport;

use super::asking::{insist, look};
use super::books;
use super::node::{Gate, Node};
use super::parts::{Parts, services, until};
use super::summary::{Kill, Push, Summary, Taken, Votes, ms, style};
use super::voters::{Ballots, Voters};
use crate::api::{Api, Method};
use crate::command::demo::Arguments;
use crate::command::demo::fleet::{Fleet, ID_PREFIX};
use crate::command::demo::scenario::fleet_size;
use crate::failure::Failure;
use crate::interrupted::Interrupted;
use crate::terminal::{Style, Terminal, count, short};

/// Devices unless asked for another number.
const DEVICES: u32 = 3_000;

/// Voters at each node.
const VOTERS_PER_NODE: usize = 8;

/// How long the voters vote before the kill, and after the others have taken over.
const VOTES_FOR: Duration = Duration::from_secs(3);

/// Open files of a node that are not devices.
const FILES_RESERVED: u64 = 512;

/// Devices that are registered by one request: the most that it may have.
const REGISTERED_AT_ONCE: u32 = 1_000;

/// The app of the pushes.
const APP: &str = "/api/apps/default";

/// Runs it, and keeps the first failure until everything is stopped.
pub(in crate::command::demo) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let services = services()?;
    let devices = fleet_size(arguments.devices, DEVICES, files_of_a_node().saturating_sub(FILES_RESERVED))?;
    let interrupted = Interrupted::listen()?;
    let note = |text: String| {
        if !terminal.is_json() {
            terminal.note(text);
        }
    };
    note(format!(
        "\n  {}  {}",
        terminal.err(Style::Strong, "STADIUM"),
        terminal.err(
            Style::Faint,
            format_args!("a cluster of {} nodes on loopback, nothing is kept", arguments.nodes)
        )
    ));
    note(format!("\n  etcd         {}", terminal.err(Style::Name, services.etcd.display())));
    note(format!("  Kafka        {}\n", terminal.err(Style::Name, services.kafka.version())));
    let began = Instant::now();
    let performed = Parts::start(&services, arguments.nodes, arguments.loops, terminal, &interrupted)
        .and_then(|parts| {
            let summary = Summary {
                nodes: arguments.nodes,
                shards: parts.shard_count,
                devices,
                start_s: began.elapsed().as_secs_f64(),
                ..Summary::default()
            };
            let acts =
                Acts { terminal, interrupted: &interrupted, message: &arguments.message, parts, summary };
            acts.perform(arguments.pushes)
        });
    if interrupted.is_set() {
        // A failure after Ctrl-C is not a failure of the demo.
        return Ok(());
    }
    let summary = performed?;
    if terminal.is_json() {
        terminal.json(&summary)?;
    } else {
        summary.show(terminal);
    }
    match (summary.holds(), terminal.is_json()) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::Shown),
        (false, false) => Err(Failure::new("what was acknowledged is not what is there; this is a bug")),
    }
}

/// Open files that a server may have: it raises its limit itself.
fn files_of_a_node() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.maximum.unwrap_or(u64::MAX)
}

/// The means of every act.
struct Acts<'a> {
    terminal: &'a Terminal,
    interrupted: &'a Interrupted,
    message: &'a str,
    parts: Parts,
    summary: Summary,
}

impl Acts<'_> {
    fn perform(mut self, pushes: u32) -> Result<Summary, Failure> {
        self.introduce()?;
        let fleet = self.connect()?;
        for number in 0..pushes {
            let through = number as usize % self.parts.nodes.len();
            let push = self.hand_over(through)?;
            self.follow(push, false)?;
        }
        let ballots = self.vote_and_kill(&fleet)?;
        for through in 0..self.parts.nodes.len() {
            if self.parts.nodes[through].lives() {
                let push = self.hand_over(through)?;
                self.follow(push, false)?;
            }
        }
        self.compare(&ballots)?;
        fleet.leave()?;
        Ok(self.summary)
    }

    fn line(&self, style: Style, label: &str, text: impl std::fmt::Display) {
        if !self.terminal.is_json() {
            let label = self.terminal.err(style, format_args!("{label:<11}")).to_string();
            self.terminal.note(format_args!("  {label}  {text}"));
        }
    }

    fn strong(&self, text: impl std::fmt::Display) -> String {
        self.terminal.err(Style::Strong, text).to_string()
    }

    fn introduce(&mut self) -> Result<(), Failure> {
        let shards = self.parts.shards()?;
        let owned = |node: &Node| shards.iter().filter(|shard| node.owns(shard)).count();
        let (least, most) = self
            .parts
            .nodes
            .iter()
            .map(owned)
            .fold((usize::MAX, 0), |(least, most), own| (least.min(own), most.max(own)));
        let each = if least == most { most.to_string() } else { format!("{least} to {most}") };
        let took = self.strong(short(self.summary.start_s));
        self.line(
            Style::Good,
            "started",
            format_args!("etcd, Kafka and {} nodes in {took}", self.summary.nodes),
        );
        self.line(
            Style::Good,
            "shards",
            format_args!("{} with a standby each, {each} on each node", shards.len()),
        );
        Ok(())
    }

    /// Registers the devices and waits until all are connected.
    fn connect(&mut self) -> Result<Fleet, Failure> {
        let devices = self.summary.devices;
        for (nth, first) in (1..=devices).step_by(REGISTERED_AT_ONCE as usize).enumerate() {
            let last = devices.min(first.saturating_add(REGISTERED_AT_ONCE - 1));
            let some: Vec<Value> =
                (first..=last).map(|number| json!({ "device": format!("{ID_PREFIX}{number}") })).collect();
            let api = &self.parts.nodes[nth % self.parts.nodes.len()].api;
            let body = json!({ "devices": some });
            let path = format!("{APP}/devices");
            books::each(&insist(self.interrupted, api, Method::Post, &path, Some(&body))?)?;
        }
        let bar = self.terminal.progress(u64::from(devices), "connecting");
        let began = Instant::now();
        let servers: Vec<_> = self.parts.nodes.iter().map(|node| node.mqtt).collect();
        let fleet = Fleet::start(&servers, devices, None)?;
        until(self.interrupted, "not every device is connected", || {
            self.check(&fleet)?;
            let up = fleet.progress().now.up;
            bar.set_position(up.into());
            Ok((up >= devices).then_some(()))
        })?;
        bar.finish_and_clear();
        self.summary.connect_s = began.elapsed().as_secs_f64();
        let took = self.strong(short(self.summary.connect_s));
        self.line(
            Style::Good,
            "connected",
            format_args!("{} devices in {took}, spread over the nodes", count(devices.into())),
        );
        Ok(fleet)
    }

    /// Fails if a node or the devices ended by themselves.
    fn check(&self, fleet: &Fleet) -> Result<(), Failure> {
        self.parts.check()?;
        if fleet.has_ended() {
            return Err(Failure::new("the devices left by themselves"));
        }
        Ok(())
    }

    /// Hands the next push to all registered devices over.
    fn hand_over(&self, through: usize) -> Result<HandedOver, Failure> {
        let number = self.summary.pushes.len() + 1;
        hand_over(&self.parts.nodes[through].gate(), self.message, number, self.interrupted)
    }

    /// Waits until all devices have acknowledged a push, as another node than its own tells.
    fn follow(&mut self, push: HandedOver, during_takeover: bool) -> Result<(), Failure> {
        let devices = self.summary.devices;
        let bar = self.terminal.progress(devices.into(), "lighting up");
        let path = format!("{APP}/pushes/{}", push.id);
        let other = self.parts.living().find(|node| node.name != push.through);
        let asked = Arc::clone(&other.unwrap_or(&self.parts.nodes[0]).api);
        let mut delivered = 0;
        let reached = until(self.interrupted, "a push has not reached every device", || {
            self.parts.check()?;
            if let Some(report) = look(&asked, &path)? {
                delivered = report["counts"]["delivered"].as_u64().unwrap_or_default();
            }
            bar.set_position(delivered);
            Ok((delivered >= devices.into()).then_some(()))
        });
        bar.finish_and_clear();
        reached.map_err(|failure| {
            Failure::new(format!(
                "push {}: {} of {} devices: {failure}",
                push.id,
                count(delivered),
                count(devices.into())
            ))
        })?;
        let push = Push {
            through: push.through,
            delivered,
            took_ms: push.at.elapsed().as_secs_f64() * 1e3,
            during_takeover,
        };
        self.line(Style::Good, "lit up", push.line(devices));
        self.summary.pushes.push(push);
        Ok(())
    }

    /// The votes, and in their middle the death of a node.
    fn vote_and_kill(&mut self, fleet: &Fleet) -> Result<Vec<Ballots>, Failure> {
        let number = VOTERS_PER_NODE * self.parts.nodes.len();
        books::open(self.interrupted, &self.parts.nodes[0].api, number)?;
        let apis: Vec<Arc<Api>> = self.parts.nodes.iter().map(|node| Arc::clone(&node.api)).collect();
        let began = Instant::now();
        let voters = Voters::start(&apis, number)?;
        self.votes_for(VOTES_FOR, &voters, fleet)?;
        let before = voters.acknowledged();
        self.summary.votes.voters = number;
        self.summary.votes.per_second = before as f64 / began.elapsed().as_secs_f64();
        self.line(
            Style::Good,
            "voting",
            format_args!(
                "{number} voters through {} nodes, {} votes a second",
                apis.len(),
                self.strong(count(self.summary.votes.per_second as u64))
            ),
        );
        self.kill(&voters, fleet)?;
        self.votes_for(VOTES_FOR, &voters, fleet)?;
        let ballots = voters.finish()?;
        let mut took: Vec<Duration> =
            ballots.iter().flat_map(|own| own.votes.iter().map(|vote| vote.took)).collect();
        took.sort_unstable();
        let at = |share: f64| {
            let place = (took.len() as f64 * share) as usize;
            took.get(place.min(took.len().saturating_sub(1))).map_or(0.0, |took| took.as_secs_f64() * 1e3)
        };
        self.summary.votes = Votes {
            took_s: began.elapsed().as_secs_f64(),
            p50_ms: at(0.5),
            p99_ms: at(0.99),
            longest_ms: at(1.0),
            asked_again: ballots.iter().map(|own| own.asked_again).sum(),
            ..std::mem::take(&mut self.summary.votes)
        };
        let votes = &self.summary.votes;
        self.line(
            Style::Good,
            "voted",
            format_args!(
                "{} votes in {}, the longest wait {}",
                count(took.len() as u64),
                short(votes.took_s),
                self.strong(ms(votes.longest_ms))
            ),
        );
        Ok(ballots)
    }

    fn votes_for(&self, time: Duration, voters: &Voters, fleet: &Fleet) -> Result<(), Failure> {
        let bar = self.terminal.progress(time.as_millis() as u64, "voting");
        let began = Instant::now();
        let done = until(self.interrupted, "the vote is not over", || {
            self.check(fleet)?;
            bar.set_position(began.elapsed().as_millis() as u64);
            bar.set_message(format!("ms; {} votes", count(voters.acknowledged())));
            // A voter that gave up tells why when all are asked.
            Ok((began.elapsed() >= time || voters.has_ended()).then_some(()))
        });
        bar.finish_and_clear();
        done
    }

    /// Kills the node in the middle, and waits until its shards have owners and its devices are elsewhere.
    fn kill(&mut self, voters: &Voters, fleet: &Fleet) -> Result<(), Failure> {
        let place = self.parts.nodes.len() / 2;
        let before = self.parts.shards()?;
        let name = self.parts.nodes[place].name.clone();
        let lost: Vec<_> = before.iter().filter(|shard| self.parts.nodes[place].owns(shard)).collect();
        let ups = fleet.progress().sums.subscribed;
        let (nodes, all) = (self.parts.nodes.len() as u32, self.summary.devices);
        let devices = all / nodes + u32::from((place as u32) < all % nodes);
        self.parts.nodes[place].kill();
        let at = Instant::now();
        self.line(
            Style::Bad,
            "killed",
            format_args!("{name} with SIGKILL, owner of {} of {} shards", lost.len(), before.len()),
        );
        let (through, number) = ((place + 1) % self.parts.nodes.len(), self.summary.pushes.len() + 1);
        let (recovered, push) = std::thread::scope(|scope| {
            let (node, message, interrupted) =
                (self.parts.nodes[through].gate(), self.message, self.interrupted);
            // It waits for shards without an owner, and is kept for devices that are nowhere now.
            let push = scope.spawn(move || hand_over(&node, message, number, interrupted));
            let recovered = self.recovered(Lost { at, ups, devices }, voters, fleet);
            (recovered, push.join())
        });
        let Recovered { shards: after, taken_over_s, devices_back_s } = recovered?;
        let push = push.unwrap_or_else(|_| Err(Failure::new("the push panicked; this is a bug")))?;
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        for shard in &lost {
            let now = after.iter().find(|now| now.shard == shard.shard);
            let owner = now.and_then(|now| now.owner.as_ref()).map(ToString::to_string).unwrap_or_default();
            *taken.entry(owner).or_default() += 1;
        }
        self.summary.kill = Kill {
            node: name,
            shards: lost.len(),
            taken_over_s,
            taken_by: taken.into_iter().map(|(node, shards)| Taken { node, shards }).collect(),
            devices,
            devices_back_s,
        };
        let kill = &self.summary.kill;
        let after = self.strong(short(taken_over_s));
        self.line(Style::Good, "taken over", format_args!("after {after}: {}", kill.takers()));
        let (devices, took) = (count(devices.into()), self.strong(short(devices_back_s)));
        let text = format!("its {devices} devices to the other nodes after {took}");
        self.line(Style::Good, "connected", text);
        self.follow(push, true)
    }

    /// Waits until each shard has an owner among the nodes that live, and all devices are connected to them.
    fn recovered(&mut self, lost: Lost, voters: &Voters, fleet: &Fleet) -> Result<Recovered, Failure> {
        let (mut taken, mut back) = (None, None);
        until(self.interrupted, "shards have no owner, or devices are not connected again", || {
            self.check(fleet)?;
            let after = || lost.at.elapsed().as_secs_f64();
            if taken.is_none() {
                let now = self.parts.shards()?;
                let is_owned = |shard| self.parts.living().any(|node| node.owns(shard));
                // A voter that gave up tells why when all are asked.
                taken = (now.iter().all(is_owned) || voters.has_ended()).then(|| (now, after()));
            }
            if back.is_none() {
                let progress = fleet.progress();
                let came_back = progress.sums.subscribed.saturating_sub(lost.ups);
                let is_back = came_back >= lost.devices.into() && progress.now.up >= self.summary.devices;
                back = is_back.then(after);
            }
            let devices_back_s = back;
            Ok(devices_back_s.and_then(|devices_back_s| {
                let (shards, taken_over_s) = taken.take()?;
                Some(Recovered { shards, taken_over_s, devices_back_s })
            }))
        })
    }

    /// Compares what voters were told with what the wallets have.
    fn compare(&mut self, ballots: &[Ballots]) -> Result<(), Failure> {
        let living: Vec<Arc<Api>> = self.parts.living().map(|node| Arc::clone(&node.api)).collect();
        let apis: Vec<&Api> = living.iter().map(|api| &**api).collect();
        let found = books::compare(ballots, &apis, self.interrupted)?;
        let each = |one: &books::Candidate| format!("{} {}", one.name, count(one.votes));
        let result: Vec<String> = found.candidates.iter().map(each).collect();
        self.line(Style::Good, "result", self.strong(result.join(", ")));
        self.line(
            style(found.balance),
            "books",
            format_args!(
                "{} acknowledged, {} counted: {}",
                count(found.acknowledged),
                count(found.counted),
                self.strong(format_args!("{} lost, {} twice", found.lost, found.twice))
            ),
        );
        self.summary.books = found;
        Ok(())
    }
}

/// A kill, and the devices of the node.
struct Lost {
    /// When it was killed.
    at: Instant,
    /// How often devices were connected before.
    ups: u64,
    /// Its devices.
    devices: u32,
}

/// The recovery from a kill.
struct Recovered {
    /// The shards with their owners.
    shards: Vec<ShardReport>,
    /// From the kill until all had owners.
    taken_over_s: f64,
    /// From the kill until all devices were connected.
    devices_back_s: f64,
}

/// A push that was accepted.
struct HandedOver {
    id: String,
    /// The name of the node.
    through: String,
    at: Instant,
}

/// Hands a push to all registered devices over, which is kept for those that are away.
fn hand_over(
    node: &Gate,
    message: &str,
    number: usize,
    interrupted: &Interrupted,
) -> Result<HandedOver, Failure> {
    let body = json!({"id": format!("{number:032x}"), "audience": "all", "message": message});
    let at = Instant::now();
    let answer = insist(interrupted, &node.api, Method::Post, &format!("{APP}/pushes"), Some(&body))?;
    let id = answer["id"].as_str().unwrap_or_default().to_owned();
    Ok(HandedOver { id, through: node.name.clone(), at })
}
