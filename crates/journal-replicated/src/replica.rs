//! Drives the rules of the log: carries out effects, takes events in, keeps the mirror.
//!
//! A batch reaches the mirror when the log has accepted it, and not before. An append that failed
//! has the log claimed again, without the journal's owner: what the log has is durable then, and the
//! rest is appended again. Only another owner's fence, or a log that cannot be followed, ends it.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;

use stadium_journal::mirror::{Batch, Mirror};
use stadium_journal::{Damage, Disk, Epoch, Error, Position, Record, Standing};
use stadium_journal_log::partition::{Call, Event, Failure};
use stadium_journal_log::{
    Effect, Error as LogError, Header, IN_FLIGHT_MAX, Mark, Offset, Owner, Partition, Reader, Sequence,
    Verdict, WriterId,
};

use crate::calls::Calls;
use crate::follow::{points, points_within, read_foreign};
use crate::lost::Lost as LostRecords;
use crate::marks::{self, Marks};
use crate::notes::Notes;
use crate::options::ReplicatedOptions;
use crate::resume::{ResumePoint, journal_id};
use crate::signal::Signal;

/// What a replica does.
enum Role {
    Following(Reader),
    Owning(Owner),
}

/// The treatment of a log that has lost records which the mirror has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The log is refused.
    Refuse,
    /// They are appended from the mirror. The next one begins here, once the log is claimed.
    Restore(Option<Position>),
    /// All whole ones were appended.
    Restored,
}

/// Takes records that count and that this replica did not write.
pub(crate) type OnRecord<'a> = dyn FnMut(Record<'_>) + 'a;

pub(crate) struct Replica {
    pub(crate) mirror: Mirror,
    pub(crate) calls: Calls,
    pub(crate) signal: Arc<Signal>,
    pub(crate) failure: Option<Error>,
    /// All before it was handed over by a commit.
    pub(crate) committed: Position,
    pub(crate) commit_wanted: bool,
    /// The epoch of the last claim of this replica that counted.
    pub(crate) epoch: Epoch,
    /// The end of the log, when it was looked for last.
    pub(crate) log_end: Option<Offset>,
    /// Where it read when it looked for the end last: messages may arrive before the answer.
    looked_at: Offset,
    role: Role,
    has_served: bool,
    /// Batches on their way, oldest first.
    sent: VecDeque<(WriterId, Sequence, Batch)>,
    /// Those that were given up, on their way back.
    given_up: VecDeque<Batch>,
    /// An owner reads up to here.
    read_to: Offset,
    notes: Notes,
    lost: Lost,
}

impl Replica {
    /// Opens the mirror, and begins to follow the log from there. `restore`: the offsets of a log
    /// that has lost records, which are appended again.
    pub(crate) fn open(
        partition: Box<dyn Partition>,
        disk: Arc<dyn Disk>,
        options: &ReplicatedOptions,
        restore: Option<&RangeInclusive<Offset>>,
    ) -> Result<Self, Error> {
        let mut journal = options.journal.clone();
        journal.shard = options.log.shard;
        let noted = marks::read(&*disk, options.log)?;
        let (candidates, lost) = match restore {
            None => (points(options, noted)?, Lost::Refuse),
            Some(log) => (points_within(options, noted, log)?, Lost::Restore(None)),
        };
        let places: Vec<_> = candidates.iter().map(ResumePoint::point).collect();
        let (mirror, chosen) = Mirror::open(disk, &journal, journal_id(options.log), &places)?;
        // The mirror has locked the folder, so nobody else writes there.
        let marks = Marks::open(&**mirror.disk(), &candidates[chosen])?;
        let ResumePoint { mark, log, .. } = candidates[chosen];
        let signal = Arc::new(Signal::default());
        let reader = Reader::open(log, mark, Offset(0)).map_err(|error| Error::Setting(error.to_string()))?;
        let mut replica = Self {
            calls: Calls::new(partition, &signal),
            notes: Notes::new(marks, options.spawn.clone(), mark.end),
            mirror,
            signal,
            failure: None,
            committed: Position::START,
            commit_wanted: false,
            epoch: Epoch(0),
            log_end: None,
            looked_at: Offset(0),
            role: Role::Following(reader),
            has_served: false,
            sent: VecDeque::with_capacity(IN_FLIGHT_MAX),
            given_up: VecDeque::with_capacity(IN_FLIGHT_MAX),
            read_to: Offset(0),
            lost,
        };
        replica.find_ends();
        replica.calls.read_on(mark.offset);
        Ok(replica)
    }

