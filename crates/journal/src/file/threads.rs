//! The threads of journals, and a journal's part of them: its writer and its maintenance.
//!
//! Any number of journals share them. A journal whose disk hangs keeps one thread of each kind, and
//! the others go on with the rest.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Error;
use crate::file::maintenance::{FULL_RETRY, Maintenance, Orders, Rest};
use crate::file::pool::{Crew, Pool, Work};
use crate::file::shared::{Shared, Turn};
use crate::file::writer::Writer;

/// Threads for any number of journals. Cheap to clone; they end with the last clone, and each
/// journal holds one.
#[derive(Clone)]
pub struct JournalThreads {
    crews: Arc<Crews>,
}

struct Crews {
    writers: Crew,
    makers: Crew,
}

/// How many threads journals share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadCounts {
    /// Threads that write and sync batches: so many syncs run at once. At least 1.
    pub writers: usize,
    /// Threads that make segments and use removed ones again. At least 1.
    pub makers: usize,
}

impl fmt::Debug for JournalThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalThreads").finish_non_exhaustive()
    }
}

impl JournalThreads {
    /// Starts them.
    ///
    /// # Errors
    /// `Io`.
    pub fn start(counts: ThreadCounts) -> Result<Self, Error> {
        let writers = Crew::start("journal", counts.writers)?;
        let makers = Crew::start("maintenance", counts.makers)?;
        Ok(Self { crews: Arc::new(Crews { writers, makers }) })
    }
}

/// A journal's writer and maintenance, which the threads have when there is something to do.
pub(crate) struct Hired {
    threads: JournalThreads,
    writing: Arc<Writing>,
    making: Arc<Making>,
}

impl Hired {
    pub(crate) fn new(
        threads: JournalThreads,
        shared: &Arc<Shared>,
        orders: &Arc<Orders>,
        writer: Writer,
        maintenance: Maintenance,
    ) -> Self {
        let writing = Writing { shared: Arc::clone(shared), writer: Mutex::new(Some(writer)) };
        let making = Making {
            shared: Arc::clone(shared),
            orders: Arc::clone(orders),
            maintenance: Mutex::new(Some(maintenance)),
        };
        Self { threads, writing: Arc::new(writing), making: Arc::new(making) }
    }

    /// Batches wait, and no thread has the writer.
    pub(crate) fn write(&self) {
        self.threads.crews.writers.pool.push(Arc::clone(&self.writing) as Arc<dyn Work>);
    }

    /// There are orders, and no thread has the maintenance.
    pub(crate) fn make(&self) {
        self.threads.crews.makers.pool.push(Arc::clone(&self.making) as Arc<dyn Work>);
    }

    /// Finishes what was committed, leaves the writer's mark, and waits until that is done.
    pub(crate) fn end(&self) {
        if self.writing.shared.close() {
            self.write();
        }
        if self.making.orders.close() {
            self.make();
        }
        self.writing.shared.wait_closed();
        self.making.orders.wait_closed();
    }
}

/// A journal's writer.
struct Writing {
    shared: Arc<Shared>,
    /// None after the end.
    writer: Mutex<Option<Writer>>,
}

impl Work for Writing {
    fn work(self: Arc<Self>, pool: &Pool) {
        let mut place = lock(&self.writer);
        loop {
            let Some(writer) = &mut *place else { return };
            writer.write_group(pool);
            match self.shared.next_turn(writer.spin_time(), pool) {
                Turn::Batches if pool.is_pressed() => {
                    drop(place);
                    pool.push(self);
                    return;
                }
                Turn::Batches => {}
                Turn::Idle => return,
                Turn::Closing => {
                    writer.close();
                    *place = None;
                    self.shared.closed();
                    return;
                }
            }
        }
    }

    fn panicked(&self) {
        self.shared.fail(bug(&self.shared, "the journal's thread panicked while it wrote"));
        *lock(&self.writer) = None;
        self.shared.closed();
    }
}

/// A journal's maintenance.
struct Making {
    shared: Arc<Shared>,
    orders: Arc<Orders>,
    /// None after the end.
    maintenance: Mutex<Option<Maintenance>>,
}

impl Work for Making {
    fn work(self: Arc<Self>, pool: &Pool) {
        let mut place = lock(&self.maintenance);
        let Some(maintenance) = &mut *place else { return };
        match maintenance.carry_out(pool) {
            Rest::Nothing => {}
            Rest::More => {
                drop(place);
                pool.push(self);
            }
            Rest::NoRoom => {
                drop(place);
                pool.push_later(self, FULL_RETRY);
            }
            Rest::Closing => {
                *place = None;
                self.orders.closed();
            }
        }
    }

    fn panicked(&self) {
        self.shared.fail(bug(&self.shared, "the journal's thread panicked while it made a segment"));
        *lock(&self.maintenance) = None;
        self.orders.closed();
    }
}

fn bug(shared: &Shared, what: &str) -> Error {
    Error::Failed { durable: shared.durable(), what: format!("{what}: please report this") }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
