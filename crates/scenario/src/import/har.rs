//! HAR 1.2: what a browser sent, as a session.
//!
//! Requests stand in the order in which they began; a pause of the recording becomes a think step. Headers that belong to
//! the browser's connection or its cache, and cookies, which belong to a session that is over, are left out.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Imported, LeftOut, Unreadable, bare_key, literal, quoted, quoted_literal, split_url, time, untaken,
};

/// A pause of the recording that is one; shorter ones are the browser's own.
const PAUSE_MIN_MS: u64 = 200;

/// Headers that are not the page's: of the connection, of the browser, of its cache.
const LEFT_HEADERS: &[&str] = &[
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "te",
    "upgrade",
    "keep-alive",
    "proxy-connection",
    "accept-encoding",
    "cookie",
    "if-none-match",
    "if-modified-since",
    "cache-control",
    "pragma",
    "dnt",
    "priority",
    "upgrade-insecure-requests",
    "save-data",
];

#[derive(Deserialize)]
struct File<'h> {
    #[serde(borrow)]
    log: Log<'h>,
}

#[derive(Deserialize)]
struct Log<'h> {
    #[serde(borrow)]
    entries: Vec<&'h RawValue>,
    #[serde(default)]
    pages: Vec<Page>,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    title: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: String,
    #[serde(default)]
    time: f64,
    request: Request,
    #[serde(default)]
    response: Response,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    http_version: String,
    #[serde(default)]
    headers: Vec<Pair>,
    #[serde(default)]
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    params: Vec<Pair>,
}

#[derive(Deserialize, Default)]
struct Response {
    #[serde(default)]
    status: i64,
}

/// A request that is translated.
struct Taken {
    started_ms: i64,
    ended_ms: i64,
    target: usize,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Body>,
    status: i64,
}

enum Body {
    Text(String),
    Form(Vec<(String, String)>),
}

struct Target {
    name: String,
    url: String,
    is_http2: bool,
    /// Headers that all its requests have.
    headers: Vec<(String, String)>,
}

/// Makes a scenario of a HAR file.
///
/// # Errors
/// Where the file is not HAR, or has no request over HTTP.
pub fn har(text: &str) -> Result<Imported, Unreadable> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: File<'_> = serde_json::from_str(text).map_err(|error| Unreadable {
        line: u32::try_from(error.line()).unwrap_or(u32::MAX),
        message: format!("not a HAR file: {error}"),
    })?;
    let mut left_out = Vec::new();
    let mut targets: Vec<Target> = Vec::new();
    let mut taken = Vec::new();
    for raw in &file.log.entries {
        let line = line_of(text, raw.get());
        let entry: Entry = match serde_json::from_str(raw.get()) {
            Ok(entry) => entry,
            Err(error) => {
                left_out.push(LeftOut { line, what: format!("an entry that is not read: {error}") });
                continue;
            }
        };
        match take(entry, &mut targets) {
            Ok(request) => taken.push(request),
            Err(what) => left_out.push(LeftOut { line, what }),
        }
    }
    if taken.is_empty() {
        return Err(Unreadable { line: 1, message: "the file has no request over HTTP".to_owned() });
    }
    taken.sort_by_key(|request| request.started_ms);
    hoist(&mut targets, &mut taken);
    left_out.sort();
    let title = file.log.pages.iter().map(|page| page.title.trim()).find(|title| !title.is_empty());
    Ok(Imported { text: written(title.unwrap_or("a recording"), &targets, &taken), left_out })
}

/// The line that a part of a text begins on.
fn line_of(text: &str, part: &str) -> u32 {
    let offset = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len());
    crate::problem::count_lines(&text[..offset]) + 1
}

