//! Publishing: a message or a batch, as JSON or as it is, and what became of it.
//!
//! The answer is sent when every message is owed durably to those to whom it is owed, or refused.
//! With an `Idempotency-Key` a repeated request publishes nothing; the keys are remembered in memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use parking_lot::Mutex;
use serde::Serialize;
use stadium_grants::Verb;
use stadium_push::AppName;
use stadium_push::live::Qos;
use utoipa::ToSchema;

use crate::fleet::{NotPublished, PublishOutcome, TopicMessage};
use crate::platform::ids::push_id;
use crate::push::direct::fields::{CONTENT_TYPE_BYTES_MAX, check_message, text};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::{bytes, idempotency_key, read_json};
use crate::request::idempotency::{Ids, Known, Name, hash_of};
use crate::request::problem::{
    FLEET_BUSY, ID_REUSED, Problem, ProblemDocument, ProblemSchema, RETAINED_FULL, TIMED_OUT, TOPIC_WRONG,
};
use crate::request::query::{Query, wrong};
use crate::request::readiness::not_ready;
use crate::spelling::field;
use crate::topics::fields::{PublishBatchRequest, PublishRequest, topic};

/// Messages of one batch: the fleet routes them in one go.
const BATCH_MAX: usize = 100;

/// When a caller tries again whose message was not taken.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The content type that curl and forms send where nobody named one.
const FORM: &str = "application/x-www-form-urlencoded";

/// The idempotency keys of publishes.
#[derive(Default)]
pub(crate) struct PublishIds(Mutex<Ids>);

/// The outcome of a message that was published.
#[derive(Serialize, ToSchema)]
pub(crate) struct PublishedMessage {
    /// Where to.
    #[schema(example = "chat/lobby")]
    topic: String,
    /// `accepted`.
    #[schema(example = "accepted")]
    status: &'static str,
    /// Whether a subscription of this node may have matched; `false` where none did. Missing where
    /// the request repeats an earlier one.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<bool>,
    /// Whether it is the topic's retained message now, or removed that.
    retained: bool,
}

/// The outcome of one message of a batch: `status` is `accepted`, `busy`, `rejected` or `unknown`.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum BatchResult {
    /// It was published.
    Accepted(PublishedMessage),
    /// It was not, or it is not known whether it was.
    Failed {
        /// `busy` and `rejected`: nobody got it. `unknown`: somebody may have.
        status: &'static str,
        /// Why.
        #[schema(value_type = ProblemSchema)]
        problem: Box<ProblemDocument<'static>>,
    },
}

/// The outcomes of the messages of a batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct PublishedBatch {
    /// Messages that were published.
    accepted: usize,
    /// One for each message, in order. Repeat those that were not accepted in a request of their
    /// own.
    results: Vec<BatchResult>,
}

/// Publishes a message to a topic.
///
/// 200: it is owed to all who subscribed, durably where their sessions persist, and retained where
/// that was asked for. 503: nobody got it, try again after `Retry-After`. 4xx: nobody ever will.
/// 504: somebody may have got it. With the header `Idempotency-Key` a repeated request gets the
/// first answer and publishes nothing.
#[utoipa::path(post, operation_id = "publish", path = "/api/publish", tag = "Topics",
    extensions(("x-right" = json!(["stream.publish:{topic}", "stream.retain:{topic}?"]))), request_body = PublishRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters that name this request.")),
    responses((status = 200, description = "Published.", body = PublishedMessage,
               headers(("Idempotent-Replayed" = Option<String>, description = "`true` when this is the answer to an earlier request."))),
              (status = 400, description = "`HTTP-004`, `HTTP-016`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 409, description = "`TOPIC-002`", body = ProblemSchema),
              (status = 413, description = "`HTTP-007`", body = ProblemSchema),
              (status = 415, description = "`HTTP-006`", body = ProblemSchema),
              (status = 422, description = "`HTTP-005`, `HTTP-015`, `TOPIC-001`", body = ProblemSchema),
              (status = 503, description = "`HTTP-013`, `HTTP-014`", body = ProblemSchema),
              (status = 504, description = "`HTTP-018`: it may have been published", body = ProblemSchema)))]
