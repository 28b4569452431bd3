//! The client: operations by key, on one server or several.
//!
//! [`crate::submission`] has what all of them share. Values that are made anew are in
//! [`crate::recache`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::address::Address;
use crate::config::{Config, Failover, ServerConfig};
use crate::driver::{Command, Connection};
use crate::error::Error;
use crate::metrics::Metrics;
use crate::pending::Pending;
use crate::protocol::{Arithmetic, Direction, Mode, Outcome, Removal, Store};
use crate::route::Router;
use crate::server::Server;
use crate::value::{Expiry, Format, Value, read_as, value_of, write_as};

/// Keys of a multiget that are in flight on all servers together, so that one does not take all of
/// [`Config::operations_max`].
const MULTIGET_KEYS: usize = 256;

/// A client of one or several memcached servers.
///
/// Clones share connections; every method may be called by any number of threads. Nothing is
/// connected before the first operation. Writes return at once with a [`Pending`]; for one key,
/// operations of one thread take effect in their order, whatever is waited for.
#[derive(Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
    pub(crate) timeout: Duration,
    /// It may wait for a connection.
    pub(crate) may_block: bool,
}

/// The part that clones of a client share.
pub(crate) struct Inner {
    pub(crate) servers: Vec<Arc<Server>>,
    pub(crate) router: Router,
    pub(crate) failover: Failover,
    /// The namespace.
    pub(crate) prefix: Vec<u8>,
    pub(crate) compress_from: Option<usize>,
    pub(crate) udp_timeout: Duration,
}

/// The outcome of a store with a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// The value is stored.
    Stored,
    /// There is a value already (`add`), or none (`replace`, `append`, `prepend`).
    NotStored,
    /// The value was changed since its unique number was read (`cas`).
    Changed,
    /// The value is gone (`cas`).
    Missing,
}

/// A server's answer to `stats`: names and values as they were sent.
pub type Statistics = BTreeMap<String, String>;

impl Client {
    /// A client of these servers with the default settings. Each is `host`, `host:port`, or the path
    /// of a Unix socket.
    ///
    /// # Errors
    ///
    /// [`Error::Config`]: there is no server, or a text is no address.
    pub fn new<T: AsRef<str>>(servers: impl IntoIterator<Item = T>) -> Result<Self, Error> {
        Self::with(Config::for_servers(servers)?)
    }

    /// A client with these settings.
    ///
    /// # Errors
    ///
    /// [`Error::Config`]: a setting is out of its bounds.
    pub fn with(config: Config) -> Result<Self, Error> {
        config.check()?;
        let eject_after = if config.servers.len() == 1 { 0 } else { config.eject_after };
        let settings = config.settings()?;
        let server = |one: &ServerConfig| {
            let connection = Connection::new(one.address.clone(), one.udp, settings.clone());
            Arc::new(Server::new(connection, eject_after, config.eject_for))
        };
        let inner = Inner {
            servers: config.servers.iter().map(server).collect(),
            router: Router::new(config.routing, &config.servers),
            failover: config.failover,
            prefix: config.prefix,
            compress_from: config.compress_from,
            udp_timeout: config.udp_timeout,
        };
        Ok(Self { inner: Arc::new(inner), timeout: config.timeout, may_block: true })
    }

