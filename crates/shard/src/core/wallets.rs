//! What the wallets are asked: commands and reads, transfers between shards, and jobs that are put with transfers.
//!
//! A transfer between shards is answered when it is decided; until then whoever asked waits under the ledger's
//! number for it.

use stadium_journal::{Journal, Position, Room};
use stadium_queue::{NewJob, QueueName};
use stadium_state_machine::{Refusal, Time, unknown};
use stadium_wallet::{Answer, Command, Executed, Finished, Lookup, Walk};

use super::Seals;
use super::fault::{Fault, not_read};
use super::room;
use super::running::{Running, Waits};
use super::seam::{Caller, Output, Reply};
use super::settings::CoreSettings;
use crate::answer::Done;
use crate::error::rejected;
use crate::frame::{Frame, HEADER_BYTES, Machine, SECTION_BYTES, write_header, write_next_section};

/// What whoever waits for a transfer between shards is told when the shard starts over: it may yet be booked.
pub(super) fn under_way() -> Refusal {
    let reason = "the shard started over while the transfer was under way between shards: \
                  ask again with the same id, and you are told what became of it";
    unknown(stadium_wallet::refusal::PENDING, 1_000, reason)
}

impl<J: Journal, C: Caller> Running<J, C> {
    /// The time of a record of the wallets: their chain covers it, and it never goes back.
    pub(super) fn wallet_time(&self, now: Time) -> Time {
        now.max(self.machines.ledger.now())
    }

    /// Carries out a command, or finds its answer, and takes the caller. Leaves him where the journal is behind or fails; nothing
    /// happened then.
    pub(super) fn take_wallet(
        &mut self,
        caller: &mut Option<C>,
        command: &Command,
        now: Time,
        since_us: u64,
    ) -> Result<(), Fault> {
        let now = self.wallet_time(now);
        let answer = match command {
            Command::Wallet { .. } | Command::Accounts { .. } | Command::Holds { .. } | Command::Assets => {
                self.machines.ledger.read(now, command)
            }
            Command::History { .. } | Command::BalanceAt { .. } | Command::Find { .. } => {
                match self.machines.ledger.look_up(now, command) {
                    Ok(Lookup::Walk(walk)) => {
                        self.wait(Waits::Walk(handed_over(caller), Box::new(walk)), since_us);
                        return Ok(());
                    }
                    Ok(Lookup::Answer(answer)) => Ok(answer),
                    Err(refusal) => Err(refusal),
                }
            }
            Command::Declare { .. }
            | Command::Open { .. }
            | Command::Change { .. }
            | Command::Transfer { .. } => {
                let at = match self.room_for(room::wallet_bytes_max(command), Room::Ordinary, now)? {
                    Some(Ok(at)) => at,
                    Some(Err(refusal)) => {
                        self.answer_whole(handed_over(caller), Err(refusal), since_us);
                        return Ok(());
                    }
                    None => return Ok(()),
                };
                self.record.begin(HEADER_BYTES);
                let executed = self.machines.ledger.execute(at.0, now, command, &mut self.record);
                self.append_events(Machine::Wallet, at, now, Room::Ordinary)?;
                match executed {
                    Ok(Executed::Done(answer)) => Ok(answer),
                    Ok(Executed::Pending(number)) => {
                        self.undecided.insert(number, handed_over(caller));
                        return Ok(());
                    }
                    Err(refusal) => Err(refusal),
                }
            }
        };
        self.answer_whole(handed_over(caller), answer.map(crate::Answer::Wallet), since_us);
        Ok(())
    }

    pub(super) fn answer_whole(&mut self, caller: C, answer: Result<crate::Answer, Refusal>, since_us: u64) {
        self.figures.refusals += u64::from(answer.is_err());
        self.wait(Waits::Whole(caller, answer), since_us);
    }

    /// Lets the answers leave of transfers between shards that were decided in this turn.
    pub(super) fn answer_decided(&mut self, since_us: u64) {
        let mut finished = std::mem::take(&mut self.finished);
        finished.extend(self.machines.ledger.finished());
        for Finished { number, answer } in finished.drain(..) {
            // Nobody waits for those that were under way when the shard was opened.
            if let Some(caller) = self.undecided.remove(&number) {
                self.figures.refusals += u64::from(answer.is_err());
                self.wait(Waits::Decided(caller, answer.map(crate::Answer::Wallet)), since_us);
            }
        }
        self.finished = finished;
    }

    /// The shard starts over, or stops: what is under way between shards goes on later, and nobody can wait for it here.
    pub(super) fn give_up_undecided(&mut self, output: &mut Output<C>) {
        for (_, caller) in self.undecided.drain() {
            output.replies.push(Reply { caller, answer: Err(under_way()) });
        }
    }

    /// Seals that somebody asked for.
    pub(super) fn answer_seals(&mut self, caller: C, asked: Seals, shard: u16, since_us: u64) {
        let seals = self.machines.ledger.seals().filter(|seal| seal.number > asked.after);
        let seals = seals.take(asked.at_most).map(|&seal| (shard, seal)).collect();
        self.answer_whole(caller, Ok(crate::Answer::Seals(seals)), since_us);
    }

