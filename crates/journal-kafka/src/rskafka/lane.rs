//! A connection to the leader of a partition, made again when it broke.

use std::sync::Arc;
use std::time::Duration;

use rskafka::client::Client;
use rskafka::client::error::Error;
use rskafka::client::partition::{PartitionClient, UnknownTopicHandling};
use stadium_journal_log::partition::Failure;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use super::outcome::{self, failure};
use super::shared::Shared;
use crate::failure::{UNREACHABLE, Verdict};

/// Time between two attempts to connect.
const AGAIN_AFTER: Duration = Duration::from_millis(50);

/// Time for one attempt. It asks brokers in an order of chance, and one of them may be stopped.
const ATTEMPT: Duration = Duration::from_secs(1);

/// The connection, if there is one.
pub(super) struct Lane {
    pub(super) shared: Arc<Shared>,
    pub(super) shard: u32,
    open: Mutex<Option<Arc<PartitionClient>>>,
}

impl Lane {
    pub(super) fn new(shared: &Arc<Shared>, shard: u32) -> Self {
        Self { shared: Arc::clone(shared), shard, open: Mutex::new(None) }
    }

    /// The connection. Tries until there is one; the caller gives it a time.
    ///
    /// `last` is set to the failure of each attempt.
    pub(super) async fn connect(
        &self,
        last: &parking_lot::Mutex<Option<Failure>>,
    ) -> Result<Arc<PartitionClient>, Failure> {
        loop {
            let mut open = self.open.lock().await;
            if let Some(client) = &*open {
                return Ok(Arc::clone(client));
            }
            let failed = match self.attempt().await {
                Ok(client) => return Ok(Arc::clone(open.insert(Arc::new(client)))),
                Err(failure) => failure,
            };
            drop(open);
            if !failed.is_temporary {
                return Err(failed);
            }
            *last.lock() = Some(failed);
            sleep(AGAIN_AFTER).await;
        }
    }

    async fn attempt(&self) -> Result<PartitionClient, Failure> {
        // Nothing was sent that appends: all failures are certain.
        let certain = |failure: Failure| Failure { is_certain: true, ..failure };
        let silent = || Verdict::later(UNREACHABLE).failure("no broker answers");
        let client = match timeout(ATTEMPT, self.shared.client()).await {
            Ok(client) => client.map_err(|error| certain(failure(&error)))?,
            Err(_) => return Err(silent()),
        };
        let shard = i32::try_from(self.shard).expect("a shard is one of 1,024");
        let topic = self.shared.topic.clone();
        let connected = client.partition_client(topic, shard, UnknownTopicHandling::Error);
        match timeout(ATTEMPT, connected).await {
            Ok(Ok(connected)) => Ok(connected),
            Ok(Err(error)) => {
                self.forget(&client, &error).await;
                Err(certain(failure(&error)))
            }
            Err(_) => {
                self.shared.give_up(&client).await;
                Err(silent())
            }
        }
    }

    /// A client that cannot connect may have a list of brokers that are gone.
    async fn forget(&self, client: &Arc<Client>, error: &Error) {
        if outcome::breaks(error) {
            self.shared.give_up(client).await;
        }
    }

    /// The same without waiting: somebody who holds the lock is connecting, and finds it broken.
    pub(super) fn give_up_now(&self, broken: &Arc<PartitionClient>) {
        if let Ok(mut open) = self.open.try_lock()
            && open.as_ref().is_some_and(|client| Arc::ptr_eq(client, broken))
        {
            *open = None;
        }
    }

    /// Gives a connection up, after an error or a silence.
    pub(super) async fn give_up(&self, broken: &Arc<PartitionClient>) {
        let mut open = self.open.lock().await;
        if open.as_ref().is_some_and(|client| Arc::ptr_eq(client, broken)) {
            *open = None;
        }
    }
}
