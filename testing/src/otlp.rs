//! A receiver of OTLP over HTTP: keeps the spans that servers export, each with its process.
//!
//! Messages are those of `opentelemetry/proto`, as far as the suites read them. The suite `otel`
//! proves with a collector of OpenTelemetry that exports can be read; here is the place of each
//! span in its trace.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use prost::Message as _;

use crate::deadline::until;

/// Longest body that is read; an export of the server has 512 spans at most.
const BODY_BYTES_MAX: usize = 16 << 20;

/// The role of a span, as OTLP numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Internal = 1,
    Server,
    Client,
    Producer,
    Consumer,
}

/// A span as it was exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its trace, in hexadecimal digits.
    pub trace: String,
    /// Itself.
    pub id: String,
    /// The span that it belongs to; empty for the first one of a trace.
    pub parent: String,
    /// Its name.
    pub name: String,
    /// Its role; none where it is unknown.
    pub kind: Option<Kind>,
    /// Nanoseconds since 1970.
    pub start_ns: u64,
    /// Nanoseconds since 1970.
    pub end_ns: u64,
    /// Its attributes; numbers as text.
    pub attributes: BTreeMap<String, String>,
    /// The names of its events.
    pub events: Vec<String>,
    /// The reason of its failure.
    pub error: Option<String>,
    /// The attributes of the process that exported it.
    pub process: BTreeMap<String, String>,
}

impl Span {
    /// An attribute; empty where it has none.
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    /// The `traceparent` of messages and calls that belong to this span (W3C Trace Context).
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-01", self.trace, self.id)
    }
}

/// Receives exports until the process ends.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    spans: Arc<Mutex<Vec<Span>>>,
}

impl Receiver {
    /// Listens on a free port of loopback.
    pub fn start() -> Result<Self> {
        let spans = Arc::<Mutex<Vec<Span>>>::default();
        let received = Arc::clone(&spans);
        let address = listen(move |body| {
            let exported = Export::decode(body).map(self::spans)?;
            received.lock().unwrap_or_else(PoisonError::into_inner).extend(exported);
            Ok(())
        })?;
        Ok(Self { address, spans })
    }

    /// Takes exports and forgets them: for loads that make more spans than anybody reads.
    pub fn start_forgetful() -> Result<Self> {
        Ok(Self { address: listen(|_| Ok(()))?, spans: Arc::default() })
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Lines of `stadium.toml` for a server that samples what its callers sample, and exports at
    /// once.
    pub fn settings(&self) -> String {
        format!(
            "[telemetry]\nendpoint = \"{}\"\nspans_interval_ms = 10\nsample_ratio = 0\n\
             sample_errors = false\nsample_slow_ms = 0\nmetrics_interval_s = 0\n",
            self.url()
        )
    }

    /// The spans of a trace so far.
    pub fn trace(&self, trace: &str) -> Vec<Span> {
        let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        spans.iter().filter(|span| span.trace == trace).cloned().collect()
    }

    /// The spans of a trace, once `holds` is true of them.
    pub fn until(&self, within: Duration, trace: &str, holds: impl Fn(&[Span]) -> bool) -> Result<Vec<Span>> {
        let whole =
            until(
                within,
                "the spans of a trace",
                || Ok(Some(self.trace(trace)).filter(|spans| holds(spans))),
            );
        whole.with_context(|| format!("so far there are {:#?}", self.trace(trace)))
    }
}

/// Listens on a free port of loopback, and hands each export of spans over.
fn listen(take: impl Fn(&[u8]) -> Result<()> + Send + Sync + 'static) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen for exports")?;
    let (address, take) = (listener.local_addr()?, Arc::new(take));
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let take = Arc::clone(&take);
            // An exporter that hangs up has ended.
            std::thread::spawn(move || drop(serve(connection, &*take)));
        }
    });
    Ok(address)
}

/// Takes the requests of a connection.
fn serve(connection: TcpStream, take: &dyn Fn(&[u8]) -> Result<()>) -> Result<()> {
    let mut writer = connection.try_clone()?;
    let mut reader = BufReader::new(connection);
    loop {
        let mut path = String::new();
        if reader.read_line(&mut path)? == 0 {
            return Ok(());
        }
        let body = body(&mut reader)?;
        if path.contains(" /v1/traces ") {
            take(&body)?;
        }
        writer.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n",
        )?;
    }
}

/// The body of a request whose first line was read.
fn body(reader: &mut BufReader<TcpStream>) -> Result<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().context("a length is a number")?;
        }
    }
    anyhow::ensure!(length <= BODY_BYTES_MAX, "an export of {length} bytes");
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn spans(export: Export) -> impl Iterator<Item = Span> {
    export.resource_spans.into_iter().flat_map(|resource_spans| {
        let process = texts(resource_spans.resource.unwrap_or_default().attributes);
        let spans = resource_spans.scope_spans.into_iter().flat_map(|scope| scope.spans);
        spans.map(move |span| span.into_ours(process.clone()))
    })
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    let value = |value: Option<AnyValue>| match value.and_then(|value| value.value) {
        Some(AnyValueCase::Text(text)) => text,
        Some(AnyValueCase::Flag(flag)) => flag.to_string(),
        Some(AnyValueCase::Whole(number)) => number.to_string(),
        None => String::new(),
    };
    attributes.into_iter().map(|one| (one.key, value(one.value))).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The code of a status that is an error.
const STATUS_ERROR: i32 = 2;

#[derive(Clone, PartialEq, prost::Message)]
struct Export {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ScopeSpans {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<WireSpan>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AnyValue {
    #[prost(oneof = "AnyValueCase", tags = "1, 2, 3")]
    value: Option<AnyValueCase>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum AnyValueCase {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Flag(bool),
    #[prost(int64, tag = "3")]
    Whole(i64),
}

#[derive(Clone, PartialEq, prost::Message)]
struct WireSpan {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_ns: u64,
    #[prost(fixed64, tag = "8")]
    end_ns: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "11")]
    events: Vec<Event>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Event {
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(string, tag = "2")]
    message: String,
    #[prost(int32, tag = "3")]
    code: i32,
}

impl WireSpan {
    fn into_ours(self, process: BTreeMap<String, String>) -> Span {
        let kinds = [Kind::Internal, Kind::Server, Kind::Client, Kind::Producer, Kind::Consumer];
        Span {
            trace: hexadecimal(&self.trace_id),
            id: hexadecimal(&self.span_id),
            parent: hexadecimal(&self.parent_span_id),
            name: self.name,
            kind: kinds.into_iter().find(|kind| *kind as i32 == self.kind),
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            attributes: texts(self.attributes),
            events: self.events.into_iter().map(|event| event.name).collect(),
            error: self.status.filter(|status| status.code == STATUS_ERROR).map(|status| status.message),
            process,
        }
    }
}
