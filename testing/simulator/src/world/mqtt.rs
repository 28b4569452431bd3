//! MQTT in the simulation: devices act, the edge and the shards work, the checker looks.
//!
//! The brokers are in [`crate::mqtt`]; this is their part of a simulated step.

mod bursts;
mod groups;

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use stadium_mqtt::packet::{QoS, Version};
use stadium_queue::Queues;
use stadium_session::{Answer, Command, Page, Part, Refusal, Sessions};
use stadium_shard::core::Output;

use self::bursts::OfBursts;
use super::breaking::End;
use super::{TURNS_MAX, World};
use crate::asker::Asker;
use crate::ledger::Violation;
use crate::machine::Sabotage;
use crate::mqtt::{
    Admission, Books, Clocks, Device, DevicePlan, Heard, Leaves, Limits, MqttPlan, Node, Outcome, Outgoing,
    Over, RetainedBooks, Timestamp, WillAsked,
};

type Reply = Result<stadium_shard::Answer, Refusal>;

/// A message under way that is retained once it is accepted.
struct KeptLater {
    topic: String,
    /// Its number in the books of retained messages.
    sent: u64,
    /// Topics that may have had a message at most, at any time since it was published.
    most: usize,
    /// Its publisher.
    by: usize,
    /// Topics that may have had a message of its publisher at most, at any time since then.
    own_most: usize,
    /// Other topics that certainly had one at least, at any time since then; none where its own
    /// topic may have had one, which it may replace.
    own_least: Option<usize>,
    /// It was sent again: it may have been retained before it was refused.
    again: bool,
}

/// MQTT in a run.
pub(super) struct Mqtt {
    plan: MqttPlan,
    books: Books,
    retained: RetainedBooks,
    devices: Vec<Device>,
    /// The edge, while its process lives.
    node: Option<Node>,
    limits: Limits,
    random: Rng,
    /// For what concerns groups.
    groups: Rng,
    /// For who is away, and for the ends of bursts.
    absences: Rng,
    /// Draws the times at which sessions are forgotten, and their clients.
    forgets: Rng,
    /// What had passed when the edge began.
    began: u64,
    /// What the clock showed then.
    began_at: u64,
    /// Batches under way.
    batches: BTreeSet<u64>,
    /// Messages under way that are retained.
    keeps: BTreeMap<u64, KeptLater>,
    /// Wills with RETAIN: their topics, and their numbers in the books of these once they may be published.
    retained_wills: BTreeMap<u64, (String, Option<u64>)>,
    /// Whether each device's last CONNECT asked for a clean start.
    clean: Vec<bool>,
    /// A new subscriber to all that is retained, and what it saw.
    probe: Option<(Device, BTreeMap<String, u64>)>,
    messages: u64,
    bursts: u32,
    next_of_bursts: OfBursts,
    /// Something was sent or heard in the last turn.
    is_busy: bool,
}

/// How often devices may come back at the end.
const BACK_TRIES: u32 = 40;

/// Entries of a page, few.
const PAGE_ENTRIES: u32 = 64;

