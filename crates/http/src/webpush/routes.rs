//! Web Push: subscriptions of a device under its app, and `/wp/` for senders, who have no API key.
//!
//! A message is accepted (201, or 202 with a receipt) when the device's shard has it on disk. A receipt is the message's own address:
//! over HTTP/1.1 nothing can be pushed to a sender, so it asks, and may wait with `Prefer: wait=SECONDS`.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRef, Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use stadium_push::{Accepted, Answer, Command, DeviceView, PushId, Refusal, Trace, refusal};
use stadium_registry::{AppName, DeviceId};
use utoipa_axum::router::OpenApiRouter;

use crate::devices::registry::known;
use crate::platform::ids::random;
use crate::platform::in_path;
use crate::platform::problems::{PlatformLookProblems, PlatformProblems};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::read_json_or_default;
use crate::request::endpoints::endpoints;
use crate::request::problem::{BODY_NOT_JSON, PATH_UNKNOWN, Problem, ProblemSchema};
use crate::request::query::{Name, Names};
use crate::shards::{Expected, refusals, running, strange};
use crate::webpush::WebPush;
use crate::webpush::description::Description;
use crate::webpush::messages::{Asked, BODY_BYTES_MAX, Became, Preferred, too_large};
use crate::webpush::problems::{
    ENDPOINT_UNKNOWN, MESSAGE_UNKNOWN, NOT_DELIVERED, Refused, SUBSCRIPTION_OVER,
};
use crate::webpush::subscriptions;
use crate::webpush::subscriptions::{SubscriptionFields, SubscriptionPage, SubscriptionReport};
use crate::webpush::tokens::{Message, Subscription};

/// The endpoints of Web Push.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
    Arc<WebPush>: FromRef<S>,
{
    endpoints![
        Description;
        list,
        subscribe,
        unsubscribe,
        unsubscribe_all,
        send,
        discover,
        receipt,
        cancel,
    ]
}

/// The longest that a receipt may be waited for, below the time limit of requests.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Between two looks at a message that is waited for: the first, and the longest.
const LOOK_FIRST: Duration = Duration::from_millis(20);
const LOOK_MAX: Duration = Duration::from_secs(1);

/// The numbers of a device's Web Push subscriptions.
#[utoipa::path(get, operation_id = "list_webpush", path = "/api/apps/{app}/devices/{device}/webpush", tag = "Web Push",
    extensions(("x-right" = json!("device.read:{app}/{device}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("device" = String, Path, description = "The device, percent-encoded.")),
    responses((status = 200, description = "The subscriptions, without their endpoints.", body = SubscriptionPage), PlatformLookProblems))]
pub(crate) async fn list(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(name, device): Names,
) -> Result<Json<SubscriptionPage>, Problem> {
    let (name, device) = named(&name, &device)?;
    let view = known(&app, &name, &device).await?;
    Ok(Json(SubscriptionPage { subscriptions: subscriptions::numbers(&view).map(str::to_owned).collect() }))
}

/// Makes an endpoint that applications push to by Web Push (RFC 8030), for a device that is registered.
#[utoipa::path(post, operation_id = "subscribe_webpush", path = "/api/apps/{app}/devices/{device}/webpush", tag = "Web Push",
    extensions(("x-right" = json!("device.write:{app}/{device}"))), request_body = Option<SubscriptionFields>,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("device" = String, Path, description = "The device, percent-encoded.")),
    responses((status = 201, description = "The endpoint; it cannot be seen again.", body = SubscriptionReport), PlatformProblems))]
pub(crate) async fn subscribe(
    _: Caller,
    State(app): State<Arc<App>>,
    State(webpush): State<Arc<WebPush>>,
    Names(name, device): Names,
    request: Request,
) -> Result<(StatusCode, Json<SubscriptionReport>), Problem> {
    let (name, device) = named(&name, &device)?;
    let origin = subscriptions::origin(&app, request.headers())?;
    let fields: SubscriptionFields = read_json_or_default(&app, request).await?;
    let key = fields.check()?;
    let subscription = Subscription { app: name, device, origin, key, salt: random()? };
    let number = subscription.number();
    subscriptions::add(&app, &webpush, &subscription.app, &subscription.device, &number).await?;
    let endpoint = format!("{}/wp/{}", subscription.origin, webpush.vault.seal_subscription(&subscription));
    Ok((StatusCode::CREATED, Json(SubscriptionReport { endpoint, subscription: number })))
}

