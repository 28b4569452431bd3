//! Examples of operations, made of the description: a command, its body, and an answer.
//!
//! A body is the one of `bodies.json`, where a whole request says more than its parts; the suite of
//! the console sends each of them. Elsewhere values are the examples that the fields name, or else the
//! simplest that their types allow, and a body has the fields that are needed, and those with an
//! example of their own.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

/// Bodies by the ids of operations.
static BODIES: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("bodies.json")).expect("a unit test reads the same text")
});

/// How deep an example goes into what a schema refers to; deeper parts are left empty.
const DEPTH_MAX: usize = 5;

/// Fields of an example at most, so that it fits a screen.
const FIELDS_MAX: usize = 24;

/// An operation as a command for a shell.
pub(super) fn command(api: &Value, path: &str, method: &str, operation: &Value) -> String {
    let mut asked = path.to_owned();
    let mut query = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        let value = self::parameter(parameter);
        match parameter["in"].as_str() {
            Some("path") => asked = asked.replace(&format!("{{{name}}}"), &value),
            Some("query") if parameter["required"] == true => query.push(format!("{name}={value}")),
            _ => {}
        }
    }
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    let verb = if method == "get" { String::new() } else { format!(" -X {}", method.to_uppercase()) };
    let mut command = format!("curl{verb} \"$STADIUM_URL{asked}{query}\"");
    // An operation without a right takes no key: health, and endpoints that are secrets themselves.
    if !operation["x-right"].is_null() {
        command.push_str(" \\\n  -H \"Authorization: Bearer $STADIUM_KEY\"");
    }
    if let Some(body) = body(api, operation) {
        let body = serde_json::to_string_pretty(&body).unwrap_or_default().replace('\'', "'\\''");
        command.push_str(" \\\n  -H \"Content-Type: application/json\" \\\n  -d '");
        command.push_str(&body);
        command.push('\'');
    }
    command
}

/// The body of a request as JSON; none where it takes none.
fn body(api: &Value, operation: &Value) -> Option<Value> {
    let known = operation["operationId"].as_str().and_then(|id| BODIES.get(id));
    if known.is_some() {
        return known.cloned();
    }
    let content = &operation["requestBody"]["content"]["application/json"];
    content["schema"].is_object().then(|| match &content["example"] {
        Value::Null => example(api, &content["schema"], 0, Which::Useful),
        given => given.clone(),
    })
}

/// The first answer of success as JSON; none where it has no such body.
pub(super) fn answer(api: &Value, operation: &Value) -> Option<String> {
    let mut responses = operation["responses"].as_object()?.iter();
    let (_, response) = responses.find(|(status, _)| status.starts_with('2'))?;
    let schema = &response["content"]["application/json"]["schema"];
    if !schema.is_object() {
        return None;
    }
    serde_json::to_string_pretty(&example(api, schema, 0, Which::All)).ok()
}

/// A value for a parameter; empty where the description names none.
pub(super) fn parameter(parameter: &Value) -> String {
    let given = [&parameter["example"], &parameter["schema"]["example"]];
    let given = given.into_iter().find(|value| !value.is_null());
    match given {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None if parameter["in"] == "path" => {
            format!("{}-1", parameter["name"].as_str().unwrap_or_default())
        }
        None => match parameter["schema"]["enum"].get(0) {
            Some(Value::String(word)) => word.clone(),
            _ => String::new(),
        },
    }
}

/// The fields of an object that are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// Those that are needed, and those with an example: of a request.
    Useful,
    /// All of them: of an answer.
    All,
}

fn example(api: &Value, schema: &Value, depth: usize, which: Which) -> Value {
    if let Some(path) = schema["$ref"].as_str() {
        let name = path.rsplit('/').next().unwrap_or_default();
        return example(api, &api["components"]["schemas"][name], depth, which);
    }
    if let Some(given) =
        [&schema["example"], &schema["const"], &schema["enum"][0]].into_iter().find(|value| !value.is_null())
    {
        return given.clone();
    }
    for cases in ["oneOf", "anyOf"] {
        let mut cases = schema[cases].as_array().into_iter().flatten();
        // An object's `anyOf` only says which of its fields are needed.
        if let Some(case) = cases.find(|case| {
            case["type"] != "null"
                && case
                    .get("required")
                    .is_none_or(|_| case.get("properties").is_some() && case["type"] == "object")
        }) {
            return example(api, case, depth, which);
        }
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let mut whole = Map::new();
        for part in parts {
            if let Value::Object(fields) = example(api, part, depth, which) {
                whole.extend(fields);
            }
        }
        return whole.into();
    }
    match kind(schema) {
        "object" => object(api, schema, depth, which),
        "array" if depth >= DEPTH_MAX => json!([]),
        "array" => json!([example(api, &schema["items"], depth + 1, which)]),
        "string" => text(schema).into(),
        "integer" => schema["minimum"].as_u64().unwrap_or(0).max(1).into(),
        "number" => json!(1.5),
        "boolean" => true.into(),
        _ => Value::Null,
    }
}

fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default()
        }
        Value::String(kind) => kind,
        _ if schema["properties"].is_object() => "object",
        _ => "",
    }
}

fn object(api: &Value, schema: &Value, depth: usize, which: Which) -> Value {
    if depth >= DEPTH_MAX {
        return json!({});
    }
    let required: Vec<_> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let shown = |(name, field): &(&String, &Value)| {
        which == Which::All || required.contains(&name.as_str()) || !field["example"].is_null()
    };
    let fields = schema["properties"].as_object().into_iter().flatten().filter(shown).take(FIELDS_MAX);
    let fields = fields.map(|(name, field)| (name.clone(), example(api, field, depth + 1, which)));
    fields.collect::<Map<_, _>>().into()
}

/// A text of a schema's format; the word `text` where it has none.
fn text(schema: &Value) -> &'static str {
    match schema["format"].as_str() {
        Some("date-time") => "2026-11-27T20:00:00Z",
        Some("uuid") => "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
        _ => "text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::description;

    #[test]
    fn each_operation_has_a_command_and_each_json_answer_an_example() {
        let api: Value = serde_json::from_str(&description("1")).expect("our own JSON");
        let (mut commands, mut named) = (0, 0);
        for (path, item) in api["paths"].as_object().expect("an object") {
            for (method, operation) in item.as_object().expect("an object") {
                let command = command(&api, path, method, operation);
                assert!(
                    command.starts_with("curl") && !command.contains('{') || command.contains("-d '"),
                    "{command}"
                );
                if let Some(body) = body(&api, operation) {
                    assert!(body.is_object(), "{method} {path}: {body}");
                }
                commands += 1;
                named +=
                    usize::from(BODIES.get(operation["operationId"].as_str().unwrap_or_default()).is_some());
            }
        }
        assert!(commands > 90, "{commands}");
        assert_eq!(BODIES.as_object().map(Map::len), Some(named), "each body is of an operation");
        let push = &api["paths"]["/api/apps/{app}/pushes"]["post"];
        let sent = command(&api, "/api/apps/{app}/pushes", "post", push);
        assert!(sent.contains("$STADIUM_URL/api/apps/default/pushes") && sent.contains("audience"), "{sent}");
        assert!(answer(&api, push).is_some_and(|answer| answer.contains("\"url\"")));
    }
}
