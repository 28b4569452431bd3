//! Composite metadata as the interoperability routes use it: a route, credentials, a text of our own MIME type.

use stadium_rsocket::metadata::authentication::{self, Authentication};
use stadium_rsocket::metadata::{Mime, entries, find, routes, write_entry, write_route};

/// The MIME type of a note in the metadata of a metadata push.
pub const NOTE: Mime<'static> = Mime::Named(b"message/x.stadium.note.v1");

/// Metadata that routes a request to `interop/NAME`.
pub fn route(name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_route(&mut out, &format!("interop/{name}"));
    out
}

/// Metadata for a metadata push.
pub fn note(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_entry(&mut out, NOTE, text.as_bytes());
    out
}

/// The route without its prefix, empty where there is none.
pub fn route_of(metadata: &[u8]) -> &str {
    let content = find(metadata, Mime::ROUTING).unwrap_or_default();
    let first = routes(content).next().and_then(Result::ok).unwrap_or_default();
    first.strip_prefix("interop/").unwrap_or_default()
}

/// The text of a metadata push.
pub fn note_of(metadata: &[u8]) -> String {
    text(find(metadata, NOTE).unwrap_or_default())
}

/// One line an entry, as the route `metadata` answers.
pub fn described(metadata: &[u8]) -> String {
    let lines = entries(metadata).map(|entry| {
        let Ok(entry) = entry else { return "malformed".to_owned() };
        if entry.mime == Mime::ROUTING {
            let tags: Vec<&str> = routes(entry.content).map_while(Result::ok).collect();
            format!("route {}", tags.join(" "))
        } else if entry.mime == Mime::AUTHENTICATION {
            match authentication::read(entry.content) {
                Ok(Authentication::Simple { username, password }) => format!("simple {username}:{password}"),
                Ok(Authentication::Bearer(token)) => format!("bearer {token}"),
                other => format!("{other:?}"),
            }
        } else {
            format!("{} {}", entry.mime.name().unwrap_or("?"), text(entry.content))
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Bytes that are expected to be text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What the streams send: a number, filled up to a size with dots.
pub fn padded(number: u64, size: usize) -> String {
    // A format string has no width beyond 65,535.
    let mut text = number.to_string();
    text.extend(std::iter::repeat_n('.', size.saturating_sub(text.len())));
    text
}
