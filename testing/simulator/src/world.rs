//! The whole simulation: clients, shards, disks and a clock, step by step.
//!
//! Everything is decided by the seed, so a run is the same each time. One thread does everything; what
//! goes on at once in production happens here in some order that the seed chooses.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use fastrand::Rng;
use stadium_journal::memory::Kept;
use stadium_queue::{
    Answer, Command, Delivery, JobSet, JobState, Key, QueueSettings, QueueStats, Refusal, Retry,
};
use stadium_shard::core::{Confirmation, Next, Output, Request, Search};

use crate::answered::Answered;
use crate::audit::{Observed, Order};
use crate::clock::{Clock, Span};
use crate::ledger::{Issued, Ledger, Message, Violation};
use crate::machine::{Machine, Sabotage};
use crate::message::{Content, Tag};
use crate::place::Place;
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
    /// Times that everything was looked at.
    pub looks: u64,
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

/// Something on its way from one shard to another.
enum Crossing {
    Delivery(u16, Delivery),
    Confirmation(u16, Confirmation),
}

/// The simulation.
pub struct World {
    plan: Plan,
    random: Rng,
    clock: Clock,
    machines: Vec<Machine>,
    ledger: Ledger,
    clients: Clients,
    flying: BTreeMap<u64, InFlight>,
    crossing: VecDeque<Crossing>,
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
    /// Crashes so far, to notice that one came in between.
    crashes: u64,
    summary: Summary,
    /// Why the last turn was not the last one.
    restless: (Next, bool, usize, bool, usize),
    trace: Trace,
}

#[derive(Default)]
struct Look {
    /// The number of its first question.
    first: u64,
    waiting: Vec<u64>,
    observed: Observed,
    stats: Vec<QueueStats>,
    is_busy: bool,
}

/// Operations of a disk that no run reaches.
const NEVER: u64 = 1 << 40;

/// Turns after which a shard that has nothing to wait for must be quiet.
const TURNS_MAX: u32 = 20_000;

