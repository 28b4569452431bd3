//! One turn of a shard, and what happens when its journal fails.
//!
//! The order within a turn: answers that became durable, what time brought, what was handed in,
//! commands that wait, the commit, answers again, and a slice of background work.

use std::panic::{AssertUnwindSafe, catch_unwind};

use stadium_journal::Journal;
use stadium_state_machine::{Line, Refusal, Time};

use super::checkpointing::Step;
use super::composition::carried::Beside;
use super::direct::Direct;
use super::fault::{AFTER_PANIC, FULL_RETRY, Fault};
use super::input::Input;
use super::opening;
use super::ports::{Body, Caller, Claim, Next, Output, Request, Search, Store, Trial};
use super::running::{Running, Taken, Undecided, Waits};
use super::target::{InSlot, Target, Typed};
use super::{Core, Stopping};
use crate::error::{busy, log_away, moved, outcome_unknown, unknown};
use crate::frame::MachineId;

/// A failure to open is tried again after at most so many times the first delay.
const REOPEN_FACTOR_MAX: u64 = 16;

/// How long until a key is looked at again whose first command another shard tries, milliseconds.
const CONTENDED_WAIT: u64 = 1;

/// How long a shard that stops waits for transfers between shards to be decided.
const UNDECIDED_WAIT: u64 = 1_000;

type Run<S, C, M> = Running<<S as Store>::Journal, C, M>;

impl<S: Store, C: Caller, M: Direct> Core<S, C, M> {
    /// One turn: everything that can be done now, within the bounds of a turn.
    pub fn turn(&mut self, now: Time, output: &mut Output<C, M>) -> Next {
        let began = (self.settings.stopwatch)();
        self.turns += 1;
        if self.running.is_none() {
            self.reopen(now);
            if self.running.is_some() {
                output.take_given_up(&mut self.given_up, |refusal| refusal);
            }
        }
        let next = match self.running.take() {
            None => self.turn_closed(now, output),
            Some(mut running) => {
                // After a panic the memory is thrown away with the rest.
                let turned =
                    catch_unwind(AssertUnwindSafe(|| self.turn_running(&mut running, now, began, output)));
                match turned {
                    Ok(Ok(next)) => {
                        self.running = Some(running);
                        next
                    }
                    Ok(Err(fault)) => self.fail(running, &fault, now, output),
                    Err(caught) => self.fail(running, &Fault::of_panic(&*caught), now, output),
                }
            }
        };
        self.turn_us.add((self.settings.stopwatch)().saturating_sub(began));
        next
    }

    /// The driver of the shard panicked between turns: starts over as after a panic in one. Inputs
    /// that were handed in stay.
    pub fn start_over(&mut self, now: Time, output: &mut Output<C, M>) {
        if let Some(running) = self.running.take() {
            self.fail(running, &Fault::Panicked("the shard's thread panicked".into()), now, output);
        }
    }

    fn turn_running(
        &mut self,
        running: &mut Run<S, C, M>,
        now: Time,
        began: u64,
        output: &mut Output<C, M>,
    ) -> Result<Next, Fault> {
        running.release(now, output, &self.settings)?;
        running.set_unreadable_aside(now)?;
        let mut more = running.take_time(now, &self.settings)?;
        let is_overdue = running.is_overdue(output, &self.settings)?;
        running.taken_from = running.journal.end();
        if is_overdue {
            self.turn_away(&log_away(), now, output);
        } else {
            more |= self.take_inputs(running, now, began, output)?;
            more |= running.put_events(now)?;
            self.serve_ready(running, now, began)?;
            self.let_go(running, now, began);
        }
        running.send_again(now, output, self.settings.place);
        running.commit(now, began)?;
        running.release(now, output, &self.settings)?;

        let is_idle = self.inbox.is_empty();
        let step = running.background(now, &self.settings, is_idle)?;
        self.finish_stopping(running, &step, now);
        if self.stopping == Stopping::Stopped {
            running.give_up_undecided(&mut self.given_up);
            output.take_given_up(&mut self.given_up, |refusal| refusal);
        }
        let background = match step {
            Step::After(span) => Some(now.after(span)),
            Step::Idle | Step::AtOnce | Step::Finished => None,
        };
        // Work that a stopping shard still waits for is checked often.
        let background = match self.stopping {
            Stopping::Finishing | Stopping::Checkpoint | Stopping::HandingOver => Some(now.after(2)),
            Stopping::No | Stopping::Stopped => background,
        };
        let contended = (!self.ready.is_empty()).then(|| now.after(CONTENDED_WAIT));
        let overdue = running.overdue_in(&self.settings).map(|span| now.after(span));
        let barrier = running.wants_barrier().then(|| now.after(FULL_RETRY));
        let deadlines =
            [running.next_deadline(), self.waiting.next_deadline(), background, contended, overdue, barrier];
        Ok(Next {
            at_once: more || step == Step::AtOnce || step == Step::Finished,
            deadline: deadlines.into_iter().flatten().min(),
            awaited: running.pending(),
            stopped: self.stopping == Stopping::Stopped,
        })
    }

