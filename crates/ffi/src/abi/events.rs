//! Events as C sees them.
//!
//! An event owns the memory that its payload lies in, and gives it back when it is released.

use std::ffi::c_void;

use super::failing::guarded;
use super::text::stadium_bytes;
use crate::event::{Event, Failure, Kind, Outcome};
use crate::request::Request;

/// The kind of an event.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum stadium_kind {
    /// A unary call has ended.
    STADIUM_ANSWER = 0,
    /// A stream has a message.
    STADIUM_ITEM = 1,
    /// A stream has ended; its last event.
    STADIUM_END = 2,
    /// A stream or a request that was full takes messages again.
    STADIUM_WRITABLE = 3,
    /// A server has a request; free it when it is answered.
    STADIUM_REQUEST = 4,
    /// The caller of a channel has sent a message.
    STADIUM_REQUEST_ITEM = 5,
    /// The caller of a channel has sent its last message.
    STADIUM_REQUEST_END = 6,
    /// Nobody waits for the answer to a request any more.
    STADIUM_REQUEST_CANCELLED = 7,
}

/// How a call ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum stadium_outcome {
    /// It was answered.
    STADIUM_OK = 0,
    /// The service is busy. Nothing happened; send it again after retry_after_ms.
    STADIUM_BUSY = 1,
    /// The service will never do it. Nothing happened.
    STADIUM_REJECTED = 2,
    /// The service failed on its way: it may have happened.
    STADIUM_UNKNOWN = 3,
    /// An error of the service's own: number and text are its business.
    STADIUM_APPLICATION = 4,
    /// The deadline passed: it may have happened.
    STADIUM_DEADLINE = 5,
    /// No instance could be reached. Nothing happened.
    STADIUM_UNAVAILABLE = 6,
    /// The connection broke during the call: it may have happened.
    STADIUM_BROKEN = 7,
    /// The caller gave up.
    STADIUM_CANCELLED = 8,
    /// The peer sent something that cannot be understood.
    STADIUM_PROTOCOL = 9,
}

/// Something that has happened. Everything in it is for reading, until the event is released.
#[repr(C)]
#[derive(Debug)]
pub struct stadium_event {
    /// The tag of the call; of a request: its method's.
    pub tag: u64,
    /// Names a request in all of its events. Never used again in this process. 0 for calls.
    pub request_id: u64,
    /// A stadium_kind.
    pub kind: i32,
    /// A stadium_outcome, of STADIUM_ANSWER and STADIUM_END; otherwise STADIUM_OK.
    pub outcome: i32,
    /// The message; where outcome is not STADIUM_OK a text for people, in UTF-8.
    pub payload: stadium_bytes,
    /// The stable code of STADIUM_REJECTED and STADIUM_UNKNOWN, such as GEO-001.
    pub code: stadium_bytes,
    /// Of STADIUM_BUSY.
    pub retry_after_ms: u64,
    /// The request of STADIUM_REQUEST, which now belongs to the one who took the event.
    pub request: *mut Request,
    /// Of STADIUM_APPLICATION: the RSocket error code.
    pub number: u32,
    /// This library's own: the memory that the event owns.
    pub reserved: *mut c_void,
    /// This library's own.
    pub reserved_size: usize,
}

/// The size of an event that owns a failure. No vector has such a capacity.
const OWNS_FAILURE: usize = usize::MAX;

/// The event for C. `release` frees it.
pub(super) fn hand_over(event: Event) -> stadium_event {
    let Event { kind, tag, request_id, payload, request } = event;
    let request = request.map_or(std::ptr::null_mut(), |request| Box::into_raw(Box::new(request)));
    let mut shown = empty(kind, tag);
    (shown.request_id, shown.request) = (request_id, request);
    match payload {
        Ok(bytes) => {
            let mut bytes = std::mem::ManuallyDrop::new(bytes);
            shown.payload = stadium_bytes::of(&bytes);
            (shown.reserved, shown.reserved_size) = (bytes.as_mut_ptr().cast(), bytes.capacity());
        }
        Err(failure) => {
            let failure = Box::into_raw(Box::new(failure));
            // SAFETY: it was made in the line before.
            show(&mut shown, unsafe { &*failure });
            (shown.reserved, shown.reserved_size) = (failure.cast(), OWNS_FAILURE);
        }
    }
    shown
}

