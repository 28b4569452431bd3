//! Pushes: hand one over, and see how far it has come.
//!
//! A body is read strictly: an unknown or mistaken field is refused with its path, and nothing has happened.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::fleet::{
    Audience, ChannelName, DeviceId, LatencySummary, NewPush, Progress, PushId, PushReport, Qos, UserProperty,
};
use crate::live::health::not_ready;
use crate::request::access::{Reader, Sender};
use crate::request::app::App;
use crate::request::body::{idempotency_key, parse, read_json};
use crate::request::idempotency::{Known, RequestName};
use crate::request::problem::{FIELD_WRONG, ID_REUSED, PUSH_UNKNOWN, Problem, TOO_LARGE};
use crate::request::query::{Name, Query};
use crate::rfc3339;
use crate::spelling::{bytes_of, field};

/// The queue whose jobs are pushes to be made: each payload is a body of `POST /api/push`.
pub const PUSHES_QUEUE: &str = "stadium.pushes";

/// Bytes of a content type: longer than any registered one.
pub(crate) const CONTENT_TYPE_BYTES_MAX: usize = 256;

/// User properties of a push. They are repeated to every device.
const USER_PROPERTIES_MAX: usize = 32;

/// Bytes of a user property's name, and of its value.
const USER_PROPERTY_BYTES_MAX: usize = 1_024;

/// Pushes in a list unless the caller asks for another number.
const LIST_DEFAULT: usize = 50;

/// Pushes in a list at most.
const LIST_MAX: usize = 500;

/// A push to hand over. Exactly one of `message` and `message_base64` is given.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PushRequest {
    /// Who gets it.
    to: To,
    /// The message. A string is sent as its UTF-8 text; anything else as the JSON text given, with the content type
    /// `application/json` unless another is named.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>, example = "Doors open at eight")]
    message: Option<Box<RawValue>>,
    /// The message as base64, for bytes that are not text.
    #[serde(default)]
    message_base64: Option<String>,
    /// 0: at most once. 1: at least once, acknowledged by each device; the default.
    #[serde(default)]
    #[schema(value_type = Option<u8>, minimum = 0, maximum = 1, default = 1)]
    qos: QosField,
    /// Seconds after which a device that was away does not get it any more. Without it, it never expires.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1, example = 3600)]
    expiry_s: Option<ExpiryField>,
    /// The MIME type, told to MQTT 5 devices.
    #[serde(default)]
    content_type: Option<String>,
    /// Names and values told to MQTT 5 devices, at most 32.
    #[serde(default)]
    user_properties: Vec<PropertyField>,
}

/// Who gets a push: `{"device": "d1"}`, `{"devices": ["d1", "d2"]}`, `{"channel": "news"}`, or `"everybody"`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum To {
    /// One device's inbox.
    Device(DeviceField),
    /// Several devices' inboxes.
    Devices(Vec<DeviceField>),
    /// Whoever subscribes to the channel.
    Channel(ChannelField),
    /// Whoever subscribes to the channel `everybody`.
    Everybody,
}

/// A device id that has an inbox: no `+`, no `#`.
#[derive(ToSchema)]
#[schema(value_type = String, example = "seat-0042")]
pub(crate) struct DeviceField(DeviceId);

impl<'de> Deserialize<'de> for DeviceField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let id = DeviceId::new(String::deserialize(from)?);
        let id = id.map_err(|error| D::Error::custom(format!("a device id {error}")))?;
        if id.has_inbox() {
            Ok(Self(id))
        } else {
            Err(D::Error::custom(
                "a device id with `+` or `#` has no inbox, since its topic would be a filter",
            ))
        }
    }
}

/// A channel's name: at most 1,024 bytes, no `+`, no `#`.
#[derive(ToSchema)]
#[schema(value_type = String, example = "news")]
pub(crate) struct ChannelField(ChannelName);

impl<'de> Deserialize<'de> for ChannelField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = ChannelName::new(String::deserialize(from)?);
        name.map(Self).map_err(|error| D::Error::custom(format!("a channel's name {error}")))
    }
}

/// 0 or 1.
pub(crate) struct QosField(Qos);

impl Default for QosField {
    fn default() -> Self {
        Self(Qos::AtLeastOnce)
    }
}

impl<'de> Deserialize<'de> for QosField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match u8::deserialize(from)? {
            0 => Ok(Self(Qos::AtMostOnce)),
            1 => Ok(Self(Qos::AtLeastOnce)),
            other => Err(D::Error::custom(format!("qos is 0 or 1, not {other}"))),
        }
    }
}

/// Whole seconds, at least one: what an MQTT message expiry interval holds (MQTT 5.0, 3.3.2.3.3).
pub(crate) struct ExpiryField(u32);

