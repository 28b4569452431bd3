//! A live trace of a device or a topic, as server-sent events.
//!
//! A trace takes one of the places of the live views, ends after an hour, and when the server stops. It shows topics and
//! user names, never payloads or passwords, and takes an admin all the same.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::Uri;
use axum::response::sse::{self, KeepAlive, Sse};
use serde::Serialize;
use stadium_push::live::ClientId;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use utoipa::ToSchema;

use crate::fleet::{NoTrace, Trace, TraceLine, Traced};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::problem::{Problem, ProblemSchema, QUERY_WRONG, VIEWS_FULL};
use crate::request::query::Query;
use crate::rfc3339;

/// The longest time that one trace lasts; a client that wants more begins another.
const TRACE_MAX: Duration = Duration::from_secs(3_600);

/// When a caller comes back who found no place.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// A packet, or what became of a connection.
#[derive(Serialize, ToSchema)]
pub(crate) struct TraceEvent {
    /// When (RFC 3339).
    at: String,
    /// The device's id; missing where none is concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "seat-0042")]
    device: Option<String>,
    /// `in` from the device, `out` to it, `none` where it is no packet.
    #[schema(example = "in")]
    direction: &'static str,
    /// The packet in words, without payload and password.
    #[schema(example = "PUBLISH topic=uplink/seat-0042/state qos=1 id=7 payload=12 bytes")]
    line: String,
    /// Lines before this one that the reader was too slow for; missing where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<u64>,
}

impl From<TraceLine> for TraceEvent {
    fn from(line: TraceLine) -> Self {
        Self {
            at: rfc3339::format(line.at),
            device: (!line.device.is_empty()).then_some(line.device),
            direction: line.direction,
            line: line.text,
            missed: (line.missed > 0).then_some(line.missed),
        }
    }
}

/// What a device and the server send to each other, as it happens.
///
/// Server-sent events: `packet` for each packet of the device, or for each message whose topic the
/// filter matches; the first one means that the trace is in force. Payloads and passwords are never
/// shown. A slow reader misses lines and gets their number. A trace lasts an hour at most.
#[utoipa::path(get, operation_id = "trace", path = "/api/trace", tag = "Devices",
    extensions(("x-right" = json!("node.operate"))),
    params(("device" = Option<String>, Query, description = "The device's id. Either this or `topic`.", example = "seat-0042"),
           ("topic" = Option<String>, Query, description = "A topic filter. Either this or `device`.")),
    responses((status = 200, description = "Events as text; the data of `packet` is a `TraceEvent`.", body = String, content_type = "text/event-stream"),
              (status = 400, description = "`HTTP-017`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 503, description = "`HTTP-014`, `HTTP-019`", body = ProblemSchema)))]
pub(crate) async fn events(
    caller: Caller,
    State(app): State<Arc<App>>,
    uri: Uri,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, Problem> {
    let query = Query::read(&uri, &["device", "topic"])?;
    let wrong = |name: &str, detail: String| Problem::new(QUERY_WRONG, detail).at(name);
    let traced = match (query.value("device"), query.value("topic")) {
        (Some(id), None) => {
            let id = ClientId::new(id).map_err(|_| wrong("device", format!("{id:?} is no device's id")))?;
            Traced::Device(id)
        }
        (None, Some(filter)) => Traced::Topic(filter.to_owned()),
        _ => return Err(wrong("device", "give `device` or `topic`, one of the two".to_owned())),
    };
    let place = app.views.place()?;
    let Trace { mut lines, guard } = app.fleet.trace(traced.clone()).map_err(|none| match none {
        NoTrace::Full(max) => {
            Problem::new(VIEWS_FULL, format!("{max} traces go on already")).retry_after(RETRY_AFTER)
        }
        NoTrace::Filter(why) => wrong("topic", format!("the topic filter is none: {why}")),
    })?;
    tracing::info!(?traced, by = caller.key_id(), "A trace began");
    let (to, from) = mpsc::channel(1);
    let mut draining = app.draining.subscribe();
    tokio::spawn(async move {
        let _held_while_the_trace_goes_on = (place, guard);
        let end = tokio::time::sleep(TRACE_MAX);
        tokio::pin!(end);
        loop {
            let line = tokio::select! {
                line = lines.recv() => line,
                () = &mut end => return,
                _ = draining.wait_for(|draining| *draining) => return,
                () = to.closed() => return,
            };
            let Some(line) = line else { return };
            let data =
                serde_json::to_string(&TraceEvent::from(line)).expect("strings and numbers always serialise");
            if to.send(Ok(sse::Event::default().event("packet").data(data))).await.is_err() {
                return;
            }
        }
    });
    Ok(Sse::new(ReceiverStream::new(from)).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}
