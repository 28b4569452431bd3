//! Compares what is declared with what a server shows.
//!
//! Declared fields alone count: what a file leaves out stays. Lists that are sets are compared as
//! such. A field that the API never shows is not compared.

use serde_json::Value;

/// Lists whose order means nothing.
const SETS: [&str; 7] = ["roles", "apps", "grants", "kinds", "topics", "tags", "attributes"];

/// Characters of a value that are shown.
const SHOWN_CHARS_MAX: usize = 60;

/// A field that differs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    /// Its place, such as `backoff.first_ms`.
    pub(super) path: String,
    /// The present value; none where there is none.
    pub(super) from: Option<Value>,
    /// The declared one.
    pub(super) to: Value,
}

/// The fields of `declared` that differ in `present`, those in `unseen` left out.
pub(super) fn fields(declared: &Value, present: &Value, unseen: &[&str]) -> Vec<Field> {
    let mut found = Vec::new();
    walk(declared, Some(present), "", unseen, &mut found);
    found
}

/// Every field, for something new.
pub(super) fn all(declared: &Value) -> Vec<Field> {
    let fields = declared.as_object().into_iter().flatten();
    fields.map(|(name, value)| Field { path: name.clone(), from: None, to: value.clone() }).collect()
}

fn walk(declared: &Value, present: Option<&Value>, path: &str, unseen: &[&str], found: &mut Vec<Field>) {
    match (declared, present) {
        (Value::Object(fields), Some(Value::Object(there))) => {
            for (name, value) in fields.iter().filter(|(name, _)| !unseen.contains(&name.as_str())) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(value, there.get(name), &path, unseen, found);
            }
        }
        _ if is_same(declared, present, path, unseen) => {}
        _ => {
            let from = present.filter(|value| !value.is_null()).cloned();
            found.push(Field { path: path.to_owned(), from, to: declared.clone() });
        }
    }
}

fn is_same(declared: &Value, present: Option<&Value>, path: &str, unseen: &[&str]) -> bool {
    match (declared, present) {
        (Value::Null, None | Some(Value::Null)) => true,
        // Nothing is shown as a list that is empty, or as none.
        (Value::Array(list), None | Some(Value::Null)) => list.is_empty(),
        (_, None) => false,
        (Value::Array(one), Some(Value::Array(other))) => {
            let (mut one, mut other) = (one.clone(), other.clone());
            let last = path.rsplit(['.', ']']).next().unwrap_or(path);
            let by_name = one.iter().chain(&other).all(|item| item.get("name").is_some_and(Value::is_string));
            if SETS.contains(&last) {
                one.sort_by_key(ToString::to_string);
                other.sort_by_key(ToString::to_string);
            } else if by_name {
                one.sort_by_key(|item| item["name"].to_string());
                other.sort_by_key(|item| item["name"].to_string());
            }
            let same = |(one, other): (&Value, &Value)| {
                let mut found = Vec::new();
                walk(one, Some(other), path, unseen, &mut found);
                found.is_empty()
            };
            one.len() == other.len() && one.iter().zip(&other).all(same)
        }
        (Value::Number(one), Some(Value::Number(other))) => {
            // Fractions are kept in 32 bits by the server.
            one == other
                || one.as_f64().zip(other.as_f64()).is_some_and(|(one, other)| one as f32 == other as f32)
        }
        (declared, Some(present)) => declared == present,
    }
}

/// A value for people, on one line; a secret is not shown.
pub(super) fn shown(path: &str, value: &Value) -> String {
    crate::shown::clean(&hidden(path, value).to_string(), SHOWN_CHARS_MAX)
}

/// A value without its secrets.
pub(super) fn hidden(path: &str, value: &Value) -> Value {
    match value {
        Value::String(_) if path.rsplit('.').next() == Some("secret") => "(secret)".into(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), hidden(name, value))).collect())
        }
        Value::Array(items) => items.iter().map(|item| hidden(path, item)).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn declared_fields_alone_count() {
        let present = json!({
            "a": 1, "b": {"c": 2.0, "d": 3}, "roles": ["x", "y"], "jitter": 0.30000001192092896,
            "feeds": [{"name": "m", "webhook": {"url": "u"}}, {"name": "k"}], "actions": [1, 2],
        });
        for (declared, differs) in [
            (json!({}), &[][..]),
            (json!({"a": 1, "b": {"c": 2}, "roles": ["y", "x"], "cap": null, "jitter": 0.3}), &[]),
            (
                json!({"feeds": [{"name": "k"}, {"name": "m", "webhook": {"url": "u", "secret": "s"}}], "tags": []}),
                &[],
            ),
            (json!({"a": 2, "b": {"d": 4, "e": true}}), &["a", "b.d", "b.e"]),
            (json!({"actions": [2, 1], "roles": ["x"], "cap": {"pushes": 1}}), &["actions", "cap", "roles"]),
        ] {
            let found = fields(&declared, &present, &["secret"]);
            let paths: Vec<&str> = found.iter().map(|field| field.path.as_str()).collect();
            assert_eq!(paths, differs, "{declared}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let feeds = json!([{"name": "a", "webhook": {"url": "u", "secret": "whsec_x"}}]);
        assert!(!shown("feeds", &feeds).contains("whsec_x"));
        assert_eq!(shown("secret", &json!("whsec_x")), "\"(secret)\"");
    }
}