impl<'de> Deserialize<'de> for ExpiryField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match u32::deserialize(from)? {
            0 => Err(D::Error::custom("an expiry is at least 1 second; leave it out for none")),
            seconds => Ok(Self(seconds)),
        }
    }
}

/// A user property.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PropertyField {
    /// The name.
    name: String,
    /// The value.
    value: String,
}

/// How large a push may be: the settings of the HTTP port.
#[derive(Clone, Copy, Debug)]
pub struct PushBounds {
    /// Bytes of its message.
    pub message_bytes_max: usize,
    /// Devices that it may name.
    pub audience_devices_max: usize,
}

/// Reads the body of a `POST /api/push`, wherever it comes from: jobs of the queue [`PUSHES_QUEUE`] hold one.
///
/// # Errors
/// What is wrong with which field, in words.
pub fn read_push(body: &[u8], bounds: PushBounds) -> Result<NewPush, String> {
    let request: PushRequest = parse(body).map_err(|problem| problem.in_words())?;
    request.check(bounds).map_err(|problem| problem.in_words())
}

impl PushRequest {
    pub(crate) fn check(self, bounds: PushBounds) -> Result<NewPush, Problem> {
        let (payload, is_json) = self.payload()?;
        if payload.len() > bounds.message_bytes_max {
            let detail = format!(
                "the message has {} bytes; message_bytes_max allows {}",
                payload.len(),
                bounds.message_bytes_max
            );
            return Err(Problem::new(TOO_LARGE, detail).at("message"));
        }
        let content_type = match self.content_type {
            Some(named) => Some(text("content_type", named, CONTENT_TYPE_BYTES_MAX)?),
            None => is_json.then(|| "application/json".to_owned()),
        };
        let user_properties = properties(self.user_properties)?;
        Ok(NewPush {
            to: audience(self.to, bounds.audience_devices_max)?,
            payload,
            qos: self.qos.0,
            expiry: self.expiry_s.map(|ExpiryField(seconds)| Duration::from_secs(seconds.into())),
            content_type,
            user_properties,
        })
    }

    /// The message's bytes, and whether they are JSON text of our caller's.
    fn payload(&self) -> Result<(Bytes, bool), Problem> {
        let json = self.message.as_deref();
        let bytes = bytes_of("", "message", json, self.message_base64.as_deref())?;
        let bytes = bytes.ok_or_else(|| field("message", "give `message` or `message_base64`"))?;
        Ok((bytes, json.is_some_and(|json| !json.get().starts_with('"'))))
    }
}

fn audience(to: To, devices_max: usize) -> Result<Audience, Problem> {
    let wrong = |detail: String| Err(Problem::new(FIELD_WRONG, detail).at("to.devices"));
    Ok(match to {
        To::Device(DeviceField(id)) => Audience::Device(id),
        To::Channel(ChannelField(name)) => Audience::Channel(name),
        To::Everybody => Audience::Everybody,
        To::Devices(devices) if devices.is_empty() => return wrong("the list names nobody".to_owned()),
        To::Devices(devices) if devices.len() > devices_max => {
            let named = devices.len();
            return wrong(format!("it names {named} devices; audience_devices_max allows {devices_max}"));
        }
        To::Devices(devices) => {
            let mut seen = std::collections::HashSet::with_capacity(devices.len());
            let first = |id: &DeviceId| seen.insert(id.clone());
            Audience::Devices(devices.into_iter().map(|DeviceField(id)| id).filter(first).collect())
        }
    })
}

/// The user properties of a body, bounded.
pub(crate) fn properties(fields: Vec<PropertyField>) -> Result<Vec<UserProperty>, Problem> {
    if fields.len() > USER_PROPERTIES_MAX {
        let detail = format!("a push has at most {USER_PROPERTIES_MAX} user properties");
        return Err(Problem::new(FIELD_WRONG, detail).at("user_properties"));
    }
    let mut user_properties = Vec::with_capacity(fields.len());
    for (index, PropertyField { name, value }) in fields.into_iter().enumerate() {
        let name = text(&format!("user_properties[{index}].name"), name, USER_PROPERTY_BYTES_MAX)?;
        let value = text(&format!("user_properties[{index}].value"), value, USER_PROPERTY_BYTES_MAX)?;
        user_properties.push(UserProperty { name, value });
    }
    Ok(user_properties)
}

/// Text that is there, within its bound.
pub(crate) fn text(path: &str, text: String, bytes_max: usize) -> Result<String, Problem> {
    if text.is_empty() || text.len() > bytes_max || text.contains('\0') {
        let detail = format!("it has 1 to {bytes_max} bytes of text without U+0000");
        return Err(Problem::new(FIELD_WRONG, detail).at(path));
    }
    Ok(text)
}

