//! A shard whose journal is open: the machine, and the answers that wait for a commit.
//!
//! Here decisions become records. What is decided is appended first and answered when it is durable; where the
//! journal gives it another position than was announced, or refuses it, the whole is given up ([`Fault`]).

use std::collections::{BTreeSet, VecDeque};

use stadium_journal::{Error, Journal, Position, Room};
use stadium_queue::{
    Answer, Command, Corrupt, Delivery, JobId, Lease, Milliseconds, PayloadAt, Place, Queues, Record,
    Refusal, Retry, Time,
};

use super::checkpointing::{Checkpointing, Step};
use super::history;
use super::payloads::{Payloads, Spoilt};
use super::room::{TICK_EVENT_BYTES, delivery_bytes_max, is_read, record_bytes_max, room};
use super::seam::{Caller, Confirmation, Output, Reply};
use super::segments::Segments;
use super::settings::CoreSettings;
use crate::error::{busy, rejected};
use crate::frame::{HEADER_BYTES, Machine, write_header};
use crate::metrics::Counts;

/// How long to wait before asking a full disk again.
const FULL_RETRY: Milliseconds = 1_000;

/// Why a shard throws its memory away and recovers from its journal.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// The journal is at its end.
    Journal(Error),
    /// State and journal do not fit together: a bug, or a disk that lies.
    Broken(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Journal(error)
    }
}

impl From<Corrupt> for Fault {
    fn from(corrupt: Corrupt) -> Self {
        Fault::Broken(corrupt.reason)
    }
}

/// Why a record cannot be written now.
enum NoRoom {
    /// The disk is full.
    Full,
    /// The journal waits for the disk: go on when it is further.
    Behind,
    /// A record of such length is never written.
    TooLarge { bytes: usize, bytes_max: usize },
}

/// What a command led to.
pub(super) enum Executed {
    /// It has an answer, or will have when it is durable.
    Done(Result<Answer<PayloadAt>, Refusal>),
    /// Not now: the journal is behind. Nothing happened.
    Behind,
}

/// What leaves when the journal is durable up to a position.
struct Pending<C> {
    after: Position,
    /// When it was decided, by the stopwatch.
    since_us: u64,
    what: Waits<C>,
}

enum Waits<C> {
    Answer(C, Result<Answer<PayloadAt>, Refusal>),
    History(C, JobId, Position),
    Confirmation(u16, Confirmation),
    /// Outgoing jobs below the number may be sent.
    Outgoing(u64),
    /// Another shard's confirmation of this number is remembered.
    Confirmed(u64),
}

/// A shard whose journal is open.
pub(super) struct Running<J, C> {
    pub(super) journal: J,
    pub(super) queues: Queues,
    pub(super) checkpointing: Checkpointing,
    pub(super) segments: Segments,
    record: Record,
    pending: VecDeque<Pending<C>>,
    payloads: Payloads,
    spoilt: Vec<Spoilt>,
    random: Random,
    /// Something was appended since the last commit was started.
    uncommitted: bool,
    /// The disk was full at this time.
    full_at: Option<Time>,
    outgoing: OutgoingState,
    pub(super) figures: Figures,
}

/// What a running shard counts.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) commands: u64,
    pub(super) refusals: u64,
    pub(super) records: u64,
    pub(super) damaged: u64,
    pub(super) sent: u64,
    pub(super) durable_lag_us: Counts,
    /// Records after the newest checkpoint; roughly, where one runs.
    pub(super) tail_records: u64,
}

impl Figures {
    /// Takes over the counts of a journal that failed.
    pub(super) fn add(&mut self, other: &Figures) {
        self.commands += other.commands;
        self.refusals += other.refusals;
        self.records += other.records;
        self.damaged += other.damaged;
        self.sent += other.sent;
    }
}

/// Jobs on their way to other shards.
#[derive(Default)]
struct OutgoingState {
    /// Those below are announced: they leave when they are durable.
    announced: u64,
    /// Those below were sent.
    sent: u64,
    /// Sent, and not durably confirmed.
    unconfirmed: BTreeSet<u64>,
    /// To be sent again.
    again: BTreeSet<(Time, u64)>,
}

