//! The push platform in the simulation: commands go to their shards, answers come back together, devices answer, the checker looks.
//!
//! Which shards a command is for, and how their answers become one, is the product's own code, as it runs above all shards.

use std::collections::BTreeMap;

use fastrand::Rng;
use stadium_push::{Answer, AppName, Command, Happened, Parts, Platform, Refusal, TransportCommand};
use stadium_state_machine::MachineState as _;

use super::World;
use crate::asker::Asker;
use crate::clock::Span;
use crate::ledger::Violation;
use crate::machine::Sabotage;
use crate::push::{Answered, Ask, Asked, Books, Choice, Edge, Is, Look, Note, PushPlan, Question, Who};

/// The answer of a shard to a part of a command.
type Part = Result<stadium_shard::Answer, Refusal>;

/// The push platform of a run.
pub(super) struct Pushes {
    plan: PushPlan,
    books: Books,
    edge: Edge,
    random: Rng,
    /// Each part that is under way: whose, and which.
    parts: BTreeMap<u64, (u64, usize)>,
    collecting: BTreeMap<u64, Collecting>,
    look: Option<Look>,
    /// Times that each shard's journal was opened again.
    reopened: Vec<u64>,
    /// Dispatches so far.
    pub(super) dispatches: u64,
}

/// A command whose parts are under way.
struct Collecting {
    why: Why,
    /// None where it is for one shard.
    parts: Option<Parts>,
    answers: Vec<Option<Answered>>,
}

/// Who asked.
enum Why {
    Client(Asked),
    Edge(Note),
    Checker(Question),
}

/// Looks until everything must have come to rest, a tenth of a second apart.
const LOOKS_MAX: u32 = 400;

/// Rounds in which everything that is owed must get where it belongs.
const ROUNDS_MAX: u32 = 80;

impl Pushes {
    pub(super) fn new(plan: PushPlan, shards: u16, seed: u64) -> Pushes {
        Pushes {
            books: Books::new(&plan, shards),
            edge: Edge::new(shards),
            plan,
            random: Rng::with_seed(seed ^ 0x7075_7368),
            parts: BTreeMap::new(),
            collecting: BTreeMap::new(),
            look: None,
            reopened: vec![0; usize::from(shards)],
            dispatches: 0,
        }
    }

    /// Commands under way may be answered Busy from now on.
    pub(super) fn trouble_begins(&mut self) {
        self.books.trouble = true;
        for collecting in self.collecting.values_mut() {
            if let Why::Client(asked) = &mut collecting.why {
                asked.may_be_busy = true;
            }
        }
    }

    /// The clock shows something else.
    pub(super) fn time_passes(&mut self, now: Span) {
        self.books.time_passes(now);
        for collecting in self.collecting.values_mut() {
            if let Why::Client(asked) = &mut collecting.why {
                asked.during = asked.during.around(now);
            }
        }
    }

    /// Commands that are not answered.
    pub(super) fn flying(&self) -> usize {
        self.collecting.len()
    }

    /// One in so many messages between shards comes late or twice.
    pub(super) fn messages(&self) -> u32 {
        self.plan.messages
    }

    /// Once in so many steps one shard's journal fails.
    pub(super) fn lose_one(&self) -> u32 {
        self.plan.lose_one
    }
}

impl World {
    /// The apps are declared.
    pub(super) fn open_pushes(&mut self) -> Result<(), Violation> {
        let Some(pushes) = &self.pushes else { return Ok(()) };
        for app in 0..pushes.plan.apps.len() {
            self.ask_pushes(Ask::Declare(app));
        }
        self.quiet()
    }

    /// Applications ask, devices come, go and answer, the edge reports.
    pub(super) fn step_pushes(&mut self) {
        let Some(pushes) = &mut self.pushes else { return };
        let wishes = pushes.random.u32(..=pushes.plan.commands_max);
        for _ in 0..wishes {
            let Some(Pushes { plan, books, random, .. }) = &mut self.pushes else { return };
            let ask = Choice { plan, books, clock: &self.clock, random }.next();
            if let Some(ask) = ask {
                self.ask_pushes(ask);
            }
        }
        let Some(Pushes { plan, edge, random, .. }) = &mut self.pushes else { return };
        if random.u32(..plan.comes_and_goes) == 0 {
            let who = (random.usize(..plan.apps.len()), random.usize(..plan.devices.len()));
            if edge.links.contains_key(&who) && random.bool() {
                self.trace.line(&self.clock, || format!("device {who:?} goes away"));
                edge.leave(plan, who, &self.clock);
            } else {
                self.knock(who);
            }
        }
        if let Some(Pushes { books, edge, .. }) = &mut self.pushes {
            edge.answer(books, &self.clock);
        }
        self.report_to_shards();
    }

