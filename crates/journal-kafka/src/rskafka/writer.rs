//! The task that appends to a partition, finds its ends and trims it.
//!
//! Appends go out in the order in which they were handed over, without waiting for each other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use rskafka::chrono::DateTime;
use rskafka::client::partition::{Compression, OffsetAt};
use rskafka::record::Record;
use stadium_journal_log::Offset;
use stadium_journal_log::partition::{Call, Event, Failure};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use super::lane::Lane;
use super::reader::Step;
use super::request::{ask, find_ends, offset};
use crate::outbox::{Item, Outbox};

/// A call that the task serves.
pub(super) enum Command {
    Append {
        tag: u64,
        message: Vec<u8>,
        /// The message's part of the node's bound.
        bytes: OwnedSemaphorePermit,
        deadline: Instant,
    },
    FindEnds,
    Trim(Offset),
}

/// Runs until the partition is dropped, and then gives up what is under way.
pub(super) async fn run(
    lane: Arc<Lane>,
    outbox: Arc<Outbox<Step>>,
    mut commands: UnboundedReceiver<Command>,
) {
    // Each is polled first in the order in which it came, and then waits in line for the connection.
    let mut under_way: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            Some(()) = under_way.next(), if !under_way.is_empty() => {}
            command = commands.recv() => match command {
                None => return,
                Some(command) => under_way.push(Box::pin(serve(&lane, &outbox, command))),
            },
        }
    }
}

async fn serve(lane: &Lane, outbox: &Outbox<Step>, command: Command) {
    let request_timeout = lane.shared.settings.request_timeout;
    match command {
        Command::Append { tag, message, bytes, deadline } => {
            let event = match append(lane, message, deadline).await {
                Ok(offset) => Event::Appended { tag, offset },
                Err(failure) => Event::NotAppended { tag, failure },
            };
            drop(bytes);
            outbox.put(Item::Event(event));
        }
        Command::FindEnds => outbox.end(match find_ends(lane, Instant::now() + request_timeout).await {
            Ok((start, end)) => Event::Ends { start, end },
            Err(failure) => Event::Failed { call: Call::FindEnds, failure },
        }),
        Command::Trim(below) => outbox.end(match trim(lane, below, request_timeout).await {
            Ok(start) => Event::Trimmed { start },
            Err(failure) => Event::Failed { call: Call::Trim, failure },
        }),
    }
}

async fn append(lane: &Lane, message: Vec<u8>, deadline: Instant) -> Result<Offset, Failure> {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let timestamp = DateTime::from_timestamp_millis(i64::try_from(millis).unwrap_or(0)).unwrap_or_default();
    let record = Record { key: None, value: Some(message), headers: BTreeMap::new(), timestamp };
    let offsets =
        ask(lane, deadline, async |client| client.produce(vec![record], Compression::NoCompression).await)
            .await?;
    offset(offsets.first().copied().unwrap_or(-1))
}

async fn trim(lane: &Lane, below: Offset, within: Duration) -> Result<Offset, Failure> {
    let below = i64::try_from(below.0).unwrap_or(i64::MAX);
    let within_ms = i32::try_from(within.as_millis()).unwrap_or(i32::MAX);
    let start = ask(lane, Instant::now() + within, async |client| {
        client.delete_records(below, within_ms).await?;
        // The answer has the start, and rskafka keeps it to itself.
        client.get_offset(OffsetAt::Earliest).await
    })
    .await?;
    offset(start)
}
