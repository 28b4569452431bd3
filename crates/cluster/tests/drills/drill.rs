//! One drill: a load on its own queues, wallets and devices, phases, what must hold, and a report for people.
//!
//! The report says when each thing was done and how long commands paused in each phase, then what the
//! model found. A drill goes on after a thing that does not hold, and fails at its end.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use stadium_membership::{Shard, ShardSet};
use stadium_testing::deadline;

use crate::load::{Kind, Known, Load, Record, Records, Target, check};
use crate::stage::{NODES, PATIENCE, Stage};

/// How long a load runs before and after what is done to it.
pub const WHILE: Duration = Duration::from_millis(500);

/// How long a node may take to answer what it must answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// Lines that are shown of what does not hold.
const SHOWN: usize = 10;

/// A drill under way.
pub struct Drill<'a> {
    pub stage: &'a mut Stage,
    name: String,
    queues: Vec<String>,
    load: Load,
    begun: Instant,
    phases: Vec<(String, Instant)>,
    /// Jobs that the drill itself put: queue, id, and what is known of each.
    own: Vec<(String, String, Known)>,
    failed: Vec<String>,
}

/// A put that was sent and is not answered yet.
pub struct Sent {
    queue: String,
    id: String,
    answer: Receiver<String>,
}

/// A read that was sent and is not answered yet.
pub struct Asked {
    queue: String,
    answer: Receiver<String>,
}

impl<'a> Drill<'a> {
    /// Begins to give commands to targets of its own, on a stage that is settled. `outage` is how long
    /// nothing may be accepted beyond what is usual.
    pub fn start(stage: &'a mut Stage, name: &str, outage: Duration) -> Self {
        stage.until_settled();
        stage.nodes.all().iter().for_each(|node| node.set_well(true));
        let queues = stage.queues(name);
        let load = Load::start(&stage.nodes, &queues, PATIENCE + outage);
        let begun = Instant::now();
        println!("\n{name}");
        let mut drill = Self {
            stage,
            name: name.to_owned(),
            queues,
            load,
            begun,
            phases: Vec::new(),
            own: Vec::new(),
            failed: Vec::new(),
        };
        drill.phase("all shards are given commands");
        std::thread::sleep(WHILE);
        drill
    }

    /// Begins a phase, which is done or seen now.
    pub fn phase(&mut self, what: &str) {
        self.says(what);
        self.phases.push((what.to_owned(), Instant::now()));
    }

    /// Tells something that begins no phase.
    pub fn says(&self, what: &str) {
        println!("{:9.3} s  {what}", self.begun.elapsed().as_secs_f64());
    }

    /// Notes whether something holds that must.
    pub fn holds(&mut self, what: &str, holds: bool) {
        self.says(&format!("{}: {what}", if holds { "holds" } else { "DOES NOT HOLD" }));
        if !holds {
            self.failed.push(what.to_owned());
        }
    }

    /// Time since the phase began.
    pub fn elapsed(&self) -> Duration {
        self.phases.last().expect("a drill begins with a phase").1.elapsed()
    }

    /// Waits until the phase is as old as this.
    pub fn until_phase_is(&self, age: Duration) {
        std::thread::sleep(age.saturating_sub(self.elapsed()));
    }

    /// Shards that the node owns, when it owns some: balancing may still be giving it some.
    pub fn owned_by(&self, node: &str) -> Vec<Shard> {
        self.stage.until(&format!("{node} owns shards"), |_| !self.stage.owned_by(node).is_empty());
        self.stage.until_settled();
        self.stage.owned_by(node)
    }

    /// Waits until each shard has another owner than this node, and tells how long that took.
    pub fn until_others_own(&mut self, node: &str) {
        self.stage.until_others_own(node);
        self.says(&format!("all shards have another owner after {:.2?}", self.elapsed()));
    }

