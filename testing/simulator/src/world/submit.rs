//! Hands commands in: each to the shard that it belongs to.

use std::collections::BTreeMap;

use stadium_queue::Command;
use stadium_shard::core::{Request, Search};

use super::words::brief;
use super::{InFlight, World};
use crate::asker::Asker;
use crate::clock::Span;
use crate::ledger::Issued;
use crate::message::Tag;

impl World {
    /// The shard that a command belongs to; leases of several shards are several commands.
    pub(super) fn submit(&mut self, command: Command, tags: Vec<Tag>) {
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

    pub(super) fn submit_to(&mut self, shard: u16, command: Command, tags: Vec<Tag>, is_look: bool) -> u64 {
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
            from: None,
        };
        self.flying.insert(number, InFlight { issued, shard, is_gone: false, is_look });
        self.core(shard).submit(Request { caller: Asker(number), command, search: Search::Here });
        number
    }
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
