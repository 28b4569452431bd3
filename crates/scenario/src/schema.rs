//! The JSON schema of scenario files (draft 2020-12), for editors: made of the same tables that the reader checks with.
//!
//! Kept in docs/reference/scenario.schema.json; a test compares. Editors with Taplo take it from a first line
//! `#:schema ./scenario.schema.json`.

use serde_json::{Map, Value, json};

use crate::document::shape::{Key, SCENARIO, STEP_TABLES, Shape, Table};

/// The schema, as JSON with a line feed at the end.
pub fn schema() -> String {
    let mut definitions = Map::new();
    let mut root = table(&SCENARIO, &mut definitions);
    let steps = list_of_tables(STEP_TABLES, &mut definitions);
    definitions.insert("steps".to_owned(), json!({ "type": "array", "items": { "anyOf": steps } }));
    if let Value::Object(root) = &mut root {
        root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        root.insert("title".to_owned(), json!("A scenario of Stadium's load lab"));
        root.insert("$defs".to_owned(), Value::Object(definitions));
    }
    let mut text = serde_json::to_string_pretty(&root).expect("a tree of texts and numbers is JSON");
    text.push('\n');
    text
}

fn list_of_tables(tables: &[&'static Table], definitions: &mut Map<String, Value>) -> Vec<Value> {
    tables.iter().map(|table| reference(table, definitions)).collect()
}

/// The name of a table's definition: "an HTTP step" is `http-step`.
fn definition_name(table: &Table) -> String {
    let words = table.name.trim_start_matches("a ").trim_start_matches("an ").to_lowercase();
    words.replace('`', "").replace([' ', '\''], "-")
}

fn reference(of: &'static Table, definitions: &mut Map<String, Value>) -> Value {
    let name = definition_name(of);
    if !definitions.contains_key(&name) {
        // Known before it is made: tables name each other.
        definitions.insert(name.clone(), Value::Null);
        let made = table(of, definitions);
        definitions.insert(name.clone(), made);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn table(of: &'static Table, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for key in of.keys {
        properties.insert(key.name.to_owned(), property(key, definitions));
    }
    let mut made = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    let required: Vec<&str> = of.keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
    if !required.is_empty() {
        made["required"] = json!(required);
    }
    if !of.marks.is_empty() {
        let marks: Vec<Value> = of.marks.iter().map(|mark| json!({ "required": [mark] })).collect();
        made["oneOf"] = json!(marks);
    }
    made
}

fn property(key: &Key, definitions: &mut Map<String, Value>) -> Value {
    let mut made = shape(&key.shape, definitions);
    made["description"] = json!(key.doc);
    made
}

fn shape(of: &Shape, definitions: &mut Map<String, Value>) -> Value {
    match of {
        Shape::Text | Shape::Template | Shape::Expression => json!({ "type": "string" }),
        Shape::Duration => json!({
            "type": "string",
            "pattern": "^\\s*([0-9.]+\\s*(ns|us|µs|ms|s|min|m|h|d)\\s*)+$"
        }),
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::True => json!({ "const": true }),
        Shape::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::Number => json!({ "type": "number", "minimum": 0 }),
        Shape::Words(words) => json!({ "enum": words }),
        Shape::Scalar => json!({ "type": ["string", "number", "boolean"] }),
        Shape::Json => json!({}),
        Shape::Steps => json!({ "$ref": "#/$defs/steps" }),
        Shape::List(of) => json!({ "type": "array", "items": shape(of, definitions) }),
        Shape::Map(of) => json!({ "type": "object", "additionalProperties": shape(of, definitions) }),
        Shape::Table(of) => reference(of, definitions),
        Shape::Any(shapes) => {
            let any: Vec<Value> = shapes.iter().map(|of| shape(of, definitions)).collect();
            json!({ "anyOf": any })
        }
    }
}