    pub(crate) fn reader(&self) -> &Reader {
        match &self.role {
            Role::Following(reader) => reader,
            Role::Owning(owner) => owner.reader(),
        }
    }

    /// Looks for the ends of the log.
    fn find_ends(&mut self) {
        self.looked_at = self.mark().offset;
        self.calls.find_ends();
    }

    /// The same, unless it looks already.
    pub(crate) fn look_for_end(&mut self) {
        if !self.calls.is_finding() {
            self.find_ends();
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        self.reader().mark()
    }

    pub(crate) fn resume_point(&self) -> ResumePoint {
        ResumePoint { log: self.reader().log(), mark: self.mark(), segment: self.mirror.point().segment }
    }

    pub(crate) fn standing(&self) -> Standing {
        match &self.role {
            _ if self.failure.is_some() => Standing::Ended,
            Role::Following(_) => Standing::Following,
            Role::Owning(_) if self.has_served => Standing::Serving,
            Role::Owning(_) => Standing::Claiming,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Begins to claim the log, from where it is. Does nothing unless it follows.
    pub(crate) fn claim(&mut self) {
        let Role::Following(reader) = &self.role else { return };
        if self.failure.is_none() {
            let owner = Owner::claim(reader.clone(), self.new_writer());
            self.role = Role::Owning(owner);
            self.has_served = false;
        }
    }

    /// Goes on as a follower, whatever it was. All that was not accepted is forgotten.
    pub(crate) fn follow(&mut self) -> Result<(), Error> {
        match &self.failure {
            None | Some(Error::Fenced { .. }) => {}
            Some(error) => return Err(error.clone()),
        }
        self.failure = None;
        if let Role::Owning(owner) = &self.role {
            self.role = Role::Following(owner.reader().clone());
            self.end_writing();
        }
        self.find_ends();
        self.calls.read_anew(self.mark().offset);
        self.check()
    }

    /// Ends the writing for good. Returns whether it is known which records happened.
    pub(crate) fn stop(&mut self) -> bool {
        if self.failure.is_none() {
            // An error ends the handle as well, and is logged.
            let _ = self.note_now();
            let (durable, what) = (self.mirror.accepted(), "it was stopped".to_owned());
            self.failure.get_or_insert(match self.sent.is_empty() {
                true => Error::Failed { durable, what },
                false => Error::Unknown { durable, what },
            });
        }
        !matches!(self.failure, Some(Error::Unknown { .. }))
    }

    /// Notes where the mirror is, before it returns.
    ///
    /// Nothing is being taken in, so the files are where the reader is.
    pub(crate) fn note_now(&mut self) -> Result<(), Error> {
        let point = self.resume_point();
        assert_eq!(point.mark.end, self.mirror.accepted(), "the reader is where the files are");
        let sync = self.mirror.sync();
        if let Err(what) = self.notes.note_now(&sync, &point) {
            self.end_unknown(what);
        }
        self.check()
    }

    pub(crate) fn noted(&self) -> Position {
        self.notes.noted()
    }

    /// Does all that can be done now, and never waits.
    pub(crate) fn pump(&mut self, on_record: &mut OnRecord<'_>) {
        while self.failure.is_none() {
            self.refuse_lost();
            self.carry_out();
            self.send();
            self.carry_out();
            if self.failure.is_some() {
                break;
            }
            let Some(event) = self.calls.next_event() else { break };
            self.take(event, on_record);
        }
        if self.failure.is_none() {
            self.note();
        }
    }

    /// A log that was read to its end has all that the mirror ever had, or has lost it.
    fn refuse_lost(&mut self) {
        let (accepted, known) = (self.mirror.accepted(), self.mirror.known_end());
        let is_read = self.log_end.is_some_and(|end| end <= self.mark().offset);
        if self.lost == Lost::Refuse && accepted < known && is_read {
            let what = format!(
                "the log ends here and had records up to position {known}, which this mirror still has: its \
                 replicas have lost acknowledged messages; `stadium cluster restore-log` appends them again"
            );
            let file = self.mirror.disk().place();
            self.fail(Error::Corrupt(Damage { file, offset: 0, position: accepted, what }));
        }
    }

    /// What the mirror has behind the end of the log, in whole batches.
    pub(crate) fn lost_part(&self) -> Result<Option<LostRecords>, Error> {
        let from = self.mirror.accepted();
        let mut lost = LostRecords { from, to: from, records: 0, messages: 0 };
        let mut next = from;
        while let Some(batch) = self.mirror.known_batch(next, READ_BACK_BYTES)? {
            next = batch.next();
            lost.to = batch.end;
            lost.records += u64::from(batch.records);
            lost.messages += 1;
        }
        Ok((lost.messages > 0).then_some(lost))
    }

    fn new_writer(&self) -> WriterId {
        WriterId(self.mirror.disk().random().max(1))
    }

    /// Stops at a failure: what is accepted behind it must not be written, or it would leave a hole.
    fn carry_out(&mut self) {
        while self.failure.is_none()
            && let Role::Owning(owner) = &mut self.role
            && let Some(effect) = owner.next_effect()
        {
            self.carry_out_one(effect);
        }
    }

    fn carry_out_one(&mut self, effect: Effect) {
        match effect {
            Effect::FindEnd => self.find_ends(),
            Effect::Read { to, .. } => {
                self.read_to = self.read_to.max(to);
                self.calls.read_on(self.mark().offset);
            }
            Effect::Append(header) => self.append(&header),
            Effect::Serving(claim) => self.serve(claim.epoch),
            Effect::Durable { writer, sequence, .. } => self.accept_own(writer, sequence),
            // They stay among those on their way until `Serving` or `Fenced`, which follows.
            Effect::GivenUp { .. } | Effect::Unknown { .. } => {}
            Effect::Uncertain => {
                let writer = self.new_writer();
                if let Role::Owning(owner) = &mut self.role {
                    owner.claim_again(writer);
                }
            }
            Effect::Fenced { by } => {
                self.end_writing();
                self.fail(Error::Fenced { epoch: self.epoch, newer: by.epoch });
            }
            Effect::Failed(error) => self.end_unreadable(&error),
        }
    }

    fn append(&mut self, header: &Header) {
        let sent = self.sent.iter().find(|(_, sequence, _)| *sequence == header.sequence);
        let body = match sent {
            Some((.., batch)) if header.sequence != Sequence::FENCE => &batch.body[..],
            _ => &[],
        };
        if let Err(what) = self.calls.append(header, body) {
            self.end_unknown(what);
        }
    }

    /// The log is claimed, for the first time or again.
    fn serve(&mut self, epoch: Epoch) {
        self.epoch = epoch;
        // What is left of the former claim was given up: nothing of it counts.
        self.given_up.extend(self.sent.drain(..).map(|(.., batch)| batch));
        if let Lost::Restore(next) = &mut self.lost {
            self.given_up.clear();
            *next = Some(self.mirror.accepted());
            return;
        }
        if self.has_served {
            self.commit_wanted |= !self.given_up.is_empty();
            self.mirror.put_back(&mut self.given_up);
        } else {
            self.begin_writing();
        }
    }

    fn begin_writing(&mut self) {
        match self.mirror.begin_writing(self.epoch) {
            Ok(()) => {
                self.has_served = true;
                self.committed = self.mirror.accepted();
                tracing::info!(log = %self.reader().log(), epoch = %self.epoch, "The log is claimed");
            }
            Err(error) => self.fail(error),
        }
    }

    fn accept_own(&mut self, writer: WriterId, last: Sequence) {
        while let Some((one, sequence, _)) = self.sent.front()
            && *one == writer
            && *sequence <= last
        {
            let Some((.., batch)) = self.sent.pop_front() else { return };
            if let Err(error) = self.mirror.accept_own(batch) {
                // The log has it, and this replica cannot read it.
                let durable = self.mirror.accepted();
                return self.fail(Error::Unknown { durable, what: error.to_string() });
            }
        }
    }

    /// Sends what was committed, as far as there is room on the way.
    fn send(&mut self) {
        while self.failure.is_none()
            && self.sent.len() < IN_FLIGHT_MAX
            && let Role::Owning(owner) = &mut self.role
            && owner.is_serving()
        {
            let batch = match &mut self.lost {
                Lost::Restore(Some(next)) => match self.mirror.known_batch(*next, READ_BACK_BYTES) {
                    Ok(Some(batch)) => {
                        *next = batch.end;
                        batch
                    }
                    Ok(None) if !self.sent.is_empty() => return,
                    Ok(None) => {
                        self.lost = Lost::Restored;
                        self.begin_writing();
                        continue;
                    }
                    Err(error) => return self.fail(error),
                },
                _ if !self.commit_wanted => return,
                _ => match self.mirror.take_batch() {
                    Some(batch) => batch,
                    None => {
                        self.commit_wanted = false;
                        return;
                    }
                },
            };
            match owner.append(batch.first, batch.end) {
                Ok(sequence) => {
                    let writer = owner.own().writer;
                    self.sent.push_back((writer, sequence, batch));
                }
                // It serves and has room, so the positions are wrong: a fault of this program.
                Err(refused) => return self.end_unknown(refused.to_string()),
            }
        }
    }

    fn take(&mut self, event: Event, on_record: &mut OnRecord<'_>) {
        match event {
            Event::Appended { tag, offset } => {
                if let (Some((writer, sequence)), Role::Owning(owner)) =
                    (self.calls.append_ended(tag), &mut self.role)
                {
                    owner.appended(writer, sequence, offset);
                }
            }
            Event::NotAppended { tag, failure } => {
                let ended = self.calls.append_ended(tag);
                tracing::warn!(log = %self.reader().log(), %failure, "An append to the log failed");
                if let (Some((writer, sequence)), Role::Owning(owner)) = (ended, &mut self.role) {
                    match failure.is_temporary {
                        true => owner.failed(writer, sequence),
                        false => self.end_unknown(failure.what),
                    }
                }
            }
            Event::Ends { start, end } => {
                if self.calls.find_ended() {
                    self.log_end = Some(end);
                    self.take_ends(start, end);
                }
            }
            Event::Message { offset, message } => self.take_message(offset, &message, on_record),
            Event::ReadEnded { .. } => {
                self.calls.read_ended();
                self.read_on();
            }
            Event::OutOfRange { start, end } => {
                self.calls.read_ended();
                let offset = self.mark().offset;
                match () {
                    () if offset < start => self.end_unreadable(&LogError::Trimmed { offset, start }),
                    () if end < offset => {
                        self.end_unreadable(&LogError::Shortened { known: offset, found: end });
                    }
                    () => self.read_on(),
                }
            }
            Event::Trimmed { .. } => {}
            Event::Failed { call, failure } => self.call_failed(call, failure),
        }
    }

    fn take_ends(&mut self, start: Offset, end: Offset) {
        self.refuse_lost();
        if self.failure.is_some() {
            return;
        }
        match &mut self.role {
            Role::Owning(owner) => {
                owner.trimmed(start);
                owner.end(end);
            }
            Role::Following(reader) => {
                let known = self.looked_at.min(reader.mark().offset);
                if end < known {
                    self.end_unreadable(&LogError::Shortened { known, found: end });
                }
            }
        }
    }

    fn take_message(&mut self, offset: Offset, message: &[u8], on_record: &mut OnRecord<'_>) {
        let (header, body) = match Header::decode(message) {
            Ok(decoded) => decoded,
            Err(wrong) => return self.end_unknown(format!("the message at offset {offset}: {wrong}")),
        };
        let verdict = match &mut self.role {
            Role::Following(reader) => match reader.take(offset, &header) {
                Ok(verdict) => verdict,
                Err(error) => return self.end_unreadable(&error),
            },
            // An error is among the owner's effects.
            Role::Owning(owner) => owner.message(offset, &header).unwrap_or(None),
        };
        let is_own = |(writer, sequence, _): &(WriterId, Sequence, Batch)| {
            (*writer, *sequence) == (header.claim.writer, header.sequence)
        };
        if verdict != Some(Verdict::Accepted) || self.sent.iter().any(is_own) {
            return;
        }
        let accepted = read_foreign(&header, body).and_then(|body| {
            self.mirror.accept(&body)?;
            body.records().for_each(on_record);
            Ok(())
        });
        if let Err(error) = accepted {
            match self.sent.is_empty() {
                true => self.fail(error),
                false => self.end_unknown(error.to_string()),
            }
        }
        self.note();
    }

    /// Reads on where somebody waits for it.
    fn read_on(&mut self) {
        let offset = self.mark().offset;
        let is_wanted = match &self.role {
            Role::Following(_) => true,
            Role::Owning(_) => offset < self.read_to,
        };
        if is_wanted {
            self.calls.read_on(offset);
        }
    }

    /// The partition paused before it reported a temporary failure, so the call is made again.
    fn call_failed(&mut self, call: Call, failure: Failure) {
        tracing::warn!(log = %self.reader().log(), ?call, %failure, "A call to the log failed");
        let is_wanted = match call {
            Call::FindEnds => self.calls.find_ended(),
            Call::Read => {
                self.calls.read_ended();
                true
            }
            // The next trim makes up for it.
            Call::Trim => false,
        };
        match call {
            _ if !is_wanted => {}
            _ if !failure.is_temporary => self.end_unknown(failure.what),
            Call::FindEnds => {
                // An end of before says nothing of the log that does not answer.
                self.log_end = None;
                self.find_ends();
            }
            Call::Read | Call::Trim => self.read_on(),
        }
    }

    /// Notes where the mirror is, about every MiB.
    fn note(&mut self) {
        match self.notes.is_due(self.mirror.accepted()) {
            Ok(false) => {}
            Ok(true) => {
                let point = self.resume_point();
                // Between an acknowledgement and its effect the reader is ahead of the files.
                if point.mark.end == self.mirror.accepted() {
                    let sync = self.mirror.sync();
                    self.notes.note(sync, point);
                }
            }
            Err(what) => self.end_unknown(what),
        }
    }

    fn end_writing(&mut self) {
        self.sent.clear();
        self.given_up.clear();
        self.commit_wanted = false;
        self.committed = Position::START;
        self.has_served = false;
        if let Err(error) = self.mirror.end_writing() {
            self.fail(error);
        }
    }

    fn end_unreadable(&mut self, error: &LogError) {
        self.end_unknown(error.to_string());
    }

    /// Ends the handle. Whether messages on their way count cannot be known from here.
    pub(crate) fn end_unknown(&mut self, what: String) {
        let durable = self.mirror.accepted();
        self.fail(match self.sent.is_empty() {
            true => Error::Failed { durable, what },
            false => Error::Unknown { durable, what },
        });
    }

    fn fail(&mut self, error: Error) {
        if self.failure.is_none() {
            // Others, such as `Full`, promise that the same call may work later.
            let ends = matches!(
                error,
                Error::Fenced { .. }
                    | Error::Failed { .. }
                    | Error::Unknown { .. }
                    | Error::Corrupt(_)
                    | Error::Foreign(_)
            );
            let error = match ends {
                true => error,
                false => Error::Failed { durable: self.mirror.accepted(), what: error.to_string() },
            };
            match &error {
                Error::Fenced { .. } => {
                    tracing::warn!(log = %self.reader().log(), %error, "The log has another owner");
                }
                error => tracing::error!(log = %self.reader().log(), %error, "The replica stopped"),
            }
            self.failure = Some(error);
        }
        self.commit_wanted = false;
    }
}

/// Bytes of the messages that restore records.
const READ_BACK_BYTES: usize = 1 << 20;
