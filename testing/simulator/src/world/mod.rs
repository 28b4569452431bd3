//! The whole simulation: clients, shards, disks and a clock, step by step.
//!
//! Everything is decided by the seed, so a run is the same each time. One thread does everything;
//! concurrent work of production happens here in some order that the seed chooses. The state and
//! the steps are here; the parts of each step are in the files beside this one.

mod breaking;
mod counters;
mod end;
mod look;
mod moving;
mod mqtt;
mod pushes;
mod replaying;
mod submit;
mod turn;
mod wallets;
mod words;
mod zombies;

use std::collections::{BTreeMap, VecDeque};

use fastrand::Rng;
use stadium_queue::{Command, Queues};
use stadium_shard::core::{self, Confirmation, Core, Delivery, Next};

use self::counters::Counters;
use self::look::Look;
use self::moving::Moving;
use self::mqtt::Mqtt;
use self::pushes::Pushes;
use self::wallets::Wallets;
use self::zombies::Zombies;
use crate::asker::Asker;
use crate::clock::{Clock, Span};
use crate::ledger::{Issued, Ledger, Violation};
use crate::machine::{Machine, Sabotage, SimulatedStore};
use crate::plan::Plan;
use crate::trace::Trace;
use crate::workload::Clients;

/// What a run did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// Commands that were answered with yes.
    pub accepted: u64,
    /// Commands that were refused.
    pub refused: u64,
    /// Commands whose answers were lost.
    pub lost: u64,
    /// Times that power failed or the process was killed.
    pub crashes: u64,
    /// Times that a journal failed and was opened again.
    pub reopened: u64,
    /// Messages that were put.
    pub messages: u64,
    /// Pushes that were accepted, and dispatches that left.
    pub pushes: u64,
    /// See [`Summary::pushes`].
    pub dispatches: u64,
    /// Messages that MQTT devices got.
    pub delivered: u64,
    /// Times that everything was looked at.
    pub looks: u64,
    /// Times that a running shard was compared with a recovery of its disks.
    pub compared: u64,
    /// Times that a standby took its shard over.
    pub promoted: u64,
    /// Questions to owners that were stopped, and that others had fenced.
    pub haunted: u64,
    /// Barriers that owners wrote which were there at the end.
    pub barriers: u64,
    /// Segments that left a disk for a store.
    pub moved: u64,
    /// A flipped bit was noticed and named.
    pub flips_noticed: u64,
}

/// A command on its way.
struct InFlight {
    issued: Issued,
    shard: u16,
    /// Nobody waits for the answer any more.
    is_gone: bool,
    /// Asked by the checker, not by a client.
    is_look: bool,
}

impl InFlight {
    /// A consumer that waits until there is a job.
    fn waits(&self) -> bool {
        matches!(self.issued.command, Command::Reserve { wait, .. } if wait > 0)
    }
}

/// Something on its way from one shard to another.
#[derive(Clone)]
enum InTransit {
    Delivery(u16, Delivery),
    Confirmation(u16, Confirmation),
}

impl InTransit {
    /// The machine whose message it is about.
    fn machine(&self) -> core::MachineId {
        match self {
            InTransit::Delivery(_, delivery) => delivery.machine,
            InTransit::Confirmation(_, confirmation) => confirmation.machine,
        }
    }
}

/// The simulation.
pub struct World {
    plan: Plan,
    random: Rng,
    /// What disks and names suffer, on its own as the comparisons.
    faults: Rng,
    /// When shards are compared with what a recovery gives. On its own, so that a comparison changes nothing else.
    replays: Rng,
    clock: Clock,
    machines: Vec<Machine>,
    ledger: Ledger,
    clients: Clients,
    counters: Option<Counters>,
    wallets: Option<Wallets>,
    pushes: Option<Pushes>,
    mqtt: Option<Mqtt>,
    flying: BTreeMap<u64, InFlight>,
    in_transit: VecDeque<InTransit>,
    /// Commands whose answers were lost in a crash, until everything was looked at.
    lost: Vec<Issued>,
    /// Leases of consumers who went away, that are released by themselves: the shard, and the last command before it.
    releases: Vec<(u16, u64, Issued)>,
    next_number: u64,
    /// What the checker sees while it looks.
    look: Option<Look>,
    /// Whether something was broken that may make a shard busy.
    trouble: bool,
    /// Whether a disk may be full.
    full: bool,
    /// Whether something was broken after which a journal may fail: neither a full disk nor a want of descriptors.
    journal_may_fail: bool,
    /// Nodes that are stopped, or go on: their owners, their faults and questions.
    zombies: Zombies,
    /// Old segments with records of wallets that left the disks.
    moving: Moving,
    /// The shard whose thread panics before its next turn.
    panics_between_turns: Option<usize>,
    /// Crashes so far, to notice that one came in between.
    crashes: u64,
    summary: Summary,
    /// Why the last turn was not the last one.
    restless: (Next, bool, usize, bool, usize),
    trace: Trace,
    sabotage: Sabotage,
}

/// Turns after which a shard that has nothing to wait for must be quiet.
const TURNS_MAX: u32 = 20_000;

