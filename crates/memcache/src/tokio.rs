//! The client for tokio: no call blocks the executor, also not while it connects.
//!
//! It is the same client, with the same connections: a program may use both forms. A helper thread of
//! each server reads for tasks, so that answers and deadlines need no task that is polled. A task that
//! is dropped stops waiting; an operation that was submitted goes on.

use std::time::{Duration, Instant};

use ::tokio::task::yield_now;
use ::tokio::time::{sleep, timeout_at};

use crate::error::Error;
use crate::metrics::Metrics;
use crate::pending::Pending;
use crate::protocol::Arithmetic;
use crate::recache::{Looks, Lookup, Recache, Step};
use crate::value::{Expiry, Format, Value, read_as, write_as};
use crate::{Config, Stored};

/// Keys of a multiget that are under way together.
const MULTIGET_KEYS: usize = 256;

/// A client whose methods are awaited, in a runtime with tokio's time.
///
/// Reads return values. Writes return a [`Pending`] when they are submitted: awaited again, it is the
/// result; dropped or ignored, the write goes on. Operations of one task on one key take effect in
/// their order. Methods that have no form here are those of [`blocking`](Self::blocking).
#[derive(Clone)]
pub struct Client {
    inner: crate::Client,
}

impl From<crate::Client> for Client {
    fn from(inner: crate::Client) -> Self {
        Self { inner }
    }
}

impl Client {
    /// A client of these servers with the default settings; see [`crate::Client::new`].
    ///
    /// # Errors
    ///
    /// [`Error::Config`]: there is no server, or a text is no address.
    pub fn new<T: AsRef<str>>(servers: impl IntoIterator<Item = T>) -> Result<Self, Error> {
        crate::Client::new(servers).map(Self::from)
    }

    /// A client with these settings. It reads the files of TLS here.
    ///
    /// # Errors
    ///
    /// [`Error::Config`]: a setting is out of its bounds.
    pub fn with(config: Config) -> Result<Self, Error> {
        crate::Client::with(config).map(Self::from)
    }

