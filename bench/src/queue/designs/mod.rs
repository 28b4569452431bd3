//! The implementations that the harness compares: each started as durable as ours, each spoken to in its own protocol.
//!
//! A file says how its implementation is made durable, and what it leaves out that ours does.

mod amqp;
mod beanstalkd;
mod database;
mod mariadb;
mod mysql;
mod mysql_redis;
mod mysql_wire;
mod postgres;
mod protobuf;
mod rabbitmq;
mod redis_streams;
mod resp;
mod rsocket;
mod service;
mod stadium;

use anyhow::{Result, bail};

use crate::figure::Contender;
use crate::queue::harness::Endpoint;
pub(crate) use service::Start;
pub(crate) use stadium::{Setup, Spread, Stadium};

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

/// Those that stand in the results as peers.
pub(crate) const PEERS: &[Design] = &[
    Design::MysqlTable,
    Design::MysqlLock,
    Design::MysqlRedis,
    Design::Postgres,
    Design::Beanstalkd,
    Design::Rabbitmq,
    Design::RedisStreams,
];

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
            Self::Stadium => Box::new(Stadium::start(
                start,
                Setup { cores: start.cores, shards: None, spread: Spread::One },
            )?),
            Self::MysqlTable => Box::new(mysql::Table::start(start, mysql::Locking::Rows)?),
            Self::MysqlLock => Box::new(mysql::Table::start(start, mysql::Locking::Named)?),
            Self::MysqlRedis => Box::new(mysql_redis::TableAndLists::start(start)?),
            Self::Postgres => Box::new(postgres::Postgres::start(start)?),
            Self::Beanstalkd => Box::new(beanstalkd::Beanstalkd::start(start)?),
            Self::Rabbitmq => Box::new(rabbitmq::Rabbitmq::start(start, batch)?),
            Self::RedisStreams => Box::new(redis_streams::RedisStreams::start(start)?),
        })
    }
}
