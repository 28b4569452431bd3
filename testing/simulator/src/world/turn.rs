//! Lets the shards and their disks work, and takes what comes out: answers, and what goes to other shards.
//!
//! A message may come late, twice, or after a later one.

use std::collections::BTreeSet;

use stadium_push::Platform;
use stadium_queue::{Answer, Command, Refusal, Retry};
use stadium_shard::core::{MachineId, Output};
use stadium_shard::{OUTCOME_UNKNOWN, UNKNOWN};
use stadium_wallet::Ledger;

use super::breaking::End;
use super::counters::Counters;
use super::mqtt::Mqtt;
use super::pushes::Pushes;
use super::wallets::Wallets;
use super::words::{brief_answer, brief_delivery};
use super::{InFlight, InTransit, TURNS_MAX, World};
use crate::answered::Answered;
use crate::clock::Span;
use crate::counter::Counter;
use crate::ledger::{Issued, Violation};
use crate::machine::{Machine, Sabotage};

/// Of a commit that took too long: that nothing happened.
fn busy_if_late(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Unknown { code: OUTCOME_UNKNOWN, retry_after, reason } => {
            Refusal::Busy { code: OUTCOME_UNKNOWN, retry_after, reason }
        }
        other => other,
    }
}

impl World {
    /// One turn of each shard, and some steps of its disk: `None` for all.
    pub(super) fn turn_all(&mut self, disk_steps_max: Option<u32>) -> Result<bool, Violation> {
        let mut busy = false;
        for at in 0..self.machines.len() {
            let mut output = Output::default();
            let machine = &mut self.machines[at];
            if self.panics_between_turns.take_if(|shard| *shard == at).is_some()
                && let Some(core) = &mut machine.core
            {
                core.start_over(self.clock.now(), &mut output);
            }
            let Some((next, cut)) = machine.turn(self.clock.now(), &mut output) else { continue };
            let Some(core) = &mut machine.core else { continue };
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
            if let Err(error) = self.machines[at].follow() {
                return Violation::new(format!("the standby of shard {at} cannot follow: {error}"));
            }
            if is_closed && !self.journal_may_fail {
                let trouble = self.machines[at].core.as_ref().and_then(|core| core.metrics().trouble);
                return Violation::new(format!("shard {at}'s journal fails without any need: {trouble:?}"));
            }
            self.restless = (
                next,
                is_closed,
                inbox,
                worked,
                self.flying.len()
                    + self.counters.as_ref().map_or(0, Counters::flying)
                    + self.wallets.as_ref().map_or(0, Wallets::flying)
                    + self.pushes.as_ref().map_or(0, Pushes::flying),
            );
            busy |= next.at_once || next.awaited > 0 || is_closed || inbox > 0 || worked;
            let to_transport = output.take_transport_commands();
            busy |= !output.replies.is_empty() || !to_transport.is_empty();
            self.take_to_edge(at as u16, to_transport)?;
            self.notice_reopened(at);
            // In their order: a later question may have seen what came of a command that was cut off.
            let mut cut = cut.into_iter().collect::<BTreeSet<u64>>();
            let mut waiting = BTreeSet::new();
            busy |= !cut.is_empty();
            for mut reply in std::mem::take(&mut output.replies) {
                if self.sabotage == Sabotage::LateCommitsAreBusy {
                    reply.answer = reply.answer.map_err(busy_if_late);
                }
                while let Some(number) = cut.first().copied().filter(|number| *number < reply.caller.0) {
                    cut.remove(&number);
                    match self.flying.get(&number).is_some_and(|flying| flying.waits()) {
                        true => drop(waiting.insert(number)),
                        false => self.cut_off(number)?,
                    }
                }
                self.may_have_reserved(&waiting);
                let Some(answer) = self.mqtt_replied(reply.caller.0, reply.answer)? else { continue };
                let Some(answer) = self.push_replied(reply.caller.0, answer)? else { continue };
                let Some(answer) = self.counter_replied(reply.caller.0, answer)? else { continue };
                match self.wallet_replied(reply.caller.0, answer)? {
                    Some(Ok(stadium_shard::Answer::Queue(answer))) => {
                        self.replied(reply.caller.0, Ok(answer))?
                    }
                    Some(Err(refusal)) => self.replied(reply.caller.0, Err(refusal))?,
                    Some(Ok(other)) => {
                        return Violation::new(format!("a queue's command is answered {other:?}"));
                    }
                    None => {}
                }
            }
            for number in waiting.into_iter().chain(cut) {
                self.cut_off(number)?;
            }
            for (shard, delivery) in output.deliveries {
                busy = true;
                self.in_transit.push_back(InTransit::Delivery(shard, delivery));
            }
            for (shard, confirmation) in output.confirmations {
                busy = true;
                self.in_transit.push_back(InTransit::Confirmation(shard, confirmation));
            }
        }
        self.turn_mqtt(disk_steps_max.is_none())?;
        busy |= self.mqtt.as_ref().is_some_and(Mqtt::is_busy);
        // Messages in transit now are work for the next turn.
        busy |= !self.in_transit.is_empty();
        self.cross();
        Ok(busy)
    }