impl World {
    /// A simulation that has not begun.
    pub fn new(plan: Plan, sabotage: Sabotage, trace: Trace) -> World {
        let machines = (0..plan.shards).map(|shard| Machine::new(&plan, shard, sabotage)).collect();
        let queues = plan.queues.iter().map(|(name, _, rules)| (name.clone(), rules.clone())).collect();
        World {
            random: Rng::with_seed(plan.seed ^ 0x5157),
            faults: Rng::with_seed(plan.seed ^ 0x6661_756c_7473),
            replays: Rng::with_seed(plan.seed ^ 0x7265_706c),
            clock: Clock::default(),
            machines,
            ledger: Ledger::new(queues),
            clients: Clients::default(),
            counters: plan.counters.clone().map(|counters| Counters::new(counters, plan.seed)),
            wallets: plan.wallets.clone().map(|wallets| Wallets::new(wallets, plan.shards, plan.seed)),
            pushes: plan.pushes.clone().map(|pushes| Pushes::new(pushes, plan.shards, plan.seed)),
            mqtt: plan.mqtt.clone().map(|mqtt| Mqtt::new(mqtt, plan.seed)),
            flying: BTreeMap::new(),
            in_transit: VecDeque::new(),
            lost: Vec::new(),
            releases: Vec::new(),
            next_number: 0,
            look: None,
            trouble: false,
            full: false,
            journal_may_fail: false,
            zombies: Zombies::new(plan.seed),
            moving: Moving::default(),
            panics_between_turns: None,
            crashes: 0,
            summary: Summary::default(),
            restless: (Next::default(), false, 0, false, 0),
            trace,
            sabotage,
            plan,
        }
    }

    /// What happened so far.
    pub fn into_trace(self) -> Trace {
        self.trace
    }

    /// Runs it to the end.
    ///
    /// # Errors
    ///
    /// The first promise that was broken.
    pub fn run(&mut self) -> Result<Summary, Violation> {
        let plan = format!("{:?}", self.plan);
        self.trace.line(&self.clock, || plan);
        for machine in &mut self.machines {
            if let Err(error) = machine.open(self.clock.now()) {
                return Violation::new(format!("a shard does not open on an empty disk: {error}"));
            }
        }
        for (name, settings, _) in self.plan.queues.clone() {
            self.submit(Command::Declare { queue: name, settings }, Vec::new());
        }
        self.quiet()?;
        self.open_wallets()?;
        self.open_pushes()?;
        self.open_mqtt()?;
        // A commit may take longer than callers wait for it, whenever time passes.
        if self.plan.faults.away > 0 {
            self.trouble_begins();
        }
        for _ in 0..self.plan.steps {
            self.step()?;
        }
        self.end_faults();
        self.quiet()?;
        self.few_checkpoints()?;
        // A shard whose disk was full looks for room again after a while.
        self.advance(5_000);
        self.look()?;
        if self.plan.faults.flip {
            return self.flip();
        }
        self.drain()?;
        self.drain_pushes()?;
        self.drain_mqtt()?;
        self.drain_counters()?;
        self.look()?;
        self.bring_back()?;
        self.read_histories()?;
        if let Some(pushes) = &self.pushes {
            self.summary.pushes = pushes.accepted();
            self.summary.dispatches = pushes.dispatches;
        }
        self.summary.delivered = self.mqtt.as_ref().map_or(0, Mqtt::delivered);
        self.summary.messages = self.ledger.messages().len() as u64;
        self.summary.promoted = self.machines.iter().map(Machine::promoted).sum();
        self.summary.barriers = self.machines.iter().map(Machine::barriers).sum();
        Ok(self.summary)
    }

    fn once_in(&mut self, steps: u32) -> bool {
        steps > 0 && self.random.u32(..steps) == 0
    }

    fn step(&mut self) -> Result<(), Violation> {
        self.break_something()?;
        self.step_nodes()?;
        self.ask_counters();
        self.ask_wallets();
        self.step_pushes();
        self.step_mqtt()?;
        let commands = if self.plan.queues.is_empty() { 0 } else { self.random.u32(..6) };
        for _ in 0..commands {
            let wish = self.clients.next(&self.plan, &mut self.ledger, &self.clock, &mut self.random);
            if let Some((command, tags)) = wish {
                self.submit(command, tags);
            }
        }
        if self.once_in(3) {
            let by = self.random.u64(..400);
            self.advance(by);
        }
        self.turn_all(Some(self.plan.disk_steps_max))?;
        self.move_segments();
        if self.replays.u32(..self.plan.compare) == 0 {
            self.compare_with_recovery()?;
        }
        if self.once_in(40) {
            self.look()?;
        }
        if self.once_in(60) {
            self.checkpoints_soon();
        }
        Ok(())
    }

    fn checkpoints_soon(&mut self) {
        for core in self.machines.iter_mut().filter_map(|machine| machine.core.as_mut()) {
            core.checkpoint_soon();
        }
    }

    fn advance(&mut self, by: u64) {
        self.clock.advance(by);
        self.time_passes();
    }

    /// The clock shows something else: so long has everything taken that is under way.
    fn time_passes(&mut self) {
        let now = Span::of(&self.clock);
        for flying in self.flying.values_mut() {
            flying.issued.during = flying.issued.during.around(now);
        }
        if let Some(wallets) = &mut self.wallets {
            wallets.time_passes(now);
        }
        if let Some(pushes) = &mut self.pushes {
            pushes.time_passes(now);
        }
    }

    /// The shard, whose process runs: processes are started again before anybody asks.
    fn core(&mut self, shard: u16) -> &mut Core<SimulatedStore, Asker, Queues> {
        self.machines[usize::from(shard)].core.as_mut().expect("a process that ended was started again")
    }
}
