//! Streams of topics as server-sent events, and the tickets that open them from a web page.
//!
//! A message's text is shared by all streams: a stream adds its own head, heartbeats and end. How
//! many there may be, and for how long a place can be taken up again, is the fleet's to say.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use stadium_grants::Verb;
use tokio::time::{Interval, MissedTickBehavior};
use tokio_stream::Stream;
use utoipa::ToSchema;

use crate::fleet::{NoStream, StreamItem, StreamQuery, Tally, TopicStream};
use crate::platform::ids::random;
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::read_json;
use crate::request::problem::{Problem, ProblemSchema, STREAMS_FULL, TICKET_WRONG, TOO_LARGE, TOPIC_WRONG};
use crate::request::query::{Query, wrong};
use crate::request::readiness::{draining, not_ready};
use crate::rfc3339;
use crate::spelling::field;
use crate::topics::tickets::{TICKET_CHARS_MAX, Ticket, Tickets};

/// When a caller asks again that found no place.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// The shortest and the longest time after which a browser reconnects, in milliseconds: spread, so
/// that the readers of a server that stops do not come to the next one at once.
const RETRY_MS: std::ops::Range<u64> = 1_000..5_000;

/// Seconds of a ticket, unless its caller asks for another time; and at most.
const TICKET_S: u64 = 3_600;
const TICKET_S_MAX: u64 = 86_400;

/// The reasons by which ended streams are counted.
const ENDS: [&str; 6] = ["client", "behind", "slow", "draining", "revoked", "expired"];

/// The ends of streams so far, by reason.
#[derive(Default)]
pub(crate) struct StreamEnds([AtomicU64; ENDS.len()]);

impl StreamEnds {
    fn count(&self, end: &str) {
        let place = ENDS.iter().position(|known| *known == end).unwrap_or_default();
        self.0[place].fetch_add(1, Ordering::Relaxed);
    }

    /// By reason.
    pub(crate) fn tallies(&self) -> Vec<Tally> {
        let tally = |(reason, count): (&&'static str, &AtomicU64)| Tally {
            reason,
            total: count.load(Ordering::Relaxed),
        };
        ENDS.iter().zip(&self.0).map(tally).collect()
    }
}

/// Messages of topics, as they are published.
///
/// Server-sent events: `subscribed` once, then each message (the data is a `StreamedMessage`),
/// retained ones first. `gap` means that messages may be missing here, and why. `end` is the last
/// event, with its reason. A stream that begins with the header `Last-Event-ID` (or the parameter
/// `last_event_id`) of an earlier one goes on where that ended, for as long as the server
/// remembers, or begins with a `gap`. A browser's EventSource sends no key: it gives a `ticket`.
#[utoipa::path(get, operation_id = "stream_topics", path = "/api/topics/stream", tag = "Topics",
    extensions(("x-right" = json!("stream.subscribe:{filter}"))),
    params(("topic" = Option<Vec<String>>, Query, description = "A topic filter; may be given several times. With a ticket: those of the ticket by default.", example = json!(["chat/+"])),
           ("ticket" = Option<String>, Query, description = "A ticket, in place of an API key."),
           ("retained" = Option<bool>, Query, description = "`false`: do not begin with the retained messages."),
           ("last_event_id" = Option<String>, Query, description = "As the header `Last-Event-ID`, which counts before it."),
           ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event of an earlier stream.")),
    responses((status = 200, description = "Events as text.", body = String, content_type = "text/event-stream"),
              (status = 400, description = "`HTTP-017`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`, `TOPIC-004`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 422, description = "`TOPIC-001`", body = ProblemSchema),
              (status = 503, description = "`HTTP-014`, `TOPIC-003`", body = ProblemSchema)))]