/// A push that was taken over.
#[derive(Serialize, ToSchema)]
pub(crate) struct AcceptedPush {
    /// The push.
    #[schema(example = "p000000000192f00d")]
    id: String,
    /// Always `accepted`: the server owns it now.
    #[schema(example = "accepted")]
    status: &'static str,
    /// Where to see how far it has come.
    #[schema(example = "/api/pushes/p000000000192f00d")]
    url: String,
}

/// Hands a push over.
///
/// 202: the server owns it now, and `url` shows how far it has come. 503: it does not, try again after `Retry-After`. 4xx:
/// it never will. 504: it may own it. With the header `Idempotency-Key` a repeated request gets the first answer and pushes nothing.
#[utoipa::path(post, operation_id = "push", path = "/api/push", tag = "Pushes", request_body = PushRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters that name this request.")),
    responses((status = 202, description = "Accepted.", body = AcceptedPush,
               headers(("Location" = String, description = "Where to see how far it has come."),
                       ("Idempotent-Replayed" = Option<String>, description = "`true` when this is the answer to an earlier request."))),
              (status = 400, description = "`HTTP-004`, `HTTP-016`", body = crate::openapi::Problem),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = crate::openapi::Problem),
              (status = 403, description = "`HTTP-003`", body = crate::openapi::Problem),
              (status = 413, description = "`HTTP-007`", body = crate::openapi::Problem),
              (status = 415, description = "`HTTP-006`", body = crate::openapi::Problem),
              (status = 422, description = "`HTTP-005`, `HTTP-015`, or the fleet's own code", body = crate::openapi::Problem),
              (status = 503, description = "`HTTP-013`, `HTTP-014`", body = crate::openapi::Problem),
              (status = 504, description = "`HTTP-018`: it may have been taken", body = crate::openapi::Problem)))]
pub(crate) async fn create(
    sender: Sender,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Response, Problem> {
    let key = idempotency_key(request.headers())?;
    let (new, body): (PushRequest, Bytes) = read_json(&app, request).await?;
    let new = new.check(app.config.push_bounds())?;
    let Some(key) = key else { return Ok(accepted(push(&app, new)?, Answer::First)) };

    let name = RequestName { caller: sender.key_id, key };
    let hash = ring::digest::digest(&ring::digest::SHA256, &body);
    let hash = hash.as_ref().try_into().expect("SHA-256 has 32 bytes");
    // Held while the fleet takes the push, which never blocks: of two equal requests at once one pushes.
    let mut answers = app.answers.lock();
    let now = Instant::now();
    match answers.look_up(&name, &hash, now) {
        Known::Answered(id) => Ok(accepted(id, Answer::Repeated)),
        Known::OtherRequest => {
            let detail =
                format!("{:?} came with another body before; make a new key for each push", name.key);
            Err(Problem::new(ID_REUSED, detail))
        }
        Known::New => {
            let id = push(&app, new)?;
            answers.keep(name, hash, id, now);
            Ok(accepted(id, Answer::First))
        }
    }
}

fn push(app: &App, new: NewPush) -> Result<PushId, Problem> {
    match not_ready(&app.fleet.readiness()) {
        Some(problem) => Err(problem),
        None => Ok(app.fleet.push(new)?),
    }
}

enum Answer {
    First,
    Repeated,
}

fn accepted(id: PushId, answer: Answer) -> Response {
    let url = format!("/api/pushes/{id}");
    let location = HeaderValue::from_str(&url).expect("a path of letters and digits is a header value");
    let body = AcceptedPush { id: id.to_string(), status: "accepted", url };
    let mut response = (StatusCode::ACCEPTED, [(header::LOCATION, location)], Json(body)).into_response();
    if let Answer::Repeated = answer {
        let replayed = HeaderName::from_static("idempotent-replayed");
        response.headers_mut().insert(replayed, HeaderValue::from_static("true"));
    }
    response
}

/// How far a push has come. Counts are deliveries; `..._ms` count from `accepted_at`.
#[derive(Serialize, ToSchema)]
pub(crate) struct PushView {
    /// The push.
    #[schema(example = "p000000000192f00d")]
    id: String,
    /// `accepted`, `sending` or `settled`.
    #[schema(example = "settled")]
    status: &'static str,
    /// When it was accepted (RFC 3339).
    accepted_at: String,
    /// Who it is for.
    to: AudienceView,
    /// 0 or 1.
    qos: u8,
    /// Bytes of one message.
    payload_bytes: u64,
    /// The event loops are still finding devices: `targeted` and `not_connected` grow.
    counting: bool,
    /// Devices found for it: so far, while `counting`.
    targeted: u64,
    /// Written to a device's socket.
    sent: u64,
    /// Acknowledged by a device; 0 at QoS 0.
    acknowledged: u64,
    /// Given up because it expired.
    expired: u64,
    /// Given up for another reason.
    dropped: u64,
    /// Devices that were not connected.
    not_connected: u64,
    /// Of those, kept for their return.
    queued: u64,
    /// The first write to a socket.
    first_sent_ms: Option<f64>,
    /// The last write to a socket.
    last_sent_ms: Option<f64>,
    /// The first acknowledgement.
    first_acknowledged_ms: Option<f64>,
    /// The last acknowledgement.
    last_acknowledged_ms: Option<f64>,
    /// From acceptance to the write.
    sent_latency: SummaryView,
    /// From acceptance to the acknowledgement.
    acknowledged_latency: SummaryView,
}

/// Who a push is for, as it is shown.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AudienceView {
    /// One device.
    Device(String),
    /// So many devices.
    DeviceCount(usize),
    /// A channel.
    Channel(String),
    /// Everybody.
    Everybody,
}

