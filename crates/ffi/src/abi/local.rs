//! A client without a thread, in C.

use std::ffi::c_char;

use super::events::{empty, show, stadium_event};
use super::failing::{guarded, made, status};
use super::options::{options, stadium_method_id, stadium_options};
use super::queue::time_out;
use super::text::{free, object_mut, stadium_bytes, text};
use crate::error::Error;
use crate::event::{Failure, Kind};
use crate::local::{Local, LocalMethod};
use crate::settings::ClientSettings;

/// A client without a thread: it works while its one caller waits. Not for several threads.
pub struct stadium_local {
    client: Local,
    /// The failures of the events that were taken last.
    failures: Vec<Failure>,
}

/// Makes a client that works while stadium_local_take waits; null where the settings are wrong.
///
/// # Safety
/// `settings` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_local_new(settings: *const c_char) -> *mut stadium_local {
    // SAFETY: the caller's promise.
    let settings = unsafe { text(settings, "the settings") };
    made(|| {
        let client = Local::new(&ClientSettings::from_json(settings?)?)?;
        Ok(stadium_local { client, failures: Vec::new() })
    })
}

/// A unary method that can be called: a number for stadium_local_call, or a stadium_status.
///
/// # Safety
/// `local` is a client of this thread, and the route of `method` a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_local_method(local: *mut stadium_local, method: stadium_method_id) -> i32 {
    // SAFETY: the caller's promise.
    let (local, method) = unsafe { (object_mut(local, "the client"), method.read()) };
    guarded(
        |status| status as i32,
        || {
            let LocalMethod(place) = local?.client.method(method?)?;
            i32::try_from(place).map_err(|_| Error::invalid("there are too many methods"))
        },
    )
}

/// Begins a unary call; it leaves when the caller waits.
///
/// # Safety
/// `local` is a client of this thread, and the bytes of `request` and the options are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_local_call(
    local: *mut stadium_local,
    method: i32,
    request: stadium_bytes,
    call_options: *const stadium_options,
) -> i32 {
    // SAFETY: the caller's promise.
    let (local, request, options) =
        unsafe { (object_mut(local, "the client"), request.read("the request"), options(call_options)) };
    status(|| {
        let method =
            u32::try_from(method).map_err(|_| Error::invalid(format!("there is no method {method}")))?;
        local?.client.call(LocalMethod(method), request?, &options?.0)
    })
}

/// Takes up to `max` calls that have ended, after waiting as stadium_queue_take. Answers stay where
/// the client has them until the next stadium_local_take, so events need no release.
///
/// # Safety
/// `local` is a client of this thread, and `events` has room for `max` events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_local_take(
    local: *mut stadium_local,
    events: *mut stadium_event,
    max: usize,
    timeout_us: i64,
) -> i64 {
    // SAFETY: the caller's promise.
    let local = unsafe { object_mut(local, "the client") };
    guarded(
        |status| status as i64,
        || {
            let stadium_local { client, failures } = local?;
            if events.is_null() || max == 0 {
                return Err(Error::invalid("there is no room for events"));
            }
            failures.clear();
            let mut place = 0;
            let taken = client.take(max, time_out(timeout_us), |(tag, answer)| {
                let mut event = empty(Kind::Answer, tag);
                match answer {
                    Ok(bytes) => event.payload = stadium_bytes::of(bytes),
                    Err(failure) => {
                        // The event points at the texts, which stay where they are when the list moves.
                        show(&mut event, &failure);
                        failures.push(failure);
                    }
                }
                // SAFETY: there are at most `max` of them, for which the caller has promised room.
                unsafe { events.add(place).write(event) };
                place += 1;
            })?;
            Ok(taken as i64)
        },
    )
}

/// Frees a client, and gives its calls up.
///
/// # Safety
/// `local` is null or a client of this thread, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_local_free(local: *mut stadium_local) {
    // SAFETY: the caller's promise.
    unsafe { free(local) };
}
