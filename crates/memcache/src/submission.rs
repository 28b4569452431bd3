//! The way of an operation from its key to its result, the same for all of them.
//!
//! The key enters the namespace, its server is chosen, a value may be compressed, and the command is
//! submitted: to wait for it, or for later as a [`Pending`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::address::Address;
use crate::client::{Client, Inner, Stored};
use crate::config::Failover;
use crate::driver::{Command, Span};
use crate::error::Error;
use crate::pending::Pending;
use crate::protocol::{
    Answer, Arithmetic, COMPRESSED, KEY_BYTES_MAX, Key, KeyError, Mode, Outcome, Removal, Store, compress,
};
use crate::server::Server;
#[cfg(feature = "tokio")]
use crate::value::{Value, value_of};

impl Client {
    /// The time that an operation has which begins now.
    pub(crate) fn span(&self) -> Span {
        // A timeout beyond the clock's end is a year.
        let begun = Instant::now();
        let deadline = begun.checked_add(self.timeout);
        let deadline = deadline.unwrap_or(begun + Duration::from_secs(31_536_000));
        Span { begun, deadline, link_by: if self.may_block { deadline } else { begun } }
    }

    /// The same client; without a connection its operations fail at once.
    #[cfg(feature = "tokio")]
    pub(crate) fn without_blocking(&self, timeout: Duration) -> Self {
        Self { inner: Arc::clone(&self.inner), timeout, may_block: false }
    }