impl<J: Journal, C: Caller> Running<J, C> {
    pub(super) fn new(
        journal: J,
        queues: Queues,
        checkpointing: Checkpointing,
        segments: Segments,
        seed: u64,
        tail_records: u64,
    ) -> Self {
        Self {
            journal,
            queues,
            checkpointing,
            segments,
            record: Record::new(),
            pending: VecDeque::new(),
            payloads: Payloads::default(),
            spoilt: Vec::new(),
            random: Random(seed),
            uncommitted: false,
            full_at: None,
            outgoing: OutgoingState::default(),
            figures: Figures { tail_records, ..Figures::default() },
        }
    }

    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Asks for room; `Err` inside where there is none, outside where the journal is at its end.
    fn make_room(&mut self, bytes: usize, room: Room) -> Result<Result<Position, NoRoom>, Fault> {
        match self.journal.make_room(bytes, room) {
            Ok(at) => Ok(Ok(at)),
            Err(Error::Busy { .. }) => Ok(Err(NoRoom::Behind)),
            Err(Error::Full) => Ok(Err(NoRoom::Full)),
            Err(Error::TooLarge { bytes, bytes_max }) => Ok(Err(NoRoom::TooLarge { bytes, bytes_max })),
            Err(error) => Err(error.into()),
        }
    }

    /// Appends what the machine wrote; it is applied already.
    fn append(&mut self, at: Position, now: Time, room: Room) -> Result<(), Fault> {
        if self.record.is_empty() {
            return Ok(());
        }
        let events_bytes = self.record.bytes().len() - HEADER_BYTES;
        write_header(self.record.header_mut(), Machine::Queue, now, events_bytes);
        let appended = match room {
            Room::Ordinary => self.journal.append(self.record.bytes()),
            Room::Reserved => self.journal.append_reserved(self.record.bytes()),
        };
        let appended = appended.map_err(|error| match error {
            // Room was made: that it does not suffice is our miscalculation.
            Error::Busy { .. } | Error::Full | Error::TooLarge { .. } => {
                Fault::Broken(format!("a record of {} bytes did not fit: {error}", self.record.bytes().len()))
            }
            error => error.into(),
        })?;
        if appended != at {
            return Err(Fault::Broken(format!("a record stands at {appended}, announced was {at}")));
        }
        self.uncommitted = true;
        self.figures.records += 1;
        self.figures.tail_records += 1;
        self.queues.take_payload_changes(self.segments.changes());
        self.segments.apply(&self.journal);
        Ok(())
    }

    /// Carries out a command, or finds its answer.
    pub(super) fn execute(&mut self, command: &Command, now: Time) -> Result<Executed, Fault> {
        if is_read(command) {
            return Ok(Executed::Done(self.queues.read(now, command)));
        }
        let room = room(command);
        let at = match self.make_room(record_bytes_max(command), room)? {
            Ok(at) => at,
            Err(NoRoom::Behind) => return Ok(Executed::Behind),
            Err(NoRoom::Full) => {
                self.full_at = Some(now);
                return Ok(Executed::Done(Err(disk_full())));
            }
            Err(NoRoom::TooLarge { bytes, bytes_max }) => {
                let reason = format!(
                    "the record would have up to {bytes} bytes; {bytes_max} are allowed: use smaller batches"
                );
                return Ok(Executed::Done(Err(rejected("SHARD-006", reason))));
            }
        };
        self.record.begin(HEADER_BYTES);
        let answer = self.queues.execute(at.0, now, self.random.next(), command, &mut self.record);
        if answer.is_ok() {
            self.append(at, now, room)?;
        }
        Ok(Executed::Done(answer))
    }

    /// What time brings, within the bounds of a turn. Says whether more is due.
    pub(super) fn take_time(&mut self, now: Time, settings: &CoreSettings) -> Result<bool, Fault> {
        if self.queues.next_deadline().is_none_or(|deadline| deadline > now) || self.is_full(now) {
            return Ok(false);
        }
        let events = settings.turn_events_max.max(1);
        let at = match self
            .make_room(HEADER_BYTES + 4_096 + events as usize * TICK_EVENT_BYTES, Room::Ordinary)?
        {
            Ok(at) => at,
            Err(NoRoom::Behind) => return Ok(false),
            Err(NoRoom::Full) => {
                self.full_at = Some(now);
                return Ok(false);
            }
            Err(NoRoom::TooLarge { bytes, bytes_max }) => {
                return Err(Fault::Broken(format!(
                    "turn_events_max asks for records of {bytes} bytes; the journal takes {bytes_max}"
                )));
            }
        };
        self.record.begin(HEADER_BYTES);
        let ticked = self.queues.tick(at.0, now, self.random.next(), &mut self.record, events);
        self.append(at, now, Room::Ordinary)?;
        Ok(ticked.more)
    }