pub(crate) async fn events(
    State(app): State<Arc<App>>,
    State(tickets): State<Arc<Tickets>>,
    State(ends): State<Arc<StreamEnds>>,
    request: Request,
) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    let known = ["topic", "ticket", "retained", "last_event_id"];
    let query = Query::read_lists(&parts.uri, &known, &["topic"])?;
    let mut filters: Vec<String> = query.values("topic").map(str::to_owned).collect();
    let holder = match query.value("ticket") {
        Some(text) => {
            let ticket = tickets.read(text, seconds_now()).filter(|ticket| is_valid(&app, &ticket.holder));
            let ticket = ticket.ok_or_else(|| {
                let detail = "it is over, its key was revoked, or another server made it: get a new one";
                Problem::new(TICKET_WRONG, detail).at("ticket")
            })?;
            if filters.is_empty() {
                filters.clone_from(&ticket.filters);
            }
            if let Some(filter) = filters.iter().find(|filter| !ticket.filters.contains(filter)) {
                let detail = format!("the ticket is not for the filter {filter:?}");
                return Err(Problem::new(TICKET_WRONG, detail).at("topic"));
            }
            Holder { id: Some(ticket.holder), until_s: Some(ticket.expires_at_s) }
        }
        None => {
            let caller = Caller::from_request_parts(&mut parts, &app).await?;
            caller.may_each(filters.iter().map(|filter| (Verb::StreamSubscribe, filter.as_str())))?;
            Holder { id: caller.key(), until_s: None }
        }
    };
    if filters.is_empty() {
        return Err(wrong("topic", "name a topic filter: ?topic=chat/%2B".to_owned()));
    }
    if let Some(problem) = not_ready(&app.fleet.readiness()) {
        return Err(problem);
    }
    let from = last_event_id(&parts.headers).or_else(|| query.value("last_event_id").map(str::to_owned));
    let retained = query.one_of("retained", &[("true", true), ("false", false)])?;
    let asked = StreamQuery { filters, from: from.filter(|from| !from.is_empty()), retained };
    let stream = app.fleet.stream(&asked).map_err(refused)?;
    let retry_ms = RETRY_MS.start + u64::from_be_bytes(random()?) % (RETRY_MS.end - RETRY_MS.start);
    let head = format!(
        "retry: {retry_ms}\nid: {}\nevent: subscribed\ndata: {{\"resumed\":{}}}\n\n",
        stream.place(),
        asked.from.is_some()
    );
    let every = app.config.stream_heartbeat;
    let mut heartbeat = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stopping = app.draining.subscribe();
    let stopped = Box::pin(async move {
        // An error means that the server is gone.
        let _ = stopping.wait_for(|draining| *draining).await;
    });
    let events = Events {
        head: Some(head.into()),
        stream,
        heartbeat,
        stopped,
        holder,
        app: Arc::clone(&app),
        ends: Arc::clone(&ends),
        over: None,
    };
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        // nginx would hold events back to fill a buffer.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(events)).into_response())
}

fn last_event_id(headers: &HeaderMap) -> Option<String> {
    headers.get("last-event-id").and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn refused(refused: NoStream) -> Problem {
    match refused {
        NoStream::Full(max) => {
            let detail = format!("{max} are open already (http.topic_streams_max)");
            Problem::new(STREAMS_FULL, detail).retry_after(RETRY_AFTER)
        }
        NoStream::Filters(max) => wrong("topic", format!("a stream has at most {max} topic filters")),
        NoStream::Filter(place, why) => {
            Problem::new(TOPIC_WRONG, format!("filter {place}: {why}")).at("topic")
        }
        NoStream::Draining => draining(),
    }
}

/// Whether a key, or a person, may still do what it was allowed.
fn is_valid(app: &App, holder: &str) -> bool {
    // People have no keys: what they opened ends with its ticket, or with their browser.
    !holder.starts_with("k_") || app.keys.is_valid(holder)
}

/// Whose stream it is.
struct Holder {
    /// The id of a key or a person; none where reading is open.
    id: Option<String>,
    /// When its ticket is over, seconds since 1970.
    until_s: Option<u64>,
}

/// The body of an answer: it polls its stream when the connection can take more.
struct Events {
    head: Option<Bytes>,
    stream: Box<dyn TopicStream>,
    heartbeat: Interval,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    holder: Holder,
    app: Arc<App>,
    ends: Arc<StreamEnds>,
    /// The reason that it is over.
    over: Option<&'static str>,
}

impl Events {
    /// The last event.
    fn end(&mut self, reason: &'static str) -> Bytes {
        self.over = Some(reason);
        format!("id: {}\nevent: end\ndata: {{\"reason\":\"{reason}\"}}\n\n", self.stream.place()).into()
    }

    /// A sign of life, or the end of a stream that its holder has no right to any more. The id lets
    /// a quiet stream begin from here later.
    fn beat(&mut self) -> Bytes {
        if self.holder.until_s.is_some_and(|until_s| seconds_now() >= until_s) {
            return self.end("expired");
        }
        match self.holder.id.as_deref().is_none_or(|id| is_valid(&self.app, id)) {
            true => format!(": {}\nid: {}\n\n", seconds_now(), self.stream.place()).into(),
            false => self.end("revoked"),
        }
    }
}

impl Stream for Events {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let events = &mut *self;
        if events.over.is_some() {
            return Poll::Ready(None);
        }
        if let Some(head) = events.head.take() {
            return Poll::Ready(Some(Ok(head)));
        }
        let bytes = match events.stream.poll_next(cx) {
            Poll::Ready(StreamItem::Message(bytes)) => bytes,
            Poll::Ready(StreamItem::Gap(reason)) => {
                format!("event: gap\ndata: {{\"reason\":\"{reason}\"}}\n\n").into()
            }
            Poll::Ready(StreamItem::End(reason)) => events.end(reason),
            Poll::Pending if events.stopped.as_mut().poll(cx).is_ready() => events.end("draining"),
            Poll::Pending if events.heartbeat.poll_tick(cx).is_ready() => events.beat(),
            Poll::Pending => return Poll::Pending,
        };
        Poll::Ready(Some(Ok(bytes)))
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let end = match self.over {
            Some(reason) => reason,
            // Its connection was cut while it did not read, or its reader left.
            None if self.stream.is_behind() => "behind",
            None => "client",
        };
        self.ends.count(end);
    }
}