impl Mqtt {
    pub(super) fn new(plan: MqttPlan, seed: u64) -> Mqtt {
        let mut random = Rng::with_seed(seed ^ 0x6d71_7474);
        Mqtt {
            books: Books::new(plan.devices.len(), &plan.groups),
            retained: RetainedBooks::default(),
            devices: plan.devices.iter().cloned().map(Device::new).collect(),
            node: None,
            limits: plan.limits(&mut random),
            clean: vec![false; plan.devices.len()],
            plan,
            random,
            groups: Rng::with_seed(seed ^ 0x6d65_6d62_6572),
            absences: Rng::with_seed(seed ^ 0x6162_7365_6e63_6573),
            forgets: Rng::with_seed(seed ^ 0x666f_7267_6574),
            began: 0,
            began_at: 0,
            batches: BTreeSet::new(),
            keeps: BTreeMap::new(),
            retained_wills: BTreeMap::new(),
            probe: None,
            messages: 0,
            bursts: 0,
            next_of_bursts: OfBursts::Begin,
            is_busy: false,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.is_busy || self.node.as_ref().is_some_and(|node| !node.is_idle())
    }

    pub(super) fn delivered(&self) -> u64 {
        self.books.delivered
    }

    /// Once in so many steps somebody sets the clock right.
    pub(super) fn jump(&self) -> u32 {
        self.plan.jump
    }
}

impl World {
    /// The edge starts: with another number of loops and other bounds each time.
    pub(super) fn open_mqtt(&mut self) -> Result<(), Violation> {
        let Some(mqtt) = &mut self.mqtt else { return Ok(()) };
        let loops = mqtt.random.usize(1..=mqtt.plan.loops_max);
        mqtt.limits = mqtt.plan.limits(&mut mqtt.random);
        mqtt.books.bound(mqtt.limits.messages_max);
        mqtt.retained.edge_starts();
        mqtt.began = self.clock.passed();
        let random = Rng::with_seed(mqtt.random.u64(..));
        mqtt.began_at = self.clock.now().0;
        let mut edge_limits = mqtt.limits.clone();
        if self.sabotage == Sabotage::SessionsKeepMore {
            edge_limits.messages_max *= 2;
        }
        let clocks = Clocks { node_ms: 1, wall_ms: self.clock.now().0 };
        let mut node = Node::new(loops, self.plan.shards, &edge_limits, clocks, self.sabotage, random);
        let limits = mqtt.limits.clone();
        self.trace.line(&self.clock, || format!("an edge of {loops} loops starts, with {limits:?}"));
        for shard in 0..self.plan.shards {
            for part in [Part::Sessions, Part::Retained] {
                let mut from = 0;
                loop {
                    let Some(page) = self.read_page(shard, part, from)? else { return Ok(()) };
                    let next = page.next;
                    if let Err(what) = node.take_back(page) {
                        return Violation::new(what);
                    }
                    match next {
                        Some(next) => from = next,
                        None => break,
                    }
                }
            }
        }
        node.begin();
        let now = Timestamp::of(&self.clock);
        if let Some(mqtt) = &mut self.mqtt {
            mqtt.node = Some(node);
            mqtt.books.wills_at_start(now);
        }
        Ok(())
    }

    /// A page of what a shard keeps; none where everything was started again meanwhile.
    fn read_page(&mut self, shard: u16, part: Part, from: u32) -> Result<Option<Page>, Violation> {
        for _ in 0..TURNS_MAX {
            self.next_number += 1;
            let number = self.next_number;
            let command = Command::Page { part, from, entries_max: PAGE_ENTRIES };
            self.core(shard).submit_to::<Sessions>(Asker(number), command);
            for _ in 0..TURNS_MAX {
                let mut output: Output<Asker, Queues> = Output::default();
                let now = self.clock.now();
                self.core(shard).turn(now, &mut output);
                self.machines[usize::from(shard)].work(u32::MAX);
                if self.machines[usize::from(shard)].is_stopped() {
                    self.crash(End::PowerFailed)?;
                    return Ok(None);
                }
                match output.replies.into_iter().find(|reply| reply.caller.0 == number) {
                    Some(reply) => match reply.answer.map(stadium_shard::Answer::from_machine::<Sessions>) {
                        Ok(Ok(Answer::Page(page))) => return Ok(Some(page)),
                        Err(Refusal::Busy { .. } | Refusal::Unknown { .. }) => break,
                        other => return Violation::new(format!("a page of sessions is {other:?}")),
                    },
                    None => self.advance(10),
                }
            }
            self.advance(50);
        }
        Violation::new(format!("shard {shard} never gives a page of its sessions"))
    }

    /// All processes end.
    pub(super) fn mqtt_crash(&mut self) {
        let Some(mqtt) = &mut self.mqtt else { return };
        let now = Timestamp::of(&self.clock);
        mqtt.node = None;
        mqtt.batches.clear();
        mqtt.probe = None;
        mqtt.books.wills_at_crash(now);
        mqtt.books.forgotten_at_crash();
        mqtt.retain_wills(now);
        for (at, device) in mqtt.devices.iter_mut().enumerate() {
            if device.link.is_some() {
                mqtt.books.leaves(at, device.is_in, Leaves::Broken, now, mqtt.limits.messages_max);
                device.gone();
            }
        }
    }

