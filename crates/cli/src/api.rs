//! A client of the HTTP API of a running server.
//!
//! Which server, and with which key, is found by [`crate::server`]. Every problem that the server
//! reports becomes a [`Failure`] with its code.

use std::io::{Read, Write};
use std::time::Duration;

use serde_json::Value;
use ureq::http::StatusCode;
use ureq::tls::TlsConfig;

use crate::failure::{Context, Failure};
use crate::server::{Origin, Server, ServerFlags};

/// Bytes of an answer we are willing to read; the largest page of devices is far below.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// Connections kept open between requests: as many as a worker has threads that ask.
const IDLE_CONNECTIONS_MAX: usize = 256;

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// When to ask again at a server that is busy and gives no time.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A request to the API.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    /// With which method.
    pub(crate) method: Method,
    /// The path with its query, from `/api` on.
    pub(crate) path: &'a str,
    /// JSON; none where it contains everything.
    pub(crate) body: Option<&'a str>,
    /// Makes repeating it safe.
    pub(crate) idempotency_key: Option<&'a str>,
}

/// A request whose answer is forwarded as it comes.
#[derive(Debug)]
pub(crate) struct Raw<'a> {
    /// With which method.
    pub(crate) method: ureq::http::Method,
    /// The path with its query, from `/` on.
    pub(crate) path: &'a str,
    /// Headers besides the key's.
    pub(crate) headers: &'a [(String, String)],
    /// JSON, unless the headers state another type.
    pub(crate) body: Option<&'a [u8]>,
    /// Whether status and headers are written before the answer.
    pub(crate) include: bool,
    /// Whether an answer that does not end a line is followed by a line's end.
    pub(crate) ends_line: bool,
}

/// A method of the API.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Method {
    /// Looks.
    Get,
    /// Does something.
    Post,
    /// Makes it so.
    Put,
    /// Changes a part.
    Patch,
    /// Takes away.
    Delete,
}

/// Why a request was not answered with what it asked for, by what its caller may do about it.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Nobody answered, or not to the end: whether it happened is unknown.
    Unanswered(Failure),
    /// Nothing happened; ask again after a while.
    Busy {
        /// After so long.
        retry_after: Duration,
        /// In words.
        failure: Failure,
    },
    /// Nothing happened, and it will never work like this.
    Rejected {
        /// The stable code, such as `QUE-022`; empty where there is none.
        code: String,
        /// In words.
        failure: Failure,
    },
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Unanswered(failure)
            | Refused::Busy { failure, .. }
            | Refused::Rejected { failure, .. } => failure,
        }
    }
}

/// A server, and the key to it.
#[derive(Debug)]
pub(crate) struct Api {
    agent: ureq::Agent,
    url: String,
    url_from: Origin,
    key: Option<String>,
    key_hint: String,
    app: String,
}

impl Api {
    /// Finds the server and the key.
    pub(crate) fn open(flags: &ServerFlags) -> Result<Self, Failure> {
        let server = Server::find(flags)?;
        let tls = server.tls()?;
        let Server { url, url_from, key, key_hint, app, .. } = server;
        Ok(Self { app, url_from, ..Self::new(url, key, key_hint, tls) })
    }

    /// A server of this process at `url`, with `key`.
    pub(crate) fn local(url: String, key: String) -> Self {
        Self::new(url, Some(key), String::new(), TlsConfig::default())
    }

    fn new(url: String, key: Option<String>, key_hint: String, tls: TlsConfig) -> Self {
        let agent = ureq::Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            .max_idle_connections(IDLE_CONNECTIONS_MAX)
            .max_idle_connections_per_host(IDLE_CONNECTIONS_MAX)
            .user_agent(concat!("stadium/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Self { agent, url, url_from: Origin::Default, key, key_hint, app: String::new() }
    }

    /// The app that is meant where none is named.
    pub(crate) fn app(&self) -> &str {
        &self.app
    }

    /// The server's address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// GET.
    pub(crate) fn get(&self, path: &str) -> Result<Value, Failure> {
        self.answer(self.authorised(self.agent.get(self.full(path))).call())
    }

    /// POST of a JSON body.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.answer(self.authorised(self.agent.post(self.full(path))).send_json(body))
    }

    /// DELETE.
    pub(crate) fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.answer(self.authorised(self.agent.delete(self.full(path))).call())
    }