fn take(entry: Entry, targets: &mut Vec<Target>) -> Result<Taken, String> {
    let request = entry.request;
    let started: jiff::Timestamp = entry
        .started_date_time
        .parse()
        .map_err(|_| format!("{}: `{}` is not a time", request.url, entry.started_date_time))?;
    let scheme = request.url.split(':').next().unwrap_or("").to_ascii_lowercase();
    if scheme != "http" && scheme != "https" {
        return Err(format!("a request of `{scheme}:`, which is not HTTP"));
    }
    let (origin, path) = split_url(&request.url).ok_or_else(|| format!("`{}` is not a URL", request.url))?;
    let method = request.method.to_ascii_lowercase();
    if !crate::document::shape::METHODS.contains(&method.as_str()) {
        return Err(format!("{} {}: the method is not known", request.method, request.url));
    }
    let body = match request.post_data {
        None => None,
        Some(data) if !data.text.is_empty() => Some(Body::Text(data.text)),
        Some(data) if data.mime_type.starts_with("application/x-www-form-urlencoded") => {
            Some(Body::Form(data.params.into_iter().map(|pair| (pair.name, pair.value)).collect()))
        }
        Some(data) if data.params.is_empty() => None,
        Some(data) => {
            return Err(format!(
                "{} {}: a body of {}, whose bytes the file does not have",
                request.method, request.url, data.mime_type
            ));
        }
    };
    let authority = origin.split("://").nth(1).unwrap_or("");
    if authority.is_empty() || authority.contains('@') || !authority.is_ascii() {
        return Err(format!("`{}`: the host is not one of a target", request.url));
    }
    let is_http2 = matches!(
        request.http_version.to_ascii_lowercase().as_str(),
        "h2" | "http/2" | "http/2.0" | "h3" | "http/3"
    );
    let target = targets.iter().position(|target| target.url == origin).unwrap_or_else(|| {
        let name = untaken(bare_key(authority), |name| targets.iter().any(|target| target.name == name));
        targets.push(Target { name, url: origin.to_owned(), is_http2: false, headers: Vec::new() });
        targets.len() - 1
    });
    targets[target].is_http2 |= is_http2 && scheme == "https";
    let mut headers: Vec<(String, String)> = Vec::new();
    for header in request.headers {
        let name = header.name.to_ascii_lowercase();
        let is_left =
            LEFT_HEADERS.contains(&name.as_str()) || name.starts_with(':') || name.starts_with("sec-");
        if !is_left && !name.is_empty() && headers.iter().all(|(known, _)| *known != name) {
            headers.push((name, header.value));
        }
    }
    if matches!(body, Some(Body::Form(_))) && headers.iter().all(|(name, _)| name != "content-type") {
        headers.push(("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned()));
    }
    let started_ms = started.as_millisecond();
    let length_ms = if entry.time.is_finite() { entry.time.clamp(0.0, 1e9) as i64 } else { 0 };
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok(Taken {
        started_ms,
        ended_ms: started_ms + length_ms,
        target,
        method,
        path,
        headers,
        body,
        status: entry.response.status,
    })
}

/// Headers that all requests of a target have become its own.
fn hoist(targets: &mut [Target], taken: &mut [Taken]) {
    for (number, target) in targets.iter_mut().enumerate() {
        let mut counts: HashMap<(String, String), usize> = HashMap::new();
        let mut requests = 0;
        for request in taken.iter().filter(|request| request.target == number) {
            requests += 1;
            for header in &request.headers {
                *counts.entry(header.clone()).or_default() += 1;
            }
        }
        if requests < 2 {
            continue;
        }
        target.headers =
            counts.into_iter().filter(|(_, count)| *count == requests).map(|(header, _)| header).collect();
        target.headers.sort();
        for request in taken.iter_mut().filter(|request| request.target == number) {
            request.headers.retain(|header| !target.headers.contains(header));
        }
    }
}

fn written(title: &str, targets: &[Target], taken: &[Taken]) -> String {
    let mut out = String::new();
    // Writing into a string does not fail.
    let _ = writeln!(out, "# Imported from a HAR file.\nname = {}\n", quoted(title));
    for target in targets {
        let _ = writeln!(out, "[targets.{}]\nurl = {}", target.name, quoted(&target.url));
        if target.is_http2 {
            out.push_str("http = 2\n");
        }
        if !target.headers.is_empty() {
            let _ = writeln!(out, "headers = {}", table(&target.headers));
        }
        out.push('\n');
    }
    out.push_str("[[phases]]\nduration = \"1m\"\nrate = 1\n\n[[sessions]]\nname = \"recorded\"\n");
    let mut ended_ms: Option<i64> = None;
    for request in taken {
        let pause = ended_ms.and_then(|ended| u64::try_from(request.started_ms - ended).ok()).unwrap_or(0);
        if pause >= PAUSE_MIN_MS {
            let _ = writeln!(out, "\n[[sessions.steps]]\nthink = {}", time(pause));
        }
        ended_ms = Some(request.ended_ms.max(ended_ms.unwrap_or(i64::MIN)));
        let _ = writeln!(out, "\n[[sessions.steps]]\n{} = {}", request.method, quoted_literal(&request.path));
        if targets.len() > 1 {
            let _ = writeln!(out, "target = {}", quoted(&targets[request.target].name));
        }
        if !request.headers.is_empty() {
            let _ = writeln!(out, "headers = {}", table(&request.headers));
        }
        match &request.body {
            Some(Body::Text(text)) => {
                let _ = writeln!(out, "body = {}", quoted_literal(text));
            }
            Some(Body::Form(fields)) => {
                // A field may come twice, which a table cannot hold: the form is written out.
                let pairs: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
                    .collect();
                let _ = writeln!(out, "body = {}", quoted(&pairs.join("&")));
            }
            None => {}
        }
        // 304 was an answer to the browser's cache.
        if (200..400).contains(&request.status) && request.status != 304 {
            let _ = writeln!(out, "check = {{ status = {} }}", request.status);
        }
    }
    out
}

fn encoded(text: &str) -> String {
    let mut out = Vec::new();
    crate::encode::percent(text.as_bytes(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn table(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(&literal(value)))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!("../../tests/scenarios/recording.har");

    #[test]
    fn a_recording_becomes_a_session() {
        let imported = har(SAMPLE).unwrap();
        let program = crate::parse(&imported.text, &mut |_| Err(String::new()))
            .unwrap_or_else(|problems| panic!("{problems:#?}\n{}", imported.text));
        assert_eq!(program.name, "The shop");
        let names: Vec<&str> = program.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names, ["GET /", "GET /app.js", "POST /login", "POST /form"]);
        let targets: Vec<(&str, u16)> =
            program.targets.iter().map(|target| (target.host.as_str(), target.port)).collect();
        assert!(
            targets.contains(&("shop.example", 443)) && targets.contains(&("cdn.example", 8443)),
            "{targets:?}"
        );
        assert!(imported.text.contains("think = \"1500ms\""), "{}", imported.text);
        assert!(imported.text.contains("body = \"a=1&a=%C3%A9%20x\""), "{}", imported.text);
        assert!(
            !imported.text.contains("sec-fetch") && !imported.text.contains("secret"),
            "{}",
            imported.text
        );
        // The literal `${` of a body stays one.
        assert!(imported.text.contains("$${price}"), "{}", imported.text);
        let left: Vec<String> =
            imported.left_out.iter().map(|left| format!("{}: {}", left.line, left.what)).collect();
        assert_eq!(left.len(), 3, "{left:#?}");
        for (at, says) in ["`wss:`", "multipart/form-data", "not read"].into_iter().enumerate() {
            assert!(left[at].contains(says), "{left:#?}");
        }
        let line = SAMPLE.lines().position(|line| line.contains("wss://")).unwrap() as u32 + 1;
        assert!(
            imported.left_out.iter().any(|left| left.what.contains("wss") && left.line.abs_diff(line) <= 2)
        );
    }

    #[test]
    fn a_file_that_is_not_har_is_reported() {
        assert!(har("{\"log\": {}}").unwrap_err().message.contains("entries"));
        assert!(har("{\"log\": {\"entries\": []}}").unwrap_err().message.contains("no request"));
        assert!(har("<html>").unwrap_err().message.contains("not a HAR file"));
    }
}
