//! Lays over the derived description the parts that attributes of types and handlers cannot
//! express.
//!
//! Each feature has a `rules.json`, and [`SHARED`] is for names that several of them have. Such a
//! file holds three lists: bodies that may be left out; schemas of parameters by place, name and a
//! part of the path, of which the one with the longest part that fits counts; and schemas to be
//! changed. A schema is changed field by field, `null` takes a field away, and a `$ref` or `oneOf`
//! replaces all but the description. The rules of every operation are made here. The suite of
//! schemathesis (testing/python/test_openapi.py) asks a server whether it takes what the result
//! allows and refuses what it forbids.

use serde::Deserialize;
use serde_json::{Map, Value, json};

const SHARED: &str = include_str!("rules.json");

/// The rules of several files.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Rules {
    optional_bodies: Vec<Value>,
    parameters: Vec<Value>,
    schemas: Map<String, Value>,
}

impl Rules {
    /// Those of the features, and the shared ones.
    fn read(features: &[&str]) -> Self {
        let mut all = Self::default();
        for text in features.iter().chain([&SHARED]) {
            let rules: Self = serde_json::from_str(text).expect("a unit test reads the same text");
            all.optional_bodies.extend(rules.optional_bodies);
            all.parameters.extend(rules.parameters);
            all.schemas.extend(rules.schemas);
        }
        all
    }
}

/// Lays the rules of the features over a description.
pub(crate) fn apply(api: &mut Value, features: &[&str]) {
    let rules = Rules::read(features);
    let schemas = api["components"]["schemas"].as_object_mut().expect("the description has schemas");
    for (name, rule) in &rules.schemas {
        merge(schemas.entry(name.clone()).or_insert_with(|| json!({})), rule);
    }
    bound(api);
    let paths = api["paths"].as_object_mut().expect("the description has paths");
    for (path, operations) in paths {
        for (_, operation) in operations.as_object_mut().into_iter().flatten() {
            parameters(operation, path, &rules.parameters);
            if rules.optional_bodies.contains(&operation["operationId"])
                && let Some(body) = operation["requestBody"].as_object_mut()
            {
                body.remove("required");
            }
            left_out(operation);
            problems(operation);
        }
    }
}

fn merge(known: &mut Value, rule: &Value) {
    let (Some(known), Some(rule)) = (known.as_object_mut(), rule.as_object()) else {
        *known = rule.clone();
        return;
    };
    if ["$ref", "oneOf"].iter().any(|whole| rule.contains_key(*whole) || known.contains_key(*whole)) {
        let description = known.remove("description");
        known.clear();
        known.extend(description.map(|text| ("description".to_owned(), text)));
    }
    for (name, value) in rule {
        match known.get_mut(name) {
            _ if value.is_null() => drop(known.remove(name)),
            Some(there) if value.is_object() => merge(there, value),
            _ => drop(known.insert(name.clone(), value.clone())),
        }
    }
}

/// Gives unsigned numbers the largest one that is read: a format `int32` would end them at the half of it.
fn bound(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let unsigned = fields.get("minimum").and_then(Value::as_f64).is_some_and(|least| least >= 0.0);
            let most = match fields.get("format").and_then(Value::as_str) {
                Some("int32") if unsigned => Some(u64::from(u32::MAX)),
                Some("int64") if unsigned => Some(u64::MAX),
                _ => None,
            };
            if let Some(most) = most {
                fields.remove("format");
                fields.entry("maximum").or_insert_with(|| most.into());
            }
            fields.values_mut().for_each(bound);
        }
        Value::Array(items) => items.iter_mut().for_each(bound),
        _ => {}
    }
}

fn parameters(operation: &mut Value, path: &str, rules: &[Value]) {
    let Some(known) = operation.get_mut("parameters").and_then(Value::as_array_mut) else { return };
    for parameter in known {
        let fits = |rule: &&Value| {
            rule["in"] == parameter["in"]
                && rule["name"] == parameter["name"]
                && rule["path"].as_str().is_none_or(|part| path.contains(part))
        };
        let part = |rule: &&Value| rule["path"].as_str().map_or(0, str::len);
        let Some(rule) = rules.iter().filter(fits).max_by_key(part) else { continue };
        let Some(fields) = parameter.as_object_mut() else { continue };
        fields.remove("schema");
        for kind in ["schema", "content"] {
            fields.extend(rule.get(kind).map(|value| (kind.to_owned(), value.clone())));
        }
    }
}