    /// Sends puts of jobs `NAME-0` and on to the shards, at the node, which passes none on.
    pub fn send(&self, node: &str, shards: &[Shard], name: &str, each: usize) -> Vec<Sent> {
        let node = self.stage.nodes.node(node);
        let send = |shard: &Shard, number| {
            let (queue, id) = (self.queues[shard.0 as usize].clone(), format!("{name}-{number}"));
            let answer = node.send(&format!("put-here {queue} {id}")).expect("its pipe takes it");
            Sent { queue, id, answer }
        };
        shards.iter().flat_map(|shard| (0..each).map(move |number| send(shard, number))).collect()
    }

    /// Takes the answers to puts, each of which must begin with `expected`. Those that are accepted or
    /// unknown enter the model; all others must not be there.
    pub fn take(&mut self, what: &str, sent: Vec<Sent>, expected: &str) {
        let mut others = Vec::new();
        for (queue, id, answer) in answers(sent) {
            if !answer.starts_with(expected) {
                others.push(format!("{queue} {id}: {answer}"));
            }
            match answer.split(' ').next() {
                Some("ok") => self.own.push((queue, id, Known::Acknowledged)),
                Some("unknown") => self.own.push((queue, id, Known::Unknown)),
                _ => {}
            }
        }
        self.hold_none(what, &others);
    }

    /// Takes the answers of a node that others fenced: it acknowledges none, and none may ever count.
    pub fn take_stale(&mut self, node: &str, sent: Vec<Sent>) {
        let what = format!("{node} acknowledges nothing of {} puts after the fence", sent.len());
        let is_refused = |answer: &str| answer.starts_with("busy") || answer.starts_with("unknown");
        // The model does not know them: one that is there is found at the end.
        let others: Vec<String> = answers(sent)
            .filter(|(_, _, answer)| !is_refused(answer))
            .map(|(queue, id, answer)| format!("{queue} {id}: {answer}"))
            .collect();
        self.hold_none(&what, &others);
    }

    /// Asks the node for all jobs of each of the shards; the answers arrive at what is returned.
    pub fn ask_for_jobs(&self, node: &str, shards: &[Shard]) -> Vec<Asked> {
        let node = self.stage.nodes.node(node);
        let ask = |shard: &Shard| {
            let queue = self.queues[shard.0 as usize].clone();
            let answer = node.send(&format!("jobs {queue}")).expect("its pipe takes it");
            Asked { queue, answer }
        };
        shards.iter().map(ask).collect()
    }

    /// Takes the jobs that a node told, or its refusals: an answer without the job `id` is old.
    pub fn take_jobs(&mut self, node: &str, asked: Vec<Asked>, id: &str) {
        let what = format!("{node} tells nothing old to {} reads", asked.len());
        let mut others = Vec::new();
        for Asked { queue, answer } in asked {
            let answer = answer.recv_timeout(ANSWERS_WITHIN).unwrap_or_else(|_| "no answer".to_owned());
            let is_new = answer.strip_prefix("ok ").is_some_and(|jobs| jobs.split(' ').any(|job| job == id));
            if !is_new && !answer.starts_with("busy") {
                others.push(format!("{queue} without {id}: {answer:.200}"));
            }
        }
        self.hold_none(&what, &others);
    }

    fn hold_none(&mut self, what: &str, others: &[String]) {
        self.holds(what, others.is_empty());
        others.iter().take(SHOWN).for_each(|other| self.says(&format!("    {other}")));
    }

    /// Puts a job `NAME-0` to each shard, at whichever node accepts it: each must be accepted.
    pub fn accepts(&mut self, what: &str, name: &str) {
        self.accepts_at(&NODES, what, name);
    }

    /// The same, at these nodes only.
    pub fn accepts_at(&mut self, nodes: &[&str], what: &str, name: &str) {
        let begun = Instant::now();
        let id = format!("{name}-0");
        let mut refused = Vec::new();
        for queue in self.queues.clone() {
            let request = format!("put {queue} {id}");
            let is_put = || {
                let ask = |node: &&str| self.stage.nodes.node(node).ask(&request, ANSWERS_WITHIN);
                Ok(nodes.iter().filter_map(ask).any(|answer| answer.starts_with("ok")))
            };
            let put = deadline::until_true(PATIENCE, "a node to accept it", is_put);
            self.own.push((queue.clone(), id.clone(), put.map_or(Known::Unknown, |()| Known::Acknowledged)));
            refused.extend(self.own.last().filter(|own| own.2 == Known::Unknown).map(|own| own.0.clone()));
        }
        self.says(&format!(
            "{} of {} shards accepted after {:.2?}",
            self.queues.len() - refused.len(),
            self.queues.len(),
            begun.elapsed()
        ));
        self.hold_none(what, &refused);
    }

