//! The HTTP API as pages: one for each tag of docs/reference/openapi.json, one for the types of its
//! bodies.
//!
//! They are pages like all others, so the search finds an operation and no script draws them. A running
//! server has the same at `/docs`, with examples and a form that sends a request.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// A page of the API.
#[derive(Debug)]
pub(super) struct ApiPage {
    /// Its number in the navigation.
    pub(super) order: usize,
    pub(super) title: String,
    pub(super) text: String,
}

/// The folder of the pages, in the site.
const FOLDER: &str = "reference/api";

/// All pages, by their place in the site.
pub(super) fn pages(description: &str) -> Result<BTreeMap<String, ApiPage>> {
    let api: Value = serde_json::from_str(description).context("docs/reference/openapi.json")?;
    let mut pages = BTreeMap::new();
    let tags: Vec<&Value> = list(&api["tags"]).collect();
    pages.insert(format!("{FOLDER}/index.md"), index(&api, &tags));
    for (number, tag) in tags.iter().enumerate() {
        let page = tag_page(&api, tag, number + 1);
        pages.insert(format!("{FOLDER}/{}.md", slug(text(&tag["name"]))), page);
    }
    pages.insert(format!("{FOLDER}/types.md"), types(&api, tags.len() + 1));
    Ok(pages)
}

/// The first page: the description, and each operation in a line.
fn index(api: &Value, tags: &[&Value]) -> ApiPage {
    let mut page = String::from("# HTTP API\n\n");
    let _ = writeln!(page, "{}\n", text(&api["info"]["description"]));
    page.push_str(
        "A running server has this reference at `/docs`, with an example of each request and a form that \
         sends it, and the OpenAPI description for programs at `/openapi.json`.\n",
    );
    for tag in tags {
        let name = text(&tag["name"]);
        let _ = writeln!(
            page,
            "\n## {name}\n\n{}\n\n| operation | summary |\n|---|---|",
            text(&tag["description"])
        );
        for (path, method, operation) in operations(api, name) {
            let id = text(&operation["operationId"]);
            let summary = cell(text(&operation["summary"]));
            let _ = writeln!(page, "| [`{method} {path}`]({}.md#{id}) | {summary} |", slug(name));
        }
    }
    ApiPage { order: 0, title: "Overview".into(), text: page }
}

fn tag_page(api: &Value, tag: &Value, order: usize) -> ApiPage {
    let name = text(&tag["name"]);
    let mut page = format!("# {name}\n\n{}\n", text(&tag["description"]));
    for (path, method, operation) in operations(api, name) {
        let id = text(&operation["operationId"]);
        let _ = writeln!(page, "\n## `{method} {path}` {{ #{id} }}\n");
        for part in ["summary", "description"].map(|part| text(&operation[part])) {
            if !part.is_empty() {
                let _ = writeln!(page, "{part}\n");
            }
        }
        let rights = rights(operation);
        if !rights.is_empty() {
            let _ = writeln!(page, "Right: {rights}\n");
        }
        if list(&operation["parameters"]).next().is_some() {
            page.push_str("| parameter | in | type | meaning |\n|---|---|---|---|\n");
            for parameter in list(&operation["parameters"]) {
                let _ = writeln!(
                    page,
                    "| `{}`{} | {} | {} | {} |",
                    text(&parameter["name"]),
                    needed(parameter["required"] == true),
                    text(&parameter["in"]),
                    kind(&parameter["schema"]),
                    cell(text(&parameter["description"]))
                );
            }
            page.push('\n');
        }
        for (media, content) in fields(&operation["requestBody"]["content"]) {
            let _ = writeln!(page, "Body, `{media}`: {}\n", kind(&content["schema"]));
            write_fields(&mut page, api, &content["schema"]);
        }
        page.push_str("| answer | body | meaning |\n|---|---|---|\n");
        for (status, response) in fields(&operation["responses"]) {
            let body = fields(&response["content"]).map(|(_, content)| kind(&content["schema"])).next();
            let body = body.unwrap_or_default();
            let _ = writeln!(page, "| {status} | {body} | {} |", cell(text(&response["description"])));
        }
    }
    ApiPage { order, title: name.to_owned(), text: page }
}

/// The page of all types that bodies name.
fn types(api: &Value, order: usize) -> ApiPage {
    let mut page = String::from("# Types of the HTTP API\n\nThe types of bodies, by name.\n");
    for (name, schema) in fields(&api["components"]["schemas"]) {
        let _ = writeln!(page, "\n## {name} {{ #{name} }}\n");
        let description = text(&schema["description"]);
        if !description.is_empty() {
            let _ = writeln!(page, "{description}\n");
        }
        let values: Vec<String> = list(&schema["enum"]).map(|value| format!("`{value}`")).collect();
        if !values.is_empty() {
            let _ = writeln!(page, "One of {}.\n", values.join(", "));
        }
        let cases: Vec<String> = list(&schema["oneOf"]).chain(list(&schema["allOf"])).map(kind).collect();
        if !cases.is_empty() {
            let _ = writeln!(page, "Of {}.\n", cases.join(", "));
        }
        write_fields(&mut page, api, schema);
    }
    ApiPage { order, title: "Types".into(), text: page }
}