    /// The same client with another time that each operation may take.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        Self { inner: self.inner.with_timeout(timeout) }
    }

    /// The form whose methods block: for threads, and for `spawn_blocking`.
    pub fn blocking(&self) -> &crate::Client {
        &self.inner
    }

    /// Numbers for operators; see [`crate::Client::metrics`].
    pub fn metrics(&self) -> Metrics {
        self.inner.metrics()
    }

    /// Reads a value.
    ///
    /// # Errors
    ///
    /// Any [`Error`]. After a lost connection it is tried once more.
    pub async fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>, Error> {
        let key = key.as_ref();
        self.read(key, |client| client.fetch(key)).await
    }

    /// Reads a value with its unique number, for [`cas`](Self::cas).
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub async fn gets(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>, Error> {
        let key = key.as_ref();
        self.read(key, |client| client.fetch_with_cas(key)).await
    }

    /// Reads values, each with its own result, in the order of the keys.
    pub async fn multiget<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<Result<Option<Value>, Error>> {
        let mut results = Vec::with_capacity(keys.len());
        for keys in keys.chunks(MULTIGET_KEYS) {
            let mut pending = Vec::with_capacity(keys.len());
            for key in keys {
                let key = key.as_ref();
                pending.push(self.submit(key, self.deadline(), |client| client.fetch(key)).await);
            }
            for one in pending {
                results.push(match one {
                    Ok(one) => one.await,
                    Err(error) => Err(error),
                });
            }
        }
        results
    }

    /// Stores a value; see [`crate::Client::set`].
    ///
    /// # Errors
    ///
    /// As [`crate::Client::set`].
    pub async fn set(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        expiry: impl Into<Expiry>,
    ) -> Result<Pending<()>, Error> {
        self.set_flagged(key, value, 0, expiry).await
    }

    /// Stores a value with flags, which come back with it.
    ///
    /// # Errors
    ///
    /// As [`crate::Client::set_flagged`].
    pub async fn set_flagged(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        flags: u32,
        expiry: impl Into<Expiry>,
    ) -> Result<Pending<()>, Error> {
        let (key, value, expiry) = (key.as_ref(), value.as_ref(), expiry.into());
        self.submit(key, self.deadline(), |client| client.set_flagged(key, value, flags, expiry)).await
    }

    /// Stores a value where there is none.
    ///
    /// # Errors
    ///
    /// As [`crate::Client::set`].
    pub async fn add(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        expiry: impl Into<Expiry>,
    ) -> Result<Pending<Stored>, Error> {
        let (key, value, expiry) = (key.as_ref(), value.as_ref(), expiry.into());
        self.submit(key, self.deadline(), |client| client.add(key, value, expiry)).await
    }

    /// Stores a value where there is one.
    ///
    /// # Errors
    ///
    /// As [`crate::Client::set`].
    pub async fn replace(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        expiry: impl Into<Expiry>,
    ) -> Result<Pending<Stored>, Error> {
        let (key, value, expiry) = (key.as_ref(), value.as_ref(), expiry.into());
        self.submit(key, self.deadline(), |client| client.replace(key, value, expiry)).await
    }

    /// Puts bytes behind a value.
    ///
    /// # Errors
    ///
    /// As [`crate::Client::set`].
    pub async fn append(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<Pending<Stored>, Error> {
        let (key, value) = (key.as_ref(), value.as_ref());
        self.submit(key, self.deadline(), |client| client.append(key, value)).await
    }

    /// Puts bytes before a value.
    ///
    /// # Errors
    ///
    /// As [`crate::Client::set`].
    pub async fn prepend(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<Pending<Stored>, Error> {
        let (key, value) = (key.as_ref(), value.as_ref());
        self.submit(key, self.deadline(), |client| client.prepend(key, value)).await
    }

    /// Stores a value where the one that is there still has the unique number of [`gets`](Self::gets).
    ///
    /// # Errors
    ///
    /// As [`crate::Client::set`].
    pub async fn cas(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        cas: u64,
        expiry: impl Into<Expiry>,
    ) -> Result<Pending<Stored>, Error> {
        let (key, value, expiry) = (key.as_ref(), value.as_ref(), expiry.into());
        self.submit(key, self.deadline(), |client| client.cas(key, value, cas, expiry)).await
    }

    /// Adds to a number, modulo 2^64, and returns the new one; `None` where there is no value.
    ///
    /// # Errors
    ///
    /// As [`crate::Client::incr`].
    pub async fn incr(&self, key: impl AsRef<[u8]>, delta: u64) -> Result<Pending<Option<u64>>, Error> {
        let key = key.as_ref();
        self.submit(key, self.deadline(), |client| client.incr(key, delta)).await
    }

    /// Subtracts from a number, down to 0, and returns the new one; `None` where there is no value.
    ///
    /// # Errors
    ///
    /// As [`crate::Client::incr`].
    pub async fn decr(&self, key: impl AsRef<[u8]>, delta: u64) -> Result<Pending<Option<u64>>, Error> {
        let key = key.as_ref();
        self.submit(key, self.deadline(), |client| client.decr(key, delta)).await
    }

    /// Changes a number, and makes it where there is none if `how` says so.
    ///
    /// # Errors
    ///
    /// As [`crate::Client::arithmetic`].
    pub async fn arithmetic(
        &self,
        key: impl AsRef<[u8]>,
        how: Arithmetic,
    ) -> Result<Pending<Option<u64>>, Error> {
        let key = key.as_ref();
        self.submit(key, self.deadline(), |client| client.arithmetic(key, how)).await
    }

    /// Gives an item a new time to live. `false` where there is none.
    ///
    /// # Errors
    ///
    /// As [`crate::Client::set`].
    pub async fn touch(
        &self,
        key: impl AsRef<[u8]>,
        expiry: impl Into<Expiry>,
    ) -> Result<Pending<bool>, Error> {
        let (key, expiry) = (key.as_ref(), expiry.into());
        self.submit(key, self.deadline(), |client| client.touch(key, expiry)).await
    }

    /// Deletes an item. `false` where there is none.
    ///
    /// # Errors
    ///
    /// As [`crate::Client::set`].
    pub async fn delete(&self, key: impl AsRef<[u8]>) -> Result<Pending<bool>, Error> {
        let key = key.as_ref();
        self.submit(key, self.deadline(), |client| client.delete(key)).await
    }

    /// Marks a value as stale; see [`crate::Client::invalidate`].
    ///
    /// # Errors
    ///
    /// As [`crate::Client::invalidate`].
    pub async fn invalidate(
        &self,
        key: impl AsRef<[u8]>,
        keep: Option<Duration>,
    ) -> Result<Pending<bool>, Error> {
        let key = key.as_ref();
        self.submit(key, self.deadline(), |client| client.invalidate(key, keep)).await
    }

    /// Stores a program's own type.
    ///
    /// # Errors
    ///
    /// As [`crate::Client::set_as`].
    pub async fn set_as<T>(
        &self,
        format: &impl Format<T>,
        key: impl AsRef<[u8]>,
        value: &T,
        expiry: impl Into<Expiry>,
    ) -> Result<Pending<()>, Error> {
        let (bytes, flags) = write_as(format, value)?;
        self.set_flagged(key, bytes, flags, expiry).await
    }

    /// Reads a program's own type.
    ///
    /// # Errors
    ///
    /// As [`crate::Client::read_as`].
    pub async fn read_as<T>(
        &self,
        format: &impl Format<T>,
        key: impl AsRef<[u8]>,
    ) -> Result<Option<T>, Error> {
        self.get(key).await?.map(|value| read_as(format, value)).transpose()
    }

    /// Reads a value, and asks whether this caller is to make it anew; see [`crate::Client::lookup`].
    ///
    /// # Errors
    ///
    /// As [`crate::Client::lookup`].
    pub async fn lookup(&self, key: impl AsRef<[u8]>, how: &Recache) -> Result<Lookup, Error> {
        let key = key.as_ref();
        self.read(key, |client| client.begin_lookup(key, how)).await
    }

    /// Reads a value, or makes it where this caller is the one to do so, and stores it; see
    /// [`crate::Client::read_through`].
    ///
    /// # Errors
    ///
    /// As [`crate::Client::read_through`].
    pub async fn read_through<E: From<Error>>(
        &self,
        key: impl AsRef<[u8]>,
        how: &Recache,
        expiry: impl Into<Expiry>,
        make: impl AsyncFnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Value, E> {
        let (key, mut looks) = (key.as_ref(), Looks::until(self.deadline()));
        let cas = loop {
            match looks.next(self.lookup(key, how).await?)? {
                Step::Use(value) => return Ok(value),
                Step::Make(cas) => break cas,
                Step::Pause(time) => sleep(time).await,
            }
        };
        let bytes = make().await?;
        // Another client may have stored or deleted it meanwhile: its value is newer.
        self.cas(key, &bytes, cas, expiry).await?.await?;
        Ok(Value { bytes, flags: 0, cas: None })
    }

    fn deadline(&self) -> Instant {
        self.inner.span().deadline
    }

    /// Submits when there is a connection.
    async fn submit<T>(
        &self,
        key: &[u8],
        deadline: Instant,
        begin: impl Fn(&crate::Client) -> Result<Pending<T>, Error>,
    ) -> Result<Pending<T>, Error> {
        loop {
            if let Some(server) = self.inner.likely_server(key)? {
                // A failure or the deadline shows in the next lines, which count it as well.
                let _ = timeout_at(deadline.into(), server.connection.linked()).await;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match begin(&self.inner.without_blocking(left)) {
                // The connection was lost between the two.
                Err(Error::Timeout) if Instant::now() < deadline => {}
                result => return result,
            }
        }
    }

    /// Submits and awaits; a connection that was lost is tried once more.
    async fn read<T>(
        &self,
        key: &[u8],
        begin: impl Fn(&crate::Client) -> Result<Pending<T>, Error>,
    ) -> Result<T, Error> {
        let deadline = self.deadline();
        let mut is_first = true;
        loop {
            let result = match self.submit(key, deadline, &begin).await {
                Ok(pending) => {
                    // Tasks that are ready submit theirs, and the gets leave together.
                    yield_now().await;
                    pending.await
                }
                Err(error) => Err(error),
            };
            match result {
                Err(Error::Disconnected(_)) if std::mem::take(&mut is_first) => {}
                result => return result,
            }
        }
    }
}
