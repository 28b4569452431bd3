//! The counters in the simulation: amounts are added and moved, and none is lost or doubled.

use std::collections::BTreeMap;

use fastrand::Rng;
use stadium_shard::Answer;
use stadium_state_machine::Refusal;

use super::World;
use crate::asker::{Asker, is_open};
use crate::counter::{Command, Counter};
use crate::ledger::Violation;
use crate::plan::CounterPlan;

/// The counters of a run.
pub(super) struct Counters {
    plan: CounterPlan,
    random: Rng,
    /// Commands that are not answered.
    flying: BTreeMap<u64, Command>,
    /// The sum of amounts that were added for certain, and of those that may have been.
    added: u64,
    uncertain: u64,
}

/// Times that everything which is under way between shards is sent again, at the end.
const ROUNDS_MAX: u32 = 40;

impl Counters {
    pub(super) fn new(plan: CounterPlan, seed: u64) -> Counters {
        let random = Rng::with_seed(seed ^ 0x0063_6f75_6e74_6572);
        Counters { plan, random, flying: BTreeMap::new(), added: 0, uncertain: 0 }
    }

    pub(super) fn flying(&self) -> usize {
        self.flying.len()
    }

    pub(super) fn messages(&self) -> u32 {
        self.plan.messages
    }

    /// The outcome of a command will never be known.
    fn may_have_happened(&mut self, command: Command) {
        if let Command::Add(amount) = command {
            self.uncertain += amount;
        }
    }

    /// All processes end: commands under way are not answered any more.
    pub(super) fn crash(&mut self) {
        for (_, command) in std::mem::take(&mut self.flying) {
            self.may_have_happened(command);
        }
    }
}

impl World {
    /// Clients ask something of the counters.
    pub(super) fn ask_counters(&mut self) {
        let shards = self.plan.shards;
        let count =
            self.counters.as_mut().map_or(0, |counters| counters.random.u32(..=counters.plan.commands_max));
        for _ in 0..count {
            let Some(counters) = &mut self.counters else { return };
            let random = &mut counters.random;
            let shard = random.u16(..shards);
            let command = match random.u8(..4) {
                0 => Command::Read,
                1 => Command::Add(random.u64(1..100)),
                _ => Command::Move { to: random.u16(..shards), amount: random.u64(1..50) },
            };
            self.next_number += 1;
            let number = self.next_number;
            counters.flying.insert(number, command);
            self.trace.line(&self.clock, || format!("#{number} -> counter of shard {shard}: {command:?}"));
            self.core(shard).submit_to::<Counter>(Asker(number), command);
        }
    }

    /// Takes the answer of a counter; another one is given back.
    pub(super) fn counter_replied(
        &mut self,
        number: u64,
        answer: Result<Answer, Refusal>,
    ) -> Result<Option<Result<Answer, Refusal>>, Violation> {
        let command = self.counters.as_mut().and_then(|counters| counters.flying.remove(&number));
        let (Some(command), Some(counters)) = (command, &mut self.counters) else {
            return Ok(Some(answer));
        };
        self.trace.line(&self.clock, || format!("#{number} <- {answer:?}"));
        match answer.map(Answer::from_machine::<Counter>) {
            Ok(Ok(value)) => {
                self.summary.accepted += 1;
                if let Command::Add(amount) = command {
                    counters.added += amount;
                    if value < amount {
                        return Violation::new(format!("a counter shows {value} after {amount} were added"));
                    }
                }
            }
            Ok(Err(other)) => return Violation::new(format!("a counter is answered {other:?}")),
            Err(refusal) => {
                self.summary.refused += 1;
                if is_open(&refusal) {
                    counters.may_have_happened(command);
                }
            }
        }
        Ok(None)
    }

    /// Lets everything arrive that is on its way, and compares the counters with what was added.
    pub(super) fn drain_counters(&mut self) -> Result<(), Violation> {
        if self.counters.is_none() {
            return Ok(());
        }
        for _ in 0..ROUNDS_MAX {
            self.quiet()?;
            let shown: Vec<&Counter> =
                self.machines.iter().filter_map(|machine| machine.core.as_ref()?.machine()).collect();
            let is_whole = shown.len() == self.machines.len();
            if is_whole && shown.iter().all(|counter| counter.unconfirmed().next().is_none()) {
                let sum: u64 = shown.iter().map(|counter| counter.value()).sum();
                return self.check_counters(sum);
            }
            // It is sent again.
            self.advance(11_000);
        }
        Violation::new("amounts between counters never arrive")
    }

    fn check_counters(&self, sum: u64) -> Result<(), Violation> {
        let Some(Counters { added, uncertain, .. }) = &self.counters else { return Ok(()) };
        if sum < *added || sum > added + uncertain {
            return Violation::new(format!(
                "the counters show {sum} in all; {added} were added, and perhaps {uncertain} more"
            ));
        }
        Ok(())
    }
}