pub(crate) async fn one(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(ids): State<Arc<PublishIds>>,
    request: Request,
) -> Result<Response, Problem> {
    let headers = request.headers().clone();
    let (asked, body): (PublishRequest, Bytes) = read_json(&app, request).await?;
    let message = asked.check("", app.config.push_bounds())?;
    publish_one(&caller, &app, &ids, &headers, &body, message).await
}

/// Publishes a body as it is: for `curl --data-binary`, webhooks, and bytes of any kind.
///
/// The answers are those of `POST /api/publish`. The request's content type is the message's.
#[utoipa::path(post, operation_id = "publish_raw", path = "/api/publish/raw", tag = "Topics",
    extensions(("x-right" = json!(["stream.publish:{topic}", "stream.retain:{topic}?"]))),
    request_body(content = String, content_type = "application/octet-stream", description = "The payload."),
    params(("topic" = String, Query, description = "Where to.", example = "chat/lobby"),
           ("qos" = Option<u8>, Query, minimum = 0, maximum = 1, description = "0, or 1 by default."),
           ("retain" = Option<bool>, Query, description = "`true`: it becomes the topic's retained message."),
           ("expiry_s" = Option<u32>, Query, minimum = 1, description = "Seconds after which nobody is sent it any more."),
           ("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters that name this request.")),
    responses((status = 200, description = "Published.", body = PublishedMessage,
               headers(("Idempotent-Replayed" = Option<String>, description = "`true` when this is the answer to an earlier request."))),
              (status = 400, description = "`HTTP-004`, `HTTP-016`, `HTTP-017`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 409, description = "`TOPIC-002`", body = ProblemSchema),
              (status = 413, description = "`HTTP-007`", body = ProblemSchema),
              (status = 422, description = "`HTTP-005`, `HTTP-015`, `TOPIC-001`", body = ProblemSchema),
              (status = 503, description = "`HTTP-013`, `HTTP-014`", body = ProblemSchema),
              (status = 504, description = "`HTTP-018`: it may have been published", body = ProblemSchema)))]
pub(crate) async fn raw(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(ids): State<Arc<PublishIds>>,
    uri: Uri,
    request: Request,
) -> Result<Response, Problem> {
    let query = Query::read(&uri, &["topic", "qos", "retain", "expiry_s"])?;
    let name = query.value("topic").ok_or_else(|| wrong("topic", "say where to: ?topic=...".to_owned()))?;
    let headers = request.headers().clone();
    let content_type = match headers.get(header::CONTENT_TYPE).map(HeaderValue::to_str) {
        None => None,
        Some(Ok(named)) if named.eq_ignore_ascii_case(FORM) => None,
        Some(Ok(named)) => Some(text("content_type", named.to_owned(), CONTENT_TYPE_BYTES_MAX)?.into()),
        Some(Err(_)) => return Err(field("content_type", "it is no text of ASCII characters")),
    };
    let expiry_s = query.number::<u32>("expiry_s")?;
    if expiry_s == Some(0) {
        return Err(wrong("expiry_s", "an expiry is at least 1 second; leave it out for none".to_owned()));
    }
    let message = TopicMessage {
        topic: topic("topic", name.to_owned())?,
        qos: query.one_of("qos", &[("1", Qos::AtLeastOnce), ("0", Qos::AtMostOnce)])?,
        retain: query.one_of("retain", &[("false", false), ("true", true)])?,
        expiry_s,
        content_type,
        payload: Bytes::new(),
        is_text: false,
        response_topic: None,
        correlation_data: None,
        user_properties: Vec::new(),
    };
    let payload = bytes(&app, request).await?;
    check_message(payload.len(), app.config.push_bounds())?;
    // Of two requests with one key the query counts as well.
    let named: Vec<u8> = [uri.query().unwrap_or_default().as_bytes(), b"\n", &payload].concat();
    publish_one(&caller, &app, &ids, &headers, &named, TopicMessage { payload, ..message }).await
}

