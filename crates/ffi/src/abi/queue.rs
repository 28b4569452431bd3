//! The completion queue in C.

use std::cell::RefCell;
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use super::events::{hand_over, stadium_event};
use super::failing::{guarded, made};
use super::text::{free, object};
use crate::error::Error;
use crate::event::Event;
use crate::queue::Queue;

/// A completion queue: the events of any number of clients and servers.
pub struct stadium_queue(pub(super) Queue);

thread_local! {
    /// Events on their way to C, so that taking them allocates nothing.
    static TAKEN: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
}

/// Makes a completion queue; null where there is no descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn stadium_queue_new() -> *mut stadium_queue {
    made(|| Queue::new().map(stadium_queue))
}

/// A descriptor that is readable while there are events, and sometimes when there are none; for
/// poll(2) and event loops, which must not read from it. It is valid as long as the queue.
///
/// # Safety
/// `queue` is a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_queue_descriptor(queue: *const stadium_queue) -> i32 {
    // SAFETY: the caller's promise.
    let queue = unsafe { object(queue, "the queue") };
    guarded(|status| status as i32, || Ok(queue?.0.descriptor().as_raw_fd()))
}

/// The longest that one function waits.
pub(super) const FOR_EVER: Duration = Duration::from_secs(u32::MAX as u64);

/// A time-out as C has it: microseconds, or as long as it takes where it is negative.
pub(super) fn time_out(timeout_us: i64) -> Duration {
    u64::try_from(timeout_us).map_or(FOR_EVER, Duration::from_micros)
}

/// Takes up to `max` events, after waiting until there is one, but no longer than `timeout_us`: 0
/// does not wait, a negative number waits as long as it takes. Returns how many there are, 0 after
/// the time, or a stadium_status. Each event is to be released.
///
/// # Safety
/// `events` has room for `max` events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_queue_take(
    queue: *const stadium_queue,
    events: *mut stadium_event,
    max: usize,
    timeout_us: i64,
) -> i64 {
    // SAFETY: the caller's promise.
    let queue = unsafe { object(queue, "the queue") };
    guarded(
        |status| status as i64,
        || {
            if events.is_null() {
                return Err(Error::invalid("the events are null"));
            }
            let mut taken = TAKEN.take();
            let outcome = queue?.0.take(max, time_out(timeout_us), &mut taken);
            for (place, event) in taken.drain(..).enumerate() {
                // SAFETY: there are at most `max` of them, for which the caller has promised room.
                unsafe { events.add(place).write(hand_over(event)) };
            }
            TAKEN.set(taken);
            outcome.map(|count| count as i64)
        },
    )
}

/// Frees a queue. Clients and servers that use it may go on: their events are dropped, requests
/// among them answered as unknown.
///
/// # Safety
/// `queue` is null or a queue, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_queue_free(queue: *mut stadium_queue) {
    // SAFETY: the caller's promise.
    if let Some(queue) = unsafe { queue.as_ref() } {
        queue.0.close();
    }
    // SAFETY: the caller's promise.
    unsafe { free(queue) };
}