/// A latency distribution in milliseconds.
#[derive(Serialize, ToSchema)]
pub(crate) struct SummaryView {
    /// Deliveries it describes; the rest is 0 when this is.
    count: u64,
    /// Half took at most this.
    p50_ms: f64,
    /// Nine in ten.
    p90_ms: f64,
    /// 99 in 100.
    p99_ms: f64,
    /// 999 in 1,000.
    p999_ms: f64,
    /// The longest.
    max_ms: f64,
}

impl SummaryView {
    fn of(summary: &LatencySummary) -> Self {
        Self {
            count: summary.count,
            p50_ms: ms(summary.p50),
            p90_ms: ms(summary.p90),
            p99_ms: ms(summary.p99),
            p999_ms: ms(summary.p999),
            max_ms: ms(summary.max),
        }
    }
}

impl PushView {
    pub(crate) fn of(report: &PushReport) -> Self {
        Self {
            id: report.id.to_string(),
            status: match report.progress {
                Progress::Accepted => "accepted",
                Progress::Sending => "sending",
                Progress::Settled => "settled",
            },
            accepted_at: rfc3339::format(report.accepted_at),
            to: match &report.to {
                Audience::Device(id) => AudienceView::Device(id.to_string()),
                Audience::Devices(ids) => AudienceView::DeviceCount(ids.len()),
                Audience::Channel(name) => AudienceView::Channel(name.to_string()),
                Audience::Everybody => AudienceView::Everybody,
            },
            qos: report.qos.number(),
            payload_bytes: report.payload_bytes,
            counting: report.counting,
            targeted: report.targeted,
            sent: report.sent,
            acknowledged: report.acknowledged,
            expired: report.expired,
            dropped: report.dropped,
            not_connected: report.not_connected,
            queued: report.queued,
            first_sent_ms: report.first_sent.map(ms),
            last_sent_ms: report.last_sent.map(ms),
            first_acknowledged_ms: report.first_acknowledged.map(ms),
            last_acknowledged_ms: report.last_acknowledged.map(ms),
            sent_latency: SummaryView::of(&report.sent_latency),
            acknowledged_latency: SummaryView::of(&report.acknowledged_latency),
        }
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// Pushes, the newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct PushList {
    pushes: Vec<PushView>,
}

/// The newest pushes.
#[utoipa::path(get, operation_id = "list_pushes", path = "/api/pushes", tag = "Pushes",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "How many; 50 unless said otherwise.")),
    responses((status = 200, description = "The newest first.", body = PushList),
              (status = 400, description = "`HTTP-017`", body = crate::openapi::Problem),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = crate::openapi::Problem)))]
pub(crate) async fn list(
    _: Reader,
    State(app): State<Arc<App>>,
    uri: Uri,
) -> Result<Json<PushList>, Problem> {
    let limit = Query::read(&uri, &["limit"])?.limit(LIST_DEFAULT, LIST_MAX)?;
    Ok(Json(PushList { pushes: app.fleet.pushes(limit).iter().map(PushView::of).collect() }))
}

/// How far a push has come.
#[utoipa::path(get, operation_id = "find_push", path = "/api/pushes/{id}", tag = "Pushes",
    params(("id" = String, Path, description = "The push's id.")),
    responses((status = 200, description = "What is known of it.", body = PushView),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = crate::openapi::Problem),
              (status = 404, description = "`HTTP-010`", body = crate::openapi::Problem)))]
pub(crate) async fn show(
    _: Reader,
    State(app): State<Arc<App>>,
    Name(id): Name,
) -> Result<Json<PushView>, Problem> {
    let report = id.parse().ok().and_then(|id| app.fleet.push_report(id));
    let report = report.ok_or_else(|| {
        let problem =
            Problem::new(PUSH_UNKNOWN, format!("{id:?} was never given here or is no longer remembered"));
        match id.parse::<stadium_push::PushId>() {
            Ok(_) => problem.adding(&format!("a push of the platform is at /api/apps/APP/pushes/{id}")),
            Err(_) => problem,
        }
    })?;
    Ok(Json(PushView::of(&report)))
}
