//! The queues as a shard drives them.
//!
//! They state beforehand how many bytes a command may write, since a shard makes room for them
//! first. The bounds are generous: asking for too much costs at most the end of a segment.

use bytes::Bytes;
use stadium_state_machine::{
    Description, Executed, Lookup, MachineState, MovePayloads, Section, StateMachine,
};

use crate::leases::unknown;
use crate::{
    Answer, Bounds, Command, Corrupt, Delivery, History, JobSet, NewJob, PayloadAt, PayloadChange, Place,
    PrincipalId, QueueName, Queues, Record, Refusal, ShardMessage, Time,
};

/// Bytes of anything but jobs: names and settings.
const COMMAND_BYTES: usize = 2_048;

/// Bytes of one event of a job, without its texts.
const EVENT_BYTES: usize = 96;

/// Bytes of a job that goes to another queue with its reason: two events and texts.
const MOVE_BYTES: usize = 512 + PRINCIPAL_BYTES;

/// Bytes of who puts jobs.
const PRINCIPAL_BYTES: usize = 4 + PrincipalId::BYTES_MAX;

/// Bytes of a queue that is made.
const QUEUE_BYTES: usize = 256;

/// Bytes of an event that time brings.
const TICK_EVENT_BYTES: usize = 256;

/// Bytes of what a tick, or a move of payloads, writes beside its events.
const TICK_BYTES: usize = 4_096;

fn job_bytes(job: &NewJob) -> usize {
    EVENT_BYTES
        + job.payload.len()
        + job.key.as_ref().map_or(0, |key| key.as_str().len())
        + job.dedup.as_ref().map_or(0, |dedup| 64 + dedup.id.as_str().len())
}

/// Bytes that the jobs of [`Queues::put_each`] have at most in a record.
pub fn put_each_bytes_max(jobs: &[(QueueName, NewJob)]) -> usize {
    // Each may name another queue, which may be made.
    let bytes = |(queue, job): &(QueueName, NewJob)| job_bytes(job) + queue.as_str().len() + QUEUE_BYTES;
    PRINCIPAL_BYTES + jobs.iter().map(bytes).sum::<usize>()
}

impl MachineState for Queues {
    fn apply(&mut self, at: u64, time: Time, offset: u32, events: &[u8]) -> Result<(), Corrupt> {
        Queues::apply(self, at, time, offset, events)
    }

    fn bytes(&self) -> usize {
        Queues::bytes(self)
    }

    fn next_deadline(&self) -> Option<Time> {
        Queues::next_deadline(self)
    }

    fn outgoing_next(&self) -> u64 {
        Queues::outgoing_next(self)
    }

    fn outgoing_first(&self) -> u64 {
        Queues::outgoing_first(self)
    }

    fn confirm_bytes_max(&self, _number: u64) -> usize {
        EVENT_BYTES
    }

    fn take_payload_changes(&mut self, into: &mut Vec<PayloadChange>) {
        Queues::take_payload_changes(self, into);
    }

    fn live_payloads(&self, each: &mut dyn FnMut(PayloadAt)) {
        Queues::live_payloads(self, each);
    }

    fn move_bytes_max(&self, bytes_max: usize) -> Option<usize> {
        // The last payload may begin just below the bound, and events of small payloads add to it.
        Some(TICK_BYTES + bytes_max + self.bounds.payload_bytes_max as usize + bytes_max / 4)
    }

    fn move_payloads(
        &mut self,
        at: u64,
        now: Time,
        moving: &mut MovePayloads<'_>,
        record: &mut Record,
    ) -> bool {
        self.write_again(at, now, moving, record)
    }
}

impl StateMachine for Queues {
    type Command = Command;
    type Answer = Answer<PayloadAt>;
    type Message = ShardMessage;
    type Walk = History;

    const CODE: u8 = 1;

    fn is_read(command: &Command) -> bool {
        matches!(
            command,
            Command::Peek { .. }
                | Command::Find { .. }
                | Command::History { .. }
                | Command::Stats { .. }
                | Command::List { .. }
                | Command::Schedules { .. }
        )
    }

    // Commands that end jobs, so that a full disk can be emptied.
    fn may_use_reserve(command: &Command) -> bool {
        matches!(
            command,
            Command::Settle { .. }
                | Command::Delete { .. }
                | Command::Purge { .. }
                | Command::Unschedule { .. }
                | Command::Drop { .. }
        )
    }

    fn items(command: &Command) -> usize {
        match command {
            Command::Put { jobs, .. } => jobs.len(),
            Command::Reserve { jobs_max, .. } | Command::Peek { jobs_max, .. } => *jobs_max as usize,
            Command::Settle { leases }
            | Command::Release { leases, .. }
            | Command::Extend { leases, .. }
            | Command::Bury { leases, .. } => leases.len(),
            Command::Delete { jobs } => jobs.len(),
            Command::Kick { jobs, .. } | Command::Redrive { jobs, .. } => match jobs {
                JobSet::Ids(ids) => ids.len(),
                JobSet::Oldest(count) => *count as usize,
            },
            _ => 1,
        }
    }