    /// The status of a path that needs no key, and its text.
    pub(crate) fn probe(&self, path: &str) -> Result<(u16, String), Failure> {
        let mut response =
            self.agent.get(self.full(path)).call().map_err(|error| self.unreachable(&error))?;
        let text = response.body_mut().read_to_string().unwrap_or_default();
        Ok((response.status().as_u16(), text))
    }

    /// A request whose caller decides by the sort of refusal.
    pub(crate) fn ask(&self, ask: Ask<'_>) -> Result<Value, Refused> {
        let url = self.full(ask.path);
        let answer = match ask.method {
            Method::Get => self.authorised(self.agent.get(url)).call(),
            Method::Delete => self.authorised(self.agent.delete(url)).call(),
            Method::Post => self.send(self.agent.post(url), ask),
            Method::Put => self.send(self.agent.put(url), ask),
            Method::Patch => self.send(self.agent.patch(url), ask),
        };
        self.read(answer)
    }

    /// Writes what a path answers to `out` as it comes, however long it takes, and returns the
    /// number of bytes.
    pub(crate) fn download(&self, path: &str, out: &mut impl Write) -> Result<u64, Failure> {
        let request = self.authorised(self.agent.get(self.full(path)));
        let request = request.config().timeout_global(None).timeout_recv_response(Some(TIMEOUT)).build();
        let mut response = request.call().map_err(|error| self.unreachable(&error))?;
        if !response.status().is_success() {
            return self.answer(Ok(response)).map(|_| 0);
        }
        let broke_off = format!("the answer of {} broke off", self.url);
        let mut body = response.body_mut().with_config().limit(u64::MAX).reader();
        match std::io::copy(&mut body, out) {
            // A reader that has gone away is no failure of ours.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
            copied => copied.and_then(|bytes| out.flush().map(|()| bytes)).context(broke_off),
        }
    }

    /// Any request: writes its answer to `out` as it comes, a refusal's too, which is a failure then.
    pub(crate) fn raw(&self, raw: Raw<'_>, out: &mut impl Write) -> Result<(), Failure> {
        let mut request = ureq::http::Request::builder().method(raw.method).uri(self.full(raw.path));
        let given = |name: &str| raw.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        if let (Some(key), false) = (&self.key, given("Authorization")) {
            request = request.header("Authorization", format!("Bearer {key}"));
        }
        if raw.body.is_some() && !given("Content-Type") {
            request = request.header("Content-Type", "application/json");
        }
        for (name, value) in raw.headers {
            request = request.header(name, value);
        }
        let invalid = |error| Failure::Usage(format!("it is no request: {error}"));
        let answer = match raw.body {
            Some(body) => self.run_raw(request.body(body).map_err(invalid)?),
            None => self.run_raw(request.body(()).map_err(invalid)?),
        };
        let mut response = answer.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let mut out = LineEnded { out, ended: true };
        let mut copied = Ok(());
        if raw.include {
            copied = writeln!(out, "{:?} {status}", response.version());
            for (name, value) in response.headers() {
                let value = String::from_utf8_lossy(value.as_bytes());
                copied = copied.and_then(|()| writeln!(out, "{name}: {value}"));
            }
            copied = copied.and_then(|()| out.write_all(b"\n"));
        }
        let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let retry_after = retry_after.map(str::to_owned);
        let refusal = if status.is_client_error() || status.is_server_error() {
            let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
            let body = body.context(format_args!("the answer of {} broke off", self.url))?;
            copied = copied.and_then(|()| out.write_all(body.as_bytes()));
            Some(Failure::new(self.refused(status, retry_after.as_deref(), &body)))
        } else {
            let mut body = response.body_mut().with_config().limit(u64::MAX).reader();
            copied = copied.and_then(|()| forward(&mut body, &mut out));
            None
        };
        if raw.ends_line && !out.ended {
            copied = copied.and_then(|()| out.write_all(b"\n"));
        }
        match copied.and_then(|()| out.flush()) {
            // A reader that has gone away is no failure of ours.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            copied => copied.context(format_args!("the answer of {} broke off", self.url))?,
        }
        refusal.map_or(Ok(()), Err)
    }