    /// A device wants to connect.
    fn knock(&mut self, who: Who) {
        let Some(pushes) = &mut self.pushes else { return };
        if pushes.edge.knocking.insert(who) {
            self.ask_pushes(Ask::Connect { who });
        }
    }

    /// The edge reports events to the shards. Returns whether there were some.
    fn report_to_shards(&mut self) -> bool {
        let Some(pushes) = &mut self.pushes else { return false };
        let reports = pushes.edge.report(&pushes.plan, &mut pushes.books);
        let is_some = !reports.is_empty();
        for (shard, mut command, note) in reports {
            if let Command::Progress { steps } = &mut command
                && self.sabotage == Sabotage::AcknowledgementsAreForgotten
            {
                steps.retain(|step| step.what != Happened::Acknowledged);
            }
            self.next_number += 1;
            let whole = self.next_number;
            self.trace.line(&self.clock, || format!("#{whole} -> shard {shard}: {command:?}"));
            self.submit_parts(whole, Why::Edge(note), None, vec![(shard, command)]);
        }
        is_some
    }

    fn ask_pushes(&mut self, ask: Ask) {
        self.next_number += 1;
        let whole = self.next_number;
        let Some(pushes) = &mut self.pushes else { return };
        let was = ask.begin(&mut pushes.books, &self.clock);
        let command = ask.command(&pushes.plan, &pushes.books);
        self.trace.line(&self.clock, || format!("#{whole} -> pushes: {command:?}"));
        let asked = Asked { ask, was, during: Span::of(&self.clock), may_be_busy: self.trouble };
        let mut parts = command.parts(self.plan.shards);
        let commands = std::mem::take(&mut parts.asked);
        self.submit_parts(whole, Why::Client(asked), Some(parts), commands);
    }

    fn submit_parts(&mut self, whole: u64, why: Why, parts: Option<Parts>, commands: Vec<(u16, Command)>) {
        self.ask_parts(whole, Collecting { why, parts, answers: Vec::new() }, commands);
    }

    /// Asks shards, whose answers come behind those that are there.
    fn ask_parts(&mut self, whole: u64, mut collecting: Collecting, commands: Vec<(u16, Command)>) {
        let from = collecting.answers.len();
        collecting.answers.resize(from + commands.len(), None);
        if let Some(pushes) = &mut self.pushes {
            pushes.collecting.insert(whole, collecting);
        }
        for (place, (shard, mut command)) in (from..).zip(commands) {
            if let Command::CancelElsewhere { below, message, .. } = &mut command {
                match self.sabotage {
                    Sabotage::RefusedCancellationsStay if message.is_none() => {
                        // Shards are asked in the order in which the home writes to them.
                        *message = Some(*below + (place - from) as u64);
                    }
                    Sabotage::CancelledMessagesStart => *message = None,
                    _ => {}
                }
            }
            self.next_number += 1;
            let number = self.next_number;
            if let Some(pushes) = &mut self.pushes {
                pushes.parts.insert(number, (whole, place));
            }
            self.core(shard).submit_to::<Platform>(Asker(number), command);
        }
    }