    /// Takes inputs that were handed in, as many as a turn takes. Returns whether more could be
    /// taken at once.
    fn take_inputs(
        &mut self,
        running: &mut Run<S, C, M>,
        now: Time,
        began: u64,
        output: &mut Output<C, M>,
    ) -> Result<bool, Fault> {
        let (mut taken, mut jobs) = (0, 0);
        while taken < self.settings.turn_commands_max as u64 && jobs < self.settings.turn_jobs_max {
            let Some(input) = self.inbox.pop_front() else {
                break;
            };
            taken += 1;
            let Some(input) = self.gives_back(input, output) else { continue };
            let is_done = match input {
                Input::Request(request) => {
                    jobs += M::items(&request.command);
                    self.take_request(running, request, now, began, output)?
                }
                Input::Release(leases) => {
                    self.released_unsent += leases.len() as u64;
                    running.give_back(leases, now)?;
                    true
                }
                Input::Command(caller, command) => {
                    let machine = command.machine();
                    jobs += running.machines.slot(machine).items(command.command());
                    let waits = |_: &Self, caller, answer: Result<_, _>| {
                        Waits::Whole(caller, answer.map(|answer| crate::Answer::Machine(machine, answer)))
                    };
                    let target = InSlot(machine);
                    let carried =
                        self.carry_out(running, target, caller, command.command(), waits, now, began);
                    let behind = self.carried(running, carried, Body::Machine(command))?;
                    self.again(behind.map(|(caller, body)| Input::of(caller, body)))
                }
                Input::Together(caller, beside) => {
                    jobs += beside.items();
                    self.take_together(running, caller, beside, now, began)?
                }
                Input::Delivery(delivery) => {
                    let is_done = running.deliver(&delivery, now, began)?;
                    self.again((!is_done).then_some(Input::Delivery(delivery)))
                }
                Input::Confirmation(confirmation) => {
                    let is_done = running.confirmed(&confirmation, now)?;
                    self.again((!is_done).then_some(Input::Confirmation(confirmation)))
                }
            };
            if !is_done {
                // The journal wakes us when it is further; until then the mailbox fills, and its bound holds.
                self.turn_commands.add(taken);
                return Ok(false);
            }
        }
        if taken > 0 {
            self.turn_commands.add(taken);
        }
        Ok(!self.inbox.is_empty())
    }

    /// Returns whether an input was taken. Where the journal is behind, the input stands first in
    /// the inbox again.
    fn again(&mut self, behind: Option<Input<C, M>>) -> bool {
        let is_done = behind.is_none();
        if let Some(input) = behind {
            self.inbox.push_front(input);
        }
        is_done
    }

