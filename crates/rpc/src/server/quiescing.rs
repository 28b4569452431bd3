//! The end of a server, to be awaited or waited for: nobody's thread is put to sleep for it but ours.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::Server;
use super::shared::{Shared, Status};

/// Between two looks at what is left.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A server that leaves. Await it, or [`Quiescing::wait`] for it; dropping it changes nothing.
pub struct Quiescing(Arc<Signal>);

/// What is known of the end.
#[derive(Default)]
struct Signal {
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Default)]
struct State {
    left: Option<u64>,
    waker: Option<Waker>,
}

/// Reports the end when it is dropped, even where the watching thread panicked.
struct EndGuard {
    signal: Arc<Signal>,
    left: u64,
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        let mut state = self.signal.state.lock();
        state.left = Some(self.left);
        let waker = state.waker.take();
        drop(state);
        self.signal.came.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Quiescing {
    /// Looks until nothing is left or the time is over, on a thread of its own.
    pub(super) fn watch(shared: Arc<Shared>, status: Arc<Status>, until: Instant) -> Self {
        Self::spawn(move || {
            loop {
                let left = left(&shared);
                let is_over = left == 0 && status.quiescing.load(Ordering::Relaxed);
                if is_over || Instant::now() >= until {
                    return left;
                }
                std::thread::sleep(LOOK_EVERY);
            }
        })
    }

    /// Quiesces and ends a server, on a thread of its own.
    pub(super) fn shutdown(server: Server, within: Duration) -> Self {
        Self::spawn(move || {
            let left = server.quiesce(within).wait();
            server.stop();
            left
        })
    }

    fn spawn(look: impl FnOnce() -> u64 + Send + 'static) -> Self {
        let signal = Arc::new(Signal::default());
        let guard = EndGuard { signal: Arc::clone(&signal), left: 0 };
        let spawned = std::thread::Builder::new().name("rpc-quiescing".to_owned()).spawn(move || {
            let mut guard = guard;
            guard.left = look();
        });
        if let Err(error) = spawned {
            tracing::error!(%error, "Nobody can look for the end of the RPC server");
        }
        Self(signal)
    }

    /// Waits on this thread. Returns what was left.
    pub fn wait(self) -> u64 {
        let mut state = self.0.state.lock();
        loop {
            if let Some(left) = state.left {
                return left;
            }
            self.0.came.wait(&mut state);
        }
    }
}

/// Connections that are left; at least 1 while calls are worked on: one-way calls outlive the connections that they
/// came by.
fn left(shared: &Shared) -> u64 {
    let connections: u64 = shared.counts.iter().map(|counts| counts.connections.value()).sum();
    let works: u64 = shared.counts.iter().map(|counts| counts.inflight.value()).sum();
    connections.max(works.min(1))
}

impl Future for Quiescing {
    /// Connections that were left.
    type Output = u64;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        let mut state = self.0.state.lock();
        match state.left {
            Some(left) => Poll::Ready(left),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl std::fmt::Debug for Quiescing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Quiescing").field("left", &self.0.state.lock().left).finish()
    }
}
