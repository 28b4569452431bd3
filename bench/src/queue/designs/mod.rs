//! The implementations that the harness compares: each started as durable as ours, each spoken to in its own protocol.
//!
//! A file states how its implementation is made durable, and what it leaves out that ours does.

mod amqp;
mod beanstalkd;
mod database;
mod mariadb;
mod mysql;
mod mysql_redis;
mod mysql_wire;
mod postgres;
mod rabbitmq;
mod redis_streams;
mod stadium;

use anyhow::{Result, bail};

use crate::figure::Contender;
use crate::queue::harness::Endpoint;
use crate::services::{Start, postgresql, redis, version};
pub(crate) use stadium::{QUEUE, Setup, Spread, Stadium, lane as lane_of_stadium};

/// An implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Design {
    /// The bare disk: [`super::limit`].
    Limit,
    /// This product: [`stadium`].
    Stadium,
    /// [`mysql`], rows only.
    MysqlTable,
    /// [`mysql`] with GET_LOCK.
    MysqlLock,
    /// [`mysql_redis`].
    MysqlRedis,
    /// [`postgres`].
    Postgres,
    /// [`beanstalkd`].
    Beanstalkd,
    /// [`rabbitmq`].
    Rabbitmq,
    /// [`redis_streams`].
    RedisStreams,
}

/// All, in the order in which they take their turns: the limit, the product, the published MySQL designs, the others.
pub(crate) const ALL: &[Design] = &[
    Design::Limit,
    Design::Stadium,
    Design::MysqlTable,
    Design::MysqlLock,
    Design::MysqlRedis,
    Design::Postgres,
    Design::Beanstalkd,
    Design::Rabbitmq,
    Design::RedisStreams,
];

/// Those that stand in the results as peers.
pub(crate) const PEERS: &[Design] = ALL.split_at(2).1;

/// The published MySQL designs.
pub(crate) const MYSQL: &[Design] = PEERS.split_at(3).0;

impl Contender for Design {
    fn name(self) -> &'static str {
        match self {
            Self::Limit => "bare fdatasync",
            Self::Stadium => "stadium",
            Self::MysqlTable => "mysql table",
            Self::MysqlLock => "mysql table + GET_LOCK",
            Self::MysqlRedis => "mysql + redis",
            Self::Postgres => "postgresql",
            Self::Beanstalkd => "beanstalkd",
            Self::Rabbitmq => "rabbitmq",
            Self::RedisStreams => "redis streams",
        }
    }
}

impl Design {
    /// Starts it anew, empty, for batches of so many jobs.
    pub(crate) fn start(self, start: &Start<'_>, batch: usize) -> Result<Box<dyn Endpoint>> {
        Ok(match self {
            Self::Limit => bail!("the bare disk takes no jobs"),
            Self::Stadium => {
                Box::new(Stadium::start(start, Setup { cores: start.cores, ..Setup::by_default() })?)
            }
            Self::MysqlTable => Box::new(mysql::Table::start(start, mysql::Locking::Rows)?),
            Self::MysqlLock => Box::new(mysql::Table::start(start, mysql::Locking::Named)?),
            Self::MysqlRedis => Box::new(mysql_redis::TableAndLists::start(start)?),
            Self::Postgres => Box::new(postgres::Postgres::start(start)?),
            Self::Beanstalkd => Box::new(beanstalkd::Beanstalkd::start(start)?),
            Self::Rabbitmq => Box::new(rabbitmq::Rabbitmq::start(start, batch)?),
            Self::RedisStreams => Box::new(redis_streams::RedisStreams::start(start)?),
        })
    }

    /// What is on disk when a put, a reserve and a settle are answered.
    pub(crate) fn durability(self) -> [&'static str; 3] {
        const COMMITTED: &str = "InnoDB's log synced (innodb_flush_log_at_trx_commit=1)";
        const BOTH: &str = "InnoDB's log synced, then Redis' file synced";
        const APPENDED: &str = "append-only file synced (appendfsync always)";
        match self {
            Self::Limit => ["synced", "synced", "synced"],
            Self::Stadium => ["journal synced", "journal synced", "journal synced"],
            Self::MysqlTable | Self::MysqlLock => [COMMITTED; 3],
            Self::MysqlRedis => [BOTH, "Redis' file synced", BOTH],
            Self::Postgres => ["log synced (synchronous_commit=on)"; 3],
            Self::Beanstalkd => [
                "log synced (-b, -f 0)",
                "nothing: reserved jobs are ready after a crash",
                "log synced (-b, -f 0)",
            ],
            Self::Rabbitmq => [
                "quorum queue's log synced (publisher confirm)",
                "nothing: delivered messages come again after a crash",
                "written to the quorum queue's log, not answered",
            ],
            Self::RedisStreams => [APPENDED; 3],
        }
    }

    /// The version of what is installed, as it reports itself.
    pub(crate) fn version(self) -> String {
        match self {
            Self::Limit => String::new(),
            Self::Stadium => "this commit".to_owned(),
            Self::MysqlTable | Self::MysqlLock => version::of("mariadb-server"),
            Self::MysqlRedis => {
                format!("{}, {}", version::of("mariadb-server"), redis::version())
            }
            Self::Postgres => postgresql::version(),
            Self::Beanstalkd => version::of("beanstalkd"),
            Self::Rabbitmq => version::of("rabbitmq-server"),
            Self::RedisStreams => redis::version(),
        }
    }
}
