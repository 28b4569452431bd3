//! `stadium api METHOD PATH`: any request to the HTTP API, with the server and key of every other
//! command.
//!
//! The answer is written as it comes, so that streams and large files work. A refusal's body is
//! written too, and the command fails with what it says.

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value};

use crate::api::{Api, Raw};
use crate::failure::{Context, Failure};
use crate::on::On;
use crate::terminal::Terminal;

/// A request.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium api GET /api/queues
  stadium api PUT /api/queues/mail --field delivery_limit=3
  echo '{\"to\": \"everybody\", \"message\": \"Goal!\"}' | stadium api POST /api/push --input -
  stadium api GET /api/live                                a stream, until Ctrl-C
The description of all paths is `stadium openapi`.")]
pub(crate) struct Request {
    /// GET, POST, PUT, PATCH or DELETE
    #[arg(value_parser = method)]
    method: ureq::http::Method,
    /// The path with its query, from `/` on
    #[arg(value_parser = path)]
    path: String,
    /// The body: a file, `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "fields")]
    input: Option<PathBuf>,
    /// A field of a JSON body, as often as needed. A value that is JSON is sent as such, any other
    /// as text
    #[arg(long = "field", short = 'f', value_name = "NAME=VALUE", value_parser = field)]
    fields: Vec<(String, Value)>,
    /// A header, as often as needed. A body is JSON unless `Content-Type` is given
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// Makes repeating it safe: the header `Idempotency-Key`
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Write the status and the headers before the answer
    #[arg(long, short)]
    include: bool,
}

/// The request, and the server.
pub(crate) type Arguments = On<Request>;

fn method(text: &str) -> Result<ureq::http::Method, String> {
    match &*text.to_ascii_uppercase() {
        "GET" => Ok(ureq::http::Method::GET),
        "POST" => Ok(ureq::http::Method::POST),
        "PUT" => Ok(ureq::http::Method::PUT),
        "PATCH" => Ok(ureq::http::Method::PATCH),
        "DELETE" => Ok(ureq::http::Method::DELETE),
        _ => Err("a method is GET, POST, PUT, PATCH or DELETE".to_owned()),
    }
}

fn path(text: &str) -> Result<String, String> {
    if text.starts_with('/') && !text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Ok(text.to_owned());
    }
    Err("a path begins with `/`, and blanks in it are written %20; the server is --url's".to_owned())
}

fn field(text: &str) -> Result<(String, Value), String> {
    let (name, value) =
        text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| value.into())))
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("expected `NAME: VALUE`")?;
    let is_valid =
        ureq::http::HeaderName::try_from(name).is_ok() && ureq::http::HeaderValue::try_from(value).is_ok();
    if !is_valid {
        return Err("it is no header".to_owned());
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// Sends it, and writes the answer.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    arguments.run(send, terminal)
}

fn send(api: &Api, request: Request, _: &Terminal) -> Result<(), Failure> {
    let body = match &request.input {
        Some(file) if file.as_os_str() == "-" => {
            let mut body = Vec::new();
            io::stdin().lock().read_to_end(&mut body).context("standard input cannot be read")?;
            Some(body)
        }
        Some(file) => Some(std::fs::read(file).context(file.display())?),
        None if request.fields.is_empty() => None,
        None => Some(Value::Object(Map::from_iter(request.fields)).to_string().into_bytes()),
    };
    let mut headers = request.headers;
    headers.extend(request.id.map(|id| ("Idempotency-Key".to_owned(), id)));
    let raw = Raw {
        method: request.method,
        path: &request.path,
        headers: &headers,
        body: body.as_deref(),
        include: request.include,
        // A person's next prompt begins on a line of its own.
        ends_line: io::stdout().is_terminal(),
    };
    api.raw(raw, &mut io::stdout().lock())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_json_or_text() {
        for (text, name, value) in [
            ("limit=3", "limit", json!(3)),
            ("name=mail", "name", json!("mail")),
            ("paused=true", "paused", json!(true)),
            (r#"to={"device":"a"}"#, "to", json!({"device": "a"})),
            ("text=a=b", "text", json!("a=b")),
            ("empty=", "empty", json!("")),
        ] {
            assert_eq!(field(text), Ok((name.to_owned(), value)), "{text}");
        }
        assert!(field("=x").is_err() && field("x").is_err());
    }
}
