//! The implementations that are compared: each as durable as ours, each doing the same work, each spoken to in its own protocol.
//!
//! The work: a transfer is booked at most once for its id, no account is overdrawn, the transfer stands in the account's history,
//! and the answer leaves when all of that is on disk.

mod postgresql;
mod redis;
mod stadium;

use anyhow::{Result, bail};

use super::dialogue::Endpoint;
use crate::figure::Contender;
use crate::services::{self, Start};
pub(crate) use stadium::Stadium;

/// An implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Design {
    /// The bare disk: [`super::limit`].
    Limit,
    /// This product: [`stadium`].
    Stadium,
    /// [`postgresql`], SELECT FOR UPDATE.
    PostgresqlLocking,
    /// [`postgresql`], one UPDATE with its condition.
    PostgresqlTrying,
    /// [`redis`].
    Redis,
}

/// All, in the order in which they take their turns: the limit, the product, PostgreSQL, the others.
pub(crate) const ALL: &[Design] =
    &[Design::Limit, Design::Stadium, Design::PostgresqlLocking, Design::PostgresqlTrying, Design::Redis];

/// Those that stand in the results as peers.
pub(crate) const PEERS: &[Design] = ALL.split_at(2).1;

/// The variants of PostgreSQL.
pub(crate) const POSTGRESQL: &[Design] = PEERS.split_at(2).0;

impl Contender for Design {
    fn name(self) -> &'static str {
        match self {
            Self::Limit => "bare fdatasync",
            Self::Stadium => "stadium",
            Self::PostgresqlLocking => "postgresql lock",
            Self::PostgresqlTrying => "postgresql update",
            Self::Redis => "redis",
        }
    }
}

impl Design {
    /// Starts it anew, empty.
    pub(crate) fn start(self, start: &Start<'_>) -> Result<Box<dyn Endpoint>> {
        use postgresql::{Postgresql, Variant};
        Ok(match self {
            Self::Limit => bail!("the bare disk keeps no accounts"),
            Self::Stadium => Box::new(Stadium::start(start)?),
            Self::PostgresqlLocking => Box::new(Postgresql::start(start, Variant::Locking)?),
            Self::PostgresqlTrying => Box::new(Postgresql::start(start, Variant::Trying)?),
            Self::Redis => Box::new(redis::Redis::start(start)?),
        })
    }

    /// How it does the work, and what is on disk when a debit is answered.
    pub(crate) fn work(self) -> [&'static str; 2] {
        const COMMITTED: &str = "log synced (fsync=on, synchronous_commit=on)";
        match self {
            Self::Limit => ["-", "synced"],
            Self::Stadium => ["service `wallet`, method Transfer, to `@shop`", "journal synced"],
            Self::PostgresqlLocking => [
                "procedure: SELECT ... FOR UPDATE, look, UPDATE, INSERT of the transfer (unique id, index by account and time); a \
                 batch as a set",
                COMMITTED,
            ],
            Self::PostgresqlTrying => [
                "procedure: UPDATE ... WHERE balance >= amount, INSERT of the transfer (unique id, index by account and time); a batch \
                 one by one",
                COMMITTED,
            ],
            Self::Redis => [
                "script: GET of the transfer's key, GET and DECRBY of the balance, SET of the key, RPUSH to the history; a batch in one \
                 call",
                "append-only file synced (appendfsync always)",
            ],
        }
    }

    /// The version of what is installed, as it reports itself.
    pub(crate) fn version(self) -> String {
        match self {
            Self::Limit => String::new(),
            Self::Stadium => "this commit".to_owned(),
            Self::PostgresqlLocking | Self::PostgresqlTrying => services::postgresql::version(),
            Self::Redis => services::redis::version(),
        }
    }
}
