//! Standings that the instances of one service share through memcached.
//!
//! About once a second one instance asks Stadium and stores the standings; the others read them. The old
//! ones serve while it asks. The cache decides nothing: votes, balances and the result after the closing never
//! come from it, entries are sealed with the service's secret, and whatever fails, Stadium is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use stadium_memcache::{Client, Error, Recache};

use crate::access::{Access, Seal};
use crate::bank::{Bank, Refused};
use crate::poll::now_ms;
use crate::results::Books;

/// Longest time that the cache may take for one look.
const TIMEOUT: Duration = Duration::from_millis(50);

/// Standings are used for so long; memcached counts whole seconds.
const EXPIRY: Duration = Duration::from_secs(2);

/// One instance asks anew in the last second, and may take so long.
const RECACHE: Recache = Recache { lease: Duration::from_secs(2), early: EXPIRY };

/// Older standings are not used, whatever the cache says.
const AGE_MS_MAX: u64 = 5_000;

/// The votes of the candidates, and the books.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Look {
    pub(crate) votes: Vec<i64>,
    pub(crate) books: Books,
    /// When Stadium was asked.
    pub(crate) at_ms: u64,
}

/// The cache of one poll's standings.
pub(crate) struct Cached {
    client: Client,
    key: String,
    seal: Seal,
    fails: AtomicBool,
}

/// The reason for which there are no standings.
enum Trouble {
    Cache(Error),
    Stadium(Refused),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Cache(error)
    }
}

impl Cached {
    /// Connects to nothing yet.
    pub(crate) fn new(servers: &[String], access: &Access, poll: &str) -> anyhow::Result<Self> {
        let config = stadium_memcache::Config {
            timeout: TIMEOUT,
            connect_timeout: TIMEOUT,
            prefix: b"voting:".to_vec(),
            ..stadium_memcache::Config::for_servers(servers).context("the cache")?
        };
        let seal = access.seal("standings");
        let key = seal.name(poll);
        let client = Client::with(config).context("the cache")?;
        Ok(Self { client, key, seal, fails: AtomicBool::new(false) })
    }

    /// The standings, of the last second or two.
    pub(crate) async fn look(self: &Arc<Self>, bank: &Arc<Bank>) -> Result<Look, Refused> {
        let (this, asked) = (Arc::clone(self), Arc::clone(bank));
        let runtime = tokio::runtime::Handle::current();
        // The client blocks its thread.
        let read = tokio::task::spawn_blocking(move || this.read(|| runtime.block_on(look(&asked)))).await;
        match read {
            Ok(Ok(look)) => {
                if self.fails.swap(false, Ordering::Relaxed) {
                    tracing::info!("The cache of the standings works again");
                }
                Ok(look)
            }
            Ok(Err(Trouble::Stadium(refused))) => Err(refused),
            Ok(Err(Trouble::Cache(error))) => {
                if !self.fails.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%error, "The cache of the standings fails; Stadium is asked instead");
                }
                look(bank).await
            }
            Err(error) => Err(Refused::Busy(error.to_string())),
        }
    }

    fn read(&self, ask: impl Fn() -> Result<Look, Refused>) -> Result<Look, Trouble> {
        let mut made = None;
        let read = self.client.read_through(&self.key, &RECACHE, EXPIRY, || {
            let look = ask().map_err(Trouble::Stadium)?;
            let entry = self.entry(&look);
            made = Some(look);
            Ok::<_, Trouble>(entry)
        });
        match (made, read) {
            // Stored or not.
            (Some(look), _) => Ok(look),
            (None, Ok(value)) => match self.opened(&value.bytes) {
                Some(look) => Ok(look),
                None => {
                    // Somebody else's, or one that was put back: ours takes its place.
                    let look = ask().map_err(Trouble::Stadium)?;
                    self.client.set(&self.key, self.entry(&look), EXPIRY)?.ignore();
                    Ok(look)
                }
            },
            (None, Err(trouble)) => Err(trouble),
        }
    }

    fn entry(&self, look: &Look) -> Vec<u8> {
        self.seal.put_on(&serde_json::to_string(look).unwrap_or_default()).into_bytes()
    }

    fn opened(&self, entry: &[u8]) -> Option<Look> {
        let look: Look = serde_json::from_str(self.seal.open(entry)?).ok()?;
        (look.at_ms.saturating_add(AGE_MS_MAX) > now_ms()).then_some(look)
    }
}

/// Asks Stadium.
pub(crate) async fn look(bank: &Bank) -> Result<Look, Refused> {
    let at_ms = now_ms();
    let votes = bank.standings().await?;
    let books = books(bank).await?;
    Ok(Look { votes, books, at_ms })
}

/// Asks Stadium for the sums alone.
pub(crate) async fn books(bank: &Bank) -> Result<Books, Refused> {
    let (credit, debit) = bank.books().await?;
    let balance = credit == debit;
    Ok(Books { credit, debit, balance })
}
