//! The three answers: OK, Busy, Rejected; and what else can become of a call.
//!
//! *Busy*: nothing happened, the caller still owns the request and may come back. *Rejected*: nothing
//! happened and it will never work. Server functions say so with [`Refusal`]; callers read [`CallError`].

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// How a service declines a request. Nothing has happened.
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
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { retry_after, reason } => {
                write!(f, "busy, retry after {} ms: {reason}", retry_after.as_millis())
            }
            Self::Rejected { code, reason } => write!(f, "rejected: {reason} ({code})"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The service is busy; nothing happened.
    Busy {
        /// When it is worth asking again.
        retry_after: Duration,
        /// What the service said.
        reason: String,
    },
    /// The service will never do it; nothing happened.
    Rejected {
        /// A stable code, such as `GEO-001`.
        code: String,
        /// What the service said.
        reason: String,
    },
    /// The deadline passed. Whether the service did the work is unknown.
    Deadline,
    /// No instance could be reached; nothing happened.
    Unavailable(String),
    /// The connection broke while the call was under way. Whether the service did the work is unknown.
    Broken(String),
    /// The caller gave up.
    Cancelled,
    /// The peer said something that cannot be understood.
    Protocol(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { retry_after, reason } => {
                write!(f, "busy, retry after {} ms: {reason}", retry_after.as_millis())
            }
            Self::Rejected { code, reason } => write!(f, "rejected: {reason} ({code})"),
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
    /// For a service that calls another one: what became of that call, told to the caller of this one.
    fn from(error: CallError) -> Self {
        match error {
            CallError::Busy { retry_after, reason } => Self::busy(retry_after, reason),
            CallError::Rejected { code, reason } => Self::rejected(code, reason),
            CallError::Unavailable(why) => Self::busy(Duration::from_secs(1), why),
            other => Self::rejected("RPC-009", other.to_string()),
        }
    }
}