    /// The server to which an operation on a key would go now, if there is one.
    #[cfg(feature = "tokio")]
    pub(crate) fn likely_server(&self, key: &[u8]) -> Result<Option<&Arc<Server>>, Error> {
        self.with_key(key, |key| {
            let chosen = self.choose(key.bytes(), Server::would_admit);
            Ok(chosen.ok().map(|at| &self.inner.servers[at]))
        })
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn fetch_with_cas(&self, key: &[u8]) -> Result<Pending<Option<Value>>, Error> {
        self.with_key(key, |key| self.begin(Command::Gets(key), value_of))
    }

    pub(crate) fn remove(&self, key: &[u8], how: Removal) -> Result<Pending<bool>, Error> {
        self.with_key(key, |key| {
            self.begin(Command::Delete(key, how), |answer, _| Ok(answer.outcome == Outcome::Done))
        })
    }

    pub(crate) fn store(&self, key: &[u8], value: &[u8], how: Store) -> Result<Pending<Stored>, Error> {
        self.begin_store(key, value, how, |answer, _| {
            Ok(match answer.outcome {
                Outcome::Done => Stored::Stored,
                Outcome::NotStored => Stored::NotStored,
                Outcome::Exists => Stored::Changed,
                Outcome::NotFound => Stored::Missing,
            })
        })
    }

    /// Begins a store, compressed where it is to be and becomes smaller.
    pub(crate) fn begin_store<T>(
        &self,
        key: &[u8],
        value: &[u8],
        mut how: Store,
        convert: fn(Answer, Vec<u8>) -> Result<T, Error>,
    ) -> Result<Pending<T>, Error> {
        let flags = how.client_flags;
        if flags & COMPRESSED != 0 {
            return Err(Error::BadFlags { flags });
        }
        let is_whole = matches!(how.mode, Mode::Set | Mode::Add | Mode::Replace);
        let compressed = match self.inner.compress_from {
            Some(from) if is_whole && value.len() >= from => {
                let bytes_max = self.inner.servers[0].connection.value_bytes_max();
                if value.len() > bytes_max {
                    // Readers have the same bound.
                    return Err(Error::TooLarge { bytes: value.len(), bytes_max });
                }
                compress(value)
            }
            _ => None,
        };
        let value = compressed.as_ref().map_or(value, |stream| {
            how.client_flags |= COMPRESSED;
            stream.as_slice()
        });
        self.with_key(key, |key| self.begin(Command::Store(key, value, &how), convert))
    }

    pub(crate) fn number(&self, key: &[u8], how: Arithmetic) -> Result<Pending<Option<u64>>, Error> {
        self.with_key(key, |key| {
            self.begin(Command::Arithmetic(key, &how), |answer, _| {
                Ok((answer.outcome == Outcome::Done).then_some(answer.number))
            })
        })
    }

    /// The key in the namespace.
    pub(crate) fn with_key<T>(
        &self,
        key: &[u8],
        then: impl FnOnce(Key<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let prefix = &self.inner.prefix;
        if prefix.is_empty() {
            return then(Key::new(key)?);
        }
        if key.is_empty() {
            return Err(KeyError::Empty.into());
        }
        let mut whole = [0; KEY_BYTES_MAX];
        let bytes = prefix.len() + key.len();
        let Some(place) = whole.get_mut(..bytes) else { return Err(KeyError::TooLong { bytes }.into()) };
        place[..prefix.len()].copy_from_slice(prefix);
        place[prefix.len()..].copy_from_slice(key);
        then(Key::new(place)?)
    }

    /// Submits an operation and waits; a connection that was lost is tried once more.
    pub(crate) fn read(&self, command: Command<'_>, buffer: &mut Vec<u8>) -> Result<Answer, Error> {
        let span = self.span();
        let mut is_first = true;
        loop {
            let server = self.server(&command)?;
            let result = match server.connection.submit(command, true, std::mem::take(buffer), span) {
                Ok(operation) => {
                    let (result, value) = server.connection.wait(operation, span.deadline);
                    *buffer = value;
                    result
                }
                Err((error, kept)) => {
                    *buffer = kept;
                    Err(error)
                }
            };
            server.note(&result);
            match result {
                Err(Error::Disconnected(_)) if std::mem::take(&mut is_first) => {}
                Ok(mut answer) => {
                    server.expand(&mut answer, buffer)?;
                    return Ok(answer);
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn begin<T>(
        &self,
        command: Command<'_>,
        convert: fn(Answer, Vec<u8>) -> Result<T, Error>,
    ) -> Result<Pending<T>, Error> {
        let span = self.span();
        let server = self.server(&command)?;
        match server.connection.submit(command, false, Vec::new(), span) {
            Ok(operation) => Ok(Pending::new(Arc::clone(server), operation, span.deadline, convert)),
            Err((error, _)) => {
                let result = Err(error);
                server.note(&result);
                result
            }
        }
    }

    pub(crate) fn servers(&self) -> &[Arc<Server>] {
        &self.inner.servers
    }

    pub(crate) fn udp_timeout(&self) -> Duration {
        self.inner.udp_timeout
    }

    pub(crate) fn server(&self, command: &Command<'_>) -> Result<&Arc<Server>, Error> {
        let key = command.key().map(Key::bytes).unwrap_or_default();
        self.choose(key, |server| server.admits()).map(|at| &self.inner.servers[at])
    }

    /// The server of a key, for what is no trial of an ejected one.
    pub(crate) fn route(&self, key: Key<'_>) -> Result<usize, Error> {
        self.choose(key.bytes(), |server| !server.is_ejected())
    }

    pub(crate) fn choose(&self, key: &[u8], is_usable: impl Fn(&Server) -> bool) -> Result<usize, Error> {
        let Inner { servers, router, failover, .. } = &*self.inner;
        let chosen = match failover {
            Failover::Next => router.choose(key, |at| is_usable(&servers[at])),
            Failover::Off => router.choose(key, |_| true).filter(|at| is_usable(&servers[*at])),
        };
        chosen.ok_or_else(|| Error::Disconnected("the server of the key is ejected".into()))
    }

    /// Asks every server, all at the same time.
    pub(crate) fn of_each<T>(
        &self,
        command: Command<'_>,
        read: fn(Vec<u8>) -> T,
    ) -> Vec<(Address, Result<T, Error>)> {
        let span = self.span();
        let submit = |server: &Arc<Server>| {
            server.connection.submit(command, false, Vec::new(), span).map_err(|(error, _)| error)
        };
        let submitted: Vec<_> = self.inner.servers.iter().map(submit).collect();
        self.inner.servers.iter().for_each(|server| server.connection.send());
        let answers = self.inner.servers.iter().zip(submitted).map(|(server, submitted)| {
            let result = submitted.and_then(|operation| {
                let (result, bytes) = server.connection.wait(operation, span.deadline);
                result.map(|_| read(bytes))
            });
            (server.connection.address().clone(), result)
        });
        answers.collect()
    }
}