    /// Devices come, go, publish, subscribe and acknowledge.
    pub(super) fn step_mqtt(&mut self) -> Result<(), Violation> {
        let Some(mqtt) = &mut self.mqtt else { return Ok(()) };
        for _ in 0..mqtt.random.u32(..=mqtt.plan.actions_max) {
            self.act();
        }
        self.forget();
        let Some(mqtt) = &mut self.mqtt else { return Ok(()) };
        for at in 0..mqtt.devices.len() {
            if mqtt.random.u32(..mqtt.plan.slow) == 0 {
                let most = mqtt.random.usize(..=mqtt.devices[at].owes());
                let bytes = mqtt.devices[at].acknowledge(most);
                mqtt.send(at, &bytes);
            }
        }
        if mqtt.plan.burst == 0 || mqtt.bursts >= mqtt.plan.bursts_max {
            return Ok(());
        }
        if mqtt.plan.has_many_bursts {
            return self.many_bursts();
        }
        if mqtt.random.u8(..40) == 0 {
            self.burst();
        }
        Ok(())
    }

    /// Once in so many steps an operator has a session forgotten.
    fn forget(&mut self) {
        let now = Timestamp::of(&self.clock);
        let Some(clocks) = self.edge_clocks() else { return };
        let Some(mqtt) = &mut self.mqtt else { return };
        if mqtt.plan.forgets == 0 || mqtt.forgets.u32(..mqtt.plan.forgets) > 0 {
            return;
        }
        let at = mqtt.forgets.usize(..mqtt.devices.len());
        let Some(node) = &mut mqtt.node else { return };
        self.trace.line(&self.clock, || format!("the session of device {at} is forgotten"));
        mqtt.books.forgets(at, now);
        node.forget(&mqtt.devices[at].plan.id, clocks);
        mqtt.retain_wills(now);
    }

    fn act(&mut self) {
        let now = Timestamp::of(&self.clock);
        let Some(mqtt) = &mut self.mqtt else { return };
        let at = mqtt.random.usize(..mqtt.devices.len());
        if mqtt.devices[at].link.is_none() {
            if mqtt.random.bool() && mqtt.absences.u32(..mqtt.devices[at].plan.back_one_in) == 0 {
                self.connect(at, false);
            }
            return;
        }
        if mqtt.random.u32(..mqtt.plan.leaves) == 0 {
            return self.leave(at);
        }
        if !mqtt.devices[at].is_in {
            return;
        }
        if mqtt.random.u8(..100) < mqtt.plan.publishes {
            if !mqtt.devices[at].may_publish() {
                return;
            }
            let one_in = mqtt.plan.retained_one_in;
            // A 3.1.1 client that is refused is cut off, and asks the same again.
            let is_cut = mqtt.devices[at].plan.version == Version::V311 && mqtt.plan.retains_few();
            let retain = one_in > 0 && mqtt.random.u32(..one_in) == 0 && !is_cut;
            let expiry_s = match mqtt.random.u8(..4) {
                0 if mqtt.devices[at].plan.version == Version::V5 => {
                    Some([2, 60, 3_600][mqtt.random.usize(..3)])
                }
                _ if retain && mqtt.plan.retained_briefly && mqtt.devices[at].plan.version == Version::V5 => {
                    Some(2)
                }
                _ => None,
            };
            let qos = [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce][mqtt.random.usize(..3)];
            mqtt.messages += 1;
            let number = mqtt.messages;
            let over = expiry_s.map(|seconds| Over::new(now, u64::from(seconds) * 1_000));
            let (topic, payload) = if retain {
                let topic = format!("r/{}", mqtt.random.u32(..mqtt.plan.retained_topics));
                let is_removed = mqtt.random.u8(..4) == 0;
                let own_least = match is_removed || mqtt.retained.may_be_of(&topic, at) {
                    true => None,
                    false => Some(usize::MAX),
                };
                let sent = mqtt.retained.publishes(
                    &topic,
                    (!is_removed).then_some(number),
                    over.filter(|_| !is_removed),
                    at,
                );
                let (most, own_most) = (0, 0);
                let topic_of = topic.clone();
                let kept =
                    KeptLater { topic: topic_of, sent, most, own_most, own_least, by: at, again: false };
                mqtt.keeps.insert(number, kept);
                // A message is refused when its broker has no room, and its publisher may hear it later.
                mqtt.keeps.values_mut().for_each(|kept| kept.look(&mqtt.retained, now));
                let payload = if is_removed { Vec::new() } else { payload(number) };
                (topic, payload)
            } else {
                let topic = match mqtt.has_groups() && mqtt.groups.bool() {
                    true => mqtt.group_topic(),
                    false => format!("t/{}", mqtt.random.u32(..mqtt.plan.topics)),
                };
                mqtt.books.publishes(number, at, &topic, qos as u8, over, false);
                (topic, payload(number))
            };
            self.trace.line(&self.clock, || {
                format!("device {at} publishes {number} to {topic}, {qos:?}, retain {retain}, {} B, {expiry_s:?} s", payload.len())
            });
            let message = Outgoing { number, topic, qos, retain, expiry_s, payload };
            let bytes = mqtt.devices[at].publish(message);
            mqtt.send(at, &bytes);
            return;
        }
        let filter = match mqtt.random.u8(..3) {
            0 => "t/+".to_owned(),
            _ => format!("t/{}", mqtt.random.u32(..mqtt.plan.topics)),
        };
        self.subscribe(at, filter);
    }

