//! The time of a run. It goes on when all programs wait for it, and only then.
//!
//! Files are read on other threads, so a program may wait for one of them. It waits for the time
//! alone where it has a sleep of its own: nothing here sleeps and reads at once. Each program has a
//! slot, and sleeps until an instant that no other program shares.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use stadium_archive::Clock;
use tokio::task::{JoinHandle, spawn_local, yield_now};

/// Programs at most: so many milliseconds are between two instants of one of them.
const SLOTS: u64 = 10;

thread_local! {
    /// The program that is being polled.
    static PROGRAM: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The time of a run, in milliseconds since it began. Clones are the same time.
#[derive(Clone, Default)]
pub struct Time(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    now_ms: u64,
    next: u64,
    sleepers: BTreeMap<(u64, u64), Option<Waker>>,
    /// Sleeps that are over, and whose sleepers were not polled since.
    fired: usize,
    /// The sleeps of each program that runs.
    programs: BTreeMap<u64, usize>,
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.now_ms())
    }
}

impl Time {
    /// The time.
    pub fn now_ms(&self) -> u64 {
        self.state().now_ms
    }

    /// Waits for so long, and further until an instant of this slot.
    pub async fn pause(&self, slot: u64, ms: u64) {
        self.until(slot, self.now_ms() + ms).await;
    }

    /// Waits until a time, and further until an instant of this slot.
    pub async fn until(&self, slot: u64, at_ms: u64) {
        self.sleep_until((at_ms / SLOTS + 1) * SLOTS + slot).await;
    }

    /// Starts a program. Time stands still while it works.
    pub fn start<T: 'static>(&self, work: impl Future<Output = T> + 'static) -> JoinHandle<T> {
        let program = {
            let mut state = self.state();
            state.next += 1;
            let program = state.next;
            state.programs.insert(program, 0);
            program
        };
        let running = Running { time: self.clone(), program };
        spawn_local(async move {
            let running = running;
            let mut work = pin!(work);
            std::future::poll_fn(|context| {
                PROGRAM.set(Some(running.program));
                let polled = work.as_mut().poll(context);
                PROGRAM.set(None);
                polled
            })
            .await
        })
    }

    /// Lets time pass until a program has ended.
    pub async fn drive<T>(&self, program: JoinHandle<T>) -> T {
        while !program.is_finished() {
            let is_idle = {
                let state = self.state();
                state.fired == 0 && state.programs.values().all(|sleeps| *sleeps > 0)
            };
            if is_idle {
                self.advance();
            } else {
                std::thread::yield_now();
            }
            yield_now().await;
        }
        match program.await {
            Ok(ended) => ended,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Goes on to the next time for which somebody waits.
    fn advance(&self) {
        let mut state = self.state();
        let Some((&(at_ms, _), _)) = state.sleepers.first_key_value() else { return };
        state.now_ms = at_ms;
        let later = state.sleepers.split_off(&(at_ms, u64::MAX));
        let over = std::mem::replace(&mut state.sleepers, later);
        state.fired += over.len();
        drop(state);
        over.into_values().flatten().for_each(Waker::wake);
    }

    fn sleep_until(&self, at_ms: u64) -> Sleep {
        Sleep { time: self.clone(), at_ms, begun: None }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for Time {
    fn now(&self) -> Duration {
        Duration::from_millis(self.now_ms())
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        let ms = u64::try_from(time.as_millis()).expect("a sleep is short");
        self.sleep_until(self.now_ms() + ms).boxed()
    }
}

/// A program that runs, until it is dropped.
struct Running {
    time: Time,
    program: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.time.state().programs.remove(&self.program);
    }
}

struct Sleep {
    time: Time,
    at_ms: u64,
    /// Its number and its program, from its first poll on.
    begun: Option<(u64, Option<u64>)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let time = self.time.clone();
        let mut state = time.state();
        let Some((number, _)) = self.begun else {
            if self.at_ms <= state.now_ms {
                return Poll::Ready(());
            }
            state.next += 1;
            let (number, program) = (state.next, PROGRAM.get());
            state.sleepers.insert((self.at_ms, number), Some(context.waker().clone()));
            count(&mut state, program, |sleeps| *sleeps += 1);
            self.begun = Some((number, program));
            return Poll::Pending;
        };
        if let Some(waker) = state.sleepers.get_mut(&(self.at_ms, number)) {
            *waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        drop(state);
        self.end();
        Poll::Ready(())
    }
}

impl Sleep {
    fn end(&mut self) {
        let Some((number, program)) = self.begun.take() else { return };
        let mut state = self.time.state();
        if state.sleepers.remove(&(self.at_ms, number)).is_none() {
            state.fired -= 1;
        }
        count(&mut state, program, |sleeps| *sleeps -= 1);
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.end();
    }
}

fn count(state: &mut State, program: Option<u64>, change: impl FnOnce(&mut usize)) {
    if let Some(sleeps) = program.and_then(|program| state.programs.get_mut(&program)) {
        change(sleeps);
    }
}
