//! The clock by which markers are renewed and waited for, which a simulation replaces.
//!
//! Everything else that an archive does follows the clock of the store.

use std::fmt;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::BoxFuture;

/// Time that passes, and waiting for it.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Time since some beginning. It is never set back.
    fn now(&self) -> Duration;

    /// Waits for so long.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;
}

/// The clock of the system, on the timers of tokio.
#[derive(Debug)]
pub(crate) struct System;

static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Clock for System {
    fn now(&self) -> Duration {
        BEGINNING.elapsed()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(time).boxed()
    }
}