    fn subscribe(&mut self, at: usize, mut filter: String) {
        let Some(mqtt) = &mut self.mqtt else { return };
        if mqtt.has_groups() {
            match mqtt.groups.u8(..8) {
                0..5 => return self.act_in_groups(at),
                5 => filter = self.own_group_filter(at).unwrap_or(filter),
                _ => {}
            }
        }
        let Some(mqtt) = &mut self.mqtt else { return };
        if mqtt.devices[at].asks_for(&filter) {
            return;
        }
        // One filter of a device always asks for the same.
        let qos = (filter.len() + filter.bytes().map(usize::from).sum::<usize>() + at) % 3;
        let has = mqtt.books.filters(at).contains(&filter);
        if has && mqtt.random.bool() {
            self.trace.line(&self.clock, || format!("device {at} unsubscribes from {filter}"));
            mqtt.books.unsubscribes(at, &filter);
            let bytes = mqtt.devices[at].unsubscribe(&filter);
            mqtt.send(at, &bytes);
        } else if !has {
            self.trace.line(&self.clock, || format!("device {at} subscribes to {filter} at {qos}"));
            mqtt.books.subscribes(at, &filter, qos as u8);
            let qos = [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce][qos];
            let bytes = mqtt.devices[at].subscribe(&filter, qos, None);
            mqtt.send(at, &bytes);
        }
    }

    fn connect(&mut self, at: usize, back: bool) {
        let Some(mqtt) = &mut self.mqtt else { return };
        let Some(node) = &mut mqtt.node else { return };
        let DevicePlan { clean_one_in, will_one_in, .. } = mqtt.devices[at].plan;
        let clean = !back && clean_one_in > 0 && mqtt.random.u32(..clean_one_in) == 0;
        let has_will = will_one_in > 0 && mqtt.random.u32(..will_one_in) == 0;
        let link = node.open(&mqtt.devices[at].plan.id);
        let mut topic = format!("t/{}", mqtt.random.u32(..mqtt.plan.topics));
        let mut delay_s = [0, 0, 5, 60][mqtt.random.usize(..4)];
        let qos = [QoS::AtLeastOnce, QoS::ExactlyOnce][mqtt.random.usize(..2)];
        let mut will = None;
        // One that finds no room is delivered and not retained: where there is little, none is.
        let retain = has_will && !mqtt.plan.retains_few() && mqtt.random.u8(..3) == 0;
        if mqtt.devices[at].plan.version == Version::V311 {
            delay_s = 0;
        }
        if has_will {
            mqtt.messages += 1;
            if retain {
                topic = format!("r/{}", mqtt.random.u32(..mqtt.plan.retained_topics));
                mqtt.retained_wills.insert(mqtt.messages, (topic.clone(), None));
            }
            mqtt.books.publishes(mqtt.messages, at, &topic, qos as u8, None, true);
            will = Some(payload(mqtt.messages));
        }
        self.trace.line(&self.clock, || {
            format!(
                "device {at} connects on link {link}, clean {clean}, will {:?}",
                has_will.then_some((mqtt.messages, &topic, qos, delay_s))
            )
        });
        mqtt.books.connects(at, clean, Timestamp::of(&self.clock));
        if has_will {
            mqtt.books.asks_for_will(mqtt.messages, at, delay_s);
        }
        mqtt.clean[at] = clean;
        let topic = topic.as_str();
        let will = will.as_deref().map(|payload| WillAsked { topic, payload, qos, retain, delay_s });
        let bytes = mqtt.devices[at].connect(link, clean, will);
        mqtt.send(at, &bytes);
    }

