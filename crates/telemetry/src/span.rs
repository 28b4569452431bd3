//! A span: one operation with its begin, its end and its place in a trace.
//!
//! Names and attributes follow the semantic conventions of OpenTelemetry where these have one.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use stadium_state_machine::TraceContext;

/// The role of a span, as OTLP numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Work within the server.
    Internal = 1,
    /// A request that the server answers.
    Server = 2,
    /// A request that the server makes.
    Client = 3,
    /// A message that the server sends.
    Producer = 4,
    /// A message that the server takes.
    Consumer = 5,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(Cow<'static, str>),
    /// A whole number.
    Whole(i64),
    /// Yes or no.
    Flag(bool),
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Whole(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The trace, and the span itself.
    pub context: TraceContext,
    /// The span that it belongs to; none for the first one of a trace.
    pub parent: Option<[u8; 8]>,
    /// Low in variety: a route, never a path.
    pub name: Cow<'static, str>,
    /// Its role.
    pub kind: Kind,
    /// Nanoseconds since 1970.
    pub start_ns: u64,
    /// Nanoseconds since 1970; not before the start.
    pub end_ns: u64,
    /// Its attributes.
    pub attributes: Vec<(&'static str, Value)>,
    /// The reason for which it failed; none where it did not.
    pub error: Option<Cow<'static, str>>,
    /// Events in it, with their times in nanoseconds since 1970.
    pub events: Vec<(&'static str, u64)>,
    /// Other spans that it has to do with.
    pub links: Vec<TraceContext>,
}

impl Span {
    /// The first span here of a trace, below the caller's if there is one; it begins now.
    pub(crate) fn first(
        context: TraceContext,
        caller: Option<TraceContext>,
        name: impl Into<Cow<'static, str>>,
        kind: Kind,
    ) -> Self {
        let parent = caller.map(|caller| caller.span_id);
        Self { context, parent, ..Self::below(context, name, kind) }
    }

    /// A span below another one that begins now.
    #[must_use]
    pub fn below(parent: TraceContext, name: impl Into<Cow<'static, str>>, kind: Kind) -> Self {
        let now = now_ns();
        Self {
            context: TraceContext { span_id: new_span_id(), ..parent },
            parent: Some(parent.span_id),
            name: name.into(),
            kind,
            start_ns: now,
            end_ns: now,
            attributes: Vec::new(),
            error: None,
            events: Vec::new(),
            links: Vec::new(),
        }
    }

    /// Adds an attribute.
    pub fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        self.attributes.push((name, value.into()));
    }

    /// The same with an attribute.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// The same with other times. A clock that was set back makes an empty span.
    #[must_use]
    pub fn between(mut self, start_ns: u64, end_ns: u64) -> Self {
        self.start_ns = start_ns;
        self.end_ns = end_ns.max(start_ns);
        self
    }

    /// Notes that something happened now.
    pub fn happened(&mut self, what: &'static str) {
        self.events.push((what, now_ns()));
    }

    /// Ends it now.
    #[must_use]
    pub fn ended(mut self) -> Self {
        self.end_ns = now_ns().max(self.start_ns);
        self
    }
}

/// The wall clock, nanoseconds since 1970.
#[must_use]
pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// A random id of a span.
pub(crate) fn new_span_id() -> [u8; 8] {
    fastrand::u64(1..).to_be_bytes()
}

/// A random id of a trace.
pub(crate) fn new_trace_id() -> [u8; 16] {
    fastrand::u128(1..).to_be_bytes()
}
