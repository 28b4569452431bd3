//! The JSON schema: the copy in the documentation is current, and scenarios that the reader takes are valid by it.
//!
//! The validator here knows the keywords that the schema uses, and fails at any other.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Scenarios of the repository.
fn scenarios() -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for folder in ["examples/load", "crates/scenario/tests/scenarios"] {
        let Ok(entries) = fs::read_dir(root().join(folder)) else { continue };
        paths.extend(entries.flatten().map(|entry| entry.path()));
    }
    paths.retain(|path| {
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        is_toml && fs::read_to_string(path).is_ok_and(|text| text.contains("[[phases]]"))
    });
    assert!(!paths.is_empty());
    paths
}

fn valid(value: &Value, schema: &Value, whole: &Value) -> Result<(), String> {
    let Value::Object(keywords) = schema else { return Err(format!("not a schema: {schema}")) };
    for (keyword, wanted) in keywords {
        let holds = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let name =
                    wanted.as_str().and_then(|name| name.strip_prefix("#/$defs/")).expect("a reference");
                valid(value, &whole["$defs"][name], whole)?;
                true
            }
            "type" => match wanted {
                Value::Array(kinds) => kinds.iter().any(|kind| is_kind(value, kind)),
                kind => is_kind(value, kind),
            },
            "properties" => {
                for (key, schema) in wanted.as_object().expect("an object") {
                    if let Some(value) = value.get(key) {
                        valid(value, schema, whole).map_err(|reason| format!("{key}: {reason}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = &schema["properties"];
                for (key, value) in value.as_object().into_iter().flatten() {
                    if known.get(key).is_none() {
                        match wanted {
                            Value::Bool(false) => return Err(format!("unknown key {key}")),
                            schema => {
                                valid(value, schema, whole).map_err(|reason| format!("{key}: {reason}"))?
                            }
                        }
                    }
                }
                true
            }
            "required" => wanted
                .as_array()
                .expect("a list")
                .iter()
                .all(|key| value.get(key.as_str().unwrap()).is_some()),
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    valid(item, wanted, whole)?;
                }
                true
            }
            "anyOf" | "oneOf" => {
                let results: Vec<Result<(), String>> = wanted
                    .as_array()
                    .expect("a list")
                    .iter()
                    .map(|schema| valid(value, schema, whole))
                    .collect();
                let count = results.iter().filter(|result| result.is_ok()).count();
                if count == 0 {
                    return Err(format!("{value} is none of: {results:?}"));
                }
                keyword == "anyOf" || count == 1
            }
            "enum" => wanted.as_array().expect("a list").contains(value),
            "const" => wanted == value,
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
            "pattern" => {
                let pattern = regex::Regex::new(wanted.as_str().expect("a text")).expect("a pattern");
                value.as_str().is_none_or(|text| pattern.is_match(text))
            }
            other => return Err(format!("the validator does not know {other}")),
        };
        if !holds {
            return Err(format!("{value} breaks {keyword} {wanted}"));
        }
    }
    Ok(())
}

fn is_kind(value: &Value, kind: &Value) -> bool {
    match kind.as_str().expect("a kind") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        _ => false,
    }
}

#[test]
fn the_documented_schema_is_current() {
    let path = root().join("docs/reference/scenario.schema.json");
    if std::env::var_os("STADIUM_WRITE_SCHEMA").is_some() {
        fs::write(&path, stadium_scenario::schema()).expect("the schema is written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == stadium_scenario::schema(),
        "docs/reference/scenario.schema.json is stale: STADIUM_WRITE_SCHEMA=1 cargo test -p stadium-scenario --test integration schema::"
    );
}

#[test]
fn every_scenario_is_valid_by_the_schema_and_taken_by_the_reader() {
    let schema: Value = serde_json::from_str(&stadium_scenario::schema()).expect("the schema is JSON");
    for path in scenarios() {
        let text = fs::read_to_string(&path).expect("a scenario is read");
        let value: toml::Value = toml::from_str(&text).expect("a scenario is TOML");
        let value = serde_json::to_value(value).expect("TOML is JSON");
        if let Err(reason) = valid(&value, &schema, &schema) {
            panic!("{}: {reason}", path.display());
        }
        let folder = path.parent().expect("a file lies in a folder").to_owned();
        let mut files = |name: &str| match name {
            // Those of the scenario that uses everything.
            "voters.csv" if folder.ends_with("scenarios") => Ok(b"name,age,club\nAda,41,x\n".to_vec()),
            "vote.bin" => Ok(vec![8, 1]),
            _ => fs::read(folder.join(name)).map_err(|error| error.to_string()),
        };
        if let Err(problems) = stadium_scenario::parse(&text, &mut files) {
            let rendered: Vec<String> =
                problems.iter().map(|problem| problem.render(&path.display().to_string(), &text)).collect();
            panic!("{}", rendered.join("\n"));
        }
    }
}

#[test]
fn the_reference_page_names_every_key() {
    let schema: Value = serde_json::from_str(&stadium_scenario::schema()).expect("the schema is JSON");
    let page = fs::read_to_string(root().join("docs/load-scenarios.md")).expect("the page is read");
    let words: std::collections::HashSet<&str> =
        page.split(|at: char| !at.is_ascii_alphanumeric() && at != '_').collect();
    let tables = schema["$defs"].as_object().expect("definitions").values().chain([&schema]);
    for key in tables.filter_map(|table| table["properties"].as_object()).flat_map(|keys| keys.keys()) {
        assert!(words.contains(key.as_str()), "docs/load-scenarios.md does not name `{key}`");
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let schema: Value = serde_json::from_str(&stadium_scenario::schema()).expect("the schema is JSON");
    for text in [
        "nmae = 1",
        "phases = [{ rate = 1 }]",
        "grace = \"soon\"",
        "sessions = [{ name = \"a\", steps = [{ gett = \"/\" }] }]",
    ] {
        let value: toml::Value = toml::from_str(text).expect("TOML");
        let value = serde_json::to_value(value).expect("JSON");
        assert!(valid(&value, &schema, &schema).is_err(), "{text}");
    }
}
