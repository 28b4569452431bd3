//! Requests that a server has to answer, in C.
//!
//! A pointer to one arrives with STADIUM_REQUEST, and belongs to the program until it frees it.

use std::ffi::c_char;
use std::time::Duration;

use stadium_rpc::metadata::authentication::Authentication;

use super::events::stadium_outcome;
use super::failing::{guarded, status};
use super::text::{free, object, stadium_bytes, text};
use crate::error::Error;
use crate::event::{Failure, Outcome};
use crate::request::Request;

/// A request that a server has to answer.
pub type stadium_request = Request;

/// Answers a unary request; the message is copied. Ends a stream or a channel, and its bytes are
/// not sent. STADIUM_ENDED: it was answered, or nobody waits any more.
///
/// # Safety
/// `request` is a request, and the bytes of `message` are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_request_answer(
    request: *const stadium_request,
    message: stadium_bytes,
) -> i32 {
    // SAFETY: the caller's promise.
    let (request, message) = unsafe { (object(request, "the request"), message.read("the message")) };
    status(|| request?.answer(Ok(message?.to_vec())))
}

/// How a request is refused.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct stadium_refusal {
    /// STADIUM_BUSY, STADIUM_REJECTED, STADIUM_UNKNOWN or STADIUM_APPLICATION.
    pub outcome: i32,
    /// The stable code of STADIUM_REJECTED and STADIUM_UNKNOWN, such as GEO-001; otherwise null.
    pub code: *const c_char,
    /// For people.
    pub text: *const c_char,
    /// Of STADIUM_BUSY.
    pub retry_after_ms: u64,
    /// Of STADIUM_APPLICATION: 0x201, or 0x301 to 0xFFFFFFFE.
    pub number: u32,
}

impl stadium_refusal {
    /// The refusal.
    ///
    /// # Safety
    /// Its texts are texts as C has them.
    unsafe fn read(self) -> Result<stadium_rpc::Refusal, Error> {
        let coded = [stadium_outcome::STADIUM_REJECTED, stadium_outcome::STADIUM_UNKNOWN];
        let outcome = match self.outcome {
            1 => Outcome::Busy,
            2 => Outcome::Rejected,
            3 => Outcome::Unknown,
            4 => Outcome::Application,
            other => return Err(Error::invalid(format!("{other} is no outcome that a service can choose"))),
        };
        let code = match coded.iter().any(|coded| *coded as i32 == self.outcome) {
            // SAFETY: the caller's promise.
            true => unsafe { text(self.code, "the code") }?.to_owned(),
            false => String::new(),
        };
        let failure = Failure {
            outcome,
            code,
            // SAFETY: the caller's promise.
            text: unsafe { text(self.text, "the text") }?.to_owned(),
            retry_after: Duration::from_millis(self.retry_after_ms),
            number: self.number,
        };
        let number = self.number;
        failure.into_refusal().ok_or_else(|| {
            Error::invalid(format!("{number:#x} is no application code: 0x201, or 0x301 to 0xFFFFFFFE"))
        })
    }
}

/// Refuses a request, or ends a stream or a channel with an error.
///
/// # Safety
/// `request` is a request, and the texts of `refusal` are texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_request_refuse(
    request: *const stadium_request,
    refusal: stadium_refusal,
) -> i32 {
    // SAFETY: the caller's promise.
    let (request, refusal) = unsafe { (object(request, "the request"), refusal.read()) };
    status(|| request?.answer(Err(refusal?)))
}

/// Sends a message of a stream or a channel, which is copied. STADIUM_FULL: 64 messages wait for
/// the caller; this one was not taken, and STADIUM_WRITABLE with the request's id follows.
///
/// # Safety
/// `request` is a request, and the bytes of `message` are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_request_send(
    request: *const stadium_request,
    message: stadium_bytes,
) -> i32 {
    // SAFETY: the caller's promise.
    let (request, message) = unsafe { (object(request, "the request"), message.read("the message")) };
    status(|| request?.send(message?.to_vec()))
}

/// Takes `count` more messages of a channel's caller; they arrive as STADIUM_REQUEST_ITEM. A
/// channel begins with none.
///
/// # Safety
/// `request` is a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_request_want(request: *const stadium_request, count: u32) -> i32 {
    // SAFETY: the caller's promise.
    let request = unsafe { object(request, "the request") };
    status(|| request?.want(count))
}

/// The time that is left of the caller's deadline, in microseconds; 0 where it has passed.
///
/// # Safety
/// `request` is a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_request_time_left_us(request: *const stadium_request) -> i64 {
    // SAFETY: the caller's promise.
    let request = unsafe { object(request, "the request") };
    guarded(
        |status| status as i64,
        || Ok(i64::try_from(request?.time_left().as_micros()).unwrap_or(i64::MAX)),
    )
}

/// The composite metadata, as it came. It is valid until the request is freed, as all bytes of it.
///
/// # Safety
/// `request` is a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_request_metadata(request: *const stadium_request) -> stadium_bytes {
    // SAFETY: the caller's promise.
    unsafe { part(request, |request| Some(request.context().metadata())) }
}

/// SERVICE/METHOD.
///
/// # Safety
/// `request` is a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_request_route(request: *const stadium_request) -> stadium_bytes {
    // SAFETY: the caller's promise.
    unsafe { part(request, |request| Some(request.context().route().as_bytes())) }
}

/// The affinity key; no pointer where the caller gave none.
///
/// # Safety
/// `request` is a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_request_key(request: *const stadium_request) -> stadium_bytes {
    // SAFETY: the caller's promise.
    unsafe { part(request, |request| request.context().key()) }
}

/// The bearer token that the caller showed; no pointer where there is none.
///
/// # Safety
/// `request` is a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_request_bearer(request: *const stadium_request) -> stadium_bytes {
    let bearer = |request: &'static Request| match request.context().authentication() {
        Some(Authentication::Bearer(token)) => Some(token.as_bytes()),
        _ => None,
    };
    // SAFETY: the caller's promise.
    unsafe { part(request, bearer) }
}

/// Bytes of a request, or none.
///
/// # Safety
/// `request` is null or a request. The bytes are not used after it is freed, which `'static` does
/// not say.
unsafe fn part(
    request: *const stadium_request,
    of: impl FnOnce(&'static Request) -> Option<&'static [u8]>,
) -> stadium_bytes {
    // SAFETY: the caller's promise.
    let request = unsafe { object(request, "the request") };
    guarded(|_| stadium_bytes::EMPTY, || Ok(of(request?).map_or(stadium_bytes::EMPTY, stadium_bytes::of)))
}

/// Frees a request. One that was not answered is answered as unknown (RPC-007).
///
/// # Safety
/// `request` is null or a request, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_request_free(request: *mut stadium_request) {
    // SAFETY: the caller's promise.
    unsafe { free(request) };
}
