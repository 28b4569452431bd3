//! Old segments with records of wallets leave the disks during a run, and come back at its end.
//!
//! A store has what left. A segment moves when a seal closed its periods, and when all of it was
//! looked at, so that the checker knows the outcome of every transfer in it. Meanwhile lookups of
//! its records are refused. At the end the segments are put back, as a restore does, and all
//! histories are read.

use std::collections::BTreeMap;

use stadium_journal::copy::segment_name;
use stadium_journal::{Disk as _, Journal as _};

use super::World;
use crate::ledger::Violation;
use crate::machine::Machine;

/// The segments that left, and what may leave.
#[derive(Default)]
pub(super) struct Moving {
    /// By shard and name.
    store: BTreeMap<(usize, String), Vec<u8>>,
    /// Of each shard, the end of the journal at the last look.
    looked: Vec<u64>,
}

impl World {
    /// All outcomes of what was written before are known.
    pub(super) fn may_move(&mut self) {
        let end = |machine: &mut Machine| Some(machine.core.as_mut()?.journal()?.end().0);
        self.moving.looked = self.machines.iter_mut().map(|machine| end(machine).unwrap_or(0)).collect();
    }

    /// Stores settled segments and has them removed. A shard with a standby is one of a cluster,
    /// whose nodes move none.
    pub(super) fn move_segments(&mut self) {
        if self.plan.has_standby {
            return;
        }
        for (at, machine) in self.machines.iter_mut().enumerate() {
            let seal = machine.core.as_ref().and_then(|core| core.ledger()?.seals().next_back().copied());
            let looked = self.moving.looked.get(at).copied().unwrap_or(0);
            let Some(seal) = seal else { continue };
            let mut stored = Vec::new();
            for segment in machine.moves().settled() {
                let name = segment_name(segment.number);
                if segment.end.0 <= seal.position.min(looked)
                    && let Some(content) = machine.disk.content(&name)
                {
                    self.moving.store.insert((at, name), content);
                    stored.push(segment.number);
                }
            }
            machine.moves().remove(&stored);
            self.summary.moved += stored.len() as u64;
        }
    }

    /// Puts all segments back, and starts all shards again.
    pub(super) fn bring_back(&mut self) -> Result<(), Violation> {
        if self.moving.store.is_empty() {
            return Ok(());
        }
        for (at, machine) in self.machines.iter_mut().enumerate() {
            machine.end();
            for ((_, name), content) in self.moving.store.range((at, String::new())..(at + 1, String::new()))
            {
                if machine.disk.content(name).is_none() {
                    let written = machine.disk.create(name).and_then(|file| file.write_at(content, 0));
                    written.expect("the disk has room at the end");
                }
            }
            if let Err(error) = machine.open(self.clock.now()) {
                return Violation::new(format!("shard {at} does not open with its old segments: {error}"));
            }
        }
        // It must not remove them because the checkpoint is younger.
        for _ in 0..3 {
            self.checkpoints_soon();
            self.advance(2_000);
            self.quiet()?;
        }
        let store = &self.moving.store;
        match store.keys().find(|(at, name)| self.machines[*at].disk.content(name).is_none()) {
            Some((at, name)) => Violation::new(format!("shard {at} removed {name}, which came back")),
            None => Ok(()),
        }
    }
}
