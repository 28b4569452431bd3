//! The journal: what the shard's core sees of a replica.
//!
//! One handle is a standby, a claimant, an owner, and a standby again. It only passes on: the rules
//! are in `stadium-journal-log`, what drives them in [`crate::replica`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use stadium_journal::{
    Disk, Epoch, Error, Following, Journal, JournalId, Metrics, Position, Reader, Record, Room, Segment,
    SegmentNumber, Segmented, Standing, Wake,
};
use stadium_journal_log::{Counts, Offset, Partition};

use crate::follow::{find_ends, took_too_long};
use crate::lost::Lost;
use crate::options::ReplicatedOptions;
use crate::replica::Replica;
use crate::resume::ResumePoint;

/// The log of a shard in a cluster, as an owner or a standby has it.
///
/// It is opened as a standby by [`ReplicatedJournal::follow`]. It claims the log by
/// [`ReplicatedJournal::claim`], and follows again by [`ReplicatedJournal::follow_again`]. Its files
/// stay open all the time. Only an owner appends; to all others `append` answers `Fenced`.
///
/// The durable position is that of the log. A failed append is no failure of the journal: it claims
/// the log again and appends what the log has not. The three outcomes of records that were committed:
///
/// - They are before [`Journal::durable`]: they happened.
/// - `Fenced` or `Failed`: those behind the durable position, which [`Journal::stop`] returns, did
///   not happen and never will.
/// - `Unknown`: those behind the durable position may count or not. `stop` returns `None`.
pub struct ReplicatedJournal {
    replica: Replica,
}

impl ReplicatedJournal {
    /// Opens the mirror on a disk, or makes it there, and follows the log from the newest point that
    /// it reaches. Records before [`Journal::durable`] are read with [`Journal::reader`]; those
    /// behind come from [`ReplicatedJournal::poll`].
    ///
    /// # Errors
    /// `InUse`, `Foreign`, `Setting`, `Io`; `Corrupt` if the mirror reaches no point that is known.
    pub fn follow(
        partition: Box<dyn Partition>,
        disk: Arc<dyn Disk>,
        options: &ReplicatedOptions,
    ) -> Result<Self, Error> {
        Ok(Self { replica: Replica::open(partition, disk, options, None)? })
    }

    /// Opens the journal as its owner: follows, claims the log, and waits until it serves. All
    /// records are read with [`Journal::reader`].
    ///
    /// # Errors
    /// As for [`ReplicatedJournal::follow`], and those that end a claim. `Corrupt` if the log has
    /// lost what the mirror or a checkpoint has; `Io` if the claim takes too long.
    pub fn open(
        partition: Box<dyn Partition>,
        disk: Arc<dyn Disk>,
        options: &ReplicatedOptions,
    ) -> Result<Self, Error> {
        Self::follow(partition, disk, options)?.claimed(options)
    }

    /// Opens the journal as its owner, and first appends to the log what it has lost and the mirror
    /// has. For an operator who knows that all replicas of the log have lost it.
    ///
    /// It begins at the oldest point that it knows of, since the log may have lost what newer ones
    /// build on.
    ///
    /// # Errors
    /// As for [`ReplicatedJournal::open`]. `Corrupt` if the log has other records instead.
    pub fn restore(
        mut partition: Box<dyn Partition>,
        disk: Arc<dyn Disk>,
        options: &ReplicatedOptions,
    ) -> Result<Self, Error> {
        let log = find_ends(&mut *partition, options)?;
        Self { replica: Replica::open(partition, disk, options, Some(&log))? }.claimed(options)
    }