    fn leave(&mut self, at: usize) {
        let now = Timestamp::of(&self.clock);
        let Some(clocks) = self.edge_clocks() else { return };
        let Some(mqtt) = &mut self.mqtt else { return };
        let Some(link) = mqtt.devices[at].link else { return };
        let in_order = mqtt.devices[at].is_in && mqtt.random.bool();
        self.trace.line(&self.clock, || format!("device {at} leaves link {link}, in order {in_order}"));
        let bytes = if in_order { mqtt.devices[at].disconnect() } else { Vec::new() };
        mqtt.send(at, &bytes);
        let mut how = if in_order { Leaves::InOrder } else { Leaves::Broken };
        if let Some(node) = &mut mqtt.node {
            if in_order {
                node.turn(clocks, false);
                // It may have been cut off before its DISCONNECT was read.
                if node.was_cut(link) {
                    how = Leaves::Unknown;
                }
            }
            node.cut(link, clocks);
        }
        mqtt.books.leaves(at, mqtt.devices[at].is_in, how, now, mqtt.limits.messages_max);
        mqtt.retain_wills(now);
        mqtt.devices[at].gone();
    }

    /// What the edge's clocks show.
    fn edge_clocks(&self) -> Option<Clocks> {
        let mqtt = self.mqtt.as_ref()?;
        let node_ms = self.clock.passed() - mqtt.began + 1;
        let wall_ms = match self.sabotage {
            Sabotage::EdgeClockIsFixed => mqtt.began_at + node_ms,
            _ => self.clock.now().0,
        };
        Some(Clocks { node_ms, wall_ms })
    }

    /// A turn of the edge, of its devices, and what goes to shards.
    pub(super) fn turn_mqtt(&mut self, all: bool) -> Result<(), Violation> {
        let now = Timestamp::of(&self.clock);
        let Some(clocks) = self.edge_clocks() else { return Ok(()) };
        let Some(mqtt) = &mut self.mqtt else { return Ok(()) };
        let Some(node) = &mut mqtt.node else { return Ok(()) };
        node.turn(clocks, all);
        mqtt.is_busy = false;
        // Messages that a session leaves may reach others in this turn, before its own device is
        // looked at.
        for (at, device) in mqtt.devices.iter().enumerate() {
            if device.link.is_some_and(|link| node.is_closed(link)) {
                mqtt.books.was_cut(at);
            }
        }
        for at in 0..mqtt.devices.len() {
            let Some(link) = mqtt.devices[at].link else { continue };
            let Some(node) = &mut mqtt.node else { return Ok(()) };
            let (bytes, is_closed) = node.take(link);
            mqtt.is_busy |= !bytes.is_empty() || is_closed;
            let mut heard = Vec::new();
            let answer = match mqtt.devices[at].read(&bytes, &mut heard) {
                Ok(answer) => answer,
                Err(what) => return Violation::new(format!("device {at}: {what}")),
            };
            for one in heard {
                self.trace.line(&self.clock, || format!("device {at} hears {}", brief(&one)));
                mqtt.hear(at, &one, now, self.trouble).map_err(violation)?;
            }
            if is_closed {
                self.trace.line(&self.clock, || format!("device {at} is cut off"));
                let how = Leaves::Broken;
                mqtt.books.leaves(at, mqtt.devices[at].is_in, how, now, mqtt.limits.messages_max);
                mqtt.retain_wills(now);
                mqtt.devices[at].gone();
                continue;
            }
            mqtt.send(at, &answer);
            if all {
                let most = mqtt.devices[at].owes();
                let bytes = mqtt.devices[at].acknowledge(most);
                mqtt.is_busy |= !bytes.is_empty();
                mqtt.send(at, &bytes);
            }
        }
        mqtt.turn_probe().map_err(violation)?;
        let Some(node) = &mut mqtt.node else { return Ok(()) };
        let next_number = &mut self.next_number;
        let batches = node.submit(|| {
            *next_number += 1;
            *next_number
        });
        for (number, shard, command) in batches {
            mqtt.batches.insert(number);
            self.trace.line(&self.clock, || format!("#{number} -> shard {shard}: {command:?}"));
            if let Some(core) = &mut self.machines[usize::from(shard)].core {
                core.submit_to::<Sessions>(Asker(number), command);
            }
        }
        Ok(())
    }

