//! Values that are made anew by one client while the others keep the old one.
//!
//! The server elects who makes a value: flags `W`, `X` and `Z` of the meta protocol. An item that is
//! missing, marked as stale, or about to expire is made by one caller of all clients.

use std::thread;
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::driver::Command;
use crate::error::Error;
use crate::pending::Pending;
use crate::protocol::{Answer, Outcome, Removal, Retrieval};
use crate::value::{Expiry, Value};

/// The first pause of a caller that waits for another one to make the value.
const PAUSE_MIN: Duration = Duration::from_millis(1);

/// Its longest pause.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// The conditions under which a value is made anew.
#[derive(Debug, Clone, Copy)]
pub struct Recache {
    /// A caller that wins has so long; then another one wins. Whole seconds, rounded up.
    pub lease: Duration,
    /// One caller wins when the value has less than this left to live; zero for never. Whole seconds,
    /// rounded up.
    pub early: Duration,
}

/// A value as the server has it, and who makes it anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// It is fresh.
    Fresh(Value),
    /// It may be used, and this caller is to make it anew.
    Won(Value),
    /// It may be used; another caller makes it anew, or it is marked as stale.
    Stale(Value),
    /// There is none, and this caller is to make it. The number goes to
    /// [`Client::cas`](crate::Client::cas), which fails if another client was faster.
    Make {
        /// The unique number of the empty item that stands for it.
        cas: u64,
    },
    /// There is none yet; another caller makes it.
    Made,
}

impl Recache {
    fn on_wire(&self) -> Retrieval {
        let lease = Expiry::After(self.lease.max(Duration::from_secs(1))).on_wire();
        let early = u32::try_from(self.early.as_secs() + u64::from(self.early.subsec_nanos() > 0));
        Retrieval {
            cas: true,
            vivify: Some(lease),
            recache_s: early.ok().filter(|early| *early > 0),
            touch: None,
        }
    }
}

/// The meaning of an answer to a lookup.
fn looked_up(answer: Answer, bytes: Vec<u8>) -> Result<Lookup, Error> {
    if answer.outcome != Outcome::Done {
        // With `N` there is no miss; a server that could not make the empty item has one.
        return Err(Error::Server("the server made no item to wait for".into()));
    }
    let is_empty = bytes.is_empty() && !answer.is_stale;
    let value = Value { bytes, flags: answer.client_flags, cas: answer.cas };
    Ok(match (answer.won, answer.is_taken) {
        (true, _) if is_empty => Lookup::Make { cas: answer.cas.unwrap_or_default() },
        (_, true) if is_empty => Lookup::Made,
        (true, _) => Lookup::Won(value),
        (false, true) => Lookup::Stale(value),
        (false, false) if answer.is_stale => Lookup::Stale(value),
        (false, false) => Lookup::Fresh(value),
    })
}

/// The next step of a caller of `read_through`.
pub(crate) enum Step {
    /// It has a value.
    Use(Value),
    /// It makes the value, and stores it by this number.
    Make(u64),
    /// Another caller makes the value: it looks again after this time.
    Pause(Duration),
}

/// The looks of one caller of `read_through`.
pub(crate) struct Looks {
    pause: Duration,
    deadline: Instant,
}

impl Looks {
    pub(crate) fn until(deadline: Instant) -> Self {
        Self { pause: PAUSE_MIN, deadline }
    }

    /// The step after a look; an error at the deadline.
    pub(crate) fn next(&mut self, found: Lookup) -> Result<Step, Error> {
        Ok(match found {
            Lookup::Fresh(value) | Lookup::Stale(value) => Step::Use(value),
            Lookup::Won(value) => Step::Make(value.cas.unwrap_or_default()),
            Lookup::Make { cas } => Step::Make(cas),
            Lookup::Made => {
                let left = self.deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(Error::Timeout);
                }
                let pause = self.pause.min(left);
                self.pause = (self.pause * 2).min(PAUSE_MAX);
                // At least half of it: many callers may wait for one value.
                Step::Pause(pause.mul_f64(0.5 + fastrand::f64() / 2.0))
            }
        })
    }
}

impl Client {
    /// Reads a value, and asks whether this caller is to make it anew. An empty value that is about to
    /// expire looks like a missing one.
    ///
    /// # Errors
    ///
    /// Any [`Error`]; [`Error::NeedsMeta`] where the server lacks the meta protocol.
    pub fn lookup(&self, key: impl AsRef<[u8]>, how: &Recache) -> Result<Lookup, Error> {
        let how = how.on_wire();
        let mut bytes = Vec::new();
        let answer = self.with_key(key.as_ref(), |key| self.read(Command::MetaGet(key, &how), &mut bytes))?;
        looked_up(answer, bytes)
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn begin_lookup(&self, key: &[u8], how: &Recache) -> Result<Pending<Lookup>, Error> {
        let how = how.on_wire();
        self.with_key(key, |key| self.begin(Command::MetaGet(key, &how), looked_up))
    }

    /// Reads a value, or makes it where this caller is the one to do so, and stores it. Where another
    /// caller makes it, this one takes the old value, or waits for the new one until the deadline.
    ///
    /// # Errors
    ///
    /// Any [`Error`], and those of `make`. [`Error::Timeout`]: the other caller took too long.
    pub fn read_through<E: From<Error>>(
        &self,
        key: impl AsRef<[u8]>,
        how: &Recache,
        expiry: impl Into<Expiry>,
        make: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Value, E> {
        let (key, mut looks) = (key.as_ref(), Looks::until(self.span().deadline));
        let cas = loop {
            match looks.next(self.lookup(key, how)?)? {
                Step::Use(value) => return Ok(value),
                Step::Make(cas) => break cas,
                Step::Pause(time) => thread::sleep(time),
            }
        };
        let bytes = make()?;
        // Another client may have stored or deleted it meanwhile: its value is newer.
        self.cas(key, &bytes, cas, expiry)?.wait()?;
        Ok(Value { bytes, flags: 0, cas: None })
    }

    /// Marks a value as stale: one reader by [`lookup`](Self::lookup) wins, the others may use it for
    /// `keep` longer, or as long as it lives. `false` where there is none.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set); [`Error::NeedsMeta`] where the server lacks the meta protocol.
    pub fn invalidate(&self, key: impl AsRef<[u8]>, keep: Option<Duration>) -> Result<Pending<bool>, Error> {
        let expiry = keep.map(|keep| Expiry::After(keep).on_wire());
        self.remove(key.as_ref(), Removal::Invalidate { expiry })
    }
}