    /// Takes on one request. False where the journal is behind: it stands first in the inbox again then.
    fn take_request(
        &mut self,
        running: &mut Run<S, C, M>,
        request: Request<C, M::Command>,
        now: Time,
        began: u64,
        output: &mut Output<C, M>,
    ) -> Result<bool, Fault> {
        if self.stopping != Stopping::No {
            running.answer(request.caller, Err(self.why_stopping()), began);
            return Ok(true);
        }
        if let Some(Line { key, .. }) = M::line(&request.command) {
            if self.waiting.under(key) > 0 {
                // Those that wait were here first.
                let key = key.clone();
                if let Err(fault) = self.serve(running, &key, now, began) {
                    if takes_answer(&request.search) {
                        self.cut_short(request.caller, Body::Direct(request.command));
                    }
                    return Err(fault);
                }
            }
            return self.take_waiting(running, request, now, began, output);
        }
        // The request stays where it is: it is large.
        let command = &request.command;
        let placement = M::placement(command);
        if placement.is_some()
            && let Err(refusal) = running.machines.machine::<M>().check_placement(now, command)
        {
            running.figures.commands += 1;
            running.answer_request(request, Err(refusal), began);
            return Ok(true);
        }
        let waits = |core: &Self, caller, mut answer: Result<M::Answer, Refusal>| {
            if let Ok(answer) = &mut answer {
                M::note_waiting(answer, |key| core.waiting.under(key));
                output.placements.extend(placement);
            }
            Waits::Answer(caller, answer)
        };
        let direct = Typed::<M>::new();
        let carried = self.carry_out(running, direct, request.caller, command, waits, now, began);
        if let Carried::Refused | Carried::Waits { comes_back: false } = carried {
            return Ok(true);
        }
        let Request { command, search, .. } = request;
        let behind = self.carried(running, carried, Body::Direct(command))?;
        Ok(self.again(behind.map(|(caller, body)| match body {
            Body::Direct(command) => Input::Request(Request { caller, command, search }),
            body => Input::of(caller, body),
        })))
    }

