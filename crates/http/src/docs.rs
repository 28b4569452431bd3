//! The API's description, for programs and for people, and the page of each error.
//!
//! The people's page is made here from the description itself: contents, and for each operation its
//! parameters, body, answers, and an example as a command. It reads without scripts; the console's
//! script adds the search and the form that tries an operation. Examples are in [`examples`].

mod examples;
mod prose;

use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use axum::Extension;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use bytes::Bytes;
use serde_json::Value;

use crate::console::with_policy;
use crate::error_pages::{self, Section};
use crate::openapi::description;
use crate::request::problem::{PATH_UNKNOWN, Problem};
use crate::request::query::Name;
use prose::{escape, inline};

pub(crate) use prose::prose;

/// The description in both forms. Each is made at its first request, and once: it takes some 13 ms
/// of CPU, and nobody has to show a key for it.
pub(crate) struct Documents {
    version: String,
    openapi: OnceLock<Bytes>,
    reference: OnceLock<Bytes>,
}

impl Documents {
    /// Those of this version of the server.
    pub(crate) fn of(version: &str) -> Self {
        Self { version: version.to_owned(), openapi: OnceLock::new(), reference: OnceLock::new() }
    }

    /// The description as JSON.
    fn openapi(&self) -> Bytes {
        self.openapi.get_or_init(|| description(&self.version).into()).clone()
    }

    /// The page for people.
    fn reference(&self) -> Bytes {
        let made = || {
            let api: Value = serde_json::from_slice(&self.openapi()).expect("our own JSON");
            stadium_console::docs(&reference_of(&api)).into()
        };
        self.reference.get_or_init(made).clone()
    }
}

/// The description as it is.
pub(crate) async fn openapi(Extension(documents): Extension<Arc<Documents>>) -> Response {
    let json = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, json)], documents.openapi()).into_response()
}

/// The description for people.
pub(crate) async fn reference(Extension(documents): Extension<Arc<Documents>>) -> Response {
    with_policy(Html(documents.reference()).into_response())
}

/// The body of the page for people: contents beside the operations.
fn reference_of(api: &Value) -> String {
    let mut body = String::with_capacity(256 * 1024);
    write_contents(&mut body, api);
    let version = api["info"]["version"].as_str().unwrap_or_default();
    let intro = prose(api["info"]["description"].as_str().unwrap_or_default());
    let _ = write!(
        body,
        "<div class=\"operations\"><h1>Stadium API <small>{}</small></h1>{intro}\
         <p>For programs: <a href=\"/openapi.json\">/openapi.json</a>. The examples take the server's address \
         from <code>STADIUM_URL</code> and an API key from <code>STADIUM_KEY</code>.</p>",
        escape(version)
    );
    for tag in list(&api["tags"]) {
        let name = tag["name"].as_str().unwrap_or_default();
        let _ = write!(
            body,
            "<section><h2 id=\"{}\">{}</h2>{}",
            anchor(name),
            escape(name),
            prose(tag["description"].as_str().unwrap_or_default())
        );
        for (path, method, operation) in operations(api, name) {
            write_operation(&mut body, api, path, method, operation);
        }
        body.push_str("</section>");
    }
    body.push_str("<section><h2 id=\"errors\">Errors</h2>");
    for page in error_pages::pages() {
        let _ = write!(body, "<h3>{}</h3><dl>", escape(page.title));
        for Section { code, title, .. } in page.sections() {
            let link = format!("<a href=\"/docs/errors/{code}\">{code}</a>");
            let _ = write!(body, "<dt>{link}</dt><dd>{}</dd>", escape(title));
        }
        body.push_str("</dl>");
    }
    body.push_str("</section></div>");
    body
}

/// The operations of a tag, in the order of their paths.
fn operations<'a>(api: &'a Value, tag: &'a str) -> impl Iterator<Item = (&'a str, &'a str, &'a Value)> {
    let all = fields(&api["paths"])
        .flat_map(|(path, item)| fields(item).map(move |(method, operation)| (path, method, operation)));
    all.filter(move |(_, _, operation)| list(&operation["tags"]).any(|known| known == tag))
}

fn write_contents(body: &mut String, api: &Value) {
    body.push_str(
        "<nav class=\"contents\" aria-label=\"Operations\"><label class=\"off\" for=\"search\">Operations with this in \
         their path or summary</label><input id=\"search\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\" \
         placeholder=\"Search operations …\"><p class=\"empty\" id=\"none\" hidden>No operation is like that.</p>",
    );
    for tag in list(&api["tags"]) {
        let name = tag["name"].as_str().unwrap_or_default();
        let _ = write!(
            body,
            "<details><summary>{1}</summary><ul><li><a href=\"#{0}\">About</a></li>",
            anchor(name),
            escape(name)
        );
        for (path, method, operation) in operations(api, name) {
            let _ = write!(
                body,
                "<li><a href=\"#{}\"><b class=\"method {method}\">{}</b> {}</a></li>",
                operation["operationId"].as_str().unwrap_or_default(),
                method.to_uppercase(),
                escape(path)
            );
        }
        body.push_str("</ul></details>");
    }
    body.push_str("<p><a href=\"#errors\">Errors</a></p></nav>");
}

/// A name as the end of an address.
fn anchor(name: &str) -> String {
    name.to_ascii_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
}

/// The page of one error's code.
pub(crate) async fn error(Name(code): Name) -> Result<Response, Problem> {
    let Some(section) = error_pages::section(&code) else {
        return Err(Problem::new(PATH_UNKNOWN, format!("no error has the code {code:?}")));
    };
    let body = format!(
        "<p><a href=\"/docs#errors\">All errors</a></p><h1>{} <small>{}</small></h1>{}",
        section.code,
        escape(section.title),
        prose(section.text)
    );
    Ok(page(section.code, &body))
}