    fn command_bytes(command: &Command) -> usize {
        match command {
            Command::Put { jobs, .. } => jobs.iter().map(|job| job.payload.len()).sum(),
            Command::Forward { job, .. } | Command::Schedule { job, .. } => job.payload.len(),
            Command::Edit { edit, .. } => edit.payload.as_ref().map_or(0, Bytes::len),
            _ => 0,
        }
    }

    fn record_bytes_max(&self, command: &Command) -> usize {
        let each = |count: usize, bytes: usize| COMMAND_BYTES + count.saturating_mul(bytes);
        let set = |jobs: &JobSet| {
            match jobs {
                JobSet::Ids(ids) => ids.len(),
                JobSet::Oldest(count) => *count as usize,
            }
            .min(Bounds::JOBS_MAX)
        };
        match command {
            Command::Put { jobs, .. } => COMMAND_BYTES + jobs.iter().map(job_bytes).sum::<usize>(),
            Command::Reserve { jobs_max, .. } => {
                each((*jobs_max as usize).min(Bounds::JOBS_MAX), 2 * EVENT_BYTES)
            }
            Command::Settle { leases } | Command::Extend { leases, .. } => each(leases.len(), EVENT_BYTES),
            Command::Delete { jobs } => each(jobs.len(), EVENT_BYTES),
            Command::Release { leases, error, .. } => {
                each(leases.len(), MOVE_BYTES + error.as_ref().map_or(0, String::len))
            }
            Command::Bury { leases, reason } => {
                each(leases.len(), EVENT_BYTES + reason.as_ref().map_or(0, String::len))
            }
            Command::Kick { jobs, .. } => each(set(jobs), EVENT_BYTES),
            Command::Redrive { jobs, .. } => each(set(jobs), MOVE_BYTES),
            Command::Forward { job, .. } | Command::Schedule { job, .. } => COMMAND_BYTES + job_bytes(job),
            Command::Edit { edit, .. } => {
                COMMAND_BYTES + EVENT_BYTES + edit.payload.as_ref().map_or(0, Bytes::len)
            }
            Command::Purge { .. } => 64 << 10,
            _ => COMMAND_BYTES,
        }
    }

    fn read(&mut self, now: Time, command: &Command) -> Result<Lookup<Self::Answer, History>, Refusal> {
        match *command {
            Command::History { job } => match self.history_start(job) {
                Some(start) => Ok(Lookup::Walk(History::begin(job, start))),
                None => Err(unknown(job)),
            },
            _ => Queues::read(self, now, command).map(Lookup::Answer),
        }
    }

    fn execute(
        &mut self,
        at: u64,
        now: Time,
        random: u64,
        command: &Command,
        record: &mut Record,
    ) -> Result<Executed<Self::Answer>, Refusal> {
        Queues::execute(self, at, now, random, command, record).map(Executed::Done)
    }

    fn tick(&mut self, at: u64, now: Time, random: u64, record: &mut Record, events_max: u32) -> bool {
        Queues::tick(self, at, now, random, record, events_max).more
    }

    fn tick_bytes_max(&self, events_max: u32) -> usize {
        TICK_BYTES + events_max as usize * TICK_EVENT_BYTES
    }

    // Jobs that were put beside transfers have the time of the wallets, which a clock that is set
    // back does not change.
    fn is_due(&self, now: Time) -> bool {
        Queues::next_deadline(self).is_some_and(|deadline| deadline <= now) || self.is_ahead_of(now)
    }

    fn describe(section: Section<'_>, into: &mut Vec<Description>) -> Result<(), Corrupt> {
        Queues::describe(section, into)
    }

    fn outgoing(
        &self,
        from: u64,
        payload: &mut dyn FnMut(u64, PayloadAt) -> Option<Bytes>,
        out: &mut dyn FnMut(u16, u64, ShardMessage),
    ) {
        Queues::outgoing(self, from, &mut |sent| {
            if let Some(payload) = payload(sent.number, sent.payload) {
                let home = Place::home(&sent.queue, self.place.shards);
                let job = NewJob { payload, ..sent.job };
                let message = ShardMessage { queue: sent.queue, job, principal: sent.principal };
                out(home, sent.number, message);
            }
        });
    }

    fn receive_bytes_max(&self, delivery: &Delivery) -> usize {
        COMMAND_BYTES + job_bytes(&delivery.message.job)
    }

    fn receive(
        &mut self,
        at: u64,
        now: Time,
        delivery: &Delivery,
        record: &mut Record,
    ) -> Result<(), Refusal> {
        self.deliver(at, now, delivery, record).map(|_| ())
    }

    fn confirm(
        &mut self,
        at: u64,
        now: Time,
        number: u64,
        _taken: &Result<(), Refusal>,
        record: &mut Record,
    ) {
        Queues::confirm(self, at, now, number, record);
    }
}
