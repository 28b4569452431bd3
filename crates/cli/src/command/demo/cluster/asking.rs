//! How the demo asks the nodes: again, while a shard is on its way from one node to another.

use serde_json::Value;

use super::parts::until;
use crate::api::{Api, Ask, Method, Refused};
use crate::failure::Failure;
use crate::interrupted::Interrupted;

/// One POST of a JSON body, with the sort of the refusal.
pub(super) fn post(api: &Api, path: &str, body: &Value) -> Result<Value, Refused> {
    api.ask(Ask { method: Method::Post, path, body: Some(&body.to_string()), idempotency_key: None })
}

/// One GET; none where the cluster is busy or did not answer.
pub(super) fn look(api: &Api, path: &str) -> Result<Option<Value>, Failure> {
    answered(api.ask(Ask { method: Method::Get, path, body: None, idempotency_key: None }))
}

/// Asks until there is an answer, or a refusal that stays. What it asks for may be asked twice.
pub(super) fn insist(
    interrupted: &Interrupted,
    api: &Api,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, Failure> {
    let body = body.map(Value::to_string);
    until(interrupted, "the cluster does not answer", || {
        answered(api.ask(Ask { method, path, body: body.as_deref(), idempotency_key: None }))
    })
}

fn answered(answer: Result<Value, Refused>) -> Result<Option<Value>, Failure> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Refused::Rejected { failure, .. }) => Err(failure),
        Err(Refused::Unanswered(_) | Refused::Busy { .. }) => Ok(None),
    }
}
