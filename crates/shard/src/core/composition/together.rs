//! Transfers and jobs in one record.
//!
//! Both are carried out, or none is: the transfers are checked before the jobs are put.

use stadium_journal::{Journal, Room};
use stadium_queue::{NewJob, QueueName, Queues, put_each_bytes_max};
use stadium_state_machine::{Refusal, StateMachine as _, Time};
use stadium_wallet::{Answer, Command, Executed, Ledger};

use crate::answer::Done;
use crate::core::direct::Direct;
use crate::core::fault::Fault;
use crate::core::ports::Caller;
use crate::core::running::{BASE_BYTES, Running};
use crate::frame::{HEADER_BYTES, MachineId, SECTION_BYTES, write_header, write_next_section};

impl<J: Journal, C: Caller, M: Direct> Running<J, C, M> {
    /// Books transfers and puts jobs, in one record: all or none. False where the journal is
    /// behind.
    pub(in crate::core) fn take_together(
        &mut self,
        transfers: &Command,
        jobs: &[(QueueName, NewJob)],
        now: Time,
    ) -> Result<Option<Result<Done, Refusal>>, Fault> {
        let ledger = self.machines.machine::<Ledger>();
        let now = ledger.record_time(now);
        let bytes = BASE_BYTES + ledger.record_bytes_max(transfers) + put_each_bytes_max(jobs);
        let at = match self.room_for(bytes, Room::Ordinary, now)? {
            Some(Ok(at)) => at,
            Some(Err(refusal)) => return Ok(Some(Err(refusal))),
            None => return Ok(None),
        };
        let is_known = match self.machines.machine::<Ledger>().check(now, transfers) {
            Ok(stadium_wallet::Checked::Known) => true,
            Ok(stadium_wallet::Checked::New) => false,
            Err(refusal) => return Ok(Some(Err(refusal))),
        };
        self.record.begin(HEADER_BYTES);
        let mut placed = Vec::new();
        if !is_known && !jobs.is_empty() {
            let random = self.random.next();
            let (queues, principal) = (self.machines.machine_mut::<Queues>(), transfers.principal());
            match queues.put_each(at.0, now, random, jobs, principal, &mut self.record) {
                Ok(all) => placed = all,
                Err(refusal) => return Ok(Some(Err(refusal))),
            }
        }
        let has_jobs = !self.record.is_empty();
        if has_jobs {
            let jobs_bytes = self.record.events().len();
            write_header(self.record.header_mut(), MachineId::of::<Queues>(), now, jobs_bytes);
            self.record.next_section(SECTION_BYTES);
        }
        let booked =
            match self.machines.machine_mut::<Ledger>().execute(at.0, now, transfers, &mut self.record) {
                Ok(Executed::Done(Answer::Booked(outcomes))) => {
                    let booked: Result<Vec<_>, Refusal> = outcomes.into_iter().collect::<Result<_, _>>();
                    booked.map_err(|refusal| broken(&refusal.to_string()))?
                }
                Ok(Executed::Done(_)) => return Err(broken("another answer")),
                Ok(Executed::Pending(_)) => return Err(broken("other shards are asked")),
                Err(refusal) => return Err(broken(&refusal.to_string())),
            };
        if !has_jobs {
            self.append_events(MachineId::of::<Ledger>(), at, now, Room::Ordinary)?;
            return Ok(Some(Ok(Done { booked, placed })));
        }
        if self.record.is_empty() {
            return Err(broken("nothing was booked"));
        }
        let transfers_bytes = self.record.events().len();
        write_next_section(self.record.header_mut(), MachineId::of::<Ledger>(), transfers_bytes);
        self.append_record(at, Room::Ordinary, &[MachineId::of::<Queues>(), MachineId::of::<Ledger>()])?;
        Ok(Some(Ok(Done { booked, placed })))
    }
}

/// Jobs were put beside transfers that were checked, and now these are refused: memory no longer
/// matches the journal.
fn broken(what: &str) -> Fault {
    Fault::Broken(format!("transfers that were checked are not booked: {what}"))
}
