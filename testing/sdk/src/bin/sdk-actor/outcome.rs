//! The outcome of a call, in JSON.

use serde_json::{Value, json};
use stadium_rpc::CallError;

use crate::mutant;
use crate::proto::Reply;

/// The answer to an order that called.
pub fn of(result: &Result<Reply, CallError>) -> Value {
    match result {
        Ok(reply) => json!({"outcome": "ok", "reply": reply_of(reply)}),
        Err(error) => failure(error),
    }
}

/// One word for each outcome.
pub fn kind(error: &CallError) -> &'static str {
    match error {
        CallError::Busy { .. } if mutant::is("busy-is-unknown") => "unknown",
        CallError::Busy { .. } => "busy",
        CallError::Rejected { .. } => "rejected",
        CallError::Unknown { .. } => "unknown",
        CallError::Application { .. } => "application",
        CallError::Deadline if mutant::is("deadline-is-broken") => "broken",
        CallError::Deadline => "deadline",
        CallError::Unavailable(_) => "unavailable",
        CallError::Broken(_) => "broken",
        CallError::Cancelled => "cancelled",
        CallError::Protocol(_) => "protocol",
    }
}

pub fn failure(error: &CallError) -> Value {
    let mut outcome = json!({"outcome": kind(error), "text": error.to_string()});
    match error {
        CallError::Busy { retry_after, reason } => {
            outcome["retry_after_ms"] = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX).into();
            outcome["text"] = reason.as_str().into();
        }
        CallError::Rejected { code, reason } | CallError::Unknown { code, reason } => {
            outcome["code"] = if mutant::is("loses-codes") { "" } else { code.as_str() }.into();
            outcome["text"] = reason.as_str().into();
        }
        CallError::Application { code, text } => {
            outcome["number"] = (*code).into();
            outcome["text"] = text.as_str().into();
        }
        _ => {}
    }
    outcome
}

pub fn reply_of(reply: &Reply) -> Value {
    json!({
        "text": reply.text,
        "instance": reply.instance,
        "key": reply.key,
        "bearer": reply.bearer,
        "time_left_ms": reply.time_left_ms,
        "attempt": reply.attempt,
        "padding_bytes": reply.padding_bytes,
        "number": reply.number,
        "received_padding_bytes": reply.padding.len(),
    })
}
