//! Pushes that stand in a queue: put there together with transfers, or by anybody, and made by this node.
//!
//! A job's payload is a body of POST /api/push. One task reserves such jobs, hands each over as that call would, in their order,
//! and settles them; so each is pushed at least once, also when the process dies in between. A job
//! that can never be pushed is buried with the reason, and stays to be seen.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stadium_http::fleet::{Fleet, Refusal as FleetRefusal};
use stadium_http::{PushBounds, read_push};
use stadium_push::PushId;
use stadium_queue::{
    Answer, Bounds, Command, Lease, Milliseconds, QueueSettings, Refusal, Reserved, Retry, Spread, WorkerName,
};
use stadium_rpc_api::pushes::queue;
use stadium_shard::Shards;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Jobs reserved at once: they share one commit, and fit into a loop's mailbox.
const BATCH_MAX: u32 = 256;

/// How long the task has for a batch, which takes milliseconds. Its jobs when the process died are
/// pushed again so long after it was reserved.
const LEASE: Milliseconds = 5_000;

/// Attempts to settle what was pushed; after them it is pushed again.
const SETTLE_ATTEMPTS: u32 = 5;

/// When to look again where the shards name no time.
const PAUSE: Duration = Duration::from_secs(1);

/// Longest wait for the queue to be made, at a start.
const DECLARE_PATIENCE: Duration = Duration::from_secs(10);

/// Makes the queue where there is none: on all shards, so that a wallet's pushes are put in the record of its transfers.
///
/// Waits for the shards, twice 10 s at most.
///
/// # Errors
/// The queue may not be there, for the reason given.
pub(crate) fn declare(shards: &Shards) -> Result<(), String> {
    let ask = |command| shards.submit(command).wait(DECLARE_PATIENCE);
    match ask(Command::Stats { queue: queue() }) {
        Some(Err(Refusal::Rejected { .. })) => {}
        Some(Ok(_)) => return Ok(()),
        Some(Err(refusal)) => return Err(format!("it cannot be looked at: {refusal}")),
        None => return Err("the shards did not answer about it in time".to_owned()),
    }
    let settings = QueueSettings { lease: LEASE, spread: Spread::AllShards, ..QueueSettings::default() };
    match ask(Command::Declare { queue: queue(), settings }) {
        Some(Ok(_)) => Ok(()),
        Some(Err(refusal)) => Err(format!("it cannot be made: {refusal}")),
        None => Err("it was not made in time".to_owned()),
    }
}

/// The task that makes the pushes.
pub(crate) struct Pushes {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Pushes {
    /// Begins to make them.
    pub(crate) fn start(
        shards: Shards,
        fleet: Arc<dyn Fleet>,
        bounds: PushBounds,
        runtime: &Runtime,
    ) -> Self {
        let (stop, stopped) = watch::channel(false);
        let worker = Worker { shards, fleet, bounds, stopped };
        Self { stop, task: runtime.spawn(worker.work()) }
    }

