//! The events of clients and servers.
//!
//! An event owns its bytes. Its tag is the number that the other language chose for the call, or for the
//! method of a request.

use std::time::Duration;

use stadium_rpc::{CallError, Refusal};

use crate::request::Request;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A unary call has ended.
    Answer,
    /// A stream has a message.
    Item,
    /// A stream has ended; no more messages follow.
    End,
    /// A stream or a request that was full takes messages again.
    Writable,
    /// A server has a request.
    Request,
    /// The caller of a channel has sent a message.
    RequestItem,
    /// The caller of a channel has sent its last message.
    RequestEnd,
    /// Nobody waits for the answer to a request any more.
    RequestCancelled,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered.
    Ok,
    /// The service is busy; nothing happened.
    Busy,
    /// The service will never do it; nothing happened.
    Rejected,
    /// The service failed on its way: it may have happened.
    Unknown,
    /// An error of the service's own.
    Application,
    /// The deadline passed: it may have happened.
    Deadline,
    /// No instance could be reached; nothing happened.
    Unavailable,
    /// The connection broke during the call: it may have happened.
    Broken,
    /// The caller gave up.
    Cancelled,
    /// The peer sent something that cannot be understood.
    Protocol,
}

/// A call without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How it ended; not [`Outcome::Ok`].
    pub outcome: Outcome,
    /// A stable code such as `GEO-001`; empty where there is none.
    pub code: String,
    /// For people.
    pub text: String,
    /// After which time a busy service is worth asking again.
    pub retry_after: Duration,
    /// The RSocket error code of [`Outcome::Application`], otherwise 0.
    pub number: u32,
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let shown = error.to_string();
        let failure = |outcome, code: String, text: String| Self {
            outcome,
            code,
            text,
            retry_after: Duration::ZERO,
            number: 0,
        };
        let plain = |outcome| failure(outcome, String::new(), shown);
        match error {
            CallError::Busy { retry_after, reason } => {
                Self { retry_after, ..failure(Outcome::Busy, String::new(), reason) }
            }
            CallError::Rejected { code, reason } => failure(Outcome::Rejected, code, reason),
            CallError::Unknown { code, reason } => failure(Outcome::Unknown, code, reason),
            CallError::Application { code, text } => {
                Self { number: code, ..failure(Outcome::Application, String::new(), text) }
            }
            CallError::Deadline => plain(Outcome::Deadline),
            CallError::Unavailable(_) => plain(Outcome::Unavailable),
            CallError::Broken(_) => plain(Outcome::Broken),
            CallError::Cancelled => plain(Outcome::Cancelled),
            CallError::Protocol(_) => plain(Outcome::Protocol),
        }
    }
}

impl Failure {
    /// The refusal that a server's function returns for it; `None` for outcomes that a function cannot
    /// choose.
    #[must_use]
    pub fn into_refusal(self) -> Option<Refusal> {
        let Self { outcome, code, text, retry_after, number } = self;
        match outcome {
            Outcome::Busy => Some(Refusal::busy(retry_after, text)),
            Outcome::Rejected => Some(Refusal::rejected(code, text)),
            Outcome::Unknown => Some(Refusal::unknown(code, text)),
            Outcome::Application => {
                let number = stadium_rpc::ApplicationCode::new(number)?;
                Some(Refusal::application(number, text))
            }
            _ => None,
        }
    }
}

/// Something that has happened.
#[derive(Debug)]
pub struct Event {
    /// The kind.
    pub kind: Kind,
    /// The tag of the call; of a request: its method's.
    pub tag: u64,
    /// Names the request in all of its events; 0 for calls.
    pub request_id: u64,
    /// The bytes of the answer or of the message, or how it ended instead.
    pub payload: Result<Vec<u8>, Failure>,
    /// The request itself, with [`Kind::Request`].
    pub request: Option<Request>,
}

impl Event {
    /// An event of a call.
    #[must_use]
    pub fn of_call(kind: Kind, tag: u64, payload: Result<Vec<u8>, CallError>) -> Self {
        Self { kind, tag, request_id: 0, payload: payload.map_err(Failure::from), request: None }
    }
}