    /// Takes the answer to a batch; another one is given back.
    pub(super) fn mqtt_replied(&mut self, number: u64, answer: Reply) -> Result<Option<Reply>, Violation> {
        let clocks = self.edge_clocks();
        let Some(mqtt) = self.mqtt.as_mut().filter(|mqtt| mqtt.batches.contains(&number)) else {
            return Ok(Some(answer));
        };
        mqtt.batches.remove(&number);
        let answer = match answer {
            Ok(answer) => match answer.from_machine::<Sessions>() {
                Ok(answer) => Ok(answer),
                Err(other) => return Violation::new(format!("a batch of sessions is answered {other:?}")),
            },
            Err(refusal) => Err(refusal),
        };
        self.trace.line(&self.clock, || format!("#{number} <- {answer:?}"));
        if let Some((node, clocks)) = mqtt.node.as_mut().zip(clocks) {
            node.answered(clocks, number, &answer);
            for (at, device) in mqtt.devices.iter().enumerate() {
                if device.link.is_some_and(|link| node.was_let_in(link)) {
                    mqtt.books.was_let_in(at);
                }
            }
        }
        Ok(None)
    }

    /// A new subscriber sees all that is retained.
    pub(super) fn look_at_mqtt(&mut self, surely: bool) -> Result<(), Violation> {
        self.retained_entries()?;
        let Some(mqtt) = &mut self.mqtt else { return Ok(()) };
        if !surely && mqtt.random.u8(..4) > 0 {
            return Ok(());
        }
        let crashes = self.crashes;
        self.quiet()?;
        if self.crashes != crashes {
            return Ok(());
        }
        self.wills_at_rest();
        self.trace.line(&self.clock, || "the checker subscribes to all that is retained".into());
        let Some(mqtt) = &mut self.mqtt else { return Ok(()) };
        let Some(node) = &mut mqtt.node else { return Ok(()) };
        let plan = DevicePlan {
            id: "probe".into(),
            version: Version::V5,
            expiry_s: 0,
            clean_one_in: 0,
            will_one_in: 0,
            back_one_in: 1,
        };
        let mut probe = Device::new(plan);
        let link = node.open("probe");
        let mut bytes = probe.connect(link, true, None);
        bytes.extend(probe.subscribe("r/#", QoS::AtMostOnce, None));
        node.send(link, &bytes);
        mqtt.probe = Some((probe, BTreeMap::new()));
        self.quiet()?;
        if self.crashes != crashes {
            return Ok(());
        }
        let now = Timestamp::of(&self.clock);
        let Some(clocks) = self.edge_clocks() else { return Ok(()) };
        let Some(mqtt) = &mut self.mqtt else { return Ok(()) };
        let Some((probe, seen)) = mqtt.probe.take() else { return Ok(()) };
        if !probe.is_in {
            return Violation::new("the checker is not let in");
        }
        if let Some(node) = &mut mqtt.node {
            node.cut(link, clocks);
        }
        if mqtt.devices.iter().any(|device| !device.is_done()) {
            // Somebody's message is under way.
            return Ok(());
        }
        let seen = mqtt.retained.seen(&seen, now);
        seen.map_err(violation)
    }

