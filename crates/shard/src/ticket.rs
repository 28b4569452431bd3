//! The answer to a command, for the caller that waits for it.
//!
//! A ticket is a future, and can be waited for on a thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use stadium_state_machine::Refusal;

use crate::answer::Answer;
use crate::reply_slot::One;
use crate::scatter_gather::ScatterGather;
use crate::search::NodeSearch;

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
    Many(Box<ScatterGather>),
    Search(Box<NodeSearch>),
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

    pub(crate) fn many(scatter_gather: ScatterGather, typed: fn(Answer) -> A) -> Self {
        Ticket { kind: Kind::Many(Box::new(scatter_gather)), typed }
    }

    pub(crate) fn search(search: NodeSearch, typed: fn(Answer) -> A) -> Self {
        Ticket { kind: Kind::Search(Box::new(search)), typed }
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
            Kind::Many(scatter_gather) => scatter_gather.poll(context),
            Kind::Search(search) => search.poll(context),
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

    use super::Ticket;
    use crate::answer::Answer::Queue;
    use crate::answer::of_queues;
    use crate::reply_slot::{Holder, One, Slot};
    use stadium_queue::Answer;

    fn pair() -> (Ticket, Holder) {
        let slot = Slot::new();
        let holder = Holder::new(&slot);
        (Ticket::one(Ok(One::new(slot)), of_queues), holder)
    }

    #[test]
    fn an_answer_from_another_thread_wakes_the_waiting_thread() {
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
