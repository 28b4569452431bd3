//! Works off the queue of ballots: a job for each vote that counted, put in the vote's own record.
//!
//! Here it only feeds the page: how many came by which way, and the last few. A show's graphics, a prize draw or an
//! export would be workers like this one. It may see a ballot twice when it dies between its work and its settle.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::bank::{BALLOTS, Bank};
use crate::proto::{Lease, ReserveRequest, SettleRequest, queue};
use crate::stadium::call;

/// Ballots that the page shows.
const LATEST_MAX: usize = 12;

/// Ballots that are taken at once.
const BALLOTS_MAX: u32 = 1_000;

/// How long one question waits for a ballot: less than a call's deadline.
const WAIT_MS: u64 = 3_000;

/// After a question that failed.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// A vote that counted, as in its record's job. The voter's name is nobody's business here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ballot {
    /// For whom.
    pub candidate: String,
    /// `http` or `mqtt`.
    pub way: String,
    /// On what.
    pub poll: String,
}

/// The votes that the worker has seen since this process started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// Ballots that came over HTTP.
    pub http: u64,
    /// Ballots that devices sent.
    pub mqtt: u64,
    /// The last ones, newest first.
    pub latest: VecDeque<Ballot>,
}

impl Counted {
    fn take(&mut self, ballot: Ballot) {
        if ballot.way == "mqtt" {
            self.mqtt += 1;
        } else {
            self.http += 1;
        }
        self.latest.push_front(ballot);
        self.latest.truncate(LATEST_MAX);
    }
}

/// Works until it is dropped.
pub(crate) async fn work(bank: Arc<Bank>, counted: Arc<Mutex<Counted>>) {
    loop {
        if let Err(error) = round(&bank, &counted).await {
            tracing::debug!(%error, "Ballots cannot be had now");
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }
}

async fn round(bank: &Bank, counted: &Mutex<Counted>) -> Result<(), stadium_rpc::CallError> {
    let reserve = ReserveRequest {
        queue: BALLOTS.to_owned(),
        jobs_max: BALLOTS_MAX,
        wait_ms: WAIT_MS,
        worker: "voting".to_owned(),
        ..ReserveRequest::default()
    };
    // Not `call`: a reserve that is made again would leave the first one's jobs leased.
    let reserved = bank.queues().call(&queue::RESERVE, &reserve).await?;
    if reserved.jobs.is_empty() {
        return Ok(());
    }
    let leases =
        reserved.jobs.iter().map(|job| Lease { job: job.job, reservation: job.reservation }).collect();
    {
        let mut counted = counted.lock();
        for job in &reserved.jobs {
            match serde_json::from_slice::<Ballot>(&job.payload) {
                // Ballots of another poll are another service's to show, and nobody's to keep.
                Ok(ballot) if ballot.poll == bank.poll().name() => counted.take(ballot),
                Ok(_) => {}
                Err(error) => tracing::warn!(job = job.job, %error, "A ballot cannot be read"),
            }
        }
    }
    call(bank.queues(), &queue::SETTLE, &SettleRequest { leases }).await?;
    Ok(())
}