/// Ends all Web Push subscriptions of a device: their endpoints answer 410.
#[utoipa::path(delete, operation_id = "unsubscribe_webpush_all", path = "/api/apps/{app}/devices/{device}/webpush", tag = "Web Push",
    extensions(("x-right" = json!("device.write:{app}/{device}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("device" = String, Path, description = "The device, percent-encoded.")),
    responses((status = 204, description = "It has none."), PlatformProblems))]
pub(crate) async fn unsubscribe_all(
    _: Caller,
    State(app): State<Arc<App>>,
    State(webpush): State<Arc<WebPush>>,
    Names(name, device): Names,
) -> Result<StatusCode, Problem> {
    let (name, device) = named(&name, &device)?;
    subscriptions::remove_all(&app, &webpush, &name, &device).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends a Web Push subscription: its endpoint answers 410.
#[utoipa::path(delete, operation_id = "unsubscribe_webpush", path = "/api/apps/{app}/devices/{device}/webpush/{subscription}", tag = "Web Push",
    extensions(("x-right" = json!("device.write:{app}/{device}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("device" = String, Path, description = "The device, percent-encoded."),
           ("subscription" = String, Path, description = "Its number.", example = "3q2-7wAB")),
    responses((status = 204, description = "It is over."), PlatformProblems))]
pub(crate) async fn unsubscribe(
    _: Caller,
    State(app): State<Arc<App>>,
    State(webpush): State<Arc<WebPush>>,
    path: Result<Path<(String, String, String)>, PathRejection>,
) -> Result<StatusCode, Problem> {
    let Path((name, device, number)) = path.map_err(|error| Problem::new(PATH_UNKNOWN, error.to_string()))?;
    let (name, device) = named(&name, &device)?;
    subscriptions::remove(&app, &webpush, &name, &device, &number).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pushes a message to a device (RFC 8030, 5). Headers: `TTL` (needed), `Urgency`, `Topic`, `Content-Encoding`, `Prefer: respond-async`, and
/// VAPID's `Authorization`.
#[utoipa::path(post, operation_id = "send_webpush", path = "/wp/{token}", tag = "Web Push", security(()),
    params(("token" = String, Path, description = "Of the endpoint."),
           ("TTL" = u64, Header, description = "Seconds for which the message is worth keeping; 0: for a device that is connected now.", example = 86400),
           ("Urgency" = Option<String>, Header, description = "`very-low`, `low`, `normal` or `high`. Only `high` ignores quiet hours."),
           ("Topic" = Option<String>, Header, description = "A message replaces one of the same topic that is not delivered yet; at most 32 characters of base64url."),
           ("Content-Encoding" = Option<String>, Header, description = "`aes128gcm` or `aesgcm`."),
           ("Prefer" = Option<String>, Header, description = "`respond-async`: the answer names a receipt."),
           ("Authorization" = Option<String>, Header, description = "`vapid t=..., k=...` (RFC 8292).")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "At most 4,096 bytes, encrypted for the device (RFC 8291)."),
    responses(
        (status = 201, description = "Accepted; `Location` is the message."),
        (status = 202, description = "Accepted; `Link` is the receipt (`urn:ietf:params:push:receipt`)."),
        (status = 400, description = "`WEB-001`, `WEB-002`", body = ProblemSchema, content_type = "application/problem+json"),
        (status = 401, description = "`WEB-007`", body = ProblemSchema, content_type = "application/problem+json"),
        (status = 403, description = "`WEB-008`", body = ProblemSchema, content_type = "application/problem+json"),
        (status = 404, description = "`WEB-005`", body = ProblemSchema, content_type = "application/problem+json"),
        (status = 410, description = "`WEB-006`: forget the subscription.", body = ProblemSchema, content_type = "application/problem+json"),
        (status = 413, description = "`WEB-004`", body = ProblemSchema, content_type = "application/problem+json"),
        (status = 415, description = "`WEB-003`", body = ProblemSchema, content_type = "application/problem+json"),
        (status = 429, description = "Busy: nothing happened, retry after `Retry-After`.", body = ProblemSchema, content_type = "application/problem+json")))]
pub(crate) async fn send(
    State(app): State<Arc<App>>,
    State(webpush): State<Arc<WebPush>>,
    Name(token): Name,
    request: Request,
) -> Result<Response, Refused> {
    let subscription = webpush.vault.open_subscription(&token).ok_or_else(endpoint_unknown)?;
    let (parts, body) = request.into_parts();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    webpush.verifier.check(&parts.headers, &subscription, now)?;
    let asked = Asked::read(&parts.headers, &subscription)?;
    let payload = read_body(&parts.headers, body).await?;
    check_in_force(&app, &subscription).await?;

    let (ttl_s, preferred) = (asked.ttl_s, Preferred::read(&parts.headers));
    let id = PushId(u128::from_be_bytes(random()?));
    let push = Box::new(asked.push(id, &subscription, payload));
    let _: Accepted = ask_for(&app, Command::Send { push }).await?;

    let Subscription { app: of, device, origin, .. } = subscription;
    let address = webpush.vault.seal_message(&Message { app: of, device, push: id });
    let location = format!("{origin}/wp/m/{address}");
    let status = if preferred.receipt { StatusCode::ACCEPTED } else { StatusCode::CREATED };
    let mut response = status.into_response();
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("ttl"), HeaderValue::from(ttl_s));
    if preferred.receipt {
        headers
            .insert(HeaderName::from_static("preference-applied"), HeaderValue::from_static("respond-async"));
        insert(headers, header::LINK, &format!("<{location}>; rel=\"urn:ietf:params:push:receipt\""));
    }
    insert(headers, header::LOCATION, &location);
    Ok(response)
}

