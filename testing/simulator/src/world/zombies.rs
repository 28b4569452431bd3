//! Nodes that are stopped, and their owners that go on when others have taken their shards over.
//!
//! An owner that goes on has the memory that it had, and clients that do not know better ask it. Its
//! answer must be true now: it is held against the record at once. The lease of a node ends before
//! another claims its shards; meanwhile, and while its store does not answer, it is not certain.

use fastrand::Rng;
use stadium_queue::Command;
use stadium_shard::core::{Output, Request, Search};

use super::World;
use super::breaking::End;
use super::words::{brief, brief_answer};
use crate::asker::Asker;
use crate::clock::Span;
use crate::ledger::{Issued, Violation};
use crate::machine::{CERTAIN, Zombie};

/// Owners that are stopped at once: one for each shard of the last times.
const ZOMBIES_MAX: usize = 16;

/// Turns in which an owner must answer: more than it needs to learn of the fence.
const TURNS_MAX: u32 = 200;

/// Steps for which the leases are not renewed, at most.
const AWAY_MAX: u32 = 30;

/// The nodes that were stopped, and the store of the leases.
pub(super) struct Zombies {
    /// On its own, so that it changes nothing else.
    random: Rng,
    stopped: Vec<Zombie>,
    /// Steps for which no lease is renewed.
    away: u32,
}

impl Zombies {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: Rng::with_seed(seed ^ 0x7a6f_6d62_6965), stopped: Vec::new(), away: 0 }
    }

    /// A node was stopped. It goes on at any time from now on.
    pub(super) fn rise_later(&mut self, zombie: Option<Zombie>) {
        self.stopped.extend(zombie);
        let too_many = self.stopped.len().saturating_sub(ZOMBIES_MAX);
        self.stopped.drain(..too_many);
    }

    fn once_in(&mut self, steps: u32) -> bool {
        self.random.u32(..steps) == 0
    }
}

impl World {
    /// Renews leases, stops nodes, and has those go on that were stopped.
    pub(super) fn step_nodes(&mut self) -> Result<(), Violation> {
        let stops = self.plan.faults.stops;
        if stops == 0 {
            return Ok(());
        }
        match self.zombies.away.checked_sub(1) {
            Some(left) => self.zombies.away = left,
            None if self.zombies.once_in(stops) => {
                self.zombies.away = self.zombies.random.u32(1..AWAY_MAX);
                let steps = self.zombies.away;
                self.trace.line(&self.clock, || format!("no lease is renewed for {steps} steps"));
            }
            None => self.machines.iter().for_each(|machine| machine.renew()),
        }
        if self.zombies.once_in(stops) {
            self.trace.line(&self.clock, || "all nodes are stopped".into());
            self.advance(CERTAIN);
            self.crash(End::Stopped)?;
        }
        if !self.zombies.stopped.is_empty() && self.zombies.once_in(4) {
            let at = self.zombies.random.usize(..self.zombies.stopped.len());
            let zombie = self.zombies.stopped.swap_remove(at);
            self.haunt(zombie)?;
        }
        Ok(())
    }

    /// An owner goes on that another one has fenced, until it learns of it.
    fn haunt(&mut self, mut zombie: Zombie) -> Result<(), Violation> {
        let shard = zombie.shard;
        self.trace.line(&self.clock, || format!("the owner of shard {shard} that was stopped goes on"));
        let mut output = Output::default();
        for _ in 0..self.zombies.random.u32(1..4) {
            let Some(command) = self.question(shard) else { return Ok(()) };
            self.next_number += 1;
            self.summary.haunted += 1;
            let number = self.next_number;
            let issued = Issued {
                number,
                command: command.clone(),
                tags: Vec::new(),
                during: Span::of(&self.clock),
                set_back: self.clock.jumps_back() > 0,
                may_refuse: true,
                from: None,
            };
            self.trace.line(&self.clock, || format!("#{number} -> it: {}", brief(&command, &[])));
            zombie.core.submit(Request { caller: Asker(number), command, search: Search::Here });
            let mut answer = None;
            for _ in 0..TURNS_MAX {
                if answer.is_some() {
                    break;
                }
                zombie.core.turn(self.clock.now(), &mut output);
                // It has older questions, too: their answers were true when those were asked.
                let mut replies = output.replies.drain(..);
                answer = replies.find(|reply| reply.caller.0 == number);
            }
            let answer = match answer.map(|reply| reply.answer) {
                Some(Ok(stadium_shard::Answer::Queue(answer))) => Ok(answer),
                Some(Err(refusal)) => Err(refusal),
                other => {
                    return Violation::new(format!(
                        "the owner of shard {shard} that was stopped answers #{number} with {other:?}"
                    ));
                }
            };
            self.trace.line(&self.clock, || format!("#{number} <- {}", brief_answer(&answer)));
            if answer.is_ok() && matches!(issued.command, Command::Pause { .. }) {
                return Violation::new(format!(
                    "#{number}: a fenced owner of shard {shard} changed something"
                ));
            }
            let checked = self.ledger.answered(&issued, &answer, self.clock.high());
            checked.map_err(|violation| Violation {
                what: format!("#{number} of an owner that was stopped: {}", violation.what),
                ..violation
            })?;
        }
        Ok(())
    }

    /// What a client asks an owner of a shard: where a job is, what there is, or to change something.
    fn question(&mut self, shard: u16) -> Option<Command> {
        let random = &mut self.zombies.random;
        let queues = self.plan.queues.iter().filter(|(_, _, rules)| rules.shard == shard);
        let queues: Vec<_> = queues.map(|(name, ..)| name.clone()).collect();
        let jobs: Vec<_> = self.clients.jobs.iter().filter(|job| job.shard() == shard).copied().collect();
        let job = (!jobs.is_empty()).then(|| jobs[random.usize(..jobs.len())]);
        let queue = (!queues.is_empty()).then(|| queues[random.usize(..queues.len())].clone());
        match random.u8(..5) {
            0 => queue.map(|queue| Command::Pause { queue }),
            1 => {
                queue.map(|queue| Command::Peek { queue, state: None, key: None, after: None, jobs_max: 100 })
            }
            _ => job.map(|job| Command::Find { job }),
        }
    }
}
