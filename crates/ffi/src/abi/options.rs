//! The options of a call, and the names of methods.

use std::ffi::c_char;
use std::time::Duration;

use stadium_rpc::{CallOptions, Idempotency, Interaction};

use super::text::{stadium_bytes, text};
use crate::error::Error;
use crate::method::MethodId;

/// How a method's messages go.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum stadium_interaction {
    /// One request, one answer.
    STADIUM_UNARY = 0,
    /// One request, no answer.
    STADIUM_ONE_WAY = 1,
    /// One request, a stream of answers.
    STADIUM_STREAM = 2,
    /// A stream of requests, a stream of answers.
    STADIUM_CHANNEL = 3,
}

/// A method.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct stadium_method_id {
    /// SERVICE/METHOD.
    pub route: *const c_char,
    /// A stadium_interaction.
    pub interaction: i32,
    /// Not 0 where the method may be called twice: such calls are tried again and hedged.
    pub idempotent: i32,
}

/// The options of a call. All zero is the default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct stadium_options {
    /// Stands in the events of the call.
    pub tag: u64,
    /// The longest that the caller waits, in microseconds; 0 for the client's default.
    pub deadline_us: u64,
    /// Calls with the same key go to the same instance while it lives. No pointer for no key.
    pub key: stadium_bytes,
    /// Composite metadata that is added to the request.
    pub metadata: stadium_bytes,
    /// Messages of a stream that the caller wants to begin with; 0 for 64.
    pub credit: u32,
}

/// Messages that a stream's caller wants to begin with.
const CREDIT_DEFAULT: u32 = 64;

impl stadium_method_id {
    /// The method.
    ///
    /// # Safety
    /// `route` is a text as C has it.
    pub(super) unsafe fn read(self) -> Result<MethodId, Error> {
        // SAFETY: the caller's promise.
        let route = unsafe { text(self.route, "the route") }?;
        let interaction = match self.interaction {
            0 => Interaction::Unary,
            1 => Interaction::OneWay,
            2 => Interaction::Stream,
            3 => Interaction::Channel,
            other => return Err(Error::invalid(format!("{other} is no stadium_interaction"))),
        };
        let idempotency = match self.idempotent {
            0 => Idempotency::Unknown,
            _ => Idempotency::Idempotent,
        };
        MethodId::new(route, interaction, idempotency)
    }
}

/// The options of a call, and its credit.
///
/// # Safety
/// `options` is null for the defaults, or points at options whose bytes nobody changes meanwhile.
pub(super) unsafe fn options<'a>(options: *const stadium_options) -> Result<(CallOptions<'a>, u32), Error> {
    // SAFETY: the caller's promise.
    let Some(options) = (unsafe { options.as_ref() }) else {
        return Ok((CallOptions::default(), CREDIT_DEFAULT));
    };
    let read = CallOptions {
        deadline: (options.deadline_us > 0).then(|| Duration::from_micros(options.deadline_us)),
        // SAFETY: the caller's promise, for both.
        key: unsafe { options.key.read_optional("the key") }?,
        metadata: unsafe { options.metadata.read("the metadata") }?,
        tag: options.tag,
    };
    Ok((read, if options.credit == 0 { CREDIT_DEFAULT } else { options.credit }))
}