impl World {
    /// A simulation that has not begun.
    pub fn new(plan: Plan, sabotage: Sabotage, trace: Trace) -> World {
        let machines = (0..plan.shards).map(|shard| Machine::new(&plan, shard, sabotage)).collect();
        let queues = plan.queues.iter().map(|(name, _, rules)| (name.clone(), rules.clone())).collect();
        World {
            random: Rng::with_seed(plan.seed ^ 0x5157),
            clock: Clock::default(),
            machines,
            ledger: Ledger::new(queues),
            clients: Clients::default(),
            flying: BTreeMap::new(),
            crossing: VecDeque::new(),
            lost: Vec::new(),
            releases: Vec::new(),
            next_number: 0,
            look: None,
            trouble: false,
            full: false,
            crashes: 0,
            summary: Summary::default(),
            restless: (Next::default(), false, 0, false, 0),
            trace,
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
        for _ in 0..self.plan.steps {
            self.step()?;
        }
        self.end_faults();
        self.quiet()?;
        // A shard whose disk was full looks for room again after a while.
        self.advance(5_000);
        self.look()?;
        if self.plan.faults.flip {
            return self.flip();
        }
        self.drain()?;
        self.summary.messages = self.ledger.messages().len() as u64;
        Ok(self.summary)
    }

    fn once_in(&mut self, steps: u32) -> bool {
        steps > 0 && self.random.u32(..steps) == 0
    }

    fn step(&mut self) -> Result<(), Violation> {
        self.break_something()?;
        for _ in 0..self.random.u32(..6) {
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
        if self.once_in(40) {
            self.look()?;
        }
        if self.once_in(60) {
            for machine in &mut self.machines {
                if let Some(core) = &mut machine.core {
                    core.checkpoint_soon();
                }
            }
        }
        Ok(())
    }

    fn break_something(&mut self) -> Result<(), Violation> {
        let faults = self.plan.faults;
        let at = self.random.usize(..self.machines.len());
        if self.once_in(faults.power) {
            let operations = self.random.u64(..40);
            self.trace.line(&self.clock, || format!("power fails at shard {at} in {operations} operations"));
            let machine = &self.machines[at];
            let disk = if self.random.u8(..4) == 0 { &machine.checkpoints } else { &machine.disk };
            disk.stop_after(operations);
        }
        if self.once_in(faults.kill) {
            self.trace.line(&self.clock, || "the process is killed".into());
            self.crash(End::Killed)?;
        }
        if self.once_in(faults.sync) {
            let kept = [Kept::Nothing, Kept::Half, Kept::Everything][self.random.usize(..3)];
            let after = self.random.u64(..4);
            self.trace
                .line(&self.clock, || format!("sync {after} from now fails at shard {at}, kept: {kept:?}"));
            self.machines[at].disk.fail_sync(after, kept);
            self.trouble_begins();
        }
        if self.once_in(faults.write) {
            let after = self.random.u64(..4);
            self.trace.line(&self.clock, || format!("write {after} from now fails at shard {at}"));
            self.machines[at].disk.fail_write(after);
            self.trouble_begins();
        }
        if self.once_in(faults.full) {
            let disk = &self.machines[at].disk;
            let room = disk.used() + self.random.u64(..2 * self.plan.segment_bytes);
            self.trace.line(&self.clock, || format!("shard {at}'s disk ends at {room} bytes"));
            disk.set_capacity(Some(room));
            self.trouble_begins();
            self.full = true;
        } else if self.once_in(faults.full / 3) {
            self.trace.line(&self.clock, || format!("shard {at}'s disk has room"));
            self.machines[at].disk.set_capacity(None);
        }
        if self.once_in(faults.forward) {
            let by = [5_000, 60_000, 3_600_000][self.random.usize(..3)];
            let repeats =
                self.flying.values().any(|flying| matches!(flying.issued.command, Command::Put { .. }));
            // Who repeats a put relies on its being carried out while the first one is remembered.
            if !repeats {
                self.trace.line(&self.clock, || format!("the clock goes forward by {by} ms"));
                self.advance(by);
            }
        }
        if self.once_in(faults.back) {
            let puts =
                self.flying.values().any(|flying| matches!(flying.issued.command, Command::Put { .. }));
            if !puts {
                let by = self.random.u64(..100_000);
                self.trace.line(&self.clock, || format!("the clock is set back by {by} ms"));
                self.clock.set_back(by);
                for flying in self.flying.values_mut() {
                    flying.issued.during = flying.issued.during.around(Span::of(&self.clock));
                }
            }
        }
        if self.once_in(faults.vanish) {
            self.vanish();
        }
        Ok(())
    }

    /// From now on a shard may be busy, also for commands that are under way already.
    fn trouble_begins(&mut self) {
        self.trouble = true;
        for flying in self.flying.values_mut() {
            flying.issued.may_refuse = true;
        }
    }

    /// A consumer that waits goes away.
    fn vanish(&mut self) {
        let reserves = self.flying.iter().filter(|(_, flying)| {
            matches!(flying.issued.command, Command::Reserve { .. }) && !flying.is_gone
        });
        let numbers: Vec<u64> = reserves.map(|(number, _)| *number).collect();
        if numbers.is_empty() {
            return;
        }
        let number = numbers[self.random.usize(..numbers.len())];
        self.trace.line(&self.clock, || format!("#{number}: the consumer goes away"));
        let flying = self.flying.get_mut(&number).expect("it was found above");
        flying.is_gone = true;
        if let Some(core) = &mut self.machines[usize::from(flying.shard)].core {
            core.vanished(number);
        }
    }

    fn advance(&mut self, by: u64) {
        self.clock.advance(by);
        for flying in self.flying.values_mut() {
            flying.issued.during = flying.issued.during.around(Span::of(&self.clock));
        }
    }

    /// The shard that a command belongs to; leases of several shards are several commands.
    fn submit(&mut self, command: Command, tags: Vec<Tag>) {
        let home = |world: &World, queue| world.ledger.rules(world.ledger.queue(queue)).shard;
        let commands: Vec<(u16, Command)> = match command {
            Command::Settle { ref leases }
            | Command::Release { ref leases, .. }
            | Command::Extend { ref leases, .. }
            | Command::Bury { ref leases, .. } => {
                let mut by_shard: BTreeMap<u16, Vec<stadium_queue::Lease>> = BTreeMap::new();
                for lease in leases {
                    by_shard.entry(lease.job.shard()).or_default().push(*lease);
                }
                by_shard.into_iter().map(|(shard, some)| (shard, with_leases(&command, some))).collect()
            }
            Command::Forward { lease, .. } => vec![(lease.job.shard(), command)],
            Command::Delete { ref jobs } => vec![(jobs[0].shard(), command)],
            Command::Edit { job, .. } | Command::Find { job } | Command::History { job } => {
                vec![(job.shard(), command)]
            }
            Command::Put { ref queue, .. }
            | Command::Reserve { ref queue, .. }
            | Command::Kick { ref queue, .. }
            | Command::Redrive { ref queue, .. }
            | Command::Purge { ref queue, .. }
            | Command::Pause { ref queue }
            | Command::Resume { ref queue }
            | Command::Declare { ref queue, .. }
            | Command::Drop { ref queue }
            | Command::Schedule { ref queue, .. }
            | Command::Unschedule { ref queue, .. }
            | Command::Peek { ref queue, .. }
            | Command::Stats { ref queue }
            | Command::Schedules { ref queue } => vec![(home(self, queue), command)],
            Command::List { .. } => vec![(0, command)],
        };
        for (shard, command) in commands {
            self.submit_to(shard, command, tags.clone(), false);
        }
    }

    fn submit_to(&mut self, shard: u16, command: Command, tags: Vec<Tag>, is_look: bool) -> u64 {
        self.next_number += 1;
        let number = self.next_number;
        if !is_look {
            self.trace
                .line(&self.clock, || format!("#{number} -> shard {shard}: {}", brief(&command, &tags)));
        }
        let has_dedup = match &command {
            Command::Put { jobs, .. } => jobs.iter().any(|job| job.dedup.is_some()),
            _ => false,
        };
        let issued = Issued {
            number,
            command: command.clone(),
            tags,
            during: Span::of(&self.clock),
            set_back: self.clock.jumps_back() > 0,
            may_refuse: self.trouble || has_dedup,
        };
        self.flying.insert(number, InFlight { issued, shard, is_gone: false, is_look });
        let core = self.machines[usize::from(shard)].core.as_mut();
        let core = core.expect("processes are started again before anybody asks");
        core.submit(Request { caller: number, command, search: Search::Here });
        number
    }

    /// One turn of each shard, and some steps of its disk: `None` for all.
    fn turn_all(&mut self, disk_steps_max: Option<u32>) -> Result<bool, Violation> {
        let mut busy = false;
        for at in 0..self.machines.len() {
            let mut output = Output::default();
            let machine = &mut self.machines[at];
            let Some(core) = &mut machine.core else { continue };
            let next = core.turn(self.clock.now(), &mut output);
            let is_closed = core.journal().is_none();
            if is_closed {
                self.trace.line(&self.clock, || format!("shard {at}'s journal failed and is not open"));
            }
            let inbox = core.inbox_len();
            let steps = disk_steps_max.map_or(u32::MAX, |most| self.random.u32(..=most));
            // What the power cut short was never seen by anybody.
            if self.machines[at].is_stopped() {
                self.crash(End::PowerFailed)?;
                return Ok(true);
            }
            let worked = self.machines[at].work(steps);
            if self.machines[at].is_stopped() {
                self.crash(End::PowerFailed)?;
                return Ok(true);
            }
            self.restless = (next, is_closed, inbox, worked, self.flying.len());
            busy |= next.at_once || next.commit_runs || is_closed || inbox > 0 || worked;
            busy |= !output.replies.is_empty();
            for reply in std::mem::take(&mut output.replies) {
                self.replied(reply.caller, reply.answer)?;
            }
            for (shard, delivery) in output.deliveries {
                busy = true;
                self.crossing.push_back(Crossing::Delivery(shard, delivery));
            }
            for (shard, confirmation) in output.confirmations {
                busy = true;
                self.crossing.push_back(Crossing::Confirmation(shard, confirmation));
            }
        }
        // What goes over now is work for the next turn.
        busy |= !self.crossing.is_empty();
        self.cross();
        Ok(busy)
    }

    /// Hands over some of what goes from shard to shard.
    fn cross(&mut self) {
        for _ in 0..self.crossing.len() {
            if self.random.u8(..4) == 0 {
                break;
            }
            match self.crossing.pop_front() {
                Some(Crossing::Delivery(shard, delivery)) => {
                    self.trace.line(&self.clock, || {
                        format!(
                            "delivery {} of shard {} to shard {shard}, {} B",
                            delivery.number,
                            delivery.shard,
                            delivery.job.payload.len()
                        )
                    });
                    if let Some(core) = &mut self.machines[usize::from(shard)].core {
                        core.deliver(delivery);
                    }
                }
                Some(Crossing::Confirmation(shard, confirmation)) => {
                    self.trace.line(&self.clock, || format!("to shard {shard}: {confirmation:?}"));
                    if let Some(core) = &mut self.machines[usize::from(shard)].core {
                        core.confirmed(confirmation);
                    }
                }
                None => {}
            }
        }
    }

    fn replied(&mut self, number: u64, answer: Answered) -> Result<(), Violation> {
        let Some(flying) = self.flying.remove(&number) else {
            return Violation::new(format!(
                "#{number} was answered twice, or by nobody's asking: {answer:?}"
            ));
        };
        if flying.is_look {
            return self.looked(number, &flying.issued, answer);
        }
        self.trace.line(&self.clock, || format!("#{number} <- {}", brief_answer(&answer)));
        match &answer {
            Ok(_) => self.summary.accepted += 1,
            Err(_) => self.summary.refused += 1,
        }
        if let Err(refusal @ Refusal::Busy { code, .. }) = &answer
            && !self.trouble
            && *code != "SHARD-005"
        {
            return Violation::new(format!("#{number} is told busy without any need: {refusal}"));
        }
        let high = self.clock.high();
        // Commands that were under way when somebody went came before the release of what he had.
        for (shard, _, release) in &self.releases {
            if *shard == flying.shard {
                self.ledger.may_have_happened(release, high);
            }
        }
        self.releases.retain(|(shard, until, _)| *shard != flying.shard || number <= *until);
        let checked = self.ledger.answered(&flying.issued, &answer, high);
        checked
            .map_err(|violation| Violation { what: format!("#{number}: {}", violation.what), ..violation })?;
        self.learn(&flying, answer);
        Ok(())
    }

    fn learn(&mut self, flying: &InFlight, answer: Answered) {
        match &answer {
            Ok(Answer::Placed(placed)) => self.clients.jobs.extend(placed.iter().map(|placed| placed.job)),
            Ok(Answer::Reserved(jobs)) if flying.is_gone => {
                if let Some(core) = &mut self.machines[usize::from(flying.shard)].core {
                    core.undelivered(&answer);
                }
                // Its jobs are released soon, and nobody is told.
                let leases = jobs.iter().map(|job| job.lease).collect();
                let release = Issued {
                    command: Command::Release { leases, retry: Retry::NotTried(0), error: None },
                    during: Span { min: self.clock.now(), max: stadium_queue::Time(u64::MAX) },
                    may_refuse: true,
                    ..flying.issued.clone()
                };
                self.ledger.may_have_happened(&release, self.clock.high());
                self.releases.push((flying.shard, self.next_number, release));
            }
            Ok(Answer::Reserved(jobs)) => self.clients.leases.extend(jobs.iter().map(|job| job.lease)),
            _ => {}
        }
    }

    /// All processes end, what of the disks survives is decided, and they start again.
    fn crash(&mut self, end: End) -> Result<(), Violation> {
        for attempt in 0.. {
            self.crashes += 1;
            self.summary.crashes += 1;
            let flying = std::mem::take(&mut self.flying);
            for (_, flying) in flying {
                if !flying.is_look {
                    self.summary.lost += 1;
                    self.lost.push(flying.issued);
                }
            }
            self.crossing.clear();
            self.look = None;
            for machine in &mut self.machines {
                if let Some(core) = &machine.core {
                    self.summary.reopened += core.reopened();
                }
                machine.end();
                let random = &mut self.random;
                let style = random.u8(..3);
                let mut choose = |choices: usize| match style {
                    0 => 0,
                    1 => choices - 1,
                    _ => random.usize(..choices),
                };
                match end {
                    End::PowerFailed => {
                        machine.disk.crash(&mut choose);
                        machine.checkpoints.crash(&mut choose);
                    }
                    End::Killed => {
                        machine.disk.kill();
                        machine.checkpoints.kill();
                    }
                }
                // Power may fail again while they recover.
                if attempt < 3 && end == End::PowerFailed && random.u8(..6) == 0 {
                    machine.disk.stop_after(random.u64(..30));
                }
            }
            self.trace.line(&self.clock, || format!("{end:?}; everything starts again"));
            let mut again = false;
            for at in 0..self.machines.len() {
                if let Err(error) = self.machines[at].open(self.clock.now()) {
                    if self.machines[at].is_stopped() {
                        again = true;
                        break;
                    }
                    let disk = self.machines[at].disk.clone();
                    disk.set_capacity(None);
                    disk.fail_sync(NEVER, Kept::Everything);
                    disk.fail_write(NEVER);
                    // A server doesn't start on a disk that is full or fails; it does on one that doesn't.
                    if let Err(error) = self.machines[at].open(self.clock.now()) {
                        if self.machines[at].is_stopped() {
                            again = true;
                            break;
                        }
                        return Violation::new(format!("shard {at} does not open after a crash: {error}"));
                    }
                    self.trace
                        .line(&self.clock, || format!("shard {at} opened when there was room: {error}"));
                }
            }
            if !again {
                break;
            }
        }
        self.look()
    }

    /// Lets the shards work until they have nothing to do.
    fn quiet(&mut self) -> Result<(), Violation> {
        for turn in 0..TURNS_MAX {
            if !self.turn_all(None)? {
                return Ok(());
            }
            let is_closed =
                |machine: &mut Machine| machine.core.as_mut().is_some_and(|core| core.journal().is_none());
            if self.machines.iter_mut().any(is_closed) || turn % 64 == 63 {
                // It waits before it tries again.
                self.advance(10);
            }
        }
        let (next, is_closed, inbox, worked, flying) = self.restless;
        let trouble = self.machines.iter().find_map(|machine| machine.core.as_ref()?.metrics().trouble);
        Violation::new(format!(
            "the shards never come to rest: {next:?}, {inbox} in the inbox, {flying} not answered, journal open: {}, disk works: {worked}, trouble: {trouble:?}",
            !is_closed
        ))
    }

    /// Looks at all queues and holds what they show against the record.
    fn look(&mut self) -> Result<(), Violation> {
        for _ in 0..200 {
            let crashes = self.crashes;
            self.quiet()?;
            if self.crashes != crashes {
                // That crash was followed by a look of its own.
                return Ok(());
            }
            let mut look = Look { first: self.next_number + 1, ..Look::default() };
            self.trace.line(&self.clock, || "the checker asks what is where".into());
            for (name, _, rules) in self.plan.queues.clone() {
                let peek = Command::Peek {
                    queue: name.clone(),
                    state: None,
                    key: None,
                    after: None,
                    jobs_max: 1_000,
                };
                look.waiting.push(self.submit_to(rules.shard, peek, Vec::new(), true));
                look.waiting.push(self.submit_to(
                    rules.shard,
                    Command::Stats { queue: name },
                    Vec::new(),
                    true,
                ));
            }
            self.look = Some(look);
            self.quiet()?;
            if self.crashes != crashes {
                return Ok(());
            }
            match &self.look {
                None => return Ok(()),
                Some(look) if look.is_busy && look.waiting.is_empty() => self.advance(100),
                Some(look) => {
                    return Violation::new(format!("{} questions are never answered", look.waiting.len()));
                }
            }
        }
        Violation::new("the shards are busy for ever")
    }

    /// An answer to a question of the checker.
    fn looked(&mut self, number: u64, issued: &Issued, answer: Answered) -> Result<(), Violation> {
        let Some(look) = &mut self.look else { return Ok(()) };
        look.waiting.retain(|waiting| *waiting != number);
        match answer {
            Ok(Answer::Jobs(jobs)) => {
                if jobs.len() >= 1_000 {
                    return Violation::new("a queue holds more jobs than the checker looks at");
                }
                look.observed.jobs.extend(jobs);
            }
            Ok(Answer::Queues(stats)) => look.stats.extend(stats),
            // The queue was not made yet, or its declaration was lost.
            Err(Refusal::Rejected { code: "QUE-001", .. }) => {}
            Err(Refusal::Busy { .. }) if self.trouble => look.is_busy = true,
            other => {
                return Violation::new(format!("the question {:?} is answered {other:?}", issued.command));
            }
        }
        if !look.waiting.is_empty() || look.is_busy {
            return Ok(());
        }
        let look = self.look.take().expect("it was there above");
        let lost = std::mem::take(&mut self.lost);
        self.summary.looks += 1;
        self.trace.line(&self.clock, || {
            format!("look: {} jobs, {} answers were lost", look.observed.jobs.len(), lost.len())
        });
        for (_, _, release) in &self.releases {
            self.ledger.may_have_happened(release, self.clock.high());
        }
        // Who went while this look was on has his jobs released after it.
        self.releases.retain(|(_, until, _)| *until >= look.first);
        let order = if self.plan.shards == 1 { Order::Submitted } else { Order::Independent };
        self.ledger.audit(&look.observed, &lost, order, self.clock.high())?;
        self.on_time(&look)?;
        counts_agree(&look)
    }

    /// Nothing is seen whose time is over.
    fn on_time(&self, look: &Look) -> Result<(), Violation> {
        let now = self.clock.now();
        if self.full {
            // What time brings is written when there is room.
            return Ok(());
        }
        for view in &look.observed.jobs {
            let late = match view.state {
                JobState::Delayed => view.due <= now,
                JobState::Reserved => view.lease_until.is_some_and(|until| until <= now),
                JobState::Due | JobState::Buried | JobState::Dead => false,
            };
            // A job whose time was over while somebody had it goes when it would be handed out again.
            let never_reserved = |place: &Place| place.live().is_some_and(|live| live.reservation == 0);
            let tag = self.ledger.tag_of(view.job);
            let untouched = tag.is_some_and(|tag| self.ledger.message(tag).places.iter().all(never_reserved));
            let over = untouched && view.attempts == 0 && view.expires.is_some_and(|at| at <= now);
            if late || over {
                return Violation::new(format!(
                    "at {} job {} still stands like this: {view:?}",
                    now.0, view.job
                ));
            }
        }
        Ok(())
    }

    fn end_faults(&mut self) {
        for machine in &self.machines {
            machine.disk.set_capacity(None);
            machine.disk.stop_after(NEVER);
            machine.checkpoints.stop_after(NEVER);
            machine.disk.fail_sync(u64::MAX, Kept::Everything);
            machine.disk.fail_write(u64::MAX);
        }
        self.full = false;
        self.plan.faults = crate::plan::Faults { flip: self.plan.faults.flip, ..Default::default() };
    }

    /// Works off everything: each message must be handed out once more, or be gone already.
    fn drain(&mut self) -> Result<(), Violation> {
        self.trace.line(&self.clock, || "everything is worked off".into());
        for (name, settings, _) in self.plan.queues.clone() {
            let settings = QueueSettings { limit: None, key_limit: None, ..settings };
            self.submit(Command::Declare { queue: name.clone(), settings }, Vec::new());
            self.submit(Command::Resume { queue: name.clone() }, Vec::new());
            for schedule in ["s0", "s1"] {
                let schedule = Key::new(schedule).expect("a key");
                self.submit(Command::Unschedule { queue: name.clone(), name: schedule }, Vec::new());
            }
        }
        let mut idle_rounds = 0;
        // A key's jobs come one by one, so it takes many rounds.
        for round in 0..1_200 {
            self.quiet()?;
            self.clients.leases.clear();
            for (name, _, _) in self.plan.queues.clone() {
                if round % 8 == 0 {
                    let jobs = JobSet::Oldest(100);
                    self.submit(Command::Kick { queue: name.clone(), jobs }, Vec::new());
                    let jobs = JobSet::Oldest(50);
                    self.submit(Command::Redrive { queue: name.clone(), jobs, to: None }, Vec::new());
                }
                let reserve = Command::Reserve {
                    queue: name,
                    jobs_max: 100,
                    lease: Some(10_000),
                    wait: 0,
                    worker: None,
                };
                self.submit(reserve, Vec::new());
            }
            self.quiet()?;
            let leases = std::mem::take(&mut self.clients.leases);
            let idle = leases.is_empty();
            for some in leases.chunks(500) {
                self.submit(Command::Settle { leases: some.to_vec() }, Vec::new());
            }
            if idle {
                self.look()?;
                idle_rounds += 1;
                if idle_rounds == 4 {
                    // By now everything that went from shard to shard has been sent again several times.
                    self.ledger.all_arrived()?;
                }
                if !self.ledger.messages().iter().any(Message::is_here) {
                    return Ok(());
                }
                // What is delayed, or held by somebody, comes later.
                self.advance(70_000);
            }
        }
        let left = self.ledger.messages().iter().filter(|message| message.is_here());
        let left: Vec<String> = left.map(|message| message.tag.to_string()).collect();
        Violation::new(format!("never handed out and settled: {}", left.join(", ")))
    }

    /// A bit of something durable flips: it must be noticed and named, and never be served.
    fn flip(&mut self) -> Result<Summary, Violation> {
        let at = self.random.usize(..self.machines.len());
        let files = self.machines[at].disk.files();
        let segments: Vec<_> = files.into_iter().filter(|(name, _)| name.ends_with(".segment")).collect();
        let (name, length) = segments[self.random.usize(..segments.len())].clone();
        // Most of a segment is empty: where data is likely.
        let content = self.machines[at].disk.content(&name).unwrap_or_default();
        let used = content.iter().rposition(|&byte| byte != 0).unwrap_or(0) as u64 + 1;
        let (byte, bit) = (self.random.u64(..used.min(length)), self.random.u8(..8));
        self.trace.line(&self.clock, || format!("bit {bit} of byte {byte} of {name} of shard {at} flips"));
        self.machines[at].disk.flip_bit(&name, byte, bit);
        // A running shard reads payloads.
        self.serves_nothing_wrong()?;
        for machine in &mut self.machines {
            machine.end();
            machine.disk.kill();
            machine.checkpoints.kill();
        }
        self.flying.clear();
        for other in 0..self.machines.len() {
            match self.machines[other].open(self.clock.now()) {
                Ok(()) => {}
                Err(error) if other == at => {
                    let said = error.to_string();
                    self.trace.line(&self.clock, || format!("refused: {said}"));
                    if !said.contains("position") {
                        return Violation::new(format!(
                            "a flipped bit is refused without its position: {said}"
                        ));
                    }
                    self.summary.flips_noticed += 1;
                    return Ok(self.summary);
                }
                Err(error) => return Violation::new(format!("shard {other} does not open: {error}")),
            }
        }
        self.serves_nothing_wrong()?;
        Ok(self.summary)
    }

    /// Everything that is shown is what was put and is not gone; what is damaged is refused.
    fn serves_nothing_wrong(&mut self) -> Result<(), Violation> {
        let mut views = Vec::new();
        for (name, _, rules) in self.plan.queues.clone() {
            let peek = Command::Peek { queue: name, state: None, key: None, after: None, jobs_max: 1_000 };
            let machine = &mut self.machines[usize::from(rules.shard)];
            let Some(core) = &mut machine.core else { continue };
            self.next_number += 1;
            core.submit(Request { caller: self.next_number, command: peek, search: Search::Here });
            for _ in 0..TURNS_MAX {
                let mut output: Output<u64> = Output::default();
                let core = machine.core.as_mut().expect("it runs");
                core.turn(self.clock.now(), &mut output);
                machine.work(u32::MAX);
                let reply = output.replies.into_iter().find(|reply| reply.caller == self.next_number);
                if let Some(reply) = reply {
                    match reply.answer {
                        Ok(Answer::Jobs(jobs)) => views.extend(jobs),
                        Err(refusal) => {
                            let said = refusal.to_string();
                            self.trace.line(&self.clock, || format!("refused: {said}"));
                            self.summary.flips_noticed += 1;
                        }
                        Ok(_) => return Violation::new("a peek answers jobs"),
                    }
                    break;
                }
            }
        }
        for view in views {
            // What is damaged is shown without its payload.
            if view.payload.is_empty() {
                self.summary.flips_noticed += 1;
                continue;
            }
            match Content::read(&view.payload) {
                Ok(content) if (content.tag.0 as usize) < self.ledger.messages().len() => {}
                Ok(content) => {
                    return Violation::new(format!("job {} is {}, which nobody put", view.job, content.tag));
                }
                Err(wrong) => {
                    return Violation::new(format!(
                        "after a bit flipped job {} is shown with {wrong}",
                        view.job
                    ));
                }
            }
        }
        Ok(())
    }
}

/// How processes end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    PowerFailed,
    Killed,
}

/// A queue's figures are those of its jobs.
fn counts_agree(look: &Look) -> Result<(), Violation> {
    for stats in &look.stats {
        let count = |state: JobState| {
            look.observed.jobs.iter().filter(|job| job.queue == stats.queue && job.state == state).count()
                as u64
        };
        let said = [stats.delayed, stats.due, stats.reserved, stats.buried, stats.dead];
        let seen = [JobState::Delayed, JobState::Due, JobState::Reserved, JobState::Buried, JobState::Dead]
            .map(count);
        if said != seen {
            return Violation::new(format!(
                "{} says {said:?} jobs delayed, due, reserved, buried, dead; {seen:?} are seen",
                stats.queue
            ));
        }
    }
    Ok(())
}

fn with_leases(command: &Command, some: Vec<stadium_queue::Lease>) -> Command {
    let mut command = command.clone();
    match &mut command {
        Command::Settle { leases }
        | Command::Release { leases, .. }
        | Command::Extend { leases, .. }
        | Command::Bury { leases, .. } => *leases = some,
        _ => {}
    }
    command
}

fn brief(command: &Command, tags: &[Tag]) -> String {
    match command {
        Command::Put { queue, jobs } => {
            let jobs = jobs.iter().zip(tags).map(|(job, tag)| {
                format!(
                    "{tag} ({} B, {:?}, key {:?}, priority {:?}, ttl {:?}, dedup {:?}, attempts {:?})",
                    job.payload.len(),
                    job.when,
                    job.key.as_ref().map(Key::as_str),
                    job.priority,
                    job.time_to_live,
                    job.dedup.as_ref().map(|dedup| (dedup.id.as_str(), dedup.window)),
                    job.attempts_max,
                )
            });
            format!("put into {queue}: {}", jobs.collect::<Vec<_>>().join(", "))
        }
        Command::Forward { lease, queue, job } => {
            format!("forward {lease} ({}) to {queue}, {} B", tags[0], job.payload.len())
        }
        Command::Edit { job, edit } => {
            let payload = edit.payload.as_ref().map(Bytes::len);
            format!("edit {job}: {payload:?} B, {:?}", Edited(edit))
        }
        other => format!("{other:?}"),
    }
}

struct Edited<'a>(&'a stadium_queue::Edit);

impl std::fmt::Debug for Edited<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stadium_queue::Edit { when, priority, time_to_live, attempts_max, .. } = self.0;
        write!(f, "when {when:?}, priority {priority:?}, ttl {time_to_live:?}, attempts {attempts_max:?}")
    }
}

fn brief_answer(answer: &Answered) -> String {
    match answer {
        Ok(Answer::Reserved(jobs)) => {
            let jobs = jobs.iter().map(|job| {
                let tag = Content::read(&job.payload).map_or("?".into(), |content| content.tag.to_string());
                format!("{tag} {} attempt {} until {}", job.lease, job.attempt, job.until.0)
            });
            format!("reserved: {}", jobs.collect::<Vec<_>>().join(", "))
        }
        Ok(Answer::Placed(placed)) => {
            let placed = placed
                .iter()
                .map(|placed| format!("{}{}", placed.job, if placed.duplicate { " (known)" } else { "" }));
            format!("placed: {}", placed.collect::<Vec<_>>().join(", "))
        }
        Ok(Answer::Jobs(jobs)) => format!("{} jobs", jobs.len()),
        Ok(other) => format!("{other:?}"),
        Err(refusal) => format!("refused: {refusal}"),
    }
}