    /// Takes on one command. Its caller comes back where the journal is behind, or fails.
    #[expect(
        clippy::too_many_arguments,
        reason = "the turn's own three, and the command with what becomes of its answer"
    )]
    fn carry_out<T: Target>(
        &mut self,
        running: &mut Run<S, C, M>,
        target: T,
        caller: C,
        command: &T::Command,
        waits: impl FnOnce(&Self, C, Result<T::Answer, Refusal>) -> Waits<C, M>,
        now: Time,
        began: u64,
    ) -> Carried<C> {
        if self.stopping != Stopping::No {
            running.answer(caller, Err(self.why_stopping()), began);
            return Carried::Refused;
        }
        let comes_back = caller.comes_back();
        let carried = match running.carry_out(target, command, now) {
            Ok(Taken::Answer(answer)) => {
                running.figures.refusals += u64::from(answer.is_err());
                running.wait(waits(self, caller, answer), began);
                Carried::Waits { comes_back }
            }
            Ok(Taken::Lookup(answer)) => {
                running.figures.refusals += u64::from(answer.is_err());
                running.wait_for_lookup(waits(self, caller, answer), began);
                Carried::Waits { comes_back }
            }
            Ok(Taken::Walk(walk)) => {
                running.wait_for_lookup(Waits::Walk(caller, target.id(), walk), began);
                Carried::Waits { comes_back }
            }
            Ok(Taken::Pending(number)) => Carried::Undecided((target.id(), number), caller),
            Ok(Taken::Behind) => return Carried::Behind(caller),
            Err(fault) => return Carried::Cut(caller, fault),
        };
        running.figures.commands += 1;
        carried
    }

    /// Keeps a command that was taken on, where it is to come back. Gives it back with its caller where
    /// the journal is behind, and nothing happened.
    fn carried(
        &mut self,
        running: &mut Run<S, C, M>,
        carried: Carried<C>,
        body: Body<M::Command>,
    ) -> Result<Behind<C, M::Command>, Fault> {
        match carried {
            Carried::Refused | Carried::Waits { comes_back: false } => {}
            Carried::Waits { comes_back: true } => running.keep(body),
            Carried::Undecided(number, caller) => {
                let body = caller.comes_back().then_some(body);
                running.undecided.insert(number, Undecided { caller, body });
            }
            Carried::Behind(caller) => return Ok(Some((caller, body))),
            Carried::Cut(caller, fault) => {
                self.cut_short(caller, body);
                return Err(fault);
            }
        }
        Ok(None)
    }

    /// The journal failed while the caller's command was carried out, which did not happen therefore. He hears of it with all others.
    fn cut_short(&mut self, caller: C, body: Body<M::Command>) {
        let refusal = busy("SHARD-003", 1_000, "the journal failed; it is opened again");
        let body = caller.comes_back().then_some(body);
        self.given_up.set_aside(caller, body, refusal, 0);
    }

    /// Gives a command back that a shard which stops does not take on, where its caller wants that.
    fn gives_back(&self, input: Input<C, M>, output: &mut Output<C, M>) -> Option<Input<C, M>> {
        if self.stopping == Stopping::No {
            return Some(input);
        }
        let (caller, body) = match input {
            Input::Request(Request { caller, command, .. }) if caller.comes_back() => {
                (caller, Body::Direct(command))
            }
            Input::Command(caller, command) if caller.comes_back() => (caller, Body::Machine(command)),
            Input::Together(caller, beside) if caller.comes_back() => (caller, Body::Together(beside)),
            input => return Some(input),
        };
        output.refuse(caller, Some(body), self.why_stopping(), 0);
        None
    }

    /// Takes on transfers with jobs. False where the journal is behind.
    fn take_together(
        &mut self,
        running: &mut Run<S, C, M>,
        caller: C,
        beside: Box<Beside>,
        now: Time,
        began: u64,
    ) -> Result<bool, Fault> {
        if self.stopping != Stopping::No {
            running.answer(caller, Err(self.why_stopping()), began);
            return Ok(true);
        }
        let answer = match running.take_together(&beside.transfers, &beside.jobs, now) {
            Ok(Some(answer)) => answer,
            Ok(None) => {
                self.inbox.push_front(Input::Together(caller, beside));
                return Ok(false);
            }
            Err(fault) => {
                self.cut_short(caller, Body::Together(beside));
                return Err(fault);
            }
        };
        running.figures.commands += 1;
        let comes_back = caller.comes_back();
        running.answer_whole(caller, answer.map(crate::Answer::Together), began);
        if comes_back {
            running.keep(Body::Together(beside));
        }
        Ok(true)
    }

    /// Takes on a command that waits in the line of a key where it finds nothing. False where the
    /// journal is behind.
    fn take_waiting(
        &mut self,
        running: &mut Run<S, C, M>,
        request: Request<C, M::Command>,
        now: Time,
        began: u64,
        output: &mut Output<C, M>,
    ) -> Result<bool, Fault> {
        let wait = M::line(&request.command).map_or(0, |line| line.wait);
        let found = match claimed(running, &request, now) {
            Ok(found) => found,
            Err(fault) => {
                self.cut_short(request.caller, Body::Direct(request.command));
                return Err(fault);
            }
        };
        match found {
            Found::Behind => {
                self.inbox.push_front(Input::Request(request));
                return Ok(false);
            }
            // Another shard answers it.
            Found::Elsewhere => {}
            Found::Answer(answer) => running.answer_request(request, answer, began),
            Found::Nothing | Found::Contended if request.caller.is_gone() => {}
            Found::Nothing | Found::Contended => match request.search {
                Search::Then { shards } if shards > 0 || wait > 0 => output.forwarded.push(request),
                _ if wait == 0 => {
                    running.answer_request(request, Ok(M::nothing()), began);
                }
                ref search if self.nobody_waits => {
                    if takes_answer(search) {
                        running.answer_request(request, Ok(M::nothing()), began);
                    }
                }
                Search::Everywhere(ref claim) if self.waiting.len() >= self.settings.waiting_max => {
                    if claim.take() {
                        running.answer_request(request, Err(too_many_wait()), began);
                    }
                }
                _ if self.waiting.len() >= self.settings.waiting_max => {
                    running.answer_request(request, Err(too_many_wait()), began);
                }
                _ => {
                    let Some(Line { key, .. }) = M::line(&request.command) else {
                        unreachable!("it waits in a line")
                    };
                    let key = key.clone();
                    if matches!(found, Found::Contended) {
                        self.ready.push(key.clone());
                    }
                    // The clock counts whole milliseconds: one more, so that nobody is sent away early.
                    let deadline = now.after(wait.saturating_add(1));
                    self.waiting.push(request.caller.id(), request, key, deadline);
                }
            },
        }
        running.figures.commands += 1;
        Ok(true)
    }

    /// Hands out items that became ready to the commands that wait for them.
    fn serve_ready(&mut self, running: &mut Run<S, C, M>, now: Time, began: u64) -> Result<(), Fault> {
        let mut ready = std::mem::take(&mut self.ready);
        running.machines.machine_mut::<M>().take_ready(&mut ready);
        for key in ready.drain(..) {
            self.serve(running, &key, now, began)?;
        }
        // Those that are to be looked at again.
        ready.append(&mut self.ready);
        self.ready = ready;
        Ok(())
    }

    fn serve(
        &mut self,
        running: &mut Run<S, C, M>,
        key: &M::Key,
        now: Time,
        began: u64,
    ) -> Result<(), Fault> {
        while let Some(request) = self.waiting.first(key) {
            if request.caller.is_gone() {
                self.waiting.pop(key);
                continue;
            }
            let found = claimed(running, request, now);
            match found {
                Ok(Found::Nothing | Found::Behind) => return Ok(()),
                Ok(Found::Contended) => {
                    self.ready.push(key.clone());
                    return Ok(());
                }
                _ => {}
            }
            let request = self.waiting.pop(key).expect("it was the first one");
            match found {
                Ok(Found::Answer(answer)) => running.answer_request(request, answer, began),
                Ok(_) => {}
                Err(fault) => {
                    self.cut_short(request.caller, Body::Direct(request.command));
                    return Err(fault);
                }
            }
        }
        Ok(())
    }

    /// Answers commands whose time is over with nothing; all that wait when the shard stops.
    fn let_go(&mut self, running: &mut Run<S, C, M>, now: Time, began: u64) {
        while let Some((request, _)) = self.next_to_go(now) {
            running.answer(request.caller, Ok(M::nothing()), began);
        }
    }

    /// Takes out a command that waits no longer, and that this shard answers; with its deadline.
    fn next_to_go(&mut self, now: Time) -> Option<(Request<C, M::Command>, Time)> {
        loop {
            let goes_on = self.stopping == Stopping::No && !self.nobody_waits && !self.is_moved;
            let (request, deadline) =
                if goes_on { self.waiting.pop_expired(now)? } else { self.waiting.pop_any()? };
            // Other shards have it, too, and may go on.
            let is_elsewhere = self.is_moved && matches!(request.search, Search::Everywhere(_));
            if !is_elsewhere && takes_answer(&request.search) {
                return Some((request, deadline));
            }
        }
    }

    fn finish_stopping(&mut self, running: &mut Run<S, C, M>, step: &Step, now: Time) {
        match self.stopping {
            // Work that is under way between shards is finished, as long as the others are there;
            // else at the next start.
            Stopping::Finishing
                if running.machines.pending() > 0
                    && now <= *self.finishing_until.get_or_insert(now.after(UNDECIDED_WAIT)) => {}
            Stopping::Finishing if self.inbox.is_empty() && !running.checkpointing.runs() => {
                running.checkpointing.soon();
                self.stopping = Stopping::Checkpoint;
            }
            Stopping::HandingOver if self.inbox.is_empty() && running.pending() == 0 => {
                self.stopping = Stopping::Stopped;
            }
            // A checkpoint that fails is not waited for: the journal has everything.
            Stopping::Checkpoint
                if !running.checkpointing.runs() && *step != Step::AtOnce && running.pending() == 0 =>
            {
                self.stopping = Stopping::Stopped;
            }
            _ => {}
        }
    }

    /// Everything that was handed in, and that waits, is answered Busy; nothing is lost by it.
    fn turn_away(&mut self, refusal: &Refusal, now: Time, output: &mut Output<C, M>) {
        while let Some(input) = self.inbox.pop_front() {
            match input {
                Input::Request(Request { caller, command, search }) => {
                    if takes_answer(&search) {
                        output.refuse(caller, Some(Body::Direct(command)), refusal.clone(), 0);
                    }
                }
                Input::Command(caller, command) => {
                    output.refuse(caller, Some(Body::Machine(command)), refusal.clone(), 0);
                }
                Input::Together(caller, beside) => {
                    output.refuse(caller, Some(Body::Together(beside)), refusal.clone(), 0);
                }
                // Its leases end by themselves.
                Input::Release(_) => {}
                Input::Delivery(delivery) => {
                    output.confirmations.push((delivery.shard, delivery.confirmation(Err(refusal.clone()))));
                }
                // Everything unconfirmed is sent again.
                Input::Confirmation(_) => {}
            }
        }
        while let Some((Request { caller, command, .. }, deadline)) = self.next_to_go(now) {
            let wait = M::line(&command).map_or(0, |line| line.wait);
            let waited = wait.saturating_sub(deadline.0.saturating_sub(now.0));
            output.refuse(caller, Some(Body::Direct(command)), refusal.clone(), waited);
        }
    }

    /// A turn while the journal is not open.
    fn turn_closed(&mut self, now: Time, output: &mut Output<C, M>) -> Next {
        let refusal = match self.stopping {
            _ if self.is_moved => moved(),
            Stopping::No => self.not_open(),
            _ => self.why_stopping(),
        };
        self.turn_away(&refusal, now, output);
        if self.is_moved {
            return Next { stopped: true, ..Next::default() };
        }
        if self.stopping != Stopping::No {
            // The journal is not opened again, and records that were not durable are not cut:
            // they may be there at the next start.
            output.take_given_up(&mut self.given_up, |_| unknown());
            self.stopping = Stopping::Stopped;
        }
        let deadlines = [Some(self.closed.again_at), self.waiting.next_deadline()];
        Next {
            at_once: false,
            deadline: deadlines.into_iter().flatten().min(),
            awaited: 0,
            stopped: self.stopping == Stopping::Stopped,
        }
    }

    /// The journal failed, or a turn did: what was not durable did not happen. The next turn opens the journal again.
    fn fail(
        &mut self,
        mut running: Box<Run<S, C, M>>,
        fault: &Fault,
        now: Time,
        output: &mut Output<C, M>,
    ) -> Next {
        // Records that were handed over go on becoming durable until the journal stops: only then
        // it is known which did.
        let stopped_at = running.journal.stop();
        let (why, durable) = match fault {
            Fault::Journal(
                error @ (stadium_journal::Error::Failed { durable, .. }
                | stadium_journal::Error::Unknown { durable, .. }),
            ) => (error.to_string(), Some(*durable).max(stopped_at)),
            Fault::Journal(error) => (error.to_string(), stopped_at),
            Fault::Broken(what) | Fault::Panicked(what) => (what.clone(), stopped_at),
        };
        tracing::error!(
            shard = self.settings.place.shard,
            error = %why,
            "Shard starts over from its journal, which is opened again"
        );
        self.closed.why = why;
        self.closed.durable = durable.or(self.closed.durable);
        self.closed.again_at = if matches!(fault, Fault::Panicked(_)) { now.after(AFTER_PANIC) } else { now };
        // What became durable before the failure happened: to call it Busy would be a lie.
        if let Some(durable) = self.closed.durable {
            running.hold_unproven(fault);
            let mut release = || running.release_until(durable, now, output, &self.settings);
            // An answer whose making panics is lost with its caller, who hears that it is not known; the next one is made.
            while catch_unwind(AssertUnwindSafe(&mut release)).is_err() {}
        }
        let is_fenced = matches!(fault, Fault::Journal(stadium_journal::Error::Fenced { .. }));
        self.is_moved = is_fenced && stopped_at.is_some();
        let refusal = match stopped_at {
            Some(_) if is_fenced => moved(),
            Some(_) => self.not_open(),
            None => outcome_unknown("the shard's log failed"),
        };
        running.give_up(&refusal, &mut self.given_up);
        // That nothing of the rest happened is true once it is cut, durably: until then nobody is
        // answered. What certainly did not happen, or is not known, waits for no cut.
        if self.is_moved || stopped_at.is_none() {
            output.take_given_up(&mut self.given_up, |given_up| match given_up {
                // Whose command was cut short hears where to ask, too.
                Refusal::Busy { .. } => refusal.clone(),
                given_up => given_up,
            });
        }
        self.before.add(&running.figures);
        self.checkpoints_before.add(running.checkpointing.take_counts());
        // The handle, its lock and a checkpoint that was being written are gone before anything is opened.
        drop(running);
        if self.is_moved {
            // It has no other turn.
            self.turn_away(&moved(), now, output);
        }
        Next {
            at_once: self.closed.again_at <= now,
            deadline: Some(self.closed.again_at),
            awaited: 0,
            stopped: self.is_moved,
        }
    }

    /// Opens the journal again, where it is time for that.
    fn reopen(&mut self, now: Time) {
        let wait_max = self.settings.reopen_after * REOPEN_FACTOR_MAX;
        if self.is_moved {
            return;
        }
        // A clock that was set back must not put it off for long.
        if now < self.closed.again_at && self.closed.again_at.0 - now.0 <= wait_max {
            return;
        }
        if self.stopping != Stopping::No {
            return;
        }
        let open = || opening::open(&mut self.store, &self.settings, self.closed.durable, &mut |_| ());
        let opened = catch_unwind(AssertUnwindSafe(open)).unwrap_or_else(|caught| {
            let Fault::Panicked(what) = Fault::of_panic(&*caught) else { unreachable!("it is made as one") };
            Err(crate::Error::Corrupt { position: self.closed.durable.unwrap_or_default(), what })
        });
        match opened {
            Ok((mut running, measured)) => {
                if let Some(wake) = &self.wake {
                    running.journal.on_durable(wake.clone());
                }
                tracing::info!(shard = self.settings.place.shard, "Journal open again");
                self.measured = measured;
                self.reopened += 1;
                self.closed = super::Closed { wait: self.settings.reopen_after, ..super::Closed::default() };
                self.running = Some(Box::new(running));
                // Those who wait may find something now.
                self.waiting.keys(&mut self.ready);
            }
            Err(error) => {
                tracing::error!(shard = self.settings.place.shard, %error, "Journal not opened; it is tried again");
                self.closed.why = error.to_string();
                self.closed.again_at = now.after(self.closed.wait);
                self.closed.wait = (self.closed.wait * 2).min(wait_max);
            }
        }
    }

    /// Why it takes no more commands.
    fn why_stopping(&self) -> Refusal {
        if self.hands_over { moved() } else { stopping() }
    }

    fn not_open(&self) -> Refusal {
        let reason = format!("the journal is being opened again after an error: {}", self.closed.why);
        busy("SHARD-003", 1_000, reason)
    }
}

