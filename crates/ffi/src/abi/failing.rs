//! Results as C has them, and the error of the thread's last call that failed.

use std::cell::{Cell, RefCell};
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Error;

/// Why a function failed. Negative, so that it can stand where a count does.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum stadium_status {
    /// The function did what it was asked for.
    STADIUM_DONE = 0,
    /// An argument or a setting is wrong. Nothing happened.
    STADIUM_INVALID = -1,
    /// The system refuses a thread, a descriptor or an address.
    STADIUM_SYSTEM = -2,
    /// A bound is reached. Nothing happened; STADIUM_WRITABLE follows.
    STADIUM_FULL = -3,
    /// The call, the stream or the request has ended.
    STADIUM_ENDED = -4,
    /// The process was forked after the object was made: its threads are in the parent.
    STADIUM_FORKED = -5,
    /// A defect of this library.
    STADIUM_INTERNAL = -6,
}

thread_local! {
    /// Ends with a zero byte, unless it is empty.
    static LAST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static LAST_STATUS: Cell<stadium_status> = const { Cell::new(stadium_status::STADIUM_DONE) };
}

/// Why the last function that failed on this thread did; empty where none has. It is valid until
/// the next function fails on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn stadium_last_error() -> *const c_char {
    LAST.with(|last| {
        let last = last.borrow();
        if last.is_empty() { c"".as_ptr() } else { last.as_ptr().cast() }
    })
}

/// The stadium_status of the last function that failed on this thread: why a function returned
/// null. STADIUM_DONE where none has failed.
#[unsafe(no_mangle)]
pub extern "C" fn stadium_last_status() -> i32 {
    LAST_STATUS.get() as i32
}

/// Runs a function's body: its value, or `failed` made from the status.
pub(super) fn guarded<T>(
    failed: impl FnOnce(stadium_status) -> T,
    body: impl FnOnce() -> Result<T, Error>,
) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => {
            let status = status_of(&error);
            remember(status, &error.to_string());
            failed(status)
        }
        Err(panic) => {
            // Dropping what was thrown may throw again.
            std::mem::forget(panic);
            let status = stadium_status::STADIUM_INTERNAL;
            remember(status, "a defect of the stadium library; its message is on stderr");
            failed(status)
        }
    }
}

/// Runs the body of a function that returns a status.
pub(super) fn status(body: impl FnOnce() -> Result<(), Error>) -> i32 {
    guarded(|status| status as i32, || body().map(|()| stadium_status::STADIUM_DONE as i32))
}

/// Runs the body of a function that makes an object; null where it fails.
pub(super) fn made<T>(body: impl FnOnce() -> Result<T, Error>) -> *mut T {
    guarded(|_| std::ptr::null_mut(), || Ok(Box::into_raw(Box::new(body()?))))
}

fn remember(status: stadium_status, text: &str) {
    LAST_STATUS.set(status);
    LAST.with(|last| {
        let mut last = last.borrow_mut();
        last.clear();
        last.extend(text.bytes().filter(|byte| *byte != 0));
        last.push(0);
    });
}

fn status_of(error: &Error) -> stadium_status {
    match error {
        Error::Invalid(_) => stadium_status::STADIUM_INVALID,
        Error::System(_) => stadium_status::STADIUM_SYSTEM,
        Error::Full => stadium_status::STADIUM_FULL,
        Error::Ended => stadium_status::STADIUM_ENDED,
        Error::Forked => stadium_status::STADIUM_FORKED,
    }
}