    fn run_raw(
        &self,
        request: ureq::http::Request<impl ureq::AsSendBody>,
    ) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
        let request = self.agent.configure_request(request);
        let request = request.allow_non_standard_methods(true);
        self.agent.run(request.timeout_global(None).timeout_recv_response(Some(TIMEOUT)).build())
    }

    /// POST of a body as it is read, however long it takes.
    pub(crate) fn upload(&self, path: &str, body: &mut impl Read) -> Result<Value, Failure> {
        let request = self.authorised(self.agent.post(self.full(path)));
        let request = request.header("Content-Type", "application/octet-stream");
        let request = request.config().timeout_global(None).build();
        self.answer(request.send(ureq::SendBody::from_reader(body)))
    }

    fn send(
        &self,
        request: ureq::RequestBuilder<ureq::typestate::WithBody>,
        ask: Ask<'_>,
    ) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
        let request = self.authorised(request);
        let request = match ask.idempotency_key {
            Some(key) => request.header("Idempotency-Key", key),
            None => request,
        };
        match ask.body {
            Some(body) => request.header("Content-Type", "application/json").send(body),
            None => request.send_empty(),
        }
    }

    fn full(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn authorised<Body>(&self, request: ureq::RequestBuilder<Body>) -> ureq::RequestBuilder<Body> {
        match &self.key {
            Some(key) => request.header("Authorization", format!("Bearer {key}")),
            None => request,
        }
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        Failure::new(format!(
            "the server at {} cannot be reached: {error}; is `stadium serve` running there, or do you mean another --url? \
             (the address is of {})",
            self.url, self.url_from
        ))
    }

    fn answer(
        &self,
        answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<Value, Failure> {
        Ok(self.read(answer)?)
    }

    fn read(&self, answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Value, Refused> {
        let mut response = answer.map_err(|error| Refused::Unanswered(self.unreachable(&error)))?;
        let status = response.status();
        let text = response
            .body_mut()
            .with_config()
            .limit(ANSWER_BYTES_MAX)
            .read_to_string()
            .context(format_args!("the answer of {} broke off", self.url))
            .map_err(Refused::Unanswered)?;
        if status.is_success() {
            if text.is_empty() {
                return Ok(Value::Null);
            }
            return serde_json::from_str(&text)
                .context(format_args!("{} did not answer with JSON", self.url))
                .map_err(Refused::Unanswered);
        }
        let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let failure = Failure::new(self.refused(status, retry_after, &text));
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            let seconds = retry_after.and_then(|seconds| seconds.parse().ok());
            return Err(Refused::Busy {
                retry_after: seconds.map_or(RETRY_AFTER, Duration::from_secs),
                failure,
            });
        }
        if status.is_server_error() {
            return Err(Refused::Unanswered(failure));
        }
        let problem: Value = serde_json::from_str(&text).unwrap_or_default();
        let code = problem.get("code").and_then(Value::as_str).unwrap_or_default().to_owned();
        Err(Refused::Rejected { code, failure })
    }

    /// A refusal in words: the server's own (RFC 9457), its code, and what to do.
    fn refused(&self, status: StatusCode, retry_after: Option<&str>, body: &str) -> String {
        let problem: Value = serde_json::from_str(body).unwrap_or_default();
        let field = |name: &str| problem.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut text = match (field("detail"), field("title")) {
            ("", "") => format!("{} answered {status}", self.url),
            ("", title) => title.to_owned(),
            (detail, _) => in_flags(field("code"), detail),
        };
        // Where the body is wrong; `.` is all of it.
        if !matches!(field("path"), "" | ".") {
            text = format!("{}: {text}", field("path"));
        }
        if !field("code").is_empty() {
            text = format!("{text} ({})", field("code"));
        }
        if status == StatusCode::UNAUTHORIZED {
            text = format!("{text}; {}", self.key_hint);
        }
        if status == StatusCode::GATEWAY_TIMEOUT {
            text = format!("{text}; it may have happened: repeat it with the same id, or look");
        } else if let Some(seconds) = retry_after {
            text = format!("{text}; try again in {seconds} s");
        }
        text
    }
}

/// The text of a problem, for people who write flags and no headers.
fn in_flags(code: &str, detail: &str) -> String {
    match code {
        "HTTP-001" => {
            "this needs an API key: give --key-file or STADIUM_KEY, a --profile, or the server's data directory with --data"
                .to_owned()
        }
        "HTTP-006" => "the server did not take the body as JSON: is it of another version?".to_owned(),
        "HTTP-016" => "--id has 1 to 128 visible ASCII characters".to_owned(),
        _ => detail
            .replace(
                "repeat a push, a put or a transfer with its Idempotency-Key",
                "repeat it with the same --id",
            )
            .replace("the header `Idempotency-Key`", "--id")
            .replace("the `Idempotency-Key`", "the --id")
            .replace("`Idempotency-Key`", "--id"),
    }
}

/// Copies what has come at once, and waits for no more: an event of a stream is shown when it happens.
fn forward(from: &mut impl Read, to: &mut impl Write) -> std::io::Result<()> {
    let mut piece = [0; 16 * 1024];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(()),
            length => to.write_all(&piece[..length]).and_then(|()| to.flush())?,
        }
    }
}