    /// Takes no more, and waits for what is under way, so long at most.
    pub(crate) async fn stop(self, at_most: Duration) {
        self.stop.send_replace(true);
        let abort = self.task.abort_handle();
        if tokio::time::timeout(at_most, self.task).await.is_err() {
            abort.abort();
            tracing::warn!("Pushes were not settled in time; they are made again");
        }
    }
}

struct Worker {
    shards: Shards,
    fleet: Arc<dyn Fleet>,
    bounds: PushBounds,
    stopped: watch::Receiver<bool>,
}

/// What became of a batch.
#[derive(Default)]
struct Batch {
    pushed: Vec<Lease>,
    /// With the reasons why they never can be.
    wrong: Vec<(Lease, String)>,
    /// The fleet was busy, and these were not tried.
    left: Vec<Lease>,
    /// When to come back for them.
    retry_after: Duration,
}

impl Worker {
    async fn work(self) {
        while let Some(answer) = self.unless_stopped(self.shards.submit(reserve())).await {
            let pause = match answer {
                Ok(Answer::Reserved(jobs)) => self.batch(jobs).await,
                Ok(_) => {
                    tracing::error!("A shard's answer to a reserve is of another kind");
                    PAUSE
                }
                Err(Refusal::Busy { retry_after, .. } | Refusal::Unknown { retry_after, .. }) => {
                    Duration::from_millis(retry_after)
                }
                Err(refusal @ Refusal::Rejected { .. }) => {
                    tracing::error!(%refusal, "The queue of pushes cannot be worked on");
                    PAUSE
                }
            };
            if !pause.is_zero() && self.unless_stopped(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
        }
    }

    /// Waits for something; `None` when it is time to stop. A reserve that is let go gives back what it was given.
    async fn unless_stopped<T>(&self, waits: impl Future<Output = T>) -> Option<T> {
        let mut stopped = self.stopped.clone();
        tokio::select! {
            biased;
            // Also where nobody can stop it any more.
            _ = stopped.wait_for(|stop| *stop) => None,
            came = waits => Some(came),
        }
    }

    /// Pushes a batch, and returns how long to rest.
    async fn batch(&self, jobs: Vec<Reserved<Bytes>>) -> Duration {
        let Batch { pushed, wrong, left, retry_after } = self.push(&jobs);
        if !left.is_empty() {
            let not_tried = Retry::NotTried(retry_after.as_millis() as u64);
            self.report(Command::Release { leases: left, retry: not_tried, error: None }).await;
        }
        for (lease, reason) in wrong {
            tracing::warn!(job = %lease.job, reason, "A push can never be made; its job is buried");
            self.report(Command::Bury { leases: vec![lease], reason: Some(reason) }).await;
        }
        if !pushed.is_empty() {
            self.report(Command::Settle { leases: pushed }).await;
        }
        retry_after
    }

    fn push(&self, jobs: &[Reserved<Bytes>]) -> Batch {
        let mut batch = Batch::default();
        for (place, job) in jobs.iter().enumerate() {
            let push = match read_push(&job.payload, push_id(&job.lease), self.bounds) {
                Ok(push) => push,
                Err(reason) => {
                    batch.wrong.push((job.lease, reason));
                    continue;
                }
            };
            match self.fleet.push(push) {
                Ok(_) => batch.pushed.push(job.lease),
                Err(FleetRefusal::Rejected { code, reason }) => {
                    batch.wrong.push((job.lease, format!("{reason} ({code})")));
                }
                Err(FleetRefusal::Busy { retry_after, .. }) => {
                    batch.left = jobs[place..].iter().map(|job| job.lease).collect();
                    batch.retry_after = retry_after;
                    break;
                }
                // A job is done at least once: its push is made again.
                Err(FleetRefusal::Unknown { .. }) => {
                    batch.left = jobs[place..].iter().map(|job| job.lease).collect();
                    batch.retry_after = PAUSE;
                    break;
                }
            }
        }
        batch
    }

    /// Reports the outcome of jobs to the shards. Where they do not answer, the leases end by
    /// themselves.
    async fn report(&self, command: Command) {
        for _ in 0..SETTLE_ATTEMPTS {
            match self.shards.submit(command.clone()).await {
                Ok(_) => return,
                Err(Refusal::Busy { retry_after, .. } | Refusal::Unknown { retry_after, .. }) => {
                    tokio::time::sleep(Duration::from_millis(retry_after)).await;
                }
                Err(refusal @ Refusal::Rejected { .. }) => {
                    tracing::error!(%refusal, "The outcome of pushes cannot be reported");
                    return;
                }
            }
        }
        tracing::warn!("The shards were busy; what was pushed may be pushed again");
    }
}

/// The id of the push that a job makes: a repeated attempt has the same one.
fn push_id(lease: &Lease) -> PushId {
    const JOBS: u128 = 0x6a6f_6273_2d6f_662d << 64;
    PushId(JOBS | u128::from(lease.job.0))
}

fn reserve() -> Command {
    Command::Reserve {
        queue: queue(),
        jobs_max: BATCH_MAX,
        lease: None,
        wait: Bounds::WAIT_MAX,
        worker: WorkerName::new("stadium").ok(),
    }
}