    /// The records that the log has lost and [`ReplicatedJournal::restore`] would append; `None`
    /// where it has all that the mirror has. Nothing is appended, but points that the log no longer
    /// has are forgotten, as in each opening.
    ///
    /// # Errors
    /// As for [`ReplicatedJournal::restore`].
    pub fn lost(
        mut partition: Box<dyn Partition>,
        disk: Arc<dyn Disk>,
        options: &ReplicatedOptions,
    ) -> Result<Option<Lost>, Error> {
        let log = find_ends(&mut *partition, options)?;
        let mut journal = Self { replica: Replica::open(partition, disk, options, Some(&log))? };
        let deadline = Instant::now() + options.claim_timeout;
        loop {
            journal.replica.signal.lower();
            journal.poll(&mut |_| ())?;
            if journal.log_end().is_some_and(|end| end <= journal.replica.mark().offset) {
                return journal.replica.lost_part();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !journal.replica.signal.wait(left) {
                return Err(took_too_long("reading", options));
            }
        }
    }

    fn claimed(mut self, options: &ReplicatedOptions) -> Result<Self, Error> {
        let deadline = Instant::now() + options.claim_timeout;
        self.claim();
        loop {
            self.replica.signal.lower();
            if self.poll(&mut |_| ())? == Standing::Serving {
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.replica.signal.wait(left) {
                return Err(took_too_long("the claim", options));
            }
        }
        let checkpoint = options.journal.opening.checkpoint;
        if self.end() < checkpoint {
            return Err(Error::Corrupt(stadium_journal::Damage {
                file: self.replica.mirror.disk().place(),
                offset: 0,
                position: self.end(),
                what: format!("the log ends here, and a checkpoint is of position {checkpoint}"),
            }));
        }
        Ok(self)
    }

    /// Does all that can be done now, and never waits. Call it after each wake. `on_record` gets the
    /// records of others in their order, from the durable position that the journal had when it was
    /// opened or followed again.
    ///
    /// # Errors
    /// Those of [`Journal::durable`]. `Corrupt` if the log has lost what the mirror has, or has other
    /// records; `Foreign` if its records are not ours or of a newer version. After `Fenced` it may
    /// follow again; all others end it.
    pub fn poll(&mut self, on_record: &mut dyn FnMut(Record<'_>)) -> Result<Standing, Error> {
        self.replica.pump(on_record);
        self.replica.check().map(|()| self.replica.standing())
    }

    /// Begins to claim the log; [`ReplicatedJournal::poll`] goes on until it serves. Only a
    /// follower claims.
    pub fn claim(&mut self) {
        self.replica.claim();
    }

    /// Follows the log from the last record that it accepted: an owner that was fenced, or that
    /// hands over. Records that are not durable are forgotten here. They may count yet, unless the
    /// journal was `Fenced`; `poll` gives those that do.
    ///
    /// # Errors
    /// Those that ended it, but for `Fenced`.
    pub fn follow_again(&mut self) -> Result<(), Error> {
        self.replica.follow()
    }

    /// Its standing to the log.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.replica.standing()
    }

    /// Where reading goes on. A checkpoint of a position that is not before [`Journal::durable`] now
    /// may keep it: reading on from there gives all records from that position on, and perhaps some
    /// before it.
    #[must_use]
    pub fn resume_point(&self) -> ResumePoint {
        self.replica.resume_point()
    }

    /// Looks for the end of the log anew, for [`ReplicatedJournal::log_end`], unless it looks already.
    pub fn look_for_end(&mut self) {
        self.replica.look_for_end();
    }

    /// The end of the log when it was looked for last. A follower that has read up to there was in
    /// step then.
    #[must_use]
    pub fn log_end(&self) -> Option<Offset> {
        self.replica.log_end
    }

    /// Counts of the messages that were read.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.replica.reader().counts()
    }

    /// Gives back the space of the log before a point, from which nobody reads on any more. Its
    /// mirror keeps what it has.
    pub fn trim_log(&mut self, below: &ResumePoint) {
        self.replica.calls.trim(below.mark.offset);
    }

    /// Refuses what only an owner may do.
    fn check_owner(&mut self) -> Result<(), Error> {
        self.replica.check()?;
        match self.replica.standing() {
            Standing::Serving => Ok(()),
            _ => {
                let newer = self.replica.mark().claim.epoch;
                Err(Error::Fenced { epoch: self.replica.epoch, newer })
            }
        }
    }

    fn append_to(&mut self, record: &[u8], room: Room) -> Result<Position, Error> {
        self.check_owner()?;
        let appended = self.replica.mirror.append(record, room);
        self.ended_by(appended)
    }

    /// An error of the disk ends the handle; the caller's mistakes and lack of room do not.
    fn ended_by<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        match result {
            Err(error @ (Error::TooLarge { .. } | Error::Setting(_))) => Err(error),
            Err(error) if !error.is_temporary() => {
                self.replica.end_unknown(error.to_string());
                self.replica.check()?;
                Err(error)
            }
            result => result,
        }
    }

    /// Goes on as an owner, which gets no records of others. Those that a follower or a claimant
    /// gets are for its caller, so they wait for [`ReplicatedJournal::poll`].
    fn pump(&mut self) -> Result<(), Error> {
        if self.replica.standing() == Standing::Serving {
            self.replica.pump(&mut |_| ());
        }
        self.replica.check()
    }

    /// Sealed segments may go once a later point is noted: the log would give them again.
    fn note_behind(&mut self, end: Position) -> Result<(), Error> {
        if end > self.replica.noted() {
            self.replica.note_now()?;
        }
        Ok(())
    }
}

impl Journal for ReplicatedJournal {
    fn append(&mut self, record: &[u8]) -> Result<Position, Error> {
        self.append_to(record, Room::Ordinary)
    }