/// Whether pushes can be sent there: what UnifiedPush asks of an endpoint.
#[utoipa::path(get, operation_id = "discover_webpush", path = "/wp/{token}", tag = "Web Push", security(()),
    params(("token" = String, Path, description = "Of the endpoint.")),
    responses(
        (status = 200, description = "`{\"unifiedpush\": {\"version\": 1}}`", body = serde_json::Value),
        (status = 404, description = "`WEB-005`", body = ProblemSchema, content_type = "application/problem+json")))]
pub(crate) async fn discover(
    State(webpush): State<Arc<WebPush>>,
    Name(token): Name,
) -> Result<Json<serde_json::Value>, Refused> {
    webpush.vault.open_subscription(&token).ok_or_else(endpoint_unknown)?;
    Ok(Json(serde_json::json!({"unifiedpush": {"version": 1}})))
}

/// What became of a message: its receipt. `Prefer: wait=SECONDS` waits until it is known, 20 seconds at most.
#[utoipa::path(get, operation_id = "webpush_receipt", path = "/wp/m/{token}", tag = "Web Push", security(()),
    params(("token" = String, Path, description = "Of the message."),
           ("Prefer" = Option<String>, Header, description = "`wait=10`")),
    responses(
        (status = 204, description = "The device has acknowledged it."),
        (status = 202, description = "It may still be delivered."),
        (status = 404, description = "`WEB-009`", body = ProblemSchema, content_type = "application/problem+json"),
        (status = 410, description = "`WEB-010`: it will not be delivered; `detail` has the reason.", body = ProblemSchema, content_type = "application/problem+json")))]
pub(crate) async fn receipt(
    State(app): State<Arc<App>>,
    State(webpush): State<Arc<WebPush>>,
    Name(token): Name,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let Message { app: of, device, push } = webpush.vault.open_message(&token).ok_or_else(message_unknown)?;
    let until = Instant::now() + Preferred::read(&headers).wait.min(WAIT_MAX);
    let mut draining = app.draining.subscribe();
    let mut pause = LOOK_FIRST;
    loop {
        let command = Command::Trace { app: of.clone(), push, device: device.clone() };
        let trace: Box<Trace> = ask_for(&app, command).await.map_err(forgotten)?;
        match Became::of(&trace.state) {
            Became::Delivered => return Ok(not_stored(StatusCode::NO_CONTENT)),
            Became::Lost => return Err(Problem::new(NOT_DELIVERED, trace.sentence).into()),
            Became::Pending if Instant::now() >= until || *draining.borrow() => {
                return Ok(not_stored(StatusCode::ACCEPTED));
            }
            Became::Pending => {}
        }
        let pause_now = pause.min(until.saturating_duration_since(Instant::now()));
        tokio::select! {
            () = tokio::time::sleep(pause_now) => {}
            _ = draining.changed() => {}
        }
        pause = (pause * 2).min(LOOK_MAX);
    }
}

