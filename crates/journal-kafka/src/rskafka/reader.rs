//! The task that reads a partition.
//!
//! It fetches for the read under way, and nothing ahead of it: so its memory is that of the read.

use std::sync::Arc;

use bytes::Bytes;
use rskafka::client::error::Error;
use rskafka::client::partition::PartitionClient;
use rskafka::record::RecordAndOffset;
use stadium_journal_log::Offset;
use stadium_journal_log::partition::Failure;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::lane::Lane;
use super::outcome::{breaks, error_code, failure};
use super::request::find_ends;
use crate::outbox::{Item, Outbox};

/// Bytes that one fetch brings; a longer message comes alone (KIP-74).
const FETCH_BYTES: usize = 1024 * 1024;

/// How long a broker holds back an answer at the end of the log, in milliseconds. Nothing else waits
/// for the connection: a read that begins elsewhere takes another one.
const FETCH_WAIT_MS: i32 = 500;

/// A read.
#[derive(Clone, Copy)]
pub(super) struct Read {
    /// Counts reads.
    pub(super) number: u64,
    pub(super) from: Offset,
    pub(super) bytes_max: usize,
}

/// A step of a read.
pub(super) enum Step {
    Message { offset: Offset, message: Bytes },
    Ended { next: Offset },
    OutOfRange { start: Offset, end: Offset },
    Failed(Failure),
}

/// Runs until the partition is dropped.
pub(super) async fn run(
    lane: Arc<Lane>,
    outbox: Arc<Outbox<Step>>,
    mut reads: watch::Receiver<Option<Read>>,
) {
    let mut is_open = true;
    while is_open {
        let read = *reads.borrow_and_update();
        let Some(read) = read else {
            is_open = reads.changed().await.is_ok();
            continue;
        };
        tokio::select! {
            biased;
            changed = reads.changed() => is_open = changed.is_ok(),
            () = serve(&lane, &outbox, read) => is_open = reads.changed().await.is_ok(),
        }
    }
}

async fn serve(lane: &Lane, outbox: &Outbox<Step>, read: Read) {
    let put = |step| outbox.put(Item::Read(read.number, step));
    let (mut next, mut left) = (read.from, read.bytes_max.max(1));
    while left > 0 {
        let records = match fetch(lane, next, left).await {
            Ok(records) => records,
            Err(Stopped::OutOfRange) => {
                let deadline = Instant::now() + lane.shared.settings.request_timeout;
                match find_ends(lane, deadline).await {
                    // The partition's end came to be known, or its leader changed, between the two.
                    Ok((start, end)) if (start..=end).contains(&next) => continue,
                    Ok((start, end)) => return put(Step::OutOfRange { start, end }),
                    Err(failure) => return put(Step::Failed(failure)),
                }
            }
            Err(Stopped::Again) => continue,
            Err(Stopped::Failed(failure)) => return put(Step::Failed(failure)),
        };
        for RecordAndOffset { record, offset } in records {
            let message = Bytes::from(record.value.unwrap_or_default());
            let offset = Offset(u64::try_from(offset).unwrap_or(0));
            next = offset.next();
            // An empty message counts too, or a read of such would never end.
            left = left.saturating_sub(message.len().max(1));
            put(Step::Message { offset, message });
            if left == 0 {
                break;
            }
        }
    }
    put(Step::Ended { next });
}

/// Why a fetch brought nothing.
enum Stopped {
    OutOfRange,
    /// The connection broke, or its broker does not lead the partition any more.
    Again,
    Failed(Failure),
}

async fn fetch(lane: &Lane, from: Offset, left: usize) -> Result<Vec<RecordAndOffset>, Stopped> {
    let last = parking_lot::Mutex::new(None);
    let client = lane.connect(&last).await.map_err(Stopped::Failed)?;
    // A read that begins meanwhile must not wait for a connection that is busy with this one.
    let mut busy = Busy { lane, client: Some(client) };
    let client = Arc::clone(busy.client.as_ref().expect("it was just put there"));
    let most = i32::try_from(left.clamp(64 * 1024, FETCH_BYTES)).expect("at most a MiB");
    let from = i64::try_from(from.0).unwrap_or(i64::MAX);
    let within = lane.shared.settings.request_timeout + std::time::Duration::from_millis(500);
    let fetched = timeout(within, client.fetch_records(from, 1..most + 1, FETCH_WAIT_MS)).await;
    busy.client = None;
    match fetched {
        Ok(Ok((records, _))) => Ok(records),
        Ok(Err(error)) => Err(stopped(lane, &client, &error).await),
        Err(_) => {
            lane.give_up(&client).await;
            Err(Stopped::Again)
        }
    }
}

async fn stopped(lane: &Lane, client: &Arc<PartitionClient>, error: &Error) -> Stopped {
    const OFFSET_OUT_OF_RANGE: i16 = 1;
    if error_code(error) == Some(OFFSET_OUT_OF_RANGE) {
        return Stopped::OutOfRange;
    }
    let failure = failure(error);
    if breaks(error) {
        lane.give_up(client).await;
        if failure.is_temporary {
            return Stopped::Again;
        }
    }
    Stopped::Failed(failure)
}

/// Gives the connection up if the fetch on it is dropped.
struct Busy<'l> {
    lane: &'l Lane,
    client: Option<Arc<PartitionClient>>,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            self.lane.give_up_now(&client);
        }
    }
}
