//! The answer to a command, handed from a shard's thread to whoever waits for it.
//!
//! A [`Slot`] is shared by a ticket and the shards that hold its request. It is answered once. Nobody waits for ever: when the
//! last shard lets go of a request without an answer, the slot is told Busy; in a panic, that it is not known whether it happened.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use stadium_state_machine::Refusal;

use crate::answer::Answer;
use crate::client::Inner;
use crate::core::Caller;
use crate::error::{busy, unknown};
use crate::gather::Gather;

/// What a command comes to.
pub(crate) type Answered = Result<Answer, Refusal>;

/// Slots that a thread keeps for its next commands: as many as it usually has under way.
const SLOTS_KEPT: usize = 1_024;

thread_local! {
    static SLOTS: RefCell<Vec<Arc<Slot>>> = const { RefCell::new(Vec::new()) };
}

/// Where an answer is put.
pub(crate) struct Slot {
    state: Mutex<State>,
    /// Shards that hold the request.
    holders: AtomicU32,
}

enum State {
    /// Nobody looked yet.
    Open,
    /// Somebody wants to be woken.
    Awaited(Waker),
    Answered(Answered),
    /// The answer was taken, or nobody wants it any more.
    Over,
}

impl Slot {
    /// A slot, one that was used before where this thread has one.
    pub(crate) fn new() -> Arc<Slot> {
        let kept = SLOTS.with(|slots| slots.borrow_mut().pop());
        kept.unwrap_or_else(|| Arc::new(Slot { state: Mutex::new(State::Open), holders: AtomicU32::new(0) }))
    }

    /// Gives a slot back whose ticket is at its end. Where a shard still holds it, it is simply dropped.
    fn recycle(mut slot: Arc<Slot>) {
        let Some(free) = Arc::get_mut(&mut slot) else {
            return;
        };
        *free.state.get_mut() = State::Open;
        // Absent while the thread ends.
        let _ = SLOTS.try_with(|slots| {
            let mut slots = slots.borrow_mut();
            if slots.len() < SLOTS_KEPT {
                slots.push(slot);
            }
        });
    }

    fn poll(&self, waker: &Waker) -> Option<Answered> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Answered(answer) => Some(answer),
            State::Awaited(before) if before.will_wake(waker) => {
                *state = State::Awaited(before);
                None
            }
            State::Open | State::Awaited(_) => {
                *state = State::Awaited(waker.clone());
                None
            }
            State::Over => unreachable!("a ticket is not polled after its answer"),
        }
    }

    /// Puts the answer there. Gives it back where nobody wants it, or another one is there already.
    fn answer(&self, answer: Answered) -> Result<Option<Waker>, Answered> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Open => {
                *state = State::Answered(answer);
                Ok(None)
            }
            State::Awaited(waker) => {
                *state = State::Answered(answer);
                Ok(Some(waker))
            }
            before => {
                *state = before;
                Err(answer)
            }
        }
    }

    fn leave(&self) -> Option<Answered> {
        match std::mem::replace(&mut *self.state.lock(), State::Over) {
            State::Answered(answer) => Some(answer),
            State::Open | State::Awaited(_) | State::Over => None,
        }
    }
}

/// A shard's hold on a slot.
pub(crate) struct Holder {
    slot: Arc<Slot>,
}

impl Holder {
    pub(crate) fn new(slot: &Arc<Slot>) -> Self {
        slot.holders.fetch_add(1, Ordering::Relaxed);
        Holder { slot: Arc::clone(slot) }
    }

    /// Puts the answer there, and says whom to wake. Gives it back where nobody wants it.
    pub(crate) fn answer(&self, answer: Answered) -> Result<Option<Waker>, Answered> {
        self.slot.answer(answer)
    }
}

impl Clone for Holder {
    fn clone(&self) -> Self {
        Holder::new(&self.slot)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if self.slot.holders.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        // Nothing in all usual cases: there is an answer.
        if matches!(*self.slot.state.lock(), State::Answered(_) | State::Over) {
            return;
        }
        // A request that is let go of was never carried out, unless its answer was being made.
        let refusal = if std::thread::panicking() {
            unknown()
        } else {
            busy("SHARD-003", 1_000, "the shard let go of the request while it recovered from an error")
        };
        if let Ok(Some(waker)) = self.slot.answer(Err(refusal)) {
            waker.wake();
        }
    }
}

impl Caller for Holder {
    fn id(&self) -> u64 {
        // An address tells requests apart as long as one of them holds it.
        Arc::as_ptr(&self.slot) as usize as u64
    }

    fn is_gone(&self) -> bool {
        matches!(*self.slot.state.lock(), State::Over)
    }
}

/// The answer to a command, once it is there.
///
/// Dropping it takes back a reserve that still waits, and releases what it was given meanwhile;
/// everything else happens all the same.
#[must_use = "a reserve is taken back when its ticket is dropped"]
pub struct Ticket<A = stadium_queue::Answer<Bytes>> {
    kind: Kind,
    /// Gives the answer its type back.
    typed: fn(Answer) -> A,
}

enum Kind {
    /// Refused before any shard saw it; none once it was taken.
    Refused(Option<Refusal>),
    One(One),
    Many(Box<Gather>),
}

/// One request in one slot.
pub(crate) struct One {
    /// None once the answer was taken.
    slot: Option<Arc<Slot>>,
    unseen: Unseen,
}

/// What becomes of an answer that nobody takes.
enum Unseen {
    /// Nothing.
    Dropped,
    /// A reserve is taken back.
    TakenBack(Arc<Inner>),
    /// Other shards may have to follow.
    Followed(Arc<Inner>),
}