/// Takes a message back that is not delivered yet.
#[utoipa::path(delete, operation_id = "cancel_webpush", path = "/wp/m/{token}", tag = "Web Push", security(()),
    params(("token" = String, Path, description = "Of the message.")),
    responses(
        (status = 204, description = "It is not delivered any more."),
        (status = 404, description = "`WEB-009`", body = ProblemSchema, content_type = "application/problem+json"),
        (status = 409, description = "`PSH-027`: it is over already.", body = ProblemSchema, content_type = "application/problem+json")))]
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    State(webpush): State<Arc<WebPush>>,
    Name(token): Name,
) -> Result<StatusCode, Refused> {
    let Message { app: of, push, .. } = webpush.vault.open_message(&token).ok_or_else(message_unknown)?;
    let () = ask_for(&app, Command::Cancel { app: of, push }).await.map_err(forgotten)?;
    Ok(StatusCode::NO_CONTENT)
}

fn named(app: &str, device: &str) -> Result<(AppName, DeviceId), Problem> {
    Ok((in_path("app", AppName::new(app))?, in_path("device", DeviceId::new(device))?))
}

async fn read_body(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > BODY_BYTES_MAX) {
        return Err(too_large());
    }
    to_bytes(body, BODY_BYTES_MAX).await.map_err(|error| {
        // Of a body without its length announced it is known only now.
        if announced.is_none() {
            too_large()
        } else {
            Problem::new(BODY_NOT_JSON, format!("the body ended early: {error}"))
        }
    })
}

/// Whether the device is there, may be pushed to, and knows the subscription.
async fn check_in_force(app: &App, subscription: &Subscription) -> Result<(), Problem> {
    let command = Command::Device { app: subscription.app.clone(), device: subscription.device.clone() };
    let view: Option<Box<DeviceView>> = ask_for(app, command)
        .await
        .or_else(|problem| if problem.has_code(refusal::APP_UNKNOWN) { Ok(None) } else { Err(problem) })?;
    let number = subscription.number();
    let in_force = view.is_some_and(|view| {
        !view.device.revoked && subscriptions::numbers(&view).any(|known| known == number)
    });
    if in_force {
        return Ok(());
    }
    let detail = "it was revoked, or its device is gone; subscribe again for another endpoint";
    Err(Problem::new(SUBSCRIPTION_OVER, detail))
}

/// As [`crate::shards::ask_for`], where busy has the status that senders of Web Push know.
async fn ask_for<T: Expected<Answer>>(app: &App, command: Command) -> Result<T, Problem> {
    let answer = running(app)?.submit_push(command).await.map_err(|refused| match refused {
        Refusal::Busy { code, reason, retry_after } => {
            let title = refusals::title(code).unwrap_or_else(|| "The shards are busy".to_owned());
            Problem::foreign(code, 429, title, reason).retry_after(Duration::from_millis(retry_after))
        }
        other => other.into(),
    })?;
    T::of(answer).ok_or_else(strange)
}

fn endpoint_unknown() -> Problem {
    Problem::new(ENDPOINT_UNKNOWN, "this server did not make the endpoint; copy it whole, or subscribe again")
}

fn message_unknown() -> Problem {
    Problem::new(MESSAGE_UNKNOWN, "this server did not make the address; copy it whole")
}

/// A push that the platform does not remember is a message that nobody knows.
fn forgotten(problem: Problem) -> Problem {
    if problem.has_code(refusal::PUSH_UNKNOWN) || problem.has_code(refusal::APP_UNKNOWN) {
        Problem::new(MESSAGE_UNKNOWN, "what became of it is not remembered any more")
    } else {
        problem
    }
}

fn not_stored(status: StatusCode) -> Response {
    (status, [(header::CACHE_CONTROL, "no-store")]).into_response()
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    match HeaderValue::from_str(value) {
        Ok(value) => drop(headers.insert(name, value)),
        Err(error) => tracing::error!(%error, name = name.as_str(), "An address cannot stand in a header"),
    }
}
