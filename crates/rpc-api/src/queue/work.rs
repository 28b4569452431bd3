//! `Work`: a stream of reserved jobs whose credit is the consumer's appetite.
//!
//! Nothing is reserved before the consumer has room for it, so that no lease runs out in a queue of ours. Jobs that were
//! reserved and not sent when the consumer goes are released uncounted; those on their way to it wait for their leases
//! to end, because nobody knows whether they arrived.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use stadium_queue::{Answer, Bounds, Command, Reserved, Retry};
use stadium_rpc::service::Disconnected;
use stadium_rpc::{CallContext, Refusal, StreamSender};

use super::{read, write};
use crate::guarded::{Guarded, answer_of};
use crate::proto::{ReservedJob, WorkRequest};
use crate::request::strange;
use crate::shards::ShardsHandle;

/// Jobs reserved at once. More would only make unsent ones wait for those before them.
const BATCH_MAX: u32 = 64;

/// The function of the method, over these shards.
pub(crate) fn function(
    shards: &Guarded,
) -> impl Fn(CallContext, WorkRequest, StreamSender<ReservedJob>) -> Stream + Send + Sync + use<> {
    let shards = shards.clone();
    move |context, request, out| Box::pin(serve(shards.clone(), context, request, out))
}

/// What serves one consumer.
pub(crate) type Stream = std::pin::Pin<Box<dyn Future<Output = Result<(), Refusal>>>>;

async fn serve(
    shards: Guarded,
    context: CallContext,
    request: WorkRequest,
    out: StreamSender<ReservedJob>,
) -> Result<(), Refusal> {
    let (queue, lease, worker) = read::work(&request)?;
    loop {
        // A caller whose key was revoked, or whose token has expired, gets no further job.
        let caller = shards.caller(&context, 0)?;
        let jobs_max = wanted(&out).await?.min(BATCH_MAX);
        let command = Command::Reserve {
            queue: queue.clone(),
            jobs_max,
            lease,
            wait: Bounds::WAIT_MAX,
            worker: worker.clone(),
        };
        shards.may_ask_queue(&caller, &command).await?;
        let Answer::Reserved(jobs) = answer_of(shards.shards().submit(command)).await? else {
            return Err(strange());
        };
        let mut unsent = Unsent { shards: shards.shards(), jobs: jobs.into() };
        while let Some(job) = unsent.jobs.front() {
            // A clone shares the payload; the job leaves the list once it was sent.
            out.send(write::reserved_job(job.clone())).await?;
            unsent.jobs.pop_front();
        }
    }
}

/// Waits until the consumer takes jobs, and returns how many.
async fn wanted(out: &StreamSender<ReservedJob>) -> Result<u32, Disconnected> {
    poll_fn(|context| {
        let credit = out.credit();
        if credit > 0 {
            return Poll::Ready(Ok(credit));
        }
        // Without credit nothing is sent; polling it once asks to be woken when there is some.
        match pin!(out.send(ReservedJob::default())).poll(context) {
            Poll::Ready(Err(gone)) => Poll::Ready(Err(gone)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Jobs that are reserved for a consumer and not on their way to it. The rest is released when it
/// goes.
struct Unsent<'a> {
    shards: &'a ShardsHandle,
    jobs: VecDeque<Reserved<Bytes>>,
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        if self.jobs.is_empty() {
            return;
        }
        let leases = self.jobs.iter().map(|job| job.lease).collect();
        // Where even this finds no room, the leases end by themselves.
        let _ = self.shards.submit(Command::Release { leases, retry: Retry::NotTried(0), error: None });
    }
}