/// A body that may be left out is not `null` instead, as the derived description has it.
fn left_out(operation: &mut Value) {
    let Some(schema) = operation.pointer_mut("/requestBody/content/application~1json/schema") else { return };
    let cases = schema["oneOf"].as_array().cloned().unwrap_or_default();
    if let [one, other] = cases.as_slice()
        && let Some(there) = [(one, other), (other, one)].iter().find(|(case, _)| case["type"] == "null")
    {
        *schema = there.1.clone();
    }
}

/// Errors are problems (RFC 9457), and each body that is read may be refused with some of them.
fn problems(operation: &mut Value) {
    let has_body = operation.get("requestBody").is_some();
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    if has_body {
        for (status, codes) in [
            ("400", "`HTTP-004`"),
            ("413", "`HTTP-007`"),
            ("415", "`HTTP-006`"),
            ("422", "`HTTP-005`, or a code of what was asked for"),
        ] {
            responses.entry(status).or_insert_with(|| problem(codes));
        }
    }
    for (status, response) in responses {
        let Some(content) = response.get_mut("content").and_then(Value::as_object_mut) else { continue };
        if status.starts_with(['4', '5'])
            && let Some(schema) = content.remove("application/json")
        {
            content.insert("application/problem+json".to_owned(), schema);
        }
    }
}

fn problem(codes: &str) -> Value {
    let schema = json!({"schema": {"$ref": "#/components/schemas/Problem"}});
    let content = Map::from_iter([("application/problem+json".to_owned(), schema)]);
    json!({"description": codes, "content": content})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoints::RULES;
    use crate::openapi::description;

    fn described() -> Value {
        serde_json::from_str(&description("0")).expect("our own JSON")
    }

    fn operations(api: &Value) -> impl Iterator<Item = (&str, &Value)> {
        let paths = api["paths"].as_object().into_iter().flatten();
        paths.flat_map(|(path, all)| {
            all.as_object().into_iter().flatten().map(move |(_, operation)| (path.as_str(), operation))
        })
    }

    #[test]
    fn every_rule_is_about_something_that_is_there() {
        let rules = Rules::read(&RULES);
        let api = described();
        for rule in &rules.parameters {
            let of_path = |path: &str| rule["path"].as_str().is_none_or(|part| path.contains(part));
            let found = operations(&api).filter(|(path, _)| of_path(path)).any(|(_, operation)| {
                operation["parameters"].as_array().into_iter().flatten().any(|known| {
                    ["in", "name", "schema", "content"].iter().all(|field| known[*field] == rule[*field])
                })
            });
            assert!(found, "{rule} fits no parameter");
        }
        let text = api.to_string();
        for (name, rule) in &rules.schemas {
            assert!(text.contains(&format!("#/components/schemas/{name}\"")), "nothing refers to {name}");
            for (field, changed) in rule["properties"].as_object().into_iter().flatten() {
                let known = &api["components"]["schemas"][name]["properties"][field];
                let is_one = ["type", "$ref", "oneOf"].iter().any(|kind| known.get(*kind).is_some());
                assert!(is_one != changed.is_null(), "{name}.{field}: {known}");
            }
        }
        for id in &rules.optional_bodies {
            let found = operations(&api).any(|(_, operation)| operation["operationId"] == *id);
            assert!(found, "no operation is {id}");
        }
    }

    #[test]
    fn parts_of_paths_are_bounded_and_errors_are_problems() {
        let api = described();
        for (path, operation) in operations(&api) {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let schema = &parameter["schema"];
                let is_bounded = schema["minLength"].is_u64() || schema["$ref"].is_string();
                assert!(parameter["in"] != "path" || is_bounded, "{path}: {parameter}");
            }
            for (status, response) in operation["responses"].as_object().expect("responses") {
                let mut kinds = response["content"].as_object().into_iter().flat_map(Map::keys);
                let is_error = status.starts_with(['4', '5']);
                assert!(!is_error || kinds.all(|kind| kind == "application/problem+json"), "{path} {status}");
            }
        }
    }
}