    /// Nothing is under way: what became of wills is certain.
    fn wills_at_rest(&mut self) {
        let now = Timestamp::of(&self.clock);
        let Some(mqtt) = &mut self.mqtt else { return };
        mqtt.books.wills_at_rest(now);
        mqtt.books.forgotten_at_rest();
        mqtt.retain_wills(now);
    }

    /// The shards remember no more topics than ever had a message.
    fn retained_entries(&self) -> Result<(), Violation> {
        let Some(mqtt) = &self.mqtt else { return Ok(()) };
        let figures = self.machines.iter().filter_map(|machine| machine.core.as_ref()?.sessions());
        let entries: u64 = figures.map(|sessions| sessions.figures().retained).sum();
        if entries > mqtt.retained.ever() as u64 {
            return Violation::new(format!(
                "the shards keep {entries} retained messages; {} topics ever had one",
                mqtt.retained.ever()
            ));
        }
        Ok(())
    }

    /// Everybody comes back and gets everything.
    pub(super) fn drain_mqtt(&mut self) -> Result<(), Violation> {
        if self.mqtt.is_none() {
            return Ok(());
        }
        self.trace.line(&self.clock, || "everybody comes back".into());
        // Where shards have little room, all that is repeated at once fills them each time: a publish that some have already is neither
        // refused nor taken then, and its connection ends.
        for device in self.mqtt.iter_mut().flat_map(|mqtt| &mut mqtt.devices) {
            device.repeats = 1;
        }
        for _ in 0..BACK_TRIES {
            let Some(mqtt) = &self.mqtt else { return Ok(()) };
            for at in 0..mqtt.devices.len() {
                let Some(mqtt) = &self.mqtt else { return Ok(()) };
                if mqtt.devices[at].link.is_none() && mqtt.books.is_needed(at) {
                    self.connect(at, true);
                }
            }
            self.quiet()?;
            self.wills_at_rest();
            self.advance(100);
            let Some(mqtt) = &self.mqtt else { return Ok(()) };
            let is_back = |at: usize| {
                !mqtt.books.is_needed(at) || (mqtt.devices[at].is_in && mqtt.devices[at].is_done())
            };
            if (0..mqtt.devices.len()).all(is_back) {
                let now = Timestamp::of(&self.clock);
                let arrived = mqtt.books.all_arrived(now, mqtt.plan.has_little_room());
                arrived.map_err(violation)?;
                return self.look_at_mqtt(true);
            }
        }
        Violation::new("devices never come back and are done")
    }
}

impl Mqtt {
    fn send(&mut self, at: usize, bytes: &[u8]) {
        if let (Some(node), Some(link)) = (&mut self.node, self.devices[at].link)
            && !bytes.is_empty()
        {
            node.send(link, bytes);
        }
    }

    /// The outcomes of wills that are retained.
    fn retain_wills(&mut self, now: Timestamp) {
        for (number, outcome) in self.books.outcomes() {
            let Some((topic, sent)) = self.retained_wills.get_mut(&number) else { continue };
            match (outcome, *sent) {
                (Outcome::MayCome, None) => *sent = Some(self.retained.may_come(topic, number)),
                (Outcome::Published | Outcome::Never, Some(sent)) => {
                    self.retained.answered(topic, sent, outcome == Outcome::Published, now);
                }
                (Outcome::MayCome, Some(_)) | (Outcome::Published | Outcome::Never, None) => {}
            }
        }
    }

    fn turn_probe(&mut self) -> Result<(), String> {
        let (Some(node), Some((probe, seen))) = (&mut self.node, &mut self.probe) else { return Ok(()) };
        let Some(link) = probe.link else { return Ok(()) };
        let (bytes, _) = node.take(link);
        self.is_busy |= !bytes.is_empty();
        let mut heard = Vec::new();
        probe.read(&bytes, &mut heard)?;
        for one in heard {
            if let Heard::Message { topic, payload, .. } = one {
                seen.insert(topic, number_of(&payload)?);
            }
        }
        Ok(())
    }

