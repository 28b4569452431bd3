//! One request over a lane, with a time.
//!
//! A failure is certain only if the request was not sent, or the broker refused it.

use rskafka::client::error::Error;
use rskafka::client::partition::{OffsetAt, PartitionClient};
use stadium_journal_log::Offset;
use stadium_journal_log::partition::Failure;
use tokio::time::{Instant, timeout_at};

use super::lane::Lane;
use super::outcome::{breaks, failure};
use crate::failure::{REFUSED, UNANSWERED, Verdict};

/// Where the partition begins and ends, of its leader.
pub(super) async fn find_ends(lane: &Lane, deadline: Instant) -> Result<(Offset, Offset), Failure> {
    let (start, end) = ask(lane, deadline, async |client| {
        Ok((client.get_offset(OffsetAt::Earliest).await?, client.get_offset(OffsetAt::Latest).await?))
    })
    .await?;
    Ok((offset(start)?, offset(end)?))
}

/// Sends a request over the lane. A failure is certain where the request was not sent.
pub(super) async fn ask<T>(
    lane: &Lane,
    deadline: Instant,
    request: impl AsyncFnOnce(&PartitionClient) -> Result<T, Error>,
) -> Result<T, Failure> {
    let last = parking_lot::Mutex::new(None);
    let client = match timeout_at(deadline, lane.connect(&last)).await {
        Ok(client) => client?,
        Err(_) => {
            let failure = last.into_inner();
            let what = failure.map_or_else(|| "connecting".to_owned(), |failure: Failure| failure.what);
            return Err(Verdict::later(UNANSWERED).failure(format_args!("not sent in time: {what}")));
        }
    };
    match timeout_at(deadline, request(&client)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            if breaks(&error) {
                lane.give_up(&client).await;
            }
            Err(failure(&error))
        }
        Err(_) => {
            // The broker may be stopped: another may lead the partition by now.
            lane.give_up(&client).await;
            Err(Verdict::unknown(UNANSWERED).failure("not answered in time"))
        }
    }
}

/// An offset that a broker states.
pub(super) fn offset(raw: i64) -> Result<Offset, Failure> {
    match u64::try_from(raw) {
        Ok(offset) => Ok(Offset(offset)),
        Err(_) => Err(Verdict::unknown(REFUSED).failure(format_args!("the broker states offset {raw}"))),
    }
}
