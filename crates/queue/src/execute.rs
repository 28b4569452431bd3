//! Which command is carried out where.

use crate::record::Writer;
use crate::refusal::{MISDIRECTED, QUEUE_UNKNOWN, QUEUES_FULL, busy, rejected};
use crate::{Answer, Command, JobId, PayloadAt, Place, QueueName, Queues, Record, Refusal, Time};

/// What most commands come to.
pub(crate) type Executed = Result<Answer<PayloadAt>, Refusal>;

impl Queues {
    /// Carries out a command that may change something: writes the events of one record and applies them
    /// at once. `at` is the position that the record will have. Where the record stays empty nothing
    /// changed. `random` is anything, another one each time.
    ///
    /// Commands that change nothing are answered too, but for a history: see [`Self::history_start`].
    ///
    /// # Errors
    ///
    /// The refusals of docs/queue.md; nothing happened then, and the record stays as it was begun.
    pub fn execute(
        &mut self,
        at: u64,
        now: Time,
        random: u64,
        command: &Command,
        record: &mut Record,
    ) -> Executed {
        self.advance(now);
        self.random = random;
        let mut writer = self.writer(record, at, now);
        let executed = self.carry_out(&mut writer, now, command);
        self.scratch = writer.finish();
        executed
    }

    /// Begins a section of the queues in a record.
    pub(crate) fn writer<'r>(&mut self, record: &'r mut Record, at: u64, now: Time) -> Writer<'r> {
        Writer::new(record, std::mem::take(&mut self.scratch), at, now)
    }

    fn carry_out(&mut self, writer: &mut Writer<'_>, now: Time, command: &Command) -> Executed {
        match command {
            Command::Put { queue, jobs, principal } => self.put(writer, queue, jobs, principal.as_ref()),
            Command::Reserve { queue, jobs_max, lease, wait, worker } => {
                crate::validate::wait(*wait)?;
                self.reserve(writer, queue, *jobs_max, *lease, worker.as_ref())
            }
            Command::Settle { leases } => self.settle(writer, leases),
            Command::Forward { lease, queue, job, principal } => {
                self.forward(writer, *lease, queue, job, principal.as_ref())
            }
            Command::Release { leases, retry, error } => {
                self.release(writer, leases, *retry, error.as_deref())
            }
            Command::Extend { leases, lease } => self.extend(writer, leases, *lease),
            Command::Bury { leases, reason } => self.bury(writer, leases, reason.as_deref()),
            Command::Kick { queue, jobs } => self.kick(writer, queue, jobs),
            Command::Redrive { queue, jobs, to } => self.redrive(writer, queue, jobs, to.as_ref()),
            Command::Delete { jobs } => self.delete(writer, jobs),
            Command::Edit { job, edit } => self.edit(writer, *job, edit),
            Command::Purge { queue, state } => self.purge(writer, queue, *state),
            Command::Pause { queue } => self.pause(writer, queue),
            Command::Resume { queue } => self.resume(writer, queue),
            Command::Declare { queue, settings } => self.declare(writer, queue, settings),
            Command::Drop { queue } => self.drop_queue(writer, queue),
            Command::Schedule { queue, name, cron, job, principal } => {
                self.schedule(writer, queue, name, cron, job, principal.as_ref())
            }
            Command::Unschedule { queue, name } => self.unschedule(writer, queue, name),
            Command::Peek { .. }
            | Command::Find { .. }
            | Command::Stats { .. }
            | Command::List { .. }
            | Command::Schedules { .. } => self.read(now, command),
            Command::History { .. } => {
                Err(rejected(MISDIRECTED, "a history is read from the journal, not from the queues"))
            }
        }
    }

    /// The queue of that name.
    pub(crate) fn known_queue(&self, queue: &QueueName) -> Result<u32, Refusal> {
        self.find_queue(queue.as_str())
            .ok_or_else(|| rejected(QUEUE_UNKNOWN, format!("there is no queue {:?}", queue.as_str())))
    }

    /// Whether a queue may be made.
    pub(crate) fn room_for_queue(&self, queue: &QueueName) -> Result<(), Refusal> {
        if self.queues.len() >= self.bounds.queues_max as usize {
            let reason = format!(
                "the queue {:?} cannot be made: there are {} queues on its shard, as many as queues_max allows; \
                 drop some, or raise it",
                queue.as_str(),
                self.queues.len()
            );
            return Err(busy(QUEUES_FULL, 10_000, reason));
        }
        Ok(())
    }

    /// From here on the record is about that queue.
    pub(crate) fn enter(&self, writer: &mut Writer<'_>, queue: u32) {
        writer.enter(queue, self.queues.at(queue).name.as_str());
    }

    /// Whether a queue of that name is here, or would be made here.
    pub fn is_local(&self, queue: &QueueName) -> bool {
        Place::home(queue, self.place.shards) == self.place.shard || self.find_queue(queue.as_str()).is_some()
    }

    pub(crate) fn id(&self, sequence: u64) -> JobId {
        JobId::new(self.place.shard, sequence)
    }
}