/// The outcome of carrying out a command.
enum Carried<C> {
    /// The shard takes none.
    Refused,
    /// Its answer waits for a commit, the last one that does.
    Waits { comes_back: bool },
    /// Other shards are asked, for the machine's command of this number.
    Undecided((MachineId, u64), C),
    /// The journal is behind. Nothing happened.
    Behind(C),
    /// The journal failed meanwhile.
    Cut(C, Fault),
}

/// A command that was not taken on because the journal is behind, with its caller; none where it was.
type Behind<C, Q> = Option<(C, Body<Q>)>;

/// The outcome of a command that may wait.
enum Found<A> {
    Answer(Result<A, Refusal>),
    Nothing,
    /// Another shard looks right now whether it has something; it is not known yet who answers.
    Contended,
    /// Another shard answers.
    Elsewhere,
    /// The journal is behind.
    Behind,
}

/// Carries out a command that waits, where nobody else answered the same request already.
fn claimed<J: Journal, C: Caller, M: Direct>(
    running: &mut Running<J, C, M>,
    request: &Request<C, M::Command>,
    now: Time,
) -> Result<Found<M::Answer>, Fault> {
    let claim = match &request.search {
        Search::Everywhere(claim) => Some(claim),
        Search::Here | Search::Then { .. } => None,
    };
    match claim.map(Claim::try_out) {
        None | Some(Trial::Mine) => {}
        Some(Trial::Others) => return Ok(Found::Contended),
        Some(Trial::Over) => return Ok(Found::Elsewhere),
    }
    let found = running.execute(&request.command, now).map(|executed| match executed {
        None => Found::Behind,
        Some(Ok(answer)) if M::is_nothing(&answer) => Found::Nothing,
        Some(answer) => Found::Answer(answer),
    });
    if let Some(claim) = claim {
        match found {
            Ok(Found::Behind | Found::Nothing) => claim.give_back(),
            // The caller hears of the fault from here.
            _ => claim.keep(),
        }
    }
    found
}

/// Whether this shard may answer a request that it does not carry out.
fn takes_answer(search: &Search) -> bool {
    match search {
        Search::Everywhere(claim) => claim.take(),
        Search::Here | Search::Then { .. } => true,
    }
}

fn stopping() -> Refusal {
    busy("SHARD-004", 5_000, "the server is stopping: ask again when it is back")
}

fn too_many_wait() -> Refusal {
    busy("SHARD-005", 1_000, "too many consumers wait for jobs already")
}