    /// What time brings: holds that expire, transfers that nobody answered, seals. Says whether more is due.
    pub(super) fn wallets_take_time(&mut self, now: Time, settings: &CoreSettings) -> Result<bool, Fault> {
        if self.machines.ledger.next_deadline().is_none_or(|deadline| deadline > now) {
            return Ok(false);
        }
        let Some(at) = self.room_for_time(now, settings)? else {
            return Ok(false);
        };
        let now = self.wallet_time(now);
        let events = settings.turn_events_max.max(1);
        self.record.begin(HEADER_BYTES);
        let ticked = self.machines.ledger.tick(at.0, now, &mut self.record, events);
        self.append_events(Machine::Wallet, at, now, Room::Ordinary)?;
        Ok(ticked.more)
    }

    /// Reads the records that a walk names, newest first, up to a bound.
    pub(super) fn walk(&self, mut walk: Walk, bytes_max: usize) -> Result<Answer, Refusal> {
        let ledger = &self.machines.ledger;
        let mut reader = self.journal.reader();
        let mut bytes = 0;
        while let Some(at) = walk.next()
            && bytes <= bytes_max
        {
            let damaged = |what: String| {
                rejected(
                    "SHARD-010",
                    format!("the record at position {} cannot be read: {what}", Position(at)),
                )
            };
            let record = reader.record(Position(at)).map_err(|error| not_read(error, damaged))?;
            bytes += record.body.len();
            let frame = Frame::parse(record.body).map_err(damaged)?;
            let section = frame
                .sections()
                .find(|section| section.machine == Machine::Wallet)
                .ok_or_else(|| damaged("it has nothing of the wallets".into()))?;
            walk.read(ledger, frame.time, section.events).map_err(|error| damaged(error.reason))?;
        }
        walk.finish(ledger)
    }

    /// Books transfers and puts jobs, in one record: all or none. False where the journal is behind.
    pub(super) fn take_together(
        &mut self,
        transfers: &Command,
        jobs: &[(QueueName, NewJob)],
        now: Time,
    ) -> Result<Option<Result<Done, Refusal>>, Fault> {
        let now = self.wallet_time(now);
        let bytes = room::wallet_bytes_max(transfers) + room::put_each_bytes_max(jobs);
        let at = match self.room_for(bytes, Room::Ordinary, now)? {
            Some(Ok(at)) => at,
            Some(Err(refusal)) => return Ok(Some(Err(refusal))),
            None => return Ok(None),
        };
        let is_known = match self.machines.ledger.check(now, transfers) {
            Ok(stadium_wallet::Checked::Known) => true,
            Ok(stadium_wallet::Checked::New) => false,
            Err(refusal) => return Ok(Some(Err(refusal))),
        };
        self.record.begin(HEADER_BYTES);
        let mut placed = Vec::new();
        if !is_known && !jobs.is_empty() {
            let random = self.random.next();
            match self.machines.queues.put_each(at.0, now, random, jobs, &mut self.record) {
                Ok(all) => placed = all,
                Err(refusal) => return Ok(Some(Err(refusal))),
            }
        }
        let has_jobs = !self.record.is_empty();
        if has_jobs {
            let jobs_bytes = self.record.events().len();
            write_header(self.record.header_mut(), Machine::Queue, now, jobs_bytes);
            self.record.next_section(SECTION_BYTES);
        }
        let booked = match self.machines.ledger.execute(at.0, now, transfers, &mut self.record) {
            Ok(Executed::Done(Answer::Booked(outcomes))) => {
                let booked: Result<Vec<_>, Refusal> = outcomes.into_iter().collect::<Result<_, _>>();
                booked.map_err(|refusal| broken(&refusal.to_string()))?
            }
            Ok(Executed::Done(_)) => return Err(broken("another answer")),
            Ok(Executed::Pending(_)) => return Err(broken("other shards are asked")),
            Err(refusal) => return Err(broken(&refusal.to_string())),
        };
        if !has_jobs {
            self.append_events(Machine::Wallet, at, now, Room::Ordinary)?;
            return Ok(Some(Ok(Done { booked, placed })));
        }
        if self.record.is_empty() {
            return Err(broken("nothing was booked"));
        }
        let transfers_bytes = self.record.events().len();
        write_next_section(self.record.header_mut(), Machine::Wallet, transfers_bytes);
        self.append_record(at, Room::Ordinary)?;
        self.book_payloads();
        self.segments.pin(&self.journal, at);
        Ok(Some(Ok(Done { booked, placed })))
    }

    /// Lets the answer of [`Self::take_together`] leave when it is durable.
    pub(super) fn answer_together(&mut self, caller: C, answer: Result<Done, Refusal>, since_us: u64) {
        self.answer_whole(caller, answer.map(crate::Answer::Together), since_us);
    }
}

/// Jobs were put beside transfers that were checked, and now these are refused: memory is no longer what the journal says.
fn broken(what: &str) -> Fault {
    Fault::Broken(format!("transfers that were checked are not booked: {what}"))
}

/// The caller, whom nobody took before.
fn handed_over<C>(caller: &mut Option<C>) -> C {
    caller.take().expect("a command is answered once")
}
