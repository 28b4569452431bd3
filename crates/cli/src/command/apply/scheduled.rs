//! The job of a queue's schedule, as it is declared and as the API shows it.
//!
//! A payload is declared as a text, as any other value, or in base64, and is shown as a text where
//! its bytes are one. Both are brought into one form. A payload that this caller may not see is not
//! compared.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The declared schedule and the one that the server has, for [`super::diff::fields`].
pub(super) fn comparable(declared: &Value, present: &Value) -> (Value, Value) {
    let (mut declared, mut present) = (declared.clone(), present.clone());
    let shown = present.get_mut("job").and_then(take);
    let wanted = declared.get_mut("job").and_then(take);
    if let (Some(wanted), Some(shown)) = (wanted, shown)
        && !is_same(&wanted, &shown)
    {
        declared["job"]["payload"] = wanted;
        present["job"]["payload"] = shown;
    }
    (declared, present)
}

/// Takes the payload out of a job: a text where its bytes are one, what is in base64 else.
fn take(job: &mut Value) -> Option<Value> {
    let fields = job.as_object_mut()?;
    let (payload, encoded) = (fields.remove("payload"), fields.remove("payload_base64"));
    let decoded = |encoded: Value| {
        let bytes = encoded.as_str().and_then(|text| STANDARD.decode(text).ok());
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map_or(encoded, Value::String)
    };
    payload.or(encoded.map(decoded))
}

/// Whether a declared payload is the text that is shown: other values are their JSON.
fn is_same(wanted: &Value, shown: &Value) -> bool {
    let text = shown.as_str().unwrap_or_default();
    wanted == shown
        || !wanted.is_string() && serde_json::from_str::<Value>(text).is_ok_and(|shown| shown == *wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::command::apply::diff;

    #[test]
    fn a_payload_is_compared_in_each_of_its_spellings() {
        for (declared, present, differs) in [
            (json!({"payload": "x"}), json!({"payload": "x"}), &[][..]),
            (json!({"payload": {"a": [1]}}), json!({"payload": "{\"a\":[1]}"}), &[]),
            (json!({"payload": "{\"a\": 1}"}), json!({"payload": "{\"a\":1}"}), &["job.payload"]),
            (json!({"payload_base64": "eA=="}), json!({"payload": "x"}), &[]),
            (json!({"payload_base64": "/w=="}), json!({"payload_base64": "/w=="}), &[]),
            (json!({"payload_base64": "/w=="}), json!({"payload": "x"}), &["job.payload"]),
            (
                json!({"payload": 5, "priority": 9}),
                json!({"payload": "4", "priority": 4}),
                &["job.payload", "job.priority"],
            ),
            (json!({"payload": "x"}), json!({"priority": 4}), &[]),
        ] {
            let (one, other) = comparable(&json!({"job": declared}), &json!({"job": present}));
            let found = diff::fields(&one, &other, &[]);
            let paths: Vec<&str> = found.iter().map(|field| field.path.as_str()).collect();
            assert_eq!(paths, differs, "{declared} {present}");
        }
    }
}
