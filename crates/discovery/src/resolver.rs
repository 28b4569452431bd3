//! Looks up the names of instances, on threads of its own: what the system offers for it blocks.
//!
//! One thread keeps what is known ([`Lookups`]) and reports it; a few others look up, so that a
//! name whose name server does not answer keeps no other from being looked up. All end when the
//! [`Resolver`] is dropped.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::host_port::HostPort;
use crate::lookups::{Lookup, Lookups};

/// Threads that look up. The system may wait for ten seconds or more for a name server that does not answer.
const THREADS_MAX: usize = 8;

/// How names are looked up. The default asks the system.
#[derive(Clone)]
pub struct Resolve(Arc<LookUp>);

type LookUp = dyn Fn(&str) -> std::io::Result<Vec<SocketAddr>> + Send + Sync;

impl Resolve {
    /// By a function from `HOST:PORT` to addresses. It runs on threads of its own and may block.
    pub fn by(look_up: impl Fn(&str) -> std::io::Result<Vec<SocketAddr>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(look_up))
    }
}

impl Default for Resolve {
    fn default() -> Self {
        Self::by(|name| name.to_socket_addrs().map(Iterator::collect))
    }
}

impl fmt::Debug for Resolve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolve")
    }
}

/// The way to the threads.
#[derive(Debug)]
pub struct Resolver {
    commands: SyncSender<Word>,
    ended: Arc<AtomicBool>,
}

/// A message to the thread that keeps what is known.
#[derive(Debug)]
enum Word {
    /// A connection failed, or the resolver has ended.
    Ask,
    /// A look-up is over.
    Ended(usize, std::io::Result<Vec<SocketAddr>>),
}

impl Resolver {
    /// Starts looking up `places`, and again about `every` after they were found. `on_change` gets
    /// all of them in their order after the first look-up and after every change, on a thread of
    /// the resolver's.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        places: Vec<HostPort>,
        resolve: Resolve,
        every: Duration,
        on_change: impl FnMut(&[Lookup]) + Send + 'static,
    ) -> std::io::Result<Self> {
        // A look-up that is over waits for its place here, and so do at most as many questions: one is enough.
        let (commands, words) = mpsc::sync_channel(THREADS_MAX);
        let ended = Arc::new(AtomicBool::new(false));
        let helpers = Helpers::start(resolve, commands.clone())?;
        let lookups = Lookups::new(places, Instant::now());
        let has_ended = Arc::clone(&ended);
        std::thread::Builder::new()
            .name("resolver".to_owned())
            .spawn(move || keep(lookups, helpers, every, on_change, &words, &has_ended))?;
        Ok(Self { commands, ended })
    }

    /// Has the names looked up again soon, because a connection failed. Returns at once.
    pub fn ask(&self) {
        // Where there is no room, a question waits already.
        let _ = self.commands.try_send(Word::Ask);
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        self.ask();
    }
}

fn keep(
    mut lookups: Lookups,
    mut helpers: Helpers,
    every: Duration,
    mut on_change: impl FnMut(&[Lookup]),
    words: &Receiver<Word>,
    ended: &AtomicBool,
) {
    while !ended.load(Ordering::Acquire) {
        let now = Instant::now();
        while let Some(job) = lookups.begin(now) {
            helpers.give(job);
        }
        if let Some(news) = lookups.news(now) {
            on_change(news);
        }
        let word = match lookups.next_at() {
            Some(at) => words.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => words.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match word {
            Ok(Word::Ask) => lookups.ask(),
            Ok(Word::Ended(index, found)) => {
                helpers.busy -= 1;
                // Moved by up to a tenth, so that clients do not stay in step.
                let every = every.mul_f64(0.9 + 0.2 * fastrand::f64());
                lookups.end(index, found, every, Instant::now());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// The threads that look up. They end when this is dropped.
struct Helpers {
    jobs: Sender<(usize, String)>,
    source: Arc<Mutex<Receiver<(usize, String)>>>,
    resolve: Resolve,
    commands: SyncSender<Word>,
    threads: usize,
    /// Look-ups that were given and are not over. Each name has one at most.
    busy: usize,
}

impl Helpers {
    fn start(resolve: Resolve, commands: SyncSender<Word>) -> std::io::Result<Self> {
        let (jobs, source) = mpsc::channel();
        let source = Arc::new(Mutex::new(source));
        let mut helpers = Self { jobs, source, resolve, commands, threads: 0, busy: 0 };
        helpers.add()?;
        Ok(helpers)
    }

    fn give(&mut self, job: (usize, String)) {
        self.busy += 1;
        if self.busy > self.threads
            && self.threads < THREADS_MAX
            && let Err(error) = self.add()
        {
            tracing::debug!(%error, "Names are looked up by fewer threads");
        }
        self.jobs.send(job).expect("this holds the other end too");
    }

    fn add(&mut self) -> std::io::Result<()> {
        let (source, resolve, commands) =
            (Arc::clone(&self.source), self.resolve.clone(), self.commands.clone());
        let look_up = move || {
            loop {
                // The lock goes with the statement: one thread waits for the next job, the others for it.
                let job = source.lock().recv();
                let Ok((index, name)) = job else { return };
                let found = catch_unwind(AssertUnwindSafe(|| (resolve.0)(&name)));
                let found = found.unwrap_or_else(|_| Err(std::io::Error::other("the look-up panicked")));
                if commands.send(Word::Ended(index, found)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("resolver-name".to_owned()).spawn(look_up)?;
        self.threads += 1;
        Ok(())
    }
}