/// The fields of an object: its own, those of its parts, and those of each of its cases.
fn write_fields(page: &mut String, api: &Value, schema: &Value) {
    let mut rows = String::new();
    collect_fields(&mut rows, api, schema, 0);
    if !rows.is_empty() {
        let _ = writeln!(page, "| field | type | meaning |\n|---|---|---|\n{rows}");
    }
}

fn collect_fields(rows: &mut String, api: &Value, schema: &Value, depth: usize) {
    // A type can contain itself; the page of types has what is deeper.
    if depth > 2 {
        return;
    }
    let schema = name_of(schema).map_or(schema, |name| &api["components"]["schemas"][name]);
    for part in list(&schema["allOf"]).chain(list(&schema["oneOf"])) {
        collect_fields(rows, api, part, depth + 1);
    }
    let required: Vec<&str> = list(&schema["required"]).map(text).collect();
    for (field, value) in fields(&schema["properties"]) {
        let _ = writeln!(
            rows,
            "| `{field}`{} | {} | {} |",
            needed(required.contains(&field)),
            kind(value),
            cell(text(&value["description"]))
        );
    }
}

fn needed(is_needed: bool) -> &'static str {
    if is_needed { " *" } else { "" }
}

/// The type of a value in a few words, with a link where it has a name.
fn kind(schema: &Value) -> String {
    if let Some(name) = name_of(schema) {
        return format!("[{name}](types.md#{name})");
    }
    let cases: Vec<String> = list(&schema["oneOf"])
        .chain(list(&schema["anyOf"]))
        .chain(list(&schema["allOf"]))
        .map(kind)
        .filter(|kind| kind != "null")
        .collect();
    if !cases.is_empty() {
        return cases.join(" or ");
    }
    let one = |kind: &Value| match text(kind) {
        "array" => format!("list of {}", self::kind(&schema["items"])),
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::Array(kinds) => {
            kinds.iter().filter(|kind| *kind != "null").map(one).collect::<Vec<_>>().join(" or ")
        }
        kind => one(kind),
    }
}

fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn rights(operation: &Value) -> String {
    let right = &operation["x-right"];
    let rights = right.as_str().into_iter().chain(list(right).filter_map(Value::as_str));
    rights.map(|right| format!("`{right}`")).collect::<Vec<_>>().join(", ")
}

/// The operations of a tag, in the order of their paths.
fn operations<'a>(api: &'a Value, tag: &'a str) -> impl Iterator<Item = (&'a str, String, &'a Value)> {
    let of_path = |(path, item): (&'a str, &'a Value)| {
        fields(item).map(move |(method, operation)| (path, method.to_uppercase(), operation))
    };
    let all = fields(&api["paths"]).flat_map(of_path);
    all.filter(move |(_, _, operation)| list(&operation["tags"]).any(|known| known == tag))
}

/// The text of a cell: one line, without the sign that ends a cell.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn slug(name: &str) -> String {
    name.to_ascii_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn fields(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const API: &str = r##"{"info": {"description": "Words."}, "tags": [{"name": "Push es", "description": "About."}],
        "paths": {"/a": {"post": {"tags": ["Push es"], "operationId": "put", "summary": "Puts.", "x-right": "q.put",
            "parameters": [{"name": "n", "in": "query", "required": true, "description": "a | b", "schema": {"type": "integer"}}],
            "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Job"}}}},
            "responses": {"200": {"description": "Done."}}}}},
        "components": {"schemas": {"Job": {"required": ["id"], "properties": {
            "id": {"type": "string", "description": "Its id."}, "more": {"type": "array", "items": {"$ref": "#/components/schemas/Job"}}}}}}}"##;

    #[test]
    fn an_operation_has_its_right_parameters_fields_and_answers() {
        let pages = pages(API).expect("good JSON");
        let page = &pages["reference/api/push-es.md"];
        assert_eq!((page.order, page.title.as_str()), (1, "Push es"));
        for line in [
            "## `POST /a` { #put }",
            "Right: `q.put`",
            "| `n` * | query | integer | a \\| b |",
            "Body, `application/json`: [Job](types.md#Job)",
            "| `id` * | string | Its id. |",
            "| `more` | list of [Job](types.md#Job) |  |",
            "| 200 |  | Done. |",
        ] {
            assert!(page.text.lines().any(|known| known == line), "{line}\n{}", page.text);
        }
        assert!(pages["reference/api/index.md"].text.contains("| [`POST /a`](push-es.md#put) | Puts. |"));
        assert!(pages["reference/api/types.md"].text.contains("## Job { #Job }"));
    }
}
