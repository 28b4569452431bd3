//! Requests that the API's description allows, drawn at random: examples where it has them, else
//! values by their schemas.

use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use crate::fuzzing::random::Random;
use crate::openapi;

/// Bodies whose fields fit together, which draws of single fields rarely do, by operation.
const WRITTEN: [(&str, &str); 4] = [
    (
        "create_key",
        r#"{"name": "shop", "roles": ["sender"], "apps": ["shop"],
            "grants": ["queue.put:shop-* 100/s"], "expires_in_s": 86400}"#,
    ),
    (
        "transfer",
        r#"{"id": "00000000-0000-4000-8000-000000000001", "debit": "alice", "credit": "bob",
            "asset": "EUR", "amount": 250, "reference": "bill-7",
            "effective_at": "2030-01-02T03:04:05Z"}"#,
    ),
    (
        "transfer_batch",
        r#"{"transfers": [{"id": "00000000-0000-4000-8000-000000000001", "debit": "alice",
            "credit": "bob", "asset": "EUR", "amount": 1}]}"#,
    ),
    (
        "together",
        r#"{"transfers": [{"id": "00000000-0000-4000-8000-000000000001", "debit": "alice",
            "credit": "bob", "asset": "EUR", "amount": 1}],
            "jobs": [{"queue": "mails", "job": {"payload": "thanks, alice"}}],
            "pushes": [{"to": {"device": "alice-phone"}, "message": "Your vote counts"}]}"#,
    ),
];

fn api() -> &'static Value {
    static API: OnceLock<Value> = OnceLock::new();
    API.get_or_init(|| serde_json::from_str(&openapi::description("fuzz")).expect("our own JSON"))
}

/// An input of [`crate::fuzzing::http_bodies`]: a request of this operation.
pub(crate) fn request(random: &mut Random, which: usize) -> Vec<u8> {
    let paths = api()["paths"].as_object().expect("the description has paths").values();
    let operation =
        paths.flat_map(|methods| methods.as_object().into_iter().flat_map(Map::values)).nth(which);
    let operation = operation.expect("there are as many operations");
    let (mut path, mut query, mut headers) = (Vec::new(), Vec::new(), Vec::new());
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let is_needed = parameter["required"] == true;
        if !is_needed && random.below(3) > 0 {
            continue;
        }
        let schema = parameter.pointer("/content/application~1json/schema").unwrap_or(&parameter["schema"]);
        let given = parameter.get("example").cloned().unwrap_or_else(|| value(random, schema, 0));
        let text = given.as_str().map_or_else(|| given.to_string(), ToOwned::to_owned);
        let name = parameter["name"].as_str().expect("a parameter has a name");
        match parameter["in"].as_str() {
            Some("path") => path.push(encoded(&text)),
            Some("query") => query.push(format!("{name}={}", encoded(&text))),
            _ => headers.push(format!("\n{name}: {text}")),
        }
    }
    let written = WRITTEN.iter().find(|(id, _)| operation["operationId"] == *id);
    let contents = operation.pointer("/requestBody/content").and_then(Value::as_object);
    let mut body = Vec::new();
    if let Some(contents) = contents {
        let (kind, content) = contents.iter().nth(random.below(contents.len())).expect("there is one");
        headers.push(format!("\ncontent-type: {kind}"));
        body = match kind.as_str() {
            "application/json" => match written {
                Some((_, written)) if random.below(2) == 0 => (*written).into(),
                _ => value(random, &content["schema"], 0).to_string().into_bytes(),
            },
            "text/csv" => b"id,platform,tags\nphone-7,ios,\"vip;north\"\nphone-8,android,\n".to_vec(),
            "application/x-ndjson" => {
                b"{\"id\": \"phone-7\", \"tags\": {\"add\": [\"vip\"]}}\n{\"id\": \"phone-8\"}\n".to_vec()
            }
            _ => (0..100).map(|_| random.next() as u8).collect(),
        };
    }
    let which = u8::try_from(which).expect("fewer operations than a byte has values");
    let head = format!("{}?{}{}\n\n", path.join("/"), query.join("&"), headers.concat());
    [&[which], head.as_bytes(), &body].concat()
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// A value that a schema allows, as far as it is easily generated: patterns are met by examples
/// alone.
fn value(random: &mut Random, schema: &Value, depth: usize) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.trim_start_matches('#');
        return value(random, api().pointer(name).expect("a reference leads somewhere"), depth);
    }
    for given in ["example", "default", "const"] {
        if let Some(given) = schema.get(given) {
            return given.clone();
        }
    }
    for given in ["examples", "enum"] {
        if let Some(given) = schema[given].as_array() {
            return given[random.below(given.len())].clone();
        }
    }
    if let Some(cases) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        // The first case of a recursive schema is a simple one.
        let which = if depth > 4 { 0 } else { random.below(cases.len()) };
        return value(random, &cases[which], depth + 1);
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let mut whole = Map::new();
        for part in parts {
            if let Value::Object(part) = value(random, part, depth + 1) {
                whole.extend(part);
            }
        }
        return whole.into();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[0].as_str(),
        kind => kind.as_str(),
    };
    let least = schema["minimum"].as_i64().unwrap_or(0);
    match kind {
        Some("object") => object(random, schema, depth),
        Some("array") => {
            let few = schema["minItems"].as_u64().unwrap_or(0).max(1) as usize;
            (0..few + random.below(2)).map(|_| value(random, &schema["items"], depth + 1)).collect()
        }
        Some("integer") => json!(least + random.below(3) as i64),
        Some("number") => json!(least as f64 + 0.5),
        Some("boolean") => json!(random.below(2) == 0),
        Some("null") => Value::Null,
        _ => json!(text(random, schema)),
    }
}

fn object(random: &mut Random, schema: &Value, depth: usize) -> Value {
    let needed = schema["required"].as_array();
    let mut object = Map::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let is_needed = needed.is_some_and(|needed| needed.contains(&json!(name)));
        if is_needed || (depth < 4 && random.below(3) == 0) {
            object.insert(name.clone(), value(random, field, depth + 1));
        }
    }
    if let Some(others) = schema.get("additionalProperties").filter(|others| others.is_object()) {
        object.insert("key".to_owned(), value(random, others, depth + 1));
    }
    object.into()
}

fn text(random: &mut Random, schema: &Value) -> String {
    match schema["format"].as_str() {
        Some("date-time") => "2030-01-02T03:04:05Z".to_owned(),
        Some("uuid") => "00000000-0000-4000-8000-000000000001".to_owned(),
        _ => {
            let least = schema["minLength"].as_u64().unwrap_or(1).max(1) as usize;
            // Digits fit most patterns of ids, capitals those of assets; a lease is two numbers.
            ["1", "a", "A", "f", "1-1"][random.below(5)].repeat(least)
        }
    }
}