    fn append_reserved(&mut self, record: &[u8]) -> Result<Position, Error> {
        self.append_to(record, Room::Reserved)
    }

    fn make_room(&mut self, bytes: usize, room: Room) -> Result<Position, Error> {
        self.check_owner()?;
        let place = self.replica.mirror.make_room(bytes, room);
        self.ended_by(place)
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.check_owner()?;
        if self.replica.mirror.has_batch() {
            self.replica.commit_wanted = true;
            self.replica.committed = self.replica.mirror.end();
        }
        self.pump()
    }

    fn durable(&mut self) -> Result<Position, Error> {
        self.pump()?;
        Ok(self.replica.mirror.accepted())
    }

    fn wait(&mut self, timeout: Duration) -> Result<Position, Error> {
        let deadline = Instant::now() + timeout;
        loop {
            self.replica.signal.lower();
            let durable = self.durable()?;
            let is_done = durable >= self.replica.committed && !self.replica.commit_wanted;
            let left = deadline.saturating_duration_since(Instant::now());
            if is_done || left.is_zero() || !self.replica.signal.wait(left) {
                return self.durable();
            }
        }
    }

    fn stop(&mut self) -> Option<Position> {
        // An error has ended it, and is asked for below.
        let _ = self.pump();
        self.replica.stop().then(|| self.replica.mirror.accepted())
    }

    /// The [resume point](ReplicatedJournal::resume_point), encoded.
    fn mark(&self) -> Vec<u8> {
        self.resume_point().encode().to_vec()
    }

    fn on_durable(&mut self, wake: Wake) {
        self.replica.signal.set_wake(wake);
    }

    fn end(&self) -> Position {
        self.replica.mirror.end()
    }

    fn read_at(&self, record: Position, offset: u32, into: &mut [u8]) -> Result<(), Error> {
        self.replica.mirror.read_at(record, offset, into)
    }

    fn reader(&self) -> Box<dyn Reader> {
        self.replica.mirror.reader()
    }

    fn start(&self) -> Position {
        self.replica.mirror.start()
    }

    /// Removes segments of the mirror. The log keeps its messages:
    /// [`ReplicatedJournal::trim_log`].
    fn trim(&mut self, below: Position) -> Result<(), Error> {
        self.replica.check()?;
        let below = below.min(self.replica.mirror.accepted());
        let segments = self.replica.mirror.segments();
        let Some(last) = segments.iter().take_while(|one| one.is_sealed && one.end <= below).last() else {
            return Ok(());
        };
        self.note_behind(last.end)?;
        while self.replica.mirror.remove_first(below)? {}
        Ok(())
    }

    #[inline]
    fn segmented(&self) -> Option<&dyn Segmented> {
        Some(self)
    }

    #[inline]
    fn segmented_mut(&mut self) -> Option<&mut dyn Segmented> {
        Some(self)
    }

    fn room(&self) -> Option<Room> {
        self.replica.mirror.room()
    }

    fn id(&self) -> JournalId {
        self.replica.mirror.id()
    }

    /// The epoch of its last claim; 0 before the first one.
    fn epoch(&self) -> Epoch {
        self.replica.epoch
    }

    fn metrics(&self) -> Metrics {
        self.replica.mirror.metrics()
    }
}

impl Following for ReplicatedJournal {
    fn poll(&mut self, on_record: &mut dyn FnMut(Record<'_>)) -> Result<Standing, Error> {
        ReplicatedJournal::poll(self, on_record)
    }

    fn claim(&mut self) {
        ReplicatedJournal::claim(self);
    }

    fn follow_again(&mut self) -> Result<(), Error> {
        ReplicatedJournal::follow_again(self)
    }

    fn behind(&mut self) -> Option<u64> {
        let behind = self.log_end().map(|end| end.0.saturating_sub(self.replica.mark().offset.0));
        self.look_for_end();
        behind
    }
}

impl Segmented for ReplicatedJournal {
    fn segments(&self) -> Vec<Segment> {
        self.replica.mirror.segments()
    }

    fn remove(&mut self, segment: SegmentNumber) -> Result<(), Error> {
        self.replica.check()?;
        let accepted = self.replica.mirror.accepted();
        let segments = self.replica.mirror.segments();
        let found = segments.iter().find(|one| one.number == segment && one.is_sealed && one.end <= accepted);
        let end = found.map(|one| one.end).ok_or(Error::NoRecord(accepted))?;
        self.note_behind(end)?;
        match self.replica.mirror.remove(segment)? {
            true => Ok(()),
            false => Err(Error::NoRecord(accepted)),
        }
    }

    fn seal(&mut self) -> Result<(), Error> {
        self.check_owner()?;
        let sealed = self.replica.mirror.seal();
        self.ended_by(sealed)
    }
}
