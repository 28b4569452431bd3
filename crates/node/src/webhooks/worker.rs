//! Works on one feed's queue: reserves its jobs, posts them, and reports the outcome of each.
//!
//! Up to [`AT_ONCE`] jobs are on their way at a time. A job that the receiver took is settled; any
//! other is released with the queue's back-off and the reason, and a job without an attempt left is
//! a dead letter, to be seen and redriven like any other job's.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stadium_push::feed::Webhook;
use stadium_queue::{
    Answer, Bounds, Command, Lease, Milliseconds, QueueName, Refusal, Reserved, Retry, WorkerName,
};
use stadium_shard::Shards;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::post::{Posted, Poster};

/// Posts of one feed at a time.
const AT_ONCE: usize = 4;

/// How long a job is ours: a post's time-out several times, as it may wait for the posts of other feeds.
const LEASE: Milliseconds = 60_000;

/// The longest wait for a post's turn; then the job goes back, and the attempt does not count.
const TURN_MAX: Duration = Duration::from_secs(30);

/// When to look again where the shards name no time.
const PAUSE: Duration = Duration::from_secs(1);

/// Attempts to report the outcome of a job; after them its lease ends by itself, and it is posted
/// again.
const REPORT_ATTEMPTS: u32 = 5;

/// What all feeds' workers share.
#[derive(Clone)]
pub(super) struct Means {
    pub(super) shards: Shards,
    pub(super) poster: Poster,
    /// Posts of all feeds at a time.
    pub(super) turns: Arc<Semaphore>,
}

/// Works until `stopped` is set, and waits for what is on its way.
pub(super) async fn work(
    means: Means,
    queue: QueueName,
    webhook: Arc<Webhook>,
    mut stopped: watch::Receiver<bool>,
) {
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let mut free = vec![acquire(&slots).await];
        while let Ok(more) = Arc::clone(&slots).try_acquire_owned() {
            free.push(more);
        }
        let reserve = means.shards.submit(reserve(&queue, free.len() as u32));
        let answer = tokio::select! {
            biased;
            // Also where nobody can stop it any more. A reserve that is let go gives back what it
            // was given.
            _ = stopped.wait_for(|stop| *stop) => break,
            answer = reserve => answer,
        };
        let pause = match answer {
            Ok(Answer::Reserved(jobs)) => {
                for (job, slot) in jobs.into_iter().zip(free) {
                    tokio::spawn(deliver(means.clone(), Arc::clone(&webhook), job, slot));
                }
                continue;
            }
            Ok(_) => {
                tracing::error!(queue = queue.as_str(), "A shard's answer to a reserve is of another kind");
                PAUSE
            }
            Err(Refusal::Busy { retry_after, .. } | Refusal::Unknown { retry_after, .. }) => {
                Duration::from_millis(retry_after)
            }
            Err(refusal @ Refusal::Rejected { .. }) => {
                tracing::warn!(queue = queue.as_str(), %refusal, "A feed's queue cannot be worked on");
                PAUSE
            }
        };
        tokio::select! {
            biased;
            _ = stopped.wait_for(|stop| *stop) => break,
            () = tokio::time::sleep(pause) => {}
        }
    }
    let _ = slots.acquire_many(AT_ONCE as u32).await;
}

async fn acquire(slots: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    Arc::clone(slots).acquire_owned().await.expect("nobody closes the slots")
}

async fn deliver(means: Means, webhook: Arc<Webhook>, job: Reserved<Bytes>, _slot: OwnedSemaphorePermit) {
    let lease = job.lease;
    let turn = tokio::time::timeout(TURN_MAX, Arc::clone(&means.turns).acquire_owned()).await;
    let Ok(Ok(turn)) = turn else {
        return report(&means.shards, release(lease, Retry::NotTried(PAUSE.as_millis() as u64), None)).await;
    };
    let (poster, id, url) = (means.poster.clone(), lease.job.to_string(), webhook.url.clone());
    let posted = tokio::task::spawn_blocking(move || poster.post(&webhook, &id, &job.payload)).await;
    drop(turn);
    let command = match posted {
        Ok(Posted::Taken) => Command::Settle { leases: vec![lease] },
        Ok(Posted::Failed { reason, retry_after }) => {
            tracing::debug!(job = %lease.job, url, reason, attempt = job.attempt, "A webhook was not taken");
            let retry = retry_after.map_or(Retry::Backoff, |after| Retry::After(after.as_millis() as u64));
            release(lease, retry, Some(short(reason)))
        }
        Err(_) => release(lease, Retry::Backoff, Some("the post ended by a panic".to_owned())),
    };
    report(&means.shards, command).await;
}

fn release(lease: Lease, retry: Retry, error: Option<String>) -> Command {
    Command::Release { leases: vec![lease], retry, error }
}

/// A job's history takes 1,024 bytes.
fn short(mut reason: String) -> String {
    let end = reason.floor_char_boundary(1_000);
    reason.truncate(end);
    reason
}

async fn report(shards: &Shards, command: Command) {
    for _ in 0..REPORT_ATTEMPTS {
        match shards.submit(command.clone()).await {
            Ok(_) => return,
            Err(Refusal::Busy { retry_after, .. } | Refusal::Unknown { retry_after, .. }) => {
                tokio::time::sleep(Duration::from_millis(retry_after)).await
            }
            Err(refusal @ Refusal::Rejected { .. }) => {
                tracing::error!(%refusal, "The outcome of a webhook cannot be reported");
                return;
            }
        }
    }
    tracing::warn!("The shards were busy; a webhook that was taken may be posted again");
}

fn reserve(queue: &QueueName, jobs_max: u32) -> Command {
    Command::Reserve {
        queue: queue.clone(),
        jobs_max,
        lease: Some(LEASE),
        wait: Bounds::WAIT_MAX,
        worker: WorkerName::new("webhook").ok(),
    }
}
