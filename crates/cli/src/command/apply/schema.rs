//! The JSON schema of the file of `stadium apply` (draft 2020-12), made of the description of the
//! HTTP API.
//!
//! So a field that the API gains is one of the file at once. It is kept in
//! docs/reference/apply.schema.json, and checks the names of fields before a server is asked.

use serde_json::{Map, Value, json};

/// Where a component stands in the API's description.
const IN_API: &str = "#/components/schemas/";

/// Where it stands here.
const HERE: &str = "#/$defs/";

/// The schema, as JSON with a line feed at the end.
pub(super) fn text() -> String {
    // Maps of texts, numbers and lists can always be written.
    let mut text = serde_json::to_string_pretty(&schema()).unwrap_or_default();
    text.push('\n');
    text
}

/// The schema.
pub(super) fn schema() -> Value {
    let api: Value = serde_json::from_str(&stadium_node::openapi()).unwrap_or_default();
    let components = api.pointer("/components/schemas").cloned().unwrap_or_default();
    let of = |name: &str| json!({"$ref": format!("{HERE}{name}")});
    let named =
        |of: Value, about: &str| json!({"type": "object", "additionalProperties": of, "description": about});
    let mut definitions = Map::new();
    let with = |base: &str, more: Value| {
        let mut made = components.get(base).cloned().unwrap_or_default();
        if let (Some(Value::Object(fields)), Value::Object(more)) = (made.get_mut("properties"), more) {
            fields.extend(more);
        }
        made
    };
    let app = with(
        "AppFields",
        json!({
            "audiences": named(of("Selector"), "Its saved audiences, each a selector."),
            "schedules": named(of("PushScheduleFields"), "Its schedules of pushes."),
        }),
    );
    let queue = with(
        "SettingsFields",
        json!({"schedules": named(of("ScheduleFields"), "Its schedules, each with a job.")}),
    );
    let mut key = with(
        "NewKeyFields",
        json!({"secret_file": {
            "type": "string",
            "description": "The file that its secret is written to, with mode 0600. A relative path is one from the folder of the file.",
        }}),
    );
    if let Some(Value::Object(fields)) = key.get_mut("properties") {
        fields.remove("name");
    }
    key["required"] = json!(["secret_file"]);
    let webhook = with(
        "Webhook",
        json!({"secret_file": {"type": "string", "description": "A file with the secret, instead of `secret`."}}),
    );
    let rule = components.get("RuleFields").cloned().unwrap_or_default();
    for (name, made) in
        [("RuleFields", rule), ("App", app), ("Queue", queue), ("Key", key), ("Webhook", webhook)]
    {
        let made = moved(made);
        collect(&made, &components, &mut definitions);
        definitions.insert(name.to_owned(), made);
    }
    let asset = moved(components.get("AssetFields").cloned().unwrap_or_default());
    definitions.insert("Asset".to_owned(), asset);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What a Stadium server should have: the file of `stadium apply`",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "assets": named(of("Asset"), "Assets of wallets."),
            "apps": named(of("App"), "Apps of the push platform."),
            "queues": named(of("Queue"), "Queues."),
            "keys": named(of("Key"), "API keys."),
            "rules": {
                "type": "array", "items": of("RuleFields"),
                "description": "The rules over topics, in their order; the first that applies decides.",
            },
        },
        "$defs": definitions,
    })
}

/// With references to definitions of its own.
fn moved(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| match value {
                    Value::String(text) if name == "$ref" => (name, text.replace(IN_API, HERE).into()),
                    value => (name, moved(value)),
                })
                .collect(),
        ),
        Value::Array(items) => items.into_iter().map(moved).collect(),
        other => other,
    }
}

/// Takes in every component that is referred to, and what that refers to.
fn collect(value: &Value, components: &Value, into: &mut Map<String, Value>) {
    match value {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix(HERE));
            if let Some(name) = name.filter(|name| !into.contains_key(*name)) {
                let component = moved(components.get(name).cloned().unwrap_or_default());
                into.insert(name.to_owned(), component.clone());
                collect(&component, components, into);
            }
            fields.values().for_each(|value| collect(value, components, into));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, components, into)),
        _ => {}
    }
}

