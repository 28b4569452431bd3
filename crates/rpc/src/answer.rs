//! The answers: OK, Busy, Rejected, Unknown; and what else can become of a call.
//!
//! *Busy*: nothing happened, the caller still owns the request and may come back. *Rejected*: nothing
//! happened and it will never work. *Unknown*: it may have happened; ask again with the same id. Server functions
//! say so with [`Refusal`]; callers read [`CallError`].

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// An RSocket error code that a service may choose for an error of its own: APPLICATION_ERROR, or one that the
/// specification leaves to applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ApplicationCode(u32);

impl ApplicationCode {
    /// APPLICATION_ERROR.
    pub const ERROR: Self = Self(0x201);

    /// 0x201, or 0x301 to 0xFFFFFFFE; the others have a meaning of their own (Error Codes).
    #[must_use]
    pub const fn new(code: u32) -> Option<Self> {
        match code {
            0x201 | 0x301..=0xFFFF_FFFE => Some(Self(code)),
            _ => None,
        }
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// How a service declines a request, or fails on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not now.
    Busy {
        /// When it is worth asking again.
        retry_after: Duration,
        /// For people.
        reason: Cow<'static, str>,
    },
    /// Never.
    Rejected {
        /// A stable code, such as `GEO-001`.
        code: Cow<'static, str>,
        /// What is wrong, with what, and what to do.
        reason: Cow<'static, str>,
    },
    /// It may have happened, or a part of it: the function failed on its way.
    Unknown {
        /// A stable code, such as `GEO-007`.
        code: Cow<'static, str>,
        /// What went wrong, with what.
        reason: Cow<'static, str>,
    },
    /// An error of the service's own, for callers that know it; its meaning for the request is the
    /// service's business. It travels as it is, without a code before its text.
    Application {
        /// The RSocket error code.
        code: ApplicationCode,
        /// The error frame's data.
        text: Cow<'static, str>,
    },
}

impl Refusal {
    /// Not now: come back after that time.
    pub fn busy(retry_after: Duration, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Busy { retry_after, reason: reason.into() }
    }

    /// Never: a stable code such as `GEO-001`, and what is wrong.
    pub fn rejected(code: impl Into<Cow<'static, str>>, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Rejected { code: code.into(), reason: reason.into() }
    }

    /// It may have happened: a stable code such as `GEO-007`, and what went wrong.
    pub fn unknown(code: impl Into<Cow<'static, str>>, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Unknown { code: code.into(), reason: reason.into() }
    }

    /// An error of the service's own, as it is to stand in the error frame. Clients of ours read a text that begins
    /// with a code and a colon, under [`ApplicationCode::ERROR`], as a rejection.
    pub fn application(code: ApplicationCode, text: impl Into<Cow<'static, str>>) -> Self {
        Self::Application { code, text: text.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { retry_after, reason } => {
                write!(f, "busy, retry after {} ms: {reason}", retry_after.as_millis())
            }
            Self::Rejected { code, reason } => write!(f, "rejected: {reason} ({code})"),
            Self::Unknown { code, reason } => write!(f, "unknown whether it happened: {reason} ({code})"),
            Self::Application { code, text } => write!(f, "error {:#x}: {text}", code.number()),
        }
    }
}

impl std::error::Error for Refusal {}

/// An instance that was tried for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempted {
    /// Its address, or the name that has none.
    pub address: String,
    /// Why it was of no use.
    pub why: String,
}

/// Why no instance of a service could be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// What is wrong.
    pub reason: String,
    /// The instances that are known, and how the last attempt at each ended; the first few of very many.
    pub tried: Vec<Attempted>,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        for (nth, one) in self.tried.iter().enumerate() {
            write!(f, "{} {}: {}", if nth == 0 { ":" } else { "," }, one.address, one.why)?;
        }
        Ok(())
    }
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The service is busy; nothing happened.
    Busy {
        /// When it is worth asking again.
        retry_after: Duration,
        /// The text of the service.
        reason: String,
    },
    /// The service will never do it; nothing happened.
    Rejected {
        /// A stable code, such as `GEO-001`.
        code: String,
        /// The text of the service.
        reason: String,
    },
    /// The service failed on its way. Whether it did the work is unknown: ask again with the same id.
    Unknown {
        /// A stable code, such as `RPC-007`.
        code: String,
        /// The text of the service.
        reason: String,
    },
    /// An error of the service's own, or of a server that is not Stadium's. Its meaning for the
    /// request is that service's business; where it has none, whether the work was done is unknown.
    Application {
        /// The RSocket error code.
        code: u32,
        /// The error frame's data.
        text: String,
    },
    /// The deadline passed. Whether the service did the work is unknown.
    Deadline,
    /// No instance could be reached; nothing happened.
    Unavailable(Box<Unavailable>),
    /// The connection broke while the call was under way. Whether the service did the work is unknown.
    Broken(String),
    /// The caller gave up.
    Cancelled,
    /// The peer sent something that cannot be understood.
    Protocol(String),
}

impl CallError {
    /// No instance could be reached, and none was tried.
    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable(Box::new(Unavailable { reason: reason.into(), tried: Vec::new() }))
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { retry_after, reason } => {
                write!(f, "busy, retry after {} ms: {reason}", retry_after.as_millis())
            }
            Self::Rejected { code, reason } => write!(f, "rejected: {reason} ({code})"),
            Self::Unknown { code, reason } => write!(f, "unknown whether it happened: {reason} ({code})"),
            Self::Application { code, text } => write!(f, "error {code:#010x}: {text}"),
            Self::Deadline => f.write_str("the deadline passed before an answer came"),
            Self::Unavailable(why) => write!(f, "unavailable: {why}"),
            Self::Broken(why) => write!(f, "the connection broke under the call: {why}"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Protocol(why) => write!(f, "the answer cannot be understood: {why}"),
        }
    }
}

impl std::error::Error for CallError {}

impl From<CallError> for Refusal {
    /// For a service that calls another one: the outcome of that call, reported to the caller of
    /// this one.
    fn from(error: CallError) -> Self {
        match error {
            CallError::Busy { retry_after, reason } => Self::busy(retry_after, reason),
            CallError::Rejected { code, reason } => Self::rejected(code, reason),
            CallError::Unavailable(why) => Self::busy(Duration::from_secs(1), why.to_string()),
            // That service may have done its work.
            other => Self::unknown("RPC-009", other.to_string()),
        }
    }
}