    /// Whether the disk was full a moment ago, so that nothing is tried that can wait.
    fn is_full(&mut self, now: Time) -> bool {
        // A clock that was set back ends it too.
        if self.full_at.is_some_and(|at| now < at || now >= at.after(FULL_RETRY)) {
            self.full_at = None;
        }
        self.full_at.is_some()
    }

    /// When time brings something next, as far as it can be taken.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        let machine = self.queues.next_deadline();
        let machine = match self.full_at {
            Some(at) => machine.map(|deadline| deadline.max(at.after(FULL_RETRY))),
            None => machine,
        };
        let again = self.outgoing.again.first().map(|&(time, _)| time);
        [machine, again].into_iter().flatten().min()
    }

    /// Takes over a job of another shard. False where the journal is behind.
    pub(super) fn deliver(&mut self, delivery: &Delivery, now: Time, since_us: u64) -> Result<bool, Fault> {
        let taken = match self.make_room(delivery_bytes_max(delivery), Room::Ordinary)? {
            Ok(at) => {
                self.record.begin(HEADER_BYTES);
                let taken = self.queues.deliver(at.0, now, delivery, &mut self.record);
                if taken.is_ok() {
                    self.append(at, now, Room::Ordinary)?;
                }
                taken
            }
            Err(NoRoom::Behind) => return Ok(false),
            Err(NoRoom::Full | NoRoom::TooLarge { .. }) => Err(disk_full()),
        };
        let confirmation = Confirmation { number: delivery.number, taken };
        self.wait(Waits::Confirmation(delivery.shard, confirmation), since_us);
        Ok(true)
    }

    /// Another shard has one of our jobs, or cannot take it now. False where the journal is behind.
    pub(super) fn confirmed(
        &mut self,
        confirmation: &Confirmation,
        now: Time,
        since_us: u64,
    ) -> Result<bool, Fault> {
        match &confirmation.taken {
            Err(refusal) => {
                let after = match refusal {
                    Refusal::Busy { retry_after, .. } => (*retry_after).clamp(10, 10_000),
                    // Only a newer or older version of the other shard could say that; it may be replaced.
                    Refusal::Rejected { .. } => 10_000,
                };
                self.outgoing.again.insert((now.after(after), confirmation.number));
                Ok(true)
            }
            Ok(_) => {
                let at = match self.make_room(HEADER_BYTES + 256, Room::Reserved)? {
                    Ok(at) => at,
                    Err(NoRoom::Behind) => return Ok(false),
                    // It is sent again then, and confirmed again.
                    Err(NoRoom::Full | NoRoom::TooLarge { .. }) => {
                        self.outgoing.again.insert((now.after(FULL_RETRY), confirmation.number));
                        return Ok(true);
                    }
                };
                self.record.begin(HEADER_BYTES);
                self.queues.confirm(at.0, now, confirmation.number, &mut self.record);
                self.append(at, now, Room::Reserved)?;
                self.wait(Waits::Confirmed(confirmation.number), since_us);
                Ok(true)
            }
        }
    }

    /// Lets an answer leave when everything that it may have seen is durable.
    pub(super) fn answer(&mut self, caller: C, answer: Result<Answer<PayloadAt>, Refusal>, since_us: u64) {
        self.figures.refusals += u64::from(answer.is_err());
        self.wait(Waits::Answer(caller, answer), since_us);
    }

    /// Lets the history of a job leave, which is read then.
    pub(super) fn answer_history(&mut self, caller: C, job: JobId, since_us: u64) {
        match self.queues.history_start(job) {
            Some(start) => self.wait(Waits::History(caller, job, Position(start)), since_us),
            None => {
                let answer = self.queues.read(Time(0), &Command::Find { job });
                let refusal =
                    answer.err().unwrap_or_else(|| rejected("QUE-001", format!("job {job} is not here")));
                self.answer(caller, Err(refusal), since_us);
            }
        }
    }

    fn wait(&mut self, what: Waits<C>, since_us: u64) {
        self.pending.push_back(Pending { after: self.journal.end(), since_us, what });
    }

    /// Starts a commit of what was appended, and announces outgoing jobs.
    pub(super) fn commit(&mut self, since_us: u64) -> Result<(), Fault> {
        let next = self.queues.outgoing_next();
        if next > self.outgoing.announced {
            self.outgoing.announced = next;
            self.wait(Waits::Outgoing(next), since_us);
        }
        if self.uncommitted {
            self.uncommitted = false;
            self.journal.commit()?;
        }
        Ok(())
    }

    /// Sends what is durable. Dead segments may go when nothing older waits.
    pub(super) fn release(
        &mut self,
        output: &mut Output<C>,
        settings: &CoreSettings,
        place: Place,
    ) -> Result<(), Fault> {
        if self.pending.is_empty() && !self.segments.has_dead() {
            return Ok(());
        }
        let durable = self.journal.durable()?;
        self.release_until(durable, output, settings, place);
        if self.pending.is_empty() {
            self.segments.remove_dead(&mut self.journal, durable);
        }
        Ok(())
    }

    /// Lets the answers go whose records are before `durable`.
    pub(super) fn release_until(
        &mut self,
        durable: Position,
        output: &mut Output<C>,
        settings: &CoreSettings,
        place: Place,
    ) {
        let mut last_batch = None;
        while self.pending.front().is_some_and(|pending| pending.after <= durable) {
            let pending = self.pending.pop_front().expect("there is a first one");
            if last_batch != Some(pending.since_us) {
                last_batch = Some(pending.since_us);
                self.figures.durable_lag_us.add((settings.stopwatch)().saturating_sub(pending.since_us));
            }
            match pending.what {
                Waits::Answer(caller, answer) => {
                    let filled = |answer| self.payloads.fill(&self.journal, answer, &mut self.spoilt);
                    let answer = answer.and_then(filled);
                    output.replies.push(Reply { caller, answer });
                }
                Waits::History(caller, job, start) => {
                    let entries =
                        history::read(&self.journal, &self.queues, job, start, settings.history_bytes_max);
                    output.replies.push(Reply { caller, answer: entries.map(Answer::History) });
                }
                Waits::Confirmation(shard, confirmation) => output.confirmations.push((shard, confirmation)),
                Waits::Outgoing(below) => {
                    let from = self.outgoing.sent;
                    self.outgoing.sent = below;
                    self.send(from, |number| number < below, output, place);
                }
                Waits::Confirmed(number) => {
                    self.outgoing.unconfirmed.remove(&number);
                }
            }
        }
        self.figures.damaged = self.payloads.damaged;
    }

    /// Jobs that were found unreadable when they were to be handed out are set aside.
    pub(super) fn bury_spoilt(&mut self, now: Time) -> Result<(), Fault> {
        while let Some(Spoilt { lease, reason }) = self.spoilt.pop() {
            tracing::error!(job = %lease.job, %reason, "Payload damaged; the job is buried");
            let command = Command::Bury { leases: vec![lease], reason: Some(reason) };
            // Where there is no room its lease ends, and it comes here again.
            self.execute(&command, now)?;
        }
        Ok(())
    }

    /// What was reserved for somebody who has gone is due again, and the attempt does not count.
    pub(super) fn give_back(&mut self, leases: Vec<Lease>, now: Time) -> Result<(), Fault> {
        // Where there is no room the leases end by themselves.
        self.execute(&Command::Release { leases, retry: Retry::NotTried(0), error: None }, now)?;
        Ok(())
    }

    /// Sends outgoing jobs again whose time has come.
    pub(super) fn send_again(&mut self, now: Time, output: &mut Output<C>, place: Place) {
        let mut due = BTreeSet::new();
        while let Some(&(time, number)) = self.outgoing.again.first() {
            if time > now {
                break;
            }
            self.outgoing.again.pop_first();
            due.insert(number);
        }
        if let Some(&first) = due.first() {
            self.send(first, |number| due.contains(&number), output, place);
        }
    }

    fn send(&mut self, from: u64, which: impl Fn(u64) -> bool, output: &mut Output<C>, place: Place) {
        let mut outgoing = Vec::new();
        self.queues.outgoing(from, &mut |job| {
            if which(job.number) {
                outgoing.push(job);
            }
        });
        self.outgoing.unconfirmed.extend(outgoing.iter().map(|job| job.number));
        let confirmed_below = self.outgoing.unconfirmed.first().copied().unwrap_or(self.outgoing.sent);
        for job in outgoing {
            let number = job.number;
            match self.payloads.read(&self.journal, job.payload) {
                Ok(payload) => {
                    let shard = Place::home(&job.queue, place.shards);
                    let job_there = stadium_queue::NewJob { payload, ..job.job };
                    let delivery = Delivery {
                        shard: place.shard,
                        number,
                        confirmed_below,
                        queue: job.queue,
                        job: job_there,
                    };
                    self.figures.sent += 1;
                    output.deliveries.push((shard, delivery));
                }
                // It stays here, counted as damaged, where an operator can find it.
                Err(reason) => tracing::error!(number, %reason, "Job for another shard has no payload"),
            }
        }
    }

    /// One step of a checkpoint and of freeing segments.
    pub(super) fn background(
        &mut self,
        now: Time,
        settings: &CoreSettings,
        is_idle: bool,
    ) -> Result<Step, Fault> {
        let step = self.checkpointing.step(&mut self.queues, &mut self.journal, settings, now);
        if step == Step::Finished {
            self.figures.tail_records = 0;
        }
        if step == Step::Idle || step == Step::Finished {
            self.segments.look(&self.journal, settings, self.checkpointing.floor(), now);
            if is_idle && !self.is_full(now) && self.rewrite(now, settings)? {
                return Ok(Step::AtOnce);
            }
        }
        Ok(step)
    }

    /// Writes a slice of a nearly dead segment's payloads again. Says whether there is more.
    fn rewrite(&mut self, now: Time, settings: &CoreSettings) -> Result<bool, Fault> {
        if self.segments.rewriting().is_none() {
            return Ok(false);
        }
        let bytes = HEADER_BYTES
            + 4_096
            + settings.rewrite_slice_bytes
            + settings.bounds.payload_bytes_max as usize
            + settings.rewrite_slice_bytes / 4;
        let Ok(at) = self.make_room(bytes, Room::Ordinary)? else {
            return Ok(false);
        };
        self.record.begin(HEADER_BYTES);
        let Some(rewriting) = self.segments.rewriting() else {
            return Ok(false);
        };
        let range = rewriting.range.clone();
        let (journal, payloads) = (&self.journal, &mut self.payloads);
        let mut rewritten = 0;
        let mut read = |at: PayloadAt, into: &mut Vec<u8>| match payloads.read(journal, at) {
            Ok(payload) => {
                rewritten += payload.len() as u64;
                into.extend_from_slice(&payload);
                true
            }
            Err(_) => false,
        };
        let more = self.queues.move_payloads(
            at.0,
            now,
            range,
            &mut rewriting.cursor,
            &mut read,
            &mut self.record,
            settings.rewrite_slice_bytes,
        );
        self.segments.rewritten_bytes += rewritten;
        if !more {
            self.segments.rewritten();
        }
        self.append(at, now, Room::Ordinary)?;
        Ok(more)
    }

    /// Tells all whose answers wait that nothing is acknowledged.
    pub(super) fn give_up(&mut self, refusal: &Refusal, output: &mut Output<C>) {
        for pending in self.pending.drain(..) {
            match pending.what {
                Waits::Answer(caller, _) | Waits::History(caller, ..) => {
                    output.replies.push(Reply { caller, answer: Err(refusal.clone()) });
                }
                Waits::Confirmation(shard, confirmation) => {
                    let refused = Confirmation { taken: Err(refusal.clone()), ..confirmation };
                    output.confirmations.push((shard, refused));
                }
                Waits::Outgoing(_) | Waits::Confirmed(_) => {}
            }
        }
    }
}

fn disk_full() -> Refusal {
    busy(
        "SHARD-002",
        FULL_RETRY,
        "the disk is full: nothing new is accepted until there is room; settle, delete and reads go on",
    )
}

/// Numbers for jitter: what follows from them is in the journal.
struct Random(u64);

impl Random {
    /// `SplitMix64`.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}