/// Frees what an event owns, except its request.
///
/// # Safety
/// The event comes from [`hand_over`] or [`empty`], and its own fields were not changed.
unsafe fn release(event: &mut stadium_event) {
    let (owned, size) = (event.reserved, std::mem::take(&mut event.reserved_size));
    event.reserved = std::ptr::null_mut();
    (event.payload, event.code) = (stadium_bytes::EMPTY, stadium_bytes::EMPTY);
    match size {
        0 => {}
        // SAFETY: `hand_over` made the box, and the event has forgotten it.
        OWNS_FAILURE => drop(unsafe { Box::from_raw(owned.cast::<Failure>()) }),
        // SAFETY: the bytes of a vector of this capacity; without a length, because bytes need no drop.
        capacity => drop(unsafe { Vec::from_raw_parts(owned.cast::<u8>(), 0, capacity) }),
    }
}

/// Frees the bytes of events that were taken. Their requests stay. An event may be released twice.
///
/// # Safety
/// `events` points at `count` events of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_events_release(events: *mut stadium_event, count: usize) {
    guarded(
        |_| (),
        || {
            if !events.is_null() {
                for place in 0..count {
                    // SAFETY: within the events that the caller has promised.
                    unsafe { release(&mut *events.add(place)) };
                }
            }
            Ok(())
        },
    );
}

/// An event without a payload.
pub(super) fn empty(kind: Kind, tag: u64) -> stadium_event {
    stadium_event {
        tag,
        request_id: 0,
        kind: number_of(kind) as i32,
        outcome: stadium_outcome::STADIUM_OK as i32,
        payload: stadium_bytes::EMPTY,
        code: stadium_bytes::EMPTY,
        retry_after_ms: 0,
        request: std::ptr::null_mut(),
        number: 0,
        reserved: std::ptr::null_mut(),
        reserved_size: 0,
    }
}

/// Shows a failure that lives as long as the event.
pub(super) fn show(event: &mut stadium_event, failure: &Failure) {
    event.outcome = outcome_of(failure.outcome) as i32;
    event.payload = stadium_bytes::of(failure.text.as_bytes());
    event.code = stadium_bytes::of(failure.code.as_bytes());
    event.retry_after_ms = u64::try_from(failure.retry_after.as_millis()).unwrap_or(u64::MAX);
    event.number = failure.number;
}

fn number_of(kind: Kind) -> stadium_kind {
    match kind {
        Kind::Answer => stadium_kind::STADIUM_ANSWER,
        Kind::Item => stadium_kind::STADIUM_ITEM,
        Kind::End => stadium_kind::STADIUM_END,
        Kind::Writable => stadium_kind::STADIUM_WRITABLE,
        Kind::Request => stadium_kind::STADIUM_REQUEST,
        Kind::RequestItem => stadium_kind::STADIUM_REQUEST_ITEM,
        Kind::RequestEnd => stadium_kind::STADIUM_REQUEST_END,
        Kind::RequestCancelled => stadium_kind::STADIUM_REQUEST_CANCELLED,
    }
}

fn outcome_of(outcome: Outcome) -> stadium_outcome {
    match outcome {
        Outcome::Ok => stadium_outcome::STADIUM_OK,
        Outcome::Busy => stadium_outcome::STADIUM_BUSY,
        Outcome::Rejected => stadium_outcome::STADIUM_REJECTED,
        Outcome::Unknown => stadium_outcome::STADIUM_UNKNOWN,
        Outcome::Application => stadium_outcome::STADIUM_APPLICATION,
        Outcome::Deadline => stadium_outcome::STADIUM_DEADLINE,
        Outcome::Unavailable => stadium_outcome::STADIUM_UNAVAILABLE,
        Outcome::Broken => stadium_outcome::STADIUM_BROKEN,
        Outcome::Cancelled => stadium_outcome::STADIUM_CANCELLED,
        Outcome::Protocol => stadium_outcome::STADIUM_PROTOCOL,
    }
}
