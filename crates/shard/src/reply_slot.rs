//! The place where a shard's thread puts an answer.
//!
//! A [`Slot`] is shared by a ticket and the shards that hold its request. It is answered once.
//! Nobody waits for ever: when the last shard lets go of a request without an answer, the answer is
//! Busy; in a panic, that it is not known whether it happened.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use stadium_state_machine::Refusal;
use stadium_telemetry::TraceContext;

use crate::answer::Answer;
use crate::asked::Asked;
use crate::core::Caller;
use crate::error::{busy, unknown};
use crate::frame::MachineId;

/// The result of a command.
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
    /// See [`Caller::comes_back`].
    comes_back: AtomicBool,
    /// Whether `asked` holds something: read where nothing is traced.
    is_traced: AtomicBool,
    /// The span of a command of a traced request, until it is answered.
    asked: Mutex<Option<Box<Asked>>>,
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
        kept.unwrap_or_else(|| {
            let (comes_back, is_traced) = (AtomicBool::new(false), AtomicBool::new(false));
            let (state, holders, asked) = (Mutex::new(State::Open), AtomicU32::new(0), Mutex::new(None));
            Arc::new(Slot { state, holders, comes_back, is_traced, asked })
        })
    }

    /// A slot for a command that is [to come back](Caller::comes_back) where that is asked for.
    pub(crate) fn coming_back(comes_back: bool) -> Arc<Slot> {
        let slot = Slot::new();
        if comes_back {
            slot.comes_back.store(true, Ordering::Relaxed);
        }
        slot
    }

    /// Begins the span of its command, where this thread works for a traced request. `machine` is none
    /// for a command to several.
    #[inline]
    pub(crate) fn trace(&self, machine: Option<MachineId>, shard: u16) {
        if let Some(trace) = stadium_telemetry::current() {
            *self.asked.lock() = Some(Box::new(Asked::new(trace, machine, shard)));
            self.is_traced.store(true, Ordering::Release);
        }
    }

    /// The span of its command, if it has one.
    #[inline]
    fn with_span<R>(&self, then: impl FnOnce(&mut Asked) -> R) -> Option<R> {
        if !self.is_traced.load(Ordering::Acquire) {
            return None;
        }
        self.asked.lock().as_mut().map(|asked| then(asked))
    }

    /// Gives a slot back whose ticket is at its end. Where a shard still holds it, it is simply
    /// dropped.
    fn recycle(mut slot: Arc<Slot>) {
        let Some(free) = Arc::get_mut(&mut slot) else {
            return;
        };
        *free.state.get_mut() = State::Open;
        *free.comes_back.get_mut() = false;
        if std::mem::take(free.is_traced.get_mut()) {
            *free.asked.get_mut() = None;
        }
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
        // Before the caller hears of it: the request may end with the answer, and its spans with it.
        if self.is_traced.load(Ordering::Acquire)
            && let Some(asked) = self.asked.lock().take()
        {
            asked.answered(answer.as_ref().err());
        }
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

    /// The shard's thread took the command out of the mailbox. Returns whether it is traced.
    pub(crate) fn taken(&self) -> bool {
        self.slot.with_span(Asked::taken).is_some()
    }

    /// The command is carried out, and its answer waits for the journal.
    pub(crate) fn waits(&self) {
        self.slot.with_span(Asked::waits);
    }

    /// Another node is asked. Returns what belongs to the command there, where it is sampled.
    pub(crate) fn forwarded(&self) -> Option<TraceContext> {
        let context = self.slot.with_span(|asked| {
            asked.forwarded();
            asked.context()
        });
        context.filter(TraceContext::is_sampled)
    }

    /// Puts the answer there, and returns the waker. Gives the answer back where nobody wants it.
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
        // An address distinguishes requests as long as one of them holds it.
        Arc::as_ptr(&self.slot) as usize as u64
    }

    fn is_gone(&self) -> bool {
        matches!(*self.slot.state.lock(), State::Over)
    }

    fn comes_back(&self) -> bool {
        self.slot.comes_back.load(Ordering::Relaxed)
    }
}

/// Answers a caller, and wakes it.
pub(crate) fn answer(caller: &Holder, answered: Answered) {
    if let Ok(Some(waker)) = caller.answer(answered) {
        waker.wake();
    }
}

/// Deals with answers that nobody takes.
pub(crate) trait Unclaimed: Send + Sync {
    /// Gives back the jobs that an answer reserved.
    fn release(&self, answer: &Answer);

    /// Nobody waits for this request any more. `alone` is the shard that it was asked of, where no
    /// other one can have it.
    fn vanished(&self, caller: u64, alone: Option<u16>);

    /// Shards that follow an answer do so all the same.
    fn follow_up(self: Arc<Self>, answer: &Answer);
}

/// One request in one slot.
pub(crate) struct One {
    /// None once the answer was taken.
    slot: Option<Arc<Slot>>,
    unseen: Unseen,
}

/// The treatment of an answer that nobody takes.
enum Unseen {
    /// Nothing.
    Dropped,
    /// A reserve is taken back, from this shard where it was asked of one alone.
    TakenBack(Arc<dyn Unclaimed>, Option<u16>),
    /// Other shards may have to follow.
    Followed(Arc<dyn Unclaimed>),
}

impl One {
    pub(crate) fn new(slot: Arc<Slot>) -> Self {
        One { slot: Some(slot), unseen: Unseen::Dropped }
    }

    /// A reserve, which is taken back where nobody takes its answer.
    pub(crate) fn taken_back(slot: Arc<Slot>, shards: Arc<dyn Unclaimed>, alone: Option<u16>) -> Self {
        One { slot: Some(slot), unseen: Unseen::TakenBack(shards, alone) }
    }

    /// One whose answer may be for other shards too, also where nobody waits for it any more.
    pub(crate) fn followed(slot: Arc<Slot>, shards: Arc<dyn Unclaimed>) -> Self {
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
            (Unseen::TakenBack(shards, _), Some(Ok(answer))) => shards.release(&answer),
            (Unseen::TakenBack(shards, alone), None) => {
                shards.vanished(Arc::as_ptr(&slot) as usize as u64, *alone);
            }
            (Unseen::Followed(shards), Some(Ok(answer))) => Arc::clone(shards).follow_up(&answer),
            // The shard that answers later sees to it.
            (Unseen::Followed(_), None) | (Unseen::Dropped, _) | (_, Some(Err(_))) => {}
        }
    }
}
