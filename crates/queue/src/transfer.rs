//! Jobs that go from one shard to another and are always in exactly one of them.
//!
//! The sender settles its job and keeps an outgoing one under a number, in one record. The receiver
//! puts it and remembers shard and number, in one record, so that a second delivery puts nothing.
//! Then the sender forgets it. Jobs that the sender will not deliver again are forgotten by the
//! receiver too: each delivery names the lowest number that is not confirmed.

use crate::entries::Sent;
use crate::events::{Event, Payload};
use crate::{
    Dedup, Delivery, JobId, NewJob, PayloadAt, PrincipalId, QueueName, Queues, Record, Refusal, ShardMessage,
    Time, When, validate,
};

/// A job on its way to another shard, until that has confirmed it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing<P = PayloadAt> {
    /// The sender's own number for it.
    pub number: u64,
    /// Where to.
    pub queue: QueueName,
    /// What: its payload is empty here and stands in `payload`.
    pub job: NewJob,
    /// Its payload.
    pub payload: P,
    /// The principal that put it.
    pub principal: Option<PrincipalId>,
}

impl Queues {
    /// Jobs that were sent to queues of other shards and are not confirmed, by number, from `from` on.
    pub fn outgoing(&self, from: u64, each: &mut dyn FnMut(Outgoing)) {
        for (&number, sent) in self.outgoing.range(from..) {
            let Sent { queue, priority, attempts_max, due, expires, key, dedup, payload, principal } = sent;
            // Spans count from now on: whatever time the way took is gone.
            let left = |until: Time| until.0.saturating_sub(self.now.0).max(1);
            let dedup =
                dedup.as_ref().map(|(id, until)| Dedup { id: id.clone(), window: Some(left(*until)) });
            let job = NewJob {
                when: When::At(*due),
                priority: Some(*priority),
                time_to_live: expires.map(left),
                dedup,
                key: key.clone(),
                // 0: as the queue there has it.
                attempts_max: (*attempts_max > 0).then_some(*attempts_max),
                ..NewJob::default()
            };
            let (queue, principal) = (queue.clone(), principal.clone());
            each(Outgoing { number, queue, job, payload: *payload, principal });
        }
    }

    /// The number that the next outgoing job will have; those from it on are new since.
    pub fn outgoing_next(&self) -> u64 {
        self.outgoing_next
    }

    /// The lowest number that is not confirmed; that of the next one where all are.
    pub fn outgoing_first(&self) -> u64 {
        self.outgoing.first_key_value().map_or(self.outgoing_next, |(&number, _)| number)
    }

    /// Takes over a job that another shard sent: put once, however often it is delivered. Answers the job's id.
    ///
    /// # Errors
    ///
    /// Busy, as for a put.
    pub fn deliver(
        &mut self,
        at: u64,
        now: Time,
        delivery: &Delivery,
        record: &mut Record,
    ) -> Result<JobId, Refusal> {
        self.advance(now);
        let Delivery { shard, number, confirmed_below, message } = delivery;
        let ShardMessage { queue, job, principal } = message;
        if let Some(&sequence) = self.incoming.get(&(*shard, *number)) {
            return Ok(self.id(sequence));
        }
        let jobs = std::slice::from_ref(job);
        validate::jobs(jobs, self.now, &self.bounds)?;
        let place = self.find_queue(queue.as_str());
        if place.is_none() {
            self.room_for_queue(queue)?;
        }
        self.room_for_count(place, queue, 1)?;
        let mut writer = self.writer(record, at, now);
        let place = match place {
            Some(place) => place,
            None => self.make_queue(&mut writer, queue, self.bounds.defaults.clone()),
        };
        // Its dedup id is known already where a client put the same again: that one is the job
        // then. It is put all the same, so that a job settled there is not lost here.
        let (shard, number, confirmed_below) = (*shard, *number, *confirmed_below);
        writer.write(&Event::Received { shard, number, confirmed_below });
        self.apply_received(shard, confirmed_below);
        writer.principal(principal.as_ref());
        let sequence = self.place_job(&mut writer, place, job, Payload::Bytes(&job.payload));
        self.incoming.insert((shard, number), sequence);
        self.scratch = writer.finish();
        Ok(self.id(sequence))
    }

    /// The other shard has an outgoing job, durably: it is forgotten here.
    pub fn confirm(&mut self, at: u64, now: Time, number: u64, record: &mut Record) {
        self.advance(now);
        if self.outgoing.contains_key(&number) {
            let mut writer = self.writer(record, at, now);
            writer.write(&Event::Confirmed { number });
            self.scratch = writer.finish();
            self.apply_confirmed(number);
        }
    }
}