/// Knows whether what was written ends a line.
struct LineEnded<'a, W> {
    out: &'a mut W,
    ended: bool,
}

impl<W: Write> Write for LineEnded<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        if let Some(last) = bytes.get(..written).and_then(<[u8]>::last) {
            self.ended = *last == b'\n';
        }
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// A piece of a path or query, percent-encoded (RFC 3986, 2.3).
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_for_paths() {
        assert_eq!(encoded("kiosk-7"), "kiosk-7");
        assert_eq!(encoded("a/b ü"), "a%2Fb%20%C3%BC");
    }

    #[test]
    fn refusals_speak_of_flags_and_not_of_headers() {
        for (code, detail) in [
            ("HTTP-001", "send the header `Authorization: Bearer sk_...` with an API key"),
            ("HTTP-006", "the content type is nothing"),
            ("HTTP-016", "`Idempotency-Key` is sent once and has 1 to 128 visible ASCII characters"),
            (
                "HTTP-018",
                "it was not answered within 30 s; repeat a push, a put or a transfer with its Idempotency-Key",
            ),
            ("HTTP-005", "it is another one than that of the header `Idempotency-Key`: give one"),
            ("HTTP-005", "give each transfer an `id`, or the header `Idempotency-Key`"),
            ("HTTP-015", "the `Idempotency-Key` (or a `dedup_id`) came with other jobs before"),
        ] {
            let shown = in_flags(code, detail);
            for header in ["header", "Idempotency-Key", "Authorization", "content type"] {
                assert!(!shown.contains(header), "{code}: {shown}");
            }
        }
        assert_eq!(in_flags("QUE-020", "there is no queue \"a\""), "there is no queue \"a\"");
    }

    #[test]
    fn refusals_have_the_servers_words_and_the_way_out() {
        let api = Api::new("http://s".into(), None, "there is no key".into(), TlsConfig::default());
        let problem = r#"{"title":"Unauthorized","detail":"a key is needed","code":"HTTP-001"}"#;
        assert_eq!(
            api.refused(StatusCode::UNAUTHORIZED, None, problem),
            "this needs an API key: give --key-file or STADIUM_KEY, a --profile, or the server's data directory with --data (HTTP-001); there is no key"
        );
        assert_eq!(
            api.refused(StatusCode::SERVICE_UNAVAILABLE, Some("2"), "<html>"),
            "http://s answered 503 Service Unavailable; try again in 2 s"
        );
        let unknown = r#"{"title":"Not known","detail":"the shard panicked","code":"SHARD-015"}"#;
        assert_eq!(
            api.refused(StatusCode::GATEWAY_TIMEOUT, Some("1"), unknown),
            "the shard panicked (SHARD-015); it may have happened: repeat it with the same id, or look"
        );
    }
}