impl One {
    pub(crate) fn new(slot: Arc<Slot>, taken_back: Option<Arc<Inner>>) -> Self {
        One { slot: Some(slot), unseen: taken_back.map_or(Unseen::Dropped, Unseen::TakenBack) }
    }

    /// One whose answer may be for other shards too, also where nobody waits for it any more.
    pub(crate) fn followed(slot: Arc<Slot>, shards: Arc<Inner>) -> Self {
        One { slot: Some(slot), unseen: Unseen::Followed(shards) }
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Answered> {
        let slot = self.slot.as_ref().expect("a ticket is not polled after its answer");
        match slot.poll(context.waker()) {
            None => Poll::Pending,
            Some(answer) => {
                if let Some(slot) = self.slot.take() {
                    Slot::recycle(slot);
                }
                Poll::Ready(answer)
            }
        }
    }
}

impl Drop for One {
    fn drop(&mut self) {
        let Some(slot) = self.slot.take() else {
            return;
        };
        let answer = slot.leave();
        match (&self.unseen, answer) {
            (Unseen::TakenBack(shards), Some(Ok(answer))) => shards.release(&answer),
            (Unseen::TakenBack(shards), None) => shards.vanished(Arc::as_ptr(&slot) as usize as u64),
            (Unseen::Followed(shards), Some(Ok(answer))) => shards.follow_up(&answer),
            // The shard that answers later sees to it.
            (Unseen::Followed(_), None) | (Unseen::Dropped, _) | (_, Some(Err(_))) => {}
        }
    }
}

impl<A> Ticket<A> {
    pub(crate) fn refused(refusal: Refusal, typed: fn(Answer) -> A) -> Self {
        Ticket { kind: Kind::Refused(Some(refusal)), typed }
    }

    pub(crate) fn one(asked: Result<One, Refusal>, typed: fn(Answer) -> A) -> Self {
        match asked {
            Ok(one) => Ticket { kind: Kind::One(one), typed },
            Err(refusal) => Self::refused(refusal, typed),
        }
    }

    pub(crate) fn many(gather: Gather, typed: fn(Answer) -> A) -> Self {
        Ticket { kind: Kind::Many(Box::new(gather)), typed }
    }

    /// Waits for the answer on this thread; `None` when it took longer than that.
    pub fn wait(mut self, at_most: Duration) -> Option<Result<A, Refusal>> {
        let until = Instant::now().checked_add(at_most);
        let waker = thread_waker();
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(answer) = Pin::new(&mut self).poll(&mut context) {
                return Some(answer);
            }
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => std::thread::park(),
                Some(left) if left.is_zero() => return None,
                Some(left) => std::thread::park_timeout(left),
            }
        }
    }
}

impl<A> Future for Ticket<A> {
    type Output = Result<A, Refusal>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answered = match &mut self.kind {
            Kind::Refused(refusal) => {
                Poll::Ready(Err(refusal.take().expect("a ticket is not polled after its answer")))
            }
            Kind::One(one) => one.poll(context),
            Kind::Many(gather) => gather.poll(context),
        };
        answered.map_ok(self.typed)
    }
}

/// Wakes a thread that waits.
struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

fn thread_waker() -> Waker {
    thread_local! {
        static WAKER: Waker = Waker::from(Arc::new(ThreadWaker(std::thread::current())));
    }
    WAKER.with(Waker::clone)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Holder, One, Slot, Ticket};
    use crate::answer::Answer::Queue;
    use crate::answer::of_queues;
    use stadium_queue::Answer;

    fn pair() -> (Ticket, Holder) {
        let slot = Slot::new();
        let holder = Holder::new(&slot);
        (Ticket::one(Ok(One::new(slot, None)), of_queues), holder)
    }

    #[test]
    fn an_answer_from_another_thread_wakes_who_waits() {
        let (ticket, holder) = pair();
        let shard = std::thread::spawn(move || {
            if let Ok(Some(waker)) = holder.answer(Ok(Queue(Answer::Done))) {
                waker.wake();
            }
        });
        assert_eq!(ticket.wait(Duration::from_secs(20)), Some(Ok(Answer::Done)));
        shard.join().expect("it does not panic");
    }

    #[test]
    fn a_request_that_every_shard_lets_go_of_is_busy() {
        let (ticket, holder) = pair();
        let other = holder.clone();
        drop(holder);
        drop(other);
        let answer = ticket.wait(Duration::from_secs(20)).expect("it is there at once");
        assert_eq!(answer.expect_err("nobody answered").code(), "SHARD-003");
    }

    #[test]
    fn a_request_that_a_panic_lets_go_of_is_unknown() {
        let (ticket, holder) = pair();
        let shard = std::thread::spawn(move || {
            let _held = holder;
            panic!("a shard's bug");
        });
        shard.join().expect_err("it panics");
        let answer = ticket.wait(Duration::from_secs(20)).expect("it is there at once");
        let refusal = answer.expect_err("nobody answered");
        assert!(refusal.is_unknown() && refusal.code() == crate::UNKNOWN, "{refusal}");
    }

    #[test]
    fn an_answer_that_nobody_wants_comes_back() {
        let (ticket, holder) = pair();
        drop(ticket);
        assert!(holder.answer(Ok(Queue(Answer::Done))).is_err());
    }

    #[test]
    fn only_the_first_answer_counts() {
        let (ticket, holder) = pair();
        assert!(holder.answer(Ok(Queue(Answer::Count(1)))).is_ok());
        assert!(holder.answer(Ok(Queue(Answer::Count(2)))).is_err());
        assert_eq!(ticket.wait(Duration::ZERO), Some(Ok(Answer::Count(1))));
    }
}