    /// Hands over some of what goes from shard to shard.
    fn cross(&mut self) {
        let wallets = self.wallets.as_ref().map_or(0, |wallets| wallets.messages());
        let pushes = self.pushes.as_ref().map_or(0, |pushes| pushes.messages());
        let counters = self.counters.as_ref().map_or(0, Counters::messages);
        let once_in = |machine| match machine {
            machine if machine == MachineId::of::<Ledger>() => wallets,
            machine if machine == MachineId::of::<Platform>() => pushes,
            machine if machine == MachineId::of::<Counter>() => counters,
            _ => 0,
        };
        for _ in 0..self.in_transit.len() {
            if self.random.u8(..4) == 0 {
                break;
            }
            match self.in_transit.pop_front() {
                Some(message) if self.once_in(once_in(message.machine())) => {
                    // It comes twice, or only after others that were sent later. Jobs are promised to come in their order: shards have
                    // mailboxes.
                    if self.random.bool() {
                        self.in_transit.push_back(message.clone());
                    }
                    self.in_transit.push_back(message);
                }
                Some(InTransit::Delivery(_, delivery))
                    if self.sabotage == Sabotage::MessagesOfPushesAreForgotten
                        && delivery.machine == MachineId::of::<Platform>() =>
                {
                    let confirmation = delivery.confirmation(Ok(()));
                    self.in_transit.push_back(InTransit::Confirmation(delivery.shard, confirmation));
                }
                Some(InTransit::Delivery(_, delivery))
                    if self.sabotage == Sabotage::MessagesOfCountersAreForgotten
                        && delivery.machine == MachineId::of::<Counter>() =>
                {
                    let confirmation = delivery.confirmation(Ok(()));
                    self.in_transit.push_back(InTransit::Confirmation(delivery.shard, confirmation));
                }
                Some(InTransit::Delivery(shard, delivery)) => {
                    self.trace.line(&self.clock, || brief_delivery(shard, &delivery));
                    if let Some(core) = &mut self.machines[usize::from(shard)].core {
                        core.deliver(delivery);
                    }
                }
                Some(InTransit::Confirmation(shard, confirmation)) => {
                    self.trace.line(&self.clock, || format!("to shard {shard}: {confirmation:?}"));
                    if let Some(core) = &mut self.machines[usize::from(shard)].core {
                        core.confirmed(confirmation);
                    }
                }
                None => {}
            }
        }
    }

    /// Consumers that waited for jobs may have got some, ahead of any later answer.
    fn may_have_reserved(&mut self, waiting: &BTreeSet<u64>) {
        for flying in waiting.iter().filter_map(|number| self.flying.get(number)) {
            self.ledger.may_have_happened(&flying.issued, self.clock.high());
        }
    }

    /// A panic dropped a caller, which is answered that the outcome is not known.
    fn cut_off(&mut self, number: u64) -> Result<(), Violation> {
        let reason = "a panic cut it off".into();
        let refusal = match self.sabotage {
            Sabotage::CutCallersHearBusy => Refusal::Busy { code: "SHARD-003", retry_after: 1_000, reason },
            _ => Refusal::Unknown { code: UNKNOWN, retry_after: 1_000, reason },
        };
        self.trace.line(&self.clock, || format!("#{number} is cut off by a panic"));
        let Some(answer) = self.counter_replied(number, Err(refusal.clone()))? else { return Ok(()) };
        let Some(answer) = self.wallet_replied(number, answer)? else { return Ok(()) };
        let is_look = self.flying.get(&number).is_some_and(|flying| flying.is_look);
        if is_look || !refusal.is_unknown() {
            return self.replied(number, answer.map(|_| unreachable!("it is a refusal")));
        }
        if let Some(flying) = self.flying.remove(&number) {
            self.summary.lost += 1;
            self.ledger.may_have_happened(&flying.issued, self.clock.high());
        }
        Ok(())
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
        if let Err(refusal @ (Refusal::Busy { code, .. } | Refusal::Unknown { code, .. })) = &answer
            && !self.trouble
            && *code != "SHARD-005"
        {
            return Violation::new(format!(
                "#{number} is answered busy, or that nothing is known, without any need: {refusal}"
            ));
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
                    core.undelivered(&answer.clone().map(stadium_shard::Answer::Queue));
                }
                // Its jobs are released soon, and nobody is notified.
                let leases = jobs.iter().map(|job| job.lease).collect();
                let release = Issued {
                    command: Command::Release { leases, retry: Retry::NotTried(0), error: None },
                    // The clock may be set back before.
                    during: Span { min: self.clock.start(), max: stadium_queue::Time(u64::MAX) },
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

    /// Lets the shards work until they have nothing to do.
    pub(super) fn quiet(&mut self) -> Result<(), Violation> {
        self.machines.iter_mut().for_each(|machine| machine.go_away(0));
        for turn in 0..TURNS_MAX {
            if !self.turn_all(None)? {
                return Ok(());
            }
            let is_closed =
                |machine: &mut Machine| machine.core.as_mut().is_some_and(|core| core.journal().is_none());
            // The checker asks about much, and holds must not expire between two of its questions.
            let patience = if self.wallets.as_ref().is_some_and(Wallets::is_looked_at) { 4_096 } else { 64 };
            if self.machines.iter_mut().any(is_closed) || turn % patience == patience - 1 {
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
}