    /// Waits until all is well again: each shard has an owner and a standby, and the node serves what
    /// it owns, and nothing else. It may have been given shards again, as balancing does.
    pub fn until_well(&mut self, node: &str) {
        self.stage.until_settled();
        self.stage.until("it serves what it owns", |_| {
            let owned: ShardSet = self.stage.owned_by(node).into_iter().collect();
            self.stage.served_by(node).is_some_and(|(serves, _)| serves == owned.to_string())
        });
        self.stage.nodes.node(node).set_well(true);
        self.says(&format!("each shard has an owner and a standby in step after {:.2?}", self.elapsed()));
    }

    /// Ends the load, holds everything against the model, and reports. No target may have paused
    /// for longer than `pause_max`.
    ///
    /// # Panics
    /// Something did not hold.
    pub fn end(self, pause_max: Duration) -> Records {
        std::thread::sleep(WHILE);
        let Self { stage, name, load, phases, own, mut failed, .. } = self;
        let mut records = load.end();
        let ended = Instant::now();
        for (queue, id, known) in own {
            records.get_mut(&Target::queue(&queue)).expect("a queue of its own").commands.insert(id, known);
        }
        println!("{:>11}  longest pause of a target, by phase:", "");
        for (at, (what, begun)) in phases.iter().enumerate() {
            let end = phases.get(at + 1).map_or(ended, |(_, next)| *next);
            let pauses = records.values().flat_map(|record| &record.pauses);
            let within = |(from, to): &(Instant, Instant)| {
                (*to).min(end).saturating_duration_since((*from).max(*begun))
            };
            let pause = pauses.map(within).max().unwrap_or_default();
            println!("{:9.2} s  {what}", pause.as_secs_f64());
        }
        let pauses = records.values().flat_map(|record| &record.pauses);
        let longest = pauses.map(|(from, to)| *to - *from).max().unwrap_or_default();
        let sum = |count: fn(&Record) -> usize| records.values().map(count).sum::<usize>();
        let acknowledged_of = |kind: Kind| {
            let of_kind = records.iter().filter(|(target, _)| target.kind == kind);
            let known = of_kind.flat_map(|(_, record)| record.commands.values());
            known.filter(|known| **known == Known::Acknowledged).count()
        };
        let counts = Kind::ALL.map(acknowledged_of);
        let acknowledged: usize = counts.iter().sum();
        let [puts, payments, pushes] = counts;
        println!("{:>11}  acknowledged: {puts} puts, {payments} payments, {pushes} pushes", "");
        let wrong = check(&stage.nodes, &records);
        println!(
            "{:>11}  {acknowledged} acknowledged, {} refused, {} unknown; longest pause {longest:.2?}; \
             against the model {} wrong",
            "",
            sum(|record| record.refused),
            sum(|record| record.unknown),
            wrong.len()
        );
        let errors: Vec<&String> = records.values().flat_map(|record| &record.errors).collect();
        println!("{:>11}  {} errors through nodes to which nothing was done", "", errors.len());
        errors.iter().take(SHOWN).for_each(|error| println!("{:>11}      {error}", ""));
        if longest > pause_max {
            failed.push(format!("no target pauses for longer than {pause_max:?}"));
        }
        failed.extend(wrong.into_iter().take(SHOWN));
        assert!(failed.is_empty(), "{name}: these do not hold: {failed:#?}");
        records
    }
}

/// Queue, id and answer of each put.
fn answers(sent: Vec<Sent>) -> impl Iterator<Item = (String, String, String)> {
    sent.into_iter().map(|Sent { queue, id, answer }| {
        (queue, id, answer.recv_timeout(ANSWERS_WITHIN).unwrap_or_else(|_| "no answer".to_owned()))
    })
}
