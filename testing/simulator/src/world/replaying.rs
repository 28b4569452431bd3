//! Compares running shards with the result of a recovery of their disks, at any time.
//!
//! The disks are first let do all they have to do, so that everything appended is in their files.

use super::World;
use super::breaking::End;
use crate::ledger::Violation;
use crate::replay;

impl World {
    pub(super) fn compare_with_recovery(&mut self) -> Result<(), Violation> {
        for at in 0..self.machines.len() {
            let machine = &mut self.machines[at];
            machine.work(u32::MAX);
            if machine.is_stopped() {
                return self.crash(End::PowerFailed);
            }
            match replay::compare(machine, self.clock.high()) {
                Ok(compared) => self.summary.compared += u64::from(compared),
                Err(what) => {
                    return Violation::new(format!("shard {at} is not what a recovery gives: {what}"));
                }
            }
        }
        Ok(())
    }
}