fn write_operation(body: &mut String, api: &Value, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        body,
        "<details class=\"operation\" id=\"{}\" data-method=\"{method}\" data-path=\"{}\"><summary><code class=\"method \
         {method}\">{}</code> <code>{}</code> <span>{}</span></summary>",
        operation["operationId"].as_str().unwrap_or_default(),
        escape(path),
        method.to_uppercase(),
        escape(path),
        inline(operation["summary"].as_str().unwrap_or_default())
    );
    body.push_str(&prose(operation["description"].as_str().unwrap_or_default()));
    if list(&operation["parameters"]).next().is_some() {
        body.push_str("<h3>Parameters</h3><dl>");
        for parameter in list(&operation["parameters"]) {
            let _ = write!(
                body,
                "<dt data-in=\"{1}\" data-name=\"{0}\" data-example=\"{2}\"><code>{0}</code> <small>{1}</small></dt><dd>{3}</dd>",
                escape(parameter["name"].as_str().unwrap_or_default()),
                escape(parameter["in"].as_str().unwrap_or_default()),
                escape(&examples::parameter(parameter)),
                inline(parameter["description"].as_str().unwrap_or_default())
            );
        }
        body.push_str("</dl>");
    }
    let request = &operation["requestBody"]["content"]["application/json"]["schema"];
    if request.is_object() {
        let optional = operation["requestBody"]["required"] != true;
        body.push_str(if optional { "<h3>Body <small>optional</small></h3>" } else { "<h3>Body</h3>" });
        write_schema(body, api, request);
    }
    write_right(body, operation);
    let command = examples::command(api, path, method, operation);
    let _ = write!(
        body,
        "<h3>Example</h3><pre class=\"example\" tabindex=\"0\" aria-label=\"Example\">{}</pre>",
        escape(&command)
    );
    if let Some(answer) = examples::answer(api, operation) {
        let _ = write!(
            body,
            "<pre class=\"example answer\" tabindex=\"0\" aria-label=\"Example of an answer\">{}</pre>",
            escape(&answer)
        );
    }
    body.push_str("<h3>Answers</h3><dl>");
    for (status, response) in fields(&operation["responses"]) {
        let description = inline(response["description"].as_str().unwrap_or_default());
        let _ = write!(body, "<dt><code>{}</code></dt><dd>{description}", escape(status));
        let schema = fields(&response["content"]).map(|(_, content)| &content["schema"]).next();
        if let Some(schema) = schema
            && status.starts_with('2')
        {
            write_schema(body, api, schema);
        }
        body.push_str("</dd>");
    }
    body.push_str("</dl></details>");
}

/// The right that an operation asks for.
fn write_right(body: &mut String, operation: &Value) {
    let right = &operation["x-right"];
    let rights: Vec<_> = right.as_str().into_iter().chain(list(right).filter_map(Value::as_str)).collect();
    if !rights.is_empty() {
        let rights = rights.iter().map(|right| format!("<code>{}</code>", escape(right))).collect::<Vec<_>>();
        let _ = write!(body, "<h3>Right</h3><p>{}</p>", rights.join(", "));
    }
}

/// The fields of an object's schema, one level deep, or of each of its cases; what they refer to is
/// named.
fn write_schema(body: &mut String, api: &Value, schema: &Value) {
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let schema = if name.is_empty() { schema } else { &api["components"]["schemas"][name] };
    for (index, case) in list(&schema["oneOf"]).filter(|case| case["type"] != "null").enumerate() {
        if index > 0 {
            body.push_str("<p>Or:</p>");
        }
        write_schema(body, api, case);
    }
    for part in list(&schema["allOf"]) {
        write_schema(body, api, part);
    }
    let required: Vec<_> = list(&schema["required"]).filter_map(Value::as_str).collect();
    body.push_str("<dl>");
    for (field, value) in fields(&schema["properties"]) {
        let needed = if required.contains(&field) { "" } else { " <small>optional</small>" };
        let _ = write!(
            body,
            "<dt><code>{}</code> <small>{}</small>{needed}</dt><dd>{}</dd>",
            escape(field),
            escape(&kind(value)),
            inline(value["description"].as_str().unwrap_or_default())
        );
    }
    body.push_str("</dl>");
}

/// The type of a field in a word or two.
fn kind(schema: &Value) -> String {
    if let Some(path) = schema["$ref"].as_str() {
        return path.rsplit('/').next().unwrap_or_default().to_owned();
    }
    let alternatives = list(&schema["oneOf"]).map(kind).filter(|kind| kind != "null").collect::<Vec<_>>();
    if !alternatives.is_empty() {
        return alternatives.join(" or ");
    }
    let one = |kind: &Value| match kind.as_str().unwrap_or_default() {
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

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn fields(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// A page of this look, with the policy of the console. The body is HTML.
pub(crate) fn page(title: &str, body: &str) -> Response {
    with_policy(Html(document(title, body)).into_response())
}

fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <link rel=\"icon\" href=\"/assets/icon.svg\"><link rel=\"stylesheet\" href=\"/assets/docs.css\"></head>\
         <body><main>{body}</main></body></html>",
        escape(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_made_once() {
        let documents = Documents::of("1.2.3");
        let (api, page) = (documents.openapi(), documents.reference());
        assert!(api.windows(5).any(|bytes| bytes == b"1.2.3"));
        assert_eq!(documents.openapi().as_ptr(), api.as_ptr());
        assert_eq!(documents.reference().as_ptr(), page.as_ptr());
    }
}
