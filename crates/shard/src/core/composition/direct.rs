//! The queues as the direct machine of a shard.
//!
//! A queue that is declared `spread` has its jobs on all shards. The change is for those who route
//! commands, and possible only while the queue holds no jobs.

use stadium_queue::{Answer, Command, QueueName, Queues, Spread};
use stadium_state_machine::{Leasing, Refusal, Time};

use crate::core::direct::Direct;
use crate::core::input::Input;
use crate::core::ports::Request;
use crate::error::rejected;

/// A command to the queues must not pay for what else there is.
const _: () =
    assert!(size_of::<Input<u64, Queues>>() <= size_of::<Request<u64, Command>>() + size_of::<u64>());

impl Direct for Queues {
    type Placement = (QueueName, Spread);

    fn placement(command: &Command) -> Option<Self::Placement> {
        match command {
            Command::Declare { queue, settings } => Some((queue.clone(), settings.spread)),
            Command::Drop { queue } => Some((queue.clone(), Spread::OneShard)),
            _ => None,
        }
    }

    // Else jobs of one key would be on two shards.
    fn check_placement(&self, now: Time, command: &Command) -> Result<(), Refusal> {
        let Command::Declare { queue, settings } = command else {
            return Ok(());
        };
        let Ok(Answer::Queues(queues)) = self.read(now, &Command::Stats { queue: queue.clone() }) else {
            return Ok(());
        };
        let Some(stats) = queues.into_iter().next() else {
            return Ok(());
        };
        let jobs = stats.delayed + stats.due + stats.reserved + stats.buried + stats.dead;
        if stats.settings.spread == settings.spread || jobs == 0 {
            return Ok(());
        }
        let reason = format!("the queue {queue} holds {jobs} jobs: empty it before it is spread otherwise");
        Err(rejected("SHARD-007", reason))
    }

    fn answer(resolved: Self::Resolved) -> crate::Answer {
        crate::Answer::Queue(resolved)
    }

    fn resolved(answer: &crate::Answer) -> Option<&<Queues as Leasing>::Resolved> {
        match answer {
            crate::Answer::Queue(resolved) => Some(resolved),
            _ => None,
        }
    }
}