    /// The same client with another time that each operation may take.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        Self { inner: Arc::clone(&self.inner), timeout, may_block: self.may_block }
    }

    /// Connects to every server that it is not connected to.
    ///
    /// # Errors
    ///
    /// The first server's that cannot be reached within the timeout.
    pub fn connect(&self) -> Result<(), Error> {
        let deadline = self.span().deadline;
        self.inner.servers.iter().try_for_each(|server| server.connection.connect(deadline).map(drop))
    }

    /// Reads a value.
    ///
    /// # Errors
    ///
    /// Any [`Error`]. After a lost connection it is tried once more.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>, Error> {
        let mut bytes = Vec::new();
        let flags = self.get_into(key, &mut bytes)?;
        Ok(flags.map(|flags| Value { bytes, flags, cas: None }))
    }

    /// Reads a value into a buffer, whose content is replaced. `None` when there is no value; the
    /// number is the value's flags. It allocates nothing when the buffer is large enough, the
    /// connection is warm and the value is not compressed.
    ///
    /// # Errors
    ///
    /// Any [`Error`]. After a lost connection it is tried once more.
    pub fn get_into(&self, key: impl AsRef<[u8]>, buffer: &mut Vec<u8>) -> Result<Option<u32>, Error> {
        let answer = self.with_key(key.as_ref(), |key| self.read(Command::Get(key), buffer))?;
        Ok((answer.outcome == Outcome::Done).then_some(answer.client_flags))
    }

    /// Reads a value with its unique number, for [`cas`](Self::cas).
    ///
    /// # Errors
    ///
    /// Any [`Error`]. After a lost connection it is tried once more.
    pub fn gets(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>, Error> {
        let mut bytes = Vec::new();
        let answer = self.with_key(key.as_ref(), |key| self.read(Command::Gets(key), &mut bytes))?;
        let value = Value { bytes, flags: answer.client_flags, cas: answer.cas };
        Ok((answer.outcome == Outcome::Done).then_some(value))
    }

    /// Reads values, each with its own result, in the order of the keys: a server that is away fails
    /// its own keys only.
    pub fn multiget<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<Result<Option<Value>, Error>> {
        let mut results = Vec::with_capacity(keys.len());
        for keys in keys.chunks(MULTIGET_KEYS) {
            let pending: Vec<_> = keys.iter().map(|key| self.fetch(key)).collect();
            // All servers work at the same time.
            self.inner.servers.iter().for_each(|server| server.connection.send());
            results.extend(pending.into_iter().map(|pending| pending.and_then(Pending::wait)));
        }
        results
    }

    /// Begins to read a value. The get leaves with the next operation that is waited for, after 1 ms
    /// at most.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`], [`Error::BadKey`], or no connection.
    pub fn fetch(&self, key: impl AsRef<[u8]>) -> Result<Pending<Option<Value>>, Error> {
        self.with_key(key.as_ref(), |key| self.begin(Command::Get(key), value_of))
    }

    /// Stores a value. It leaves with the next operation that is waited for, with 16 kB of writes, or
    /// after 1 ms.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`], [`Error::BadKey`], [`Error::TooLarge`], or no connection; others come with
    /// the result.
    pub fn set(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        expiry: impl Into<Expiry>,
    ) -> Result<Pending<()>, Error> {
        self.set_flagged(key, value, 0, expiry)
    }

    /// Stores a value with flags, which come back with it.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set); [`Error::BadFlags`] for flags with bit 28.
    pub fn set_flagged(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        flags: u32,
        expiry: impl Into<Expiry>,
    ) -> Result<Pending<()>, Error> {
        let how = Store { client_flags: flags, expiry: expiry.into().on_wire(), ..Store::default() };
        self.begin_store(key.as_ref(), value.as_ref(), how, |answer, _| match answer.outcome {
            Outcome::Done => Ok(()),
            _ => Err(Error::Server("not stored".into())),
        })
    }

    /// Stores a value where there is none.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn add(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        expiry: impl Into<Expiry>,
    ) -> Result<Pending<Stored>, Error> {
        let how = Store { mode: Mode::Add, expiry: expiry.into().on_wire(), ..Store::default() };
        self.store(key.as_ref(), value.as_ref(), how)
    }

    /// Stores a value where there is one.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn replace(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        expiry: impl Into<Expiry>,
    ) -> Result<Pending<Stored>, Error> {
        let how = Store { mode: Mode::Replace, expiry: expiry.into().on_wire(), ..Store::default() };
        self.store(key.as_ref(), value.as_ref(), how)
    }

    /// Puts bytes behind a value; its flags and its expiry stay. A compressed value is then damaged.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn append(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<Pending<Stored>, Error> {
        self.store(key.as_ref(), value.as_ref(), Store { mode: Mode::Append, ..Store::default() })
    }

    /// Puts bytes before a value; its flags and its expiry stay. A compressed value is then damaged.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn prepend(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<Pending<Stored>, Error> {
        self.store(key.as_ref(), value.as_ref(), Store { mode: Mode::Prepend, ..Store::default() })
    }

    /// Stores a value where the one that is there still has the unique number of
    /// [`gets`](Self::gets).
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn cas(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        cas: u64,
        expiry: impl Into<Expiry>,
    ) -> Result<Pending<Stored>, Error> {
        let how = Store { cas: Some(cas), expiry: expiry.into().on_wire(), ..Store::default() };
        self.store(key.as_ref(), value.as_ref(), how)
    }

    /// Adds to a number, modulo 2^64, and returns the new one; `None` where there is no value.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set); [`Error::Client`] where the value is no number.
    pub fn incr(&self, key: impl AsRef<[u8]>, delta: u64) -> Result<Pending<Option<u64>>, Error> {
        self.number(key.as_ref(), Arithmetic { direction: Direction::Increment, delta, initial: None })
    }

    /// Subtracts from a number, down to 0, and returns the new one; `None` where there is no value.
    ///
    /// # Errors
    ///
    /// As [`incr`](Self::incr).
    pub fn decr(&self, key: impl AsRef<[u8]>, delta: u64) -> Result<Pending<Option<u64>>, Error> {
        self.number(key.as_ref(), Arithmetic { direction: Direction::Decrement, delta, initial: None })
    }

    /// Changes a number, and makes it where there is none if `how` says so.
    ///
    /// # Errors
    ///
    /// As [`incr`](Self::incr); [`Error::NeedsMeta`] where an initial value needs it.
    pub fn arithmetic(&self, key: impl AsRef<[u8]>, how: Arithmetic) -> Result<Pending<Option<u64>>, Error> {
        self.number(key.as_ref(), how)
    }

    /// Gives an item a new time to live. `false` where there is none.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn touch(&self, key: impl AsRef<[u8]>, expiry: impl Into<Expiry>) -> Result<Pending<bool>, Error> {
        let expiry = expiry.into().on_wire();
        self.with_key(key.as_ref(), |key| {
            self.begin(Command::Touch(key, expiry), |answer, _| Ok(answer.outcome == Outcome::Done))
        })
    }

    /// Deletes an item. `false` where there is none.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<Pending<bool>, Error> {
        self.remove(key.as_ref(), Removal::Delete)
    }

    /// Stores a program's own type.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set); [`Error::Format`] where it cannot be written.
    pub fn set_as<T>(
        &self,
        format: &impl Format<T>,
        key: impl AsRef<[u8]>,
        value: &T,
        expiry: impl Into<Expiry>,
    ) -> Result<Pending<()>, Error> {
        let (bytes, flags) = write_as(format, value)?;
        self.set_flagged(key, bytes, flags, expiry)
    }

    /// Reads a program's own type.
    ///
    /// # Errors
    ///
    /// Any [`Error`]; [`Error::Format`] where the bytes are of another format.
    pub fn read_as<T>(&self, format: &impl Format<T>, key: impl AsRef<[u8]>) -> Result<Option<T>, Error> {
        self.get(key)?.map(|value| read_as(format, value)).transpose()
    }

    /// The statistics of each server: of `group` (`items`, `slabs`, `settings` and so on), or with an
    /// empty one the general ones.
    ///
    /// # Errors
    ///
    /// [`Error::Config`]: `group` is more than words of letters and digits. A server's failure is its
    /// own result.
    #[expect(clippy::type_complexity, reason = "a list of servers, each with its result")]
    pub fn stats(&self, group: &str) -> Result<Vec<(Address, Result<Statistics, Error>)>, Error> {
        if !group.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b' ')) {
            return Err(Error::Config(format!("`{group}` is no group of statistics").into()));
        }
        Ok(self.of_each(Command::Statistics(group), |bytes| {
            let text = String::from_utf8_lossy(&bytes);
            let pair = |line: &str| {
                let (name, value) = line.split_once(' ').unwrap_or((line, ""));
                (name.to_owned(), value.to_owned())
            };
            text.lines().map(pair).collect()
        }))
    }

    /// The version of each server.
    pub fn versions(&self) -> Vec<(Address, Result<String, Error>)> {
        self.of_each(Command::Version, |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Numbers for operators: what every server did for this client and its clones.
    pub fn metrics(&self) -> Metrics {
        Metrics { servers: self.inner.servers.iter().map(|server| server.metrics()).collect() }
    }

    /// The servers that are ejected now.
    pub fn ejected(&self) -> Vec<Address> {
        let ejected = self.inner.servers.iter().filter(|server| server.is_ejected());
        ejected.map(|server| server.connection.address().clone()).collect()
    }

    /// The server that has a key while none is ejected.
    ///
    /// # Errors
    ///
    /// [`Error::BadKey`].
    pub fn server_of(&self, key: impl AsRef<[u8]>) -> Result<&Address, Error> {
        self.with_key(key.as_ref(), |key| {
            let at = self.inner.router.choose(key.bytes(), |_| true).unwrap_or_default();
            Ok(self.inner.servers[at].connection.address())
        })
    }
}