/// The streams that a ticket is to open.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TicketFields {
    /// 1 to 16 topic filters.
    #[schema(min_items = 1, max_items = 16, example = json!(["chat/+"]))]
    filters: Vec<String>,
    /// Seconds; 3,600 by default.
    #[serde(default)]
    #[schema(minimum = 10, maximum = 86400, example = 3600)]
    expires_in_s: Option<u64>,
}

/// A ticket for streams.
#[derive(Serialize, ToSchema)]
pub(crate) struct TicketReport {
    /// The ticket.
    #[schema(example = "tt_AQAAAABp...")]
    ticket: String,
    /// The path that an EventSource opens, on this server.
    #[schema(example = "/api/topics/stream?ticket=tt_AQAAAABp...")]
    url: String,
    /// When it is over.
    #[schema(example = "2026-11-27T12:00:00.000Z")]
    expires_at: String,
}

/// Topic filters of a ticket.
const FILTERS_MAX: usize = 16;

/// Makes a ticket that opens streams of these topics, for a web page.
///
/// Nothing is stored: it counts until its expiry, unless the key that asked for it is revoked
/// before. It may be used several times: a browser that lost its connection opens the same URL
/// again.
#[utoipa::path(post, operation_id = "issue_topic_ticket", path = "/api/topics/tickets", tag = "Topics",
    extensions(("x-right" = json!("stream.subscribe:{filter}"))), request_body = TicketFields,
    responses((status = 201, description = "The ticket.", body = TicketReport),
              (status = 400, description = "`HTTP-004`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 413, description = "`HTTP-007`: the filters are too long for a URL", body = ProblemSchema),
              (status = 415, description = "`HTTP-006`", body = ProblemSchema),
              (status = 422, description = "`HTTP-005`", body = ProblemSchema)))]
pub(crate) async fn ticket(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(tickets): State<Arc<Tickets>>,
    request: Request,
) -> Result<(StatusCode, Json<TicketReport>), Problem> {
    let (asked, _): (TicketFields, Bytes) = read_json(&app, request).await?;
    let TicketFields { filters, expires_in_s } = asked;
    if !(1..=FILTERS_MAX).contains(&filters.len()) {
        return Err(field("filters", &format!("a ticket has 1 to {FILTERS_MAX} topic filters")));
    }
    let expires_in_s = expires_in_s.unwrap_or(TICKET_S);
    if !(10..=TICKET_S_MAX).contains(&expires_in_s) {
        return Err(field("expires_in_s", &format!("it is 10 to 86,400 seconds, not {expires_in_s}")));
    }
    caller.may_each(filters.iter().map(|filter| (Verb::StreamSubscribe, filter.as_str())))?;
    let expires_at_s = seconds_now() + expires_in_s;
    let ticket = tickets.sign(&Ticket { holder: caller.key_id().to_owned(), filters, expires_at_s });
    let ticket = ticket.ok_or_else(|| {
        let detail = format!("the ticket would have more than {TICKET_CHARS_MAX} characters");
        Problem::new(TOO_LARGE, detail).at("filters")
    })?;
    let report = TicketReport {
        url: format!("/api/topics/stream?ticket={ticket}"),
        ticket,
        expires_at: rfc3339::format(UNIX_EPOCH + Duration::from_secs(expires_at_s)),
    };
    Ok((StatusCode::CREATED, Json(report)))
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