/// The fields of `value` that the schema does not know, and those that it misses, each in words.
/// Kinds and bounds of values are left to the server.
pub(super) fn mistakes(value: &Value, schema: &Value, root: &Value, path: &str, found: &mut Vec<String>) {
    let Some(schema) = resolved(schema, root) else { return };
    let at = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) => {
            let Some(kind) = schema.get("type") else { return };
            if kind != "object" && !kind.as_array().is_some_and(|kinds| kinds.contains(&json!("object"))) {
                return;
            }
            let known = schema.get("properties").and_then(Value::as_object);
            for (name, value) in fields {
                match (known.and_then(|known| known.get(name)), schema.get("additionalProperties")) {
                    (Some(field), _) => mistakes(value, field, root, &at(name), found),
                    (None, Some(Value::Bool(false))) => {
                        let known: Vec<&str> =
                            known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                        found.push(format!(
                            "{}: there is no such field; there are {}",
                            at(name),
                            known.join(", ")
                        ));
                    }
                    (None, Some(entry @ Value::Object(_))) => {
                        if value.is_object()
                            || resolved(entry, root).is_none_or(|of| of.get("type").is_none())
                        {
                            mistakes(value, entry, root, &at(name), found);
                        } else {
                            found.push(format!("{}: it is a table", at(name)));
                        }
                    }
                    (None, _) => {}
                }
            }
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            for name in required.filter_map(Value::as_str).filter(|name| !fields.contains_key(*name)) {
                found.push(format!("{}: it is needed", at(name)));
            }
        }
        Value::Array(items) => {
            if let Some(of) = schema.get("items") {
                for (number, item) in items.iter().enumerate() {
                    mistakes(item, of, root, &format!("{path}[{number}]"), found);
                }
            }
        }
        _ if schema.get("type") == Some(&json!("object")) => found.push(format!("{path}: it is a table")),
        _ => {}
    }
}

/// A schema behind references; of `X or null` it is X. None where there are several alternatives.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return resolved(root.pointer(name.trim_start_matches('#'))?, root);
    }
    // Alternatives beside fields are conditions between them, which the server checks.
    if schema.get("properties").is_some() {
        return Some(schema);
    }
    let Some(alternatives) = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array)
    else {
        return Some(schema);
    };
    let mut real = alternatives.iter().filter(|alternative| alternative.get("type") != Some(&json!("null")));
    match (real.next(), real.next()) {
        (Some(one), None) => resolved(one, root),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_of_the_schema_leads_somewhere() {
        fn check(value: &Value, root: &Value) {
            match value {
                Value::Object(fields) => {
                    if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
                        assert!(name.starts_with(HERE) && root.pointer(&name[1..]).is_some(), "{name}");
                    }
                    fields.values().for_each(|value| check(value, root));
                }
                Value::Array(items) => items.iter().for_each(|value| check(value, root)),
                _ => {}
            }
        }
        let schema = schema();
        check(&schema, &schema);
        assert!(schema.pointer("/$defs/Queue/properties/attempts_max").is_some());
    }

    #[test]
    fn unknown_and_missing_fields_are_named() {
        let schema = schema();
        let file = json!({
            "app": {}, "queues": {"mail": {"attempt_max": 3, "backoff": {"fist_ms": 1}}},
            "keys": {"k": {"roles": ["sender"]}},
            "apps": {"shop": {"feeds": [{"name": "a", "kind": ["opened"]}], "audiences": {"vips": {"tag": "vip"}, "all": "all"},
                "schedules": {"s": {"cron": "@daily"}}}},
        });
        let mut found = Vec::new();
        mistakes(&file, &schema, &schema, "", &mut found);
        let places: Vec<&str> = found.iter().filter_map(|text| text.split(':').next()).collect();
        let expected = [
            "app",
            "apps.shop.feeds[0].kind",
            "apps.shop.feeds[0].kinds",
            "apps.shop.schedules.s.push",
            "keys.k.secret_file",
            "queues.mail.attempt_max",
            "queues.mail.backoff.fist_ms",
        ];
        assert_eq!(std::collections::BTreeSet::from_iter(places), std::collections::BTreeSet::from(expected));
    }
}