    fn hear(&mut self, at: usize, heard: &Heard, now: Timestamp, trouble: bool) -> Result<(), String> {
        match heard {
            Heard::Admitted { present } => {
                self.keeps.values_mut().filter(|kept| kept.by == at).for_each(|kept| kept.again = true);
                let device = &self.devices[at];
                let expiry_s = match device.plan.version {
                    Version::V311 if self.clean[at] => 0,
                    _ => device.plan.expiry_s,
                };
                let admission = Admission {
                    present: *present,
                    clean_start: self.clean[at],
                    expiry_s,
                    messages_max: self.limits.messages_max,
                    may_be_refused: trouble || self.plan.has_little_room(),
                };
                self.books.let_in(at, &admission, now)
            }
            Heard::Refused if trouble => Ok(()),
            Heard::Refused => Err(format!("device {at} is not let in without any need")),
            Heard::Message { topic, payload, qos, dup, ids, .. } => {
                let number = number_of(payload)?;
                if let Some(shared) = self.shared(at, topic, ids, (number, *qos, *dup))? {
                    return self.books.got_shared(at, &shared, now);
                }
                self.books.got(at, number, topic, *qos, *dup, now)
            }
            Heard::Answered { number, taken } => {
                if let Some(mut kept) = self.keeps.remove(number) {
                    kept.look(&self.retained, now);
                    kept.answered(*taken, trouble || self.plan.has_little_room(), &self.limits)?;
                    let KeptLater { topic, sent, again, .. } = kept;
                    if *taken || !(trouble || again) {
                        self.retained.answered(&topic, sent, *taken, now);
                    }
                    return Ok(());
                }
                if !taken && !trouble && !self.plan.has_little_room() {
                    return Err(format!("message {number} is refused without any need"));
                }
                self.books.answered(*number, *taken, now)
            }
            Heard::Subscribed { filter, taken } => {
                match self.group_of(filter) {
                    Some(group) if *taken => self.books.joined(at, group),
                    None if *taken => self.books.subscribed(at, filter),
                    _ => {}
                }
                Ok(())
            }
            Heard::Unsubscribed { filter } => {
                match self.group_of(filter) {
                    Some(group) => self.books.left_group(at, group),
                    None => self.books.unsubscribed(at, filter),
                }
                Ok(())
            }
        }
    }
}

impl KeptLater {
    /// The messages that may be retained now, while the message is under way.
    fn look(&mut self, retained: &RetainedBooks, now: Timestamp) {
        self.most = self.most.max(retained.most(now));
        self.own_most = self.own_most.max(retained.most_of(self.by, now));
        self.own_least = self.own_least.map(|least| least.min(retained.least_of(self.by, &self.topic)));
    }

    /// Whether the answer may be so.
    fn answered(&self, taken: bool, may_be_refused: bool, limits: &Limits) -> Result<(), String> {
        let &Self { most, own_most, own_least, ref topic, by, .. } = self;
        let has_room = most <= limits.retained_max && own_most <= limits.owner_max;
        if !taken && !may_be_refused && has_room {
            return Err(format!(
                "a retained message is refused, and at most {most} topics have one, of {}, and {own_most} \
                 one of its publisher, of {}",
                limits.retained_max, limits.owner_max
            ));
        }
        if taken && own_least.is_some_and(|least| least >= limits.owner_max) {
            return Err(format!(
                "a message of device {by} is retained on {topic}, and {own_least:?} other topics have one of \
                 the device, of {}",
                limits.owner_max
            ));
        }
        Ok(())
    }
}

fn violation(what: String) -> Violation {
    Violation { what, message: None }
}

/// Every byte of a payload follows from its number.
fn payload(number: u64) -> Vec<u8> {
    format!("{number} {}", "x".repeat((number % 40) as usize)).into_bytes()
}

fn number_of(payload_seen: &[u8]) -> Result<u64, String> {
    let text = String::from_utf8_lossy(payload_seen);
    let number = text.split(' ').next().and_then(|number| number.parse().ok());
    match number {
        Some(number) if payload(number) == payload_seen => Ok(number),
        _ => Err(format!("a payload is {text:?}, which nobody published")),
    }
}

fn brief(heard: &Heard) -> String {
    match heard {
        Heard::Message { topic, payload, qos, retain, dup, ids } => {
            let number = number_of(payload).unwrap_or_default();
            format!("message {number} on {topic}, QoS {qos}, retain {retain}, dup {dup}, ids {ids:?}")
        }
        other => format!("{other:?}"),
    }
}