    /// An answer, where it is one of the push platform's; given back where it is not.
    pub(super) fn push_replied(&mut self, number: u64, answer: Part) -> Result<Option<Part>, Violation> {
        let Some(pushes) = &mut self.pushes else { return Ok(Some(answer)) };
        let Some((whole, place)) = pushes.parts.remove(&number) else { return Ok(Some(answer)) };
        let answer = match answer {
            Ok(answer) => match answer.from_machine::<Platform>() {
                Ok(answer) => Ok(answer),
                Err(other) => {
                    return Violation::new(format!("a command to the push platform is answered {other:?}"));
                }
            },
            Err(refusal) => Err(refusal),
        };
        let Some(collecting) = pushes.collecting.get_mut(&whole) else {
            return Violation::new(format!("#{whole} is answered, and has been: {answer:?}"));
        };
        collecting.answers[place] = Some(answer);
        if collecting.answers.iter().any(Option::is_none) {
            return Ok(None);
        }
        let mut collecting = pushes.collecting.remove(&whole).expect("it was there just now");
        let mut answers: Vec<Answered> = collecting.answers.into_iter().flatten().collect();
        let next = collecting.parts.as_ref().map(|parts| parts.then(&answers)).unwrap_or_default();
        if !next.is_empty() {
            collecting.answers = answers.into_iter().map(Some).collect();
            self.ask_parts(whole, collecting, next);
            return Ok(None);
        }
        let answer = match collecting.parts {
            Some(parts) => parts.merge(answers),
            None => answers.remove(0),
        };
        let named = |what: String| Violation { what: format!("#{whole} {what}"), message: None };
        match collecting.why {
            Why::Client(asked) => {
                self.trace.line(&self.clock, || format!("#{whole} <- {answer:?}"));
                match &answer {
                    Ok(_) => self.summary.accepted += 1,
                    Err(_) => self.summary.refused += 1,
                }
                asked.answered(&mut pushes.books, &answer, &pushes.plan).map_err(named)?;
                if let Ask::Connect { who } = asked.ask
                    && pushes.edge.knocking.remove(&who)
                    && let Ok(Answer::Authenticated(outcome)) = answer
                    && outcome == stadium_push::Authenticated::Unknown
                {
                    let Pushes { plan, books, edge, random, .. } = pushes;
                    edge.connect(plan, books, who, &self.clock, random);
                }
            }
            Why::Edge(note) => {
                self.trace.line(&self.clock, || format!("#{whole} <- {answer:?}"));
                match answer {
                    Ok(Answer::Done) => pushes.edge.heard(&mut pushes.books, &note),
                    Err(Refusal::Busy { .. } | Refusal::Unknown { .. }) if self.trouble => {
                        pushes.edge.unheard(&note)
                    }
                    other => return Err(named(format!("is answered {other:?}"))),
                }
            }
            Why::Checker(question) => {
                let trouble = self.trouble;
                self.trace.line(&self.clock, || format!("{question:?} <- {answer:?}"));
                if let Some(look) = &mut pushes.look {
                    look.answered(question, answer, trouble).map_err(named)?;
                }
            }
        }
        Ok(None)
    }

    /// What a shard sends to devices.
    pub(super) fn take_to_edge(
        &mut self,
        shard: u16,
        to_edge: Vec<TransportCommand>,
    ) -> Result<(), Violation> {
        let Some(pushes) = &mut self.pushes else { return Ok(()) };
        for one in to_edge {
            self.trace.line(&self.clock, || format!("shard {shard} to the edge: {one:?}"));
            let Pushes { plan, books, edge, random, .. } = pushes;
            match one {
                TransportCommand::Dispatch(dispatch) => {
                    pushes.dispatches += 1;
                    edge.take(plan, books, shard, &dispatch, &self.clock, random).or_else(Violation::new)?;
                }
                TransportCommand::Live(dispatch) => {
                    pushes.dispatches += 1;
                    edge.take_live(plan, books, &dispatch).or_else(Violation::new)?;
                    if self.sabotage == Sabotage::LivePushesAreDoubled {
                        edge.take_live(plan, books, &dispatch).or_else(Violation::new)?;
                    }
                }
                TransportCommand::Disconnect { app, device } => {
                    let whose = plan.app(&app).zip(plan.device(&device));
                    let Some(who) = whose else {
                        // A new app's name is cut as a device of `default`: it may not be one.
                        let is_app =
                            AppName::new(device.as_str()).is_ok_and(|name| plan.app(&name).is_some());
                        if app == AppName::default() && is_app {
                            continue;
                        }
                        return Violation::new(format!("{app}/{device} is cut, and never connected"));
                    };
                    edge.leave(plan, who, &self.clock);
                    // Who knocked before is looked at once more.
                    edge.knocking.remove(&who);
                }
            }
        }
        Ok(())
    }

    /// A shard whose journal was opened again knows of no connection.
    pub(super) fn notice_reopened(&mut self, at: usize) {
        let Some(pushes) = &mut self.pushes else { return };
        let reopened = self.machines[at].core.as_ref().map_or(0, |core| core.reopened());
        if std::mem::replace(&mut pushes.reopened[at], reopened) < reopened {
            self.trace.line(&self.clock, || format!("devices of shard {at} arrive again"));
            let Pushes { plan, books, edge, .. } = pushes;
            edge.started_over(plan, books, at as u16, &self.clock);
        }
    }

    /// All processes end: commands under way are not answered any more.
    pub(super) fn pushes_crash(&mut self) {
        let Some(pushes) = &mut self.pushes else { return };
        pushes.parts.clear();
        pushes.look = None;
        pushes.edge.crash();
        pushes.books.lives.clear();
        pushes.reopened.iter_mut().for_each(|reopened| *reopened = 0);
        for collecting in std::mem::take(&mut pushes.collecting).into_values() {
            if let Why::Client(asked) = collecting.why {
                self.summary.lost += 1;
                if let Some(who) = asked.ask.device() {
                    pushes.books.device(who).busy = false;
                }
            }
        }
    }

