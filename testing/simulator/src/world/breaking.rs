//! What goes wrong: power, processes, disks, clocks, consumers.
//!
//! All of it is drawn from the seed, so that a run can be repeated.

use stadium_journal::memory::{Kept, NameOperation};
use stadium_queue::Command;

use super::World;
use super::mqtt::Mqtt;
use crate::ledger::Violation;
use crate::machine::NEVER;

/// Checkpoints of a shard: two that are kept, one that is damaged, and some whose removal failed.
const CHECKPOINTS_MAX: usize = 8;

/// Whether an error means that stored data are damaged.
fn is_damage(error: &stadium_shard::Error) -> bool {
    use stadium_shard::Error;
    matches!(error, Error::Corrupt { .. } | Error::Journal(stadium_journal::Error::Corrupt(_)))
}

/// Whether the process can open files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Descriptors {
    Free,
    Exhausted,
}

/// How processes end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    PowerFailed,
    Killed,
    /// Its node is stopped, and it goes on when others have taken over.
    Stopped,
}

impl World {
    pub(super) fn break_something(&mut self) -> Result<(), Violation> {
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
            self.journal_may_fail = true;
            self.trouble_begins();
        }
        if self.once_in(faults.write) {
            let after = self.random.u64(..4);
            self.trace.line(&self.clock, || format!("write {after} from now fails at shard {at}"));
            self.machines[at].disk.fail_write(after);
            self.journal_may_fail = true;
            self.trouble_begins();
        }
        self.break_names(at);
        self.break_turn(at);
        self.break_commits(at);
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
            // A client that repeats a put relies on its being carried out while the first one is
            // remembered.
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
                self.time_passes();
            }
        }
        if self.once_in(self.mqtt.as_ref().map_or(0, Mqtt::jump)) {
            let by = [3_600_000, 86_400_000, 10 * 86_400_000][self.random.usize(..3)];
            self.trace.line(&self.clock, || format!("the clock is set forward by {by} ms"));
            self.clock.set_forward(by);
            self.time_passes();
        }
        if self.once_in(faults.vanish) {
            self.vanish();
        }
        let lose_one = self.wallets.as_ref().map_or(0, |wallets| wallets.lose_one());
        // Queues have journals that fail often enough.
        let pushes = self.pushes.as_ref().filter(|_| self.plan.queues.is_empty());
        let lose_one = lose_one.max(pushes.map_or(0, |pushes| pushes.lose_one()));
        if self.once_in(lose_one) {
            self.trace
                .line(&self.clock, || format!("shard {at} alone loses its journal, and opens it again"));
            let kept = [Kept::Nothing, Kept::Half, Kept::Everything][self.random.usize(..3)];
            self.machines[at].disk.fail_sync(0, kept);
            self.journal_may_fail = true;
            self.trouble_begins();
        }
        Ok(())
    }

    /// An operation on names fails, or the process has no free descriptor for some time.
    fn break_names(&mut self, at: usize) {
        let faults = self.plan.faults;
        let once_in = |random: &mut fastrand::Rng, steps: u32| steps > 0 && random.u32(..steps) == 0;
        if once_in(&mut self.faults, faults.names) {
            let kinds = [
                NameOperation::Create,
                NameOperation::Rename,
                NameOperation::Remove,
                NameOperation::SyncFolder,
                NameOperation::Open,
            ];
            // Queues and wallets answer from the journal: where it cannot be opened a job is set aside, and a history is refused.
            let reads = !self.plan.queues.is_empty() || self.plan.wallets.is_some();
            let kind = kinds[self.faults.usize(..kinds.len() - usize::from(reads))];
            let after = self.faults.u64(..3);
            self.trace.line(&self.clock, || format!("{kind:?} {after} from now fails at shard {at}"));
            let machine = &self.machines[at];
            let disk = if self.faults.bool() { &machine.disk } else { &machine.checkpoints };
            disk.fail_name(Some((after, kind)));
            // A name that was not synced is lost only if power fails before the next sync.
            if kind == NameOperation::SyncFolder && self.plan.faults.power > 0 && self.faults.bool() {
                disk.stop_after(self.faults.u64(..60));
            }
            self.journal_may_fail = true;
            self.trouble_begins();
        }
        if once_in(&mut self.faults, faults.descriptors) {
            self.trace.line(&self.clock, || "the process has no free descriptor".into());
            self.descriptors(Descriptors::Exhausted);
            self.trouble_begins();
        } else if once_in(&mut self.faults, faults.descriptors / 6) {
            self.descriptors(Descriptors::Free);
        }
    }

    /// The thread of a shard panics, in a turn or between two.
    fn break_turn(&mut self, at: usize) {
        let panics = self.plan.faults.panics;
        if panics == 0 || self.faults.u32(..panics) > 0 {
            return;
        }
        self.journal_may_fail = true;
        let calls = self.faults.u64(..60);
        if calls < 10 {
            self.trace.line(&self.clock, || format!("the thread of shard {at} panics between two turns"));
            self.panics_between_turns = Some(at);
        } else {
            self.trace.line(&self.clock, || format!("shard {at} panics in {calls} calls of its journal"));
            self.machines[at].panic_in(Some(calls - 10));
        }
        self.trouble_begins();
    }

    /// The journal commits nothing for some turns.
    fn break_commits(&mut self, at: usize) {
        let away = self.plan.faults.away;
        if away == 0 || self.faults.u32(..away) > 0 {
            return;
        }
        let turns = self.faults.u32(1..40);
        self.trace.line(&self.clock, || format!("shard {at} commits nothing for {turns} turns"));
        self.machines[at].go_away(turns);
        self.trouble_begins();
    }

    pub(super) fn descriptors(&mut self, descriptors: Descriptors) {
        for machine in &self.machines {
            let open_max = (descriptors == Descriptors::Exhausted).then_some(0);
            machine.disk.set_open_max(open_max);
            machine.checkpoints.set_open_max(open_max);
        }
    }

    /// From now on a shard may be busy, also for commands that are under way already.
    pub(super) fn trouble_begins(&mut self) {
        self.trouble = true;
        if let Some(wallets) = &mut self.wallets {
            wallets.trouble_begins();
        }
        if let Some(pushes) = &mut self.pushes {
            pushes.trouble_begins();
        }
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

    /// All processes end, what of the disks survives is decided, and they start again.
    pub(super) fn crash(&mut self, end: End) -> Result<(), Violation> {
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
            if let Some(counters) = &mut self.counters {
                counters.crash();
            }
            self.wallets_crash();
            self.pushes_crash();
            self.mqtt_crash();
            self.in_transit.clear();
            self.look = None;
            self.panics_between_turns = None;
            self.descriptors(Descriptors::Free);
            for machine in &mut self.machines {
                if let Some(core) = &machine.core {
                    self.summary.reopened += core.reopened();
                }
                let controls = self.plan.faults.controls;
                let flips = attempt == 0 && controls > 0 && self.faults.u32(..controls) == 0;
                if flips && machine.flip_control(&mut self.faults) {
                    self.trace.line(&self.clock, || "a bit of a journal's control flips".into());
                }
                if end == End::Stopped {
                    self.zombies.rise_later(machine.stop());
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
                    End::Killed | End::Stopped => {
                        machine.disk.kill();
                        machine.checkpoints.kill();
                    }
                }
                machine.hurt(&mut self.faults, self.plan.faults.reads, self.plan.faults.checkpoints);
                // Power may fail again while they recover.
                if attempt < 3 && end == End::PowerFailed && random.u8(..6) == 0 {
                    machine.disk.stop_after(random.u64(..30));
                }
            }
            self.few_checkpoints()?;
            self.trace.line(&self.clock, || format!("{end:?}; everything starts again"));
            let mut again = false;
            for at in 0..self.machines.len() {
                if let Err(error) = self.machines[at].open(self.clock.now()) {
                    if self.machines[at].is_stopped() {
                        again = true;
                        break;
                    }
                    // With one damaged and the other not read for once, the damage is reported.
                    if is_damage(&error) && !self.machines[at].has_damage() {
                        return Violation::new(format!("shard {at} calls whole files damaged: {error}"));
                    }
                    self.machines[at].heal();
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
        for machine in &self.machines {
            machine.disk.fail_read(None);
            machine.checkpoints.fail_read(None);
        }
        let crashes = self.crashes;
        self.open_mqtt()?;
        // A crash meanwhile was followed by a look of its own.
        if self.crashes == crashes { self.look() } else { Ok(()) }
    }

    /// A checkpoint that is kept no more is removed, if not at once then later.
    pub(super) fn few_checkpoints(&self) -> Result<(), Violation> {
        for (at, machine) in self.machines.iter().enumerate() {
            let files = machine.checkpoints.files();
            let kept = files.iter().filter(|(name, _)| name.ends_with(".checkpoint")).count();
            if kept > CHECKPOINTS_MAX {
                return Violation::new(format!("shard {at} keeps {kept} checkpoints"));
            }
        }
        Ok(())
    }

    pub(super) fn end_faults(&mut self) {
        for machine in &mut self.machines {
            machine.disk.stop_after(NEVER);
            machine.checkpoints.stop_after(NEVER);
            machine.heal();
            machine.panic_in(None);
            machine.go_away(0);
        }
        self.panics_between_turns = None;
        self.full = false;
        self.plan.faults = crate::plan::Faults { flip: self.plan.faults.flip, ..Default::default() };
    }
}
