//! Timers for asynchronous functions: futures that a loop's wheel completes.
//!
//! A [`Sleep`] finds the timers of the loop that polls it by a thread-local, so that functions need not be given them.
//! A timer that is dropped leaves the wheel at once.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use slab::Slab;
use stadium_reactor::wheel::{Link, Links, Wheel};

thread_local! {
    /// The timers of the server's loop that runs on this thread.
    static HERE: RefCell<Option<Timers>> = const { RefCell::new(None) };
}

/// The timers of a loop.
#[derive(Clone)]
pub(crate) struct Timers(Rc<RefCell<State>>);

struct State {
    /// Ticks are milliseconds since then.
    started: Instant,
    wheel: Wheel,
    slots: Slots,
    fired: Vec<u32>,
}

struct Slots(Slab<Slot>);

struct Slot {
    link: Link,
    waker: Waker,
}

impl Links for Slots {
    fn link(&mut self, index: u32) -> &mut Link {
        &mut self.0[index as usize].link
    }
}

impl Timers {
    /// Makes the timers of this thread's loop.
    pub(crate) fn install() -> Self {
        let timers = Self(Rc::new(RefCell::new(State {
            started: Instant::now(),
            wheel: Wheel::around(0),
            slots: Slots(Slab::new()),
            fired: Vec::new(),
        })));
        HERE.with(|here| *here.borrow_mut() = Some(timers.clone()));
        timers
    }

    /// Wakes the futures whose time has come.
    pub(crate) fn advance(&self) {
        let mut state = self.0.borrow_mut();
        let State { started, wheel, slots, fired } = &mut *state;
        if wheel.armed() == 0 {
            return;
        }
        wheel.advance(slots, started.elapsed().as_millis() as u32, fired);
        let wakers: Vec<Waker> = fired.drain(..).map(|slot| slots.0[slot as usize].waker.clone()).collect();
        // Waking may drop futures, and their timers with them.
        drop(state);
        wakers.iter().for_each(Waker::wake_by_ref);
    }

    /// How long until the next one, in milliseconds.
    pub(crate) fn next_in_ms(&self) -> Option<u64> {
        let state = self.0.borrow();
        let next = state.wheel.next()?;
        let now = state.started.elapsed().as_millis() as u32;
        let left = next.wrapping_sub(now);
        Some(if left > u32::MAX / 2 { 0 } else { u64::from(left) })
    }

    /// Has the waker called then.
    fn arm(&self, at: Instant, waker: &Waker) -> u32 {
        let mut state = self.0.borrow_mut();
        let State { started, wheel, slots, .. } = &mut *state;
        if wheel.armed() == 0 {
            // The wheel stood still while it was empty.
            wheel.advance(slots, started.elapsed().as_millis() as u32, &mut Vec::new());
        }
        let after = at.saturating_duration_since(*started);
        let tick = (after.as_millis() + 1) as u32;
        let slot = slots.0.insert(Slot { link: Link::IDLE, waker: waker.clone() }) as u32;
        wheel.arm(slots, slot, tick);
        slot
    }

    fn disarm(&self, slot: u32) {
        let mut state = self.0.borrow_mut();
        let State { wheel, slots, .. } = &mut *state;
        wheel.disarm(slots, slot);
        slots.0.remove(slot as usize);
    }
}

/// A future that is ready once a time has come; made by [`sleep`].
#[must_use = "it sleeps where it is awaited"]
pub struct Sleep {
    at: Instant,
    armed: Option<(Timers, u32)>,
}

/// The longest that one sleep lasts; a longer one ends then.
const SLEEP_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Waits for so long, at most a week, to within some milliseconds: a timer of the loop that runs the function. For
/// functions of a server that are futures ([`Service::asynchronous`](crate::Service::asynchronous), `streaming`,
/// `channel`, `upload`, `download`).
///
/// # Panics
/// When it is polled anywhere else, such as on a thread of another runtime: that runtime has timers of its own.
pub fn sleep(duration: Duration) -> Sleep {
    Sleep { at: Instant::now() + duration.min(SLEEP_MAX), armed: None }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.at {
            self.disarm();
            return Poll::Ready(());
        }
        // A waker changes where the future moves to another task.
        self.disarm();
        let here = HERE.with(|here| here.borrow().clone());
        let timers = here.expect("stadium_rpc::sleep is awaited by functions of a server, on its loops");
        let slot = timers.arm(self.at, context.waker());
        self.armed = Some((timers, slot));
        Poll::Pending
    }
}

impl Sleep {
    fn disarm(&mut self) {
        if let Some((timers, slot)) = self.armed.take() {
            timers.disarm(slot);
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.disarm();
    }
}

impl std::fmt::Debug for Sleep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sleep").field("at", &self.at).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Counts(AtomicU64);

    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn timers_wake_in_their_time_and_those_that_are_dropped_do_not() {
        let timers = Timers::install();
        let counts = Arc::new(Counts::default());
        let waker = Waker::from(Arc::clone(&counts));
        let mut context = Context::from_waker(&waker);
        let mut sleeps: Vec<Pin<Box<Sleep>>> =
            (0..100).map(|nth| Box::pin(sleep(Duration::from_millis(5 + nth % 7)))).collect();
        let mut long = Box::pin(sleep(Duration::from_secs(3_600)));
        for sleep in sleeps.iter_mut().chain([&mut long]) {
            // Polled again, it has one timer all the same.
            for _ in 0..3 {
                assert_eq!(sleep.as_mut().poll(&mut context), Poll::Pending);
            }
        }
        assert_eq!(timers.0.borrow().wheel.armed(), 101);
        sleeps.truncate(50);
        assert_eq!(timers.0.borrow().wheel.armed(), 51);
        assert!(timers.next_in_ms().is_some_and(|ms| ms <= 12));
        let deadline = Instant::now() + Duration::from_secs(20);
        while counts.0.load(Ordering::SeqCst) < 50 {
            assert!(Instant::now() < deadline, "they wake");
            std::thread::yield_now();
            timers.advance();
        }
        for sleep in &mut sleeps {
            assert_eq!(sleep.as_mut().poll(&mut context), Poll::Ready(()));
        }
        assert!(timers.next_in_ms().is_some(), "the long one has a timer yet");
        drop((long, sleeps));
        assert_eq!((timers.next_in_ms(), timers.0.borrow().slots.0.len()), (None, 0));
    }
}