    /// Looks at all devices, pushes and deliveries, when nothing is under way.
    pub(super) fn look_at_pushes(&mut self, is_thorough: bool) -> Result<(), Violation> {
        for attempt in 0..LOOKS_MAX {
            let crashes = self.crashes;
            // The edge reports everything before anybody asks.
            loop {
                self.quiet()?;
                if self.crashes != crashes {
                    // That crash was followed by a look of its own.
                    return Ok(());
                }
                if !self.report_to_shards() {
                    break;
                }
            }
            let Some(pushes) = &mut self.pushes else { return Ok(()) };
            pushes.books.lives_left().or_else(Violation::new)?;
            let questions = Look::questions(&pushes.plan, &pushes.books, is_thorough);
            pushes.look = Some(Look::default());
            let began = self.clock.now();
            for question in questions {
                let Some(pushes) = &self.pushes else { return Ok(()) };
                let mut parts = question.command(&pushes.plan).parts(self.plan.shards);
                let commands = std::mem::take(&mut parts.asked);
                self.next_number += 1;
                self.submit_parts(self.next_number, Why::Checker(question), Some(parts), commands);
            }
            self.quiet()?;
            if self.crashes != crashes {
                return Ok(());
            }
            let Some(pushes) = &mut self.pushes else { return Ok(()) };
            let Some(look) = pushes.look.take() else { return Ok(()) };
            if !pushes.collecting.is_empty() {
                return Violation::new(format!(
                    "{} commands to the push platform are never answered",
                    pushes.collecting.len()
                ));
            }
            let is_at_rest = self.machines.iter().all(|machine| {
                let platform = machine.core.as_ref().and_then(|core| core.platform());
                platform.is_some_and(|platform| platform.outgoing_first() == platform.outgoing_next())
            });
            if look.is_busy || !is_at_rest || self.clock.now() != began {
                if attempt == LOOKS_MAX / 2 {
                    // Messages between shards may need room.
                    self.machines.iter().for_each(|machine| machine.disk.set_capacity(None));
                }
                self.advance(100);
                continue;
            }
            self.summary.looks += 1;
            self.trace.line(&self.clock, || "the push platform is held against the books".into());
            let Pushes { plan, books, edge, .. } = pushes;
            let checked = look.check(plan, books, edge, &self.clock, !self.full, is_at_rest);
            return checked.or_else(Violation::new);
        }
        Violation::new("the push platform's messages between shards never come to rest")
    }

    /// All devices come back and acknowledge everything: then nobody is owed anything.
    pub(super) fn drain_pushes(&mut self) -> Result<(), Violation> {
        let Some(pushes) = &mut self.pushes else { return Ok(()) };
        self.trace.line(&self.clock, || "all devices get what they are owed".into());
        pushes.plan.acknowledges = 100;
        pushes.plan.answer_steps_max = 1;
        let apps = pushes.plan.apps.len();
        let everybody: Vec<Who> = pushes.books.devices.keys().copied().collect();
        for (app, name) in (0..apps).flat_map(|app| [(app, 0), (app, 1)]) {
            self.ask_pushes(Ask::Unschedule { app, name });
        }
        for &who in &everybody {
            self.knock(who);
        }
        for round in 0..ROUNDS_MAX {
            self.quiet()?;
            if let Some(Pushes { books, edge, .. }) = &mut self.pushes {
                edge.answer(books, &self.clock);
            }
            let has_reported = self.report_to_shards();
            self.quiet()?;
            if has_reported && round % 4 != 3 {
                continue;
            }
            self.look_at_pushes(round % 8 == 7)?;
            let Some(pushes) = &self.pushes else { return Ok(()) };
            if pushes.books.owed().is_none() {
                return self.look_at_pushes(true);
            }
            // Pushes that wait for their time, their pace or the end of quiet hours come later.
            self.advance([1_000, 6_000, 120_000, 900_000, 3_600_000][(round / 16) as usize % 5]);
            if round % 8 == 5 {
                // Whose delivery was given back is connected anew.
                everybody.iter().for_each(|&who| self.knock(who));
            }
        }
        let left = self.pushes.as_ref().and_then(|pushes| pushes.books.owed());
        Violation::new(format!("it is owed for ever: {left:?}"))
    }
}

/// A run's knowledge of pushes in the end, for the summary.
impl Pushes {
    pub(super) fn accepted(&self) -> u64 {
        self.books.pushes.values().filter(|push| push.accepted == Is::Yes).count() as u64
    }
}