/// Publishes up to 100 messages in order.
///
/// The batch is taken by the server or refused as a whole; each message then has a result of its
/// own. With the header `Idempotency-Key` a repeated request of which all messages were accepted
/// publishes nothing.
#[utoipa::path(post, operation_id = "publish_batch", path = "/api/publish/batch", tag = "Topics",
    extensions(("x-right" = json!(["stream.publish:{topic}", "stream.retain:{topic}?"]))), request_body = PublishBatchRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters that name this request.")),
    responses((status = 200, description = "Each message has a result.", body = PublishedBatch,
               headers(("Idempotent-Replayed" = Option<String>, description = "`true` when this is the answer to an earlier request."))),
              (status = 400, description = "`HTTP-004`, `HTTP-016`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`: of one of the topics; nothing is published", body = ProblemSchema),
              (status = 413, description = "`HTTP-007`", body = ProblemSchema),
              (status = 415, description = "`HTTP-006`", body = ProblemSchema),
              (status = 422, description = "`HTTP-005`, `HTTP-015`, `TOPIC-001`: nothing is published", body = ProblemSchema),
              (status = 503, description = "`HTTP-013`, `HTTP-014`", body = ProblemSchema),
              (status = 504, description = "`HTTP-018`: they may have been published", body = ProblemSchema)))]
pub(crate) async fn batch(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(ids): State<Arc<PublishIds>>,
    request: Request,
) -> Result<Response, Problem> {
    let headers = request.headers().clone();
    let (asked, body): (PublishBatchRequest, Bytes) = read_json(&app, request).await?;
    if !(1..=BATCH_MAX).contains(&asked.messages.len()) {
        return Err(field("messages", &format!("a batch has 1 to {BATCH_MAX} messages")));
    }
    let bounds = app.config.push_bounds();
    let read =
        |(place, message): (usize, PublishRequest)| message.check(&format!("messages[{place}]."), bounds);
    let messages: Vec<TopicMessage> =
        asked.messages.into_iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let answers: Vec<(String, bool)> = messages.iter().map(answered_as).collect();
    let at = |place| format!("messages[{place}].");
    let published = publish(&caller, &app, &ids, &headers, &body, messages, at).await?;
    let outcomes = match &published {
        Published::Before => vec![None; answers.len()],
        Published::Now(outcomes) => outcomes.iter().copied().map(Some).collect(),
    };
    let results = answers.into_iter().zip(outcomes).map(|(message, outcome)| result(message, outcome));
    let results: Vec<BatchResult> = results.collect();
    let accepted = results.iter().filter(|result| matches!(result, BatchResult::Accepted(_))).count();
    Ok(published.replayed(Json(PublishedBatch { accepted, results }).into_response()))
}

/// The topic, and whether it was to be retained: what an answer repeats of a message.
fn answered_as(message: &TopicMessage) -> (String, bool) {
    (message.topic.clone(), message.retain)
}

async fn publish_one(
    caller: &Caller,
    app: &App,
    ids: &PublishIds,
    headers: &HeaderMap,
    named: &[u8],
    message: TopicMessage,
) -> Result<Response, Problem> {
    let answer = answered_as(&message);
    let published = publish(caller, app, ids, headers, named, vec![message], |_| String::new()).await?;
    let outcome = match &published {
        Published::Before => None,
        Published::Now(outcomes) => outcomes.first().copied(),
    };
    match accepted_or(answer, outcome) {
        Ok(message) => Ok(published.replayed(Json(message).into_response())),
        Err((_, problem)) => Err(*problem),
    }
}

/// The outcome of a request.
enum Published {
    /// An earlier one with the same idempotency key published its messages.
    Before,
    /// Each message has an outcome.
    Now(Vec<PublishOutcome>),
}

impl Published {
    /// Marks the answer to a request that repeats an earlier one.
    fn replayed(&self, mut response: Response) -> Response {
        if let Self::Before = self {
            let replayed = HeaderName::from_static("idempotent-replayed");
            response.headers_mut().insert(replayed, HeaderValue::from_static("true"));
        }
        response
    }
}

/// Asks for the rights of all messages, and publishes them. `named` is what the idempotency key
/// stands for; `at` names a message's place in the body.
async fn publish(
    caller: &Caller,
    app: &App,
    ids: &PublishIds,
    headers: &HeaderMap,
    named: &[u8],
    messages: Vec<TopicMessage>,
    at: impl Fn(usize) -> String,
) -> Result<Published, Problem> {
    let publishes = messages.iter().map(|message| (Verb::StreamPublish, message.topic.as_str()));
    let retained = messages.iter().filter(|message| message.retain);
    let retains = retained.map(|message| (Verb::StreamRetain, message.topic.as_str()));
    caller.may_each(publishes.chain(retains))?;
    if let Some(problem) = not_ready(&app.fleet.readiness()) {
        return Err(problem);
    }
    let under_way = match idempotency_key(headers)? {
        None => None,
        Some(_) => {
            let name = (AppName::default(), push_id(headers, caller.key_id(), None)?);
            match ids.begin(name, named)? {
                None => return Ok(Published::Before),
                Some(under_way) => Some(under_way),
            }
        }
    };
    let outcomes = app.fleet.publish(messages).await.map_err(|refused| match refused {
        NotPublished::Refused(refusal) => refusal.into(),
        NotPublished::Topic(place, why) => Problem::new(TOPIC_WRONG, why).at(format!("{}topic", at(place))),
    })?;
    if let Some(under_way) = under_way
        && outcomes.iter().all(|outcome| matches!(outcome, PublishOutcome::Accepted { .. }))
    {
        under_way.accepted();
    }
    Ok(Published::Now(outcomes))
}

impl PublishIds {
    /// Notes a key; none where the same request was accepted before.
    fn begin(&self, name: Name, named: &[u8]) -> Result<Option<UnderWay<'_>>, Problem> {
        match self.0.lock().begin(&name, &hash_of(named), Instant::now()) {
            Known::New => Ok(Some(UnderWay { ids: self, name: Some(name) })),
            Known::Accepted => Ok(None),
            Known::UnderWay => {
                let detail = "a request with this `Idempotency-Key` is being carried out";
                Err(Problem::new(FLEET_BUSY, detail).retry_after(RETRY_AFTER))
            }
            Known::OtherRequest => {
                let detail =
                    "the header `Idempotency-Key` came with another request before; make a new key for each";
                Err(Problem::new(ID_REUSED, detail))
            }
        }
    }
}

/// A key whose request is carried out. Dropped before it is accepted, the key is free again.
struct UnderWay<'a> {
    ids: &'a PublishIds,
    name: Option<Name>,
}

impl UnderWay<'_> {
    fn accepted(mut self) {
        if let Some(name) = self.name.take() {
            self.ids.0.lock().accepted(&name);
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            self.ids.0.lock().refused(&name);
        }
    }
}

fn result(message: (String, bool), outcome: Option<PublishOutcome>) -> BatchResult {
    match accepted_or(message, outcome) {
        Ok(message) => BatchResult::Accepted(message),
        Err((status, problem)) => {
            BatchResult::Failed { status, problem: Box::new((*problem).into_document()) }
        }
    }
}

/// The answer for a message, or its status and its problem. Without an outcome the message was
/// accepted before.
fn accepted_or(
    (topic, retained): (String, bool),
    outcome: Option<PublishOutcome>,
) -> Result<PublishedMessage, (&'static str, Box<Problem>)> {
    let accepted = |matched| Ok(PublishedMessage { topic, status: "accepted", matched, retained });
    let failed = |status, problem| Err((status, Box::new(problem)));
    match outcome {
        None => accepted(None),
        Some(PublishOutcome::Accepted { matched }) => accepted(Some(matched)),
        Some(PublishOutcome::NoRoom) => {
            let detail = "a bound of retained messages or of kept messages is reached; nobody got it";
            failed("rejected", Problem::new(RETAINED_FULL, detail))
        }
        Some(PublishOutcome::Busy) => {
            let detail = "a loop or a shard does not keep up; nobody got the message";
            failed("busy", Problem::new(FLEET_BUSY, detail).retry_after(RETRY_AFTER))
        }
        Some(PublishOutcome::Unknown) => {
            let detail = "a shard did not answer; the message may have been published";
            failed("unknown", Problem::new(TIMED_OUT, detail).retry_after(RETRY_AFTER))
        }
    }
}
