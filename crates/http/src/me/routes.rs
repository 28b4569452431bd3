//! The endpoints of devices that act for themselves, and the one that makes their tokens.
//!
//! Their paths name no device: [`OwnDevice`] is the only source of it. The last word on each
//! request is the device's shard's.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use axum::Json;
use axum::extract::{FromRef, Request, State};
use axum::http::{StatusCode, Uri};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use stadium_push::{ClickAction, Command, InboxMessage, InboxPage, OwnRequest, PushId};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;

use crate::devices::registry::known;
use crate::devices::views::device_id;
use crate::me::description::{Description, OwnProblems};
use crate::me::device::{DeviceRates, OwnDevice, not_revoked, seconds_now};
use crate::me::tokens::{Claims, DeviceTokens};
use crate::platform::problems::PlatformProblems;
use crate::platform::{app_name, mistake};
use crate::push::fields::PropertyReport;
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::{read_json, read_json_or_default};
use crate::request::endpoints::endpoints;
use crate::request::problem::Problem;
use crate::request::query::{Names, Query, wrong};
use crate::rfc3339;
use crate::shards::ask_for;
use crate::spelling::{field, named, spelled, timestamp};

/// Pushes on a page of an inbox unless the device asks for another number.
const INBOX_PAGE_DEFAULT: usize = 20;

/// Seconds that a token lasts which names no time of its own.
const EXPIRES_IN_S: u64 = 3_600;

/// Seconds that a token may last: a minute to a day.
const EXPIRES_IN_S_RANGE: std::ops::RangeInclusive<u64> = 60..=86_400;

/// The endpoints of devices that act for themselves.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
    Arc<DeviceTokens>: FromRef<S>,
    Arc<DeviceRates>: FromRef<S>,
{
    endpoints![Description; issue, opened, clicked, change, show, inbox, settle]
}

/// How long a token lasts.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeviceTokenFields {
    /// Seconds; 3,600 by default.
    #[serde(default)]
    #[schema(minimum = 60, maximum = 86400, example = 3600)]
    expires_in_s: Option<u64>,
}

/// A token of a device.
#[derive(Serialize, ToSchema)]
#[schema(as = DeviceToken)]
pub(crate) struct DeviceTokenReport {
    /// Its device.
    #[schema(example = "phone-7")]
    device: String,
    /// The token: `Authorization: Bearer st_...` on `/api/me/...`.
    #[schema(example = "st_AQAAAABp...")]
    token: String,
    /// When it is over.
    #[schema(example = "2026-11-26T12:00:00.000Z")]
    expires_at: String,
}

/// Makes a short-lived token with which a device acts for itself. Nothing is stored: it counts
/// until its expiry, unless the device is revoked.
#[utoipa::path(post, operation_id = "issue_device_token", path = "/api/apps/{app}/devices/{device}/token", tag = "Push platform",
    extensions(("x-right" = json!("device.manage:{app}/{device}"))), request_body = Option<DeviceTokenFields>,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("device" = String, Path, description = "The device, percent-encoded.")),
    responses((status = 201, description = "The token; it cannot be seen again.", body = DeviceTokenReport), PlatformProblems))]
pub(crate) async fn issue(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(tokens): State<Arc<DeviceTokens>>,
    Names(name, device): Names,
    request: Request,
) -> Result<(StatusCode, Json<DeviceTokenReport>), Problem> {
    let (name, device) = (app_name(&name)?, device_id(&device)?);
    let fields: DeviceTokenFields = read_json_or_default(&app, request).await?;
    let expires_in_s = fields.expires_in_s.unwrap_or(EXPIRES_IN_S);
    if !EXPIRES_IN_S_RANGE.contains(&expires_in_s) {
        return Err(field("expires_in_s", &format!("it is 60 to 86,400 seconds, not {expires_in_s}")));
    }
    not_revoked(&name, &*known(&app, &name, &device).await?)?;
    let claims = Claims { app: name, device, expires_at_s: seconds_now() + expires_in_s };
    let (app, device) = (claims.app.as_str(), claims.device.as_str());
    tracing::info!(app, device, by = caller.key_id(), expires_in_s, "Device token issued");
    let report = DeviceTokenReport {
        device: device.to_owned(),
        token: tokens.sign(&claims),
        expires_at: rfc3339::format(UNIX_EPOCH + Duration::from_secs(claims.expires_at_s)),
    };
    Ok((StatusCode::CREATED, Json(report)))
}

/// The push that was opened.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnOpenedFields {
    /// Its id.
    #[schema(example = "000102030405060708090a0b0c0d0e0f")]
    push: String,
}

/// Notes that the device's user opened a push that it was sent. Once is enough, and again changes
/// nothing.
#[utoipa::path(post, operation_id = "own_push_opened", path = "/api/me/opened", tag = "Devices' own",
    security(("device" = [])), extensions(("x-right" = json!("me"))), request_body = OwnOpenedFields,
    responses((status = 204, description = "It is noted."), OwnProblems))]
pub(crate) async fn opened(
    own: OwnDevice,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let (fields, _): (OwnOpenedFields, _) = read_json(&app, request).await?;
    let push = named("push", fields.push.parse::<PushId>())?;
    ask(&app, own, OwnRequest::Opened(push)).await
}

/// The push that was clicked, and which part of it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnClickedFields {
    /// Its id.
    #[schema(example = "000102030405060708090a0b0c0d0e0f")]
    push: String,
    /// The part of the push, such as a button, by the app's own name for it.
    #[schema(example = "buy")]
    action: Option<String>,
}

/// Notes that the device's user clicked a push that it was sent, or an action of it. Counts as
/// opened too. The first click counts; a further one changes nothing, whatever its action.
#[utoipa::path(post, operation_id = "own_push_clicked", path = "/api/me/clicked", tag = "Devices' own",
    security(("device" = [])), extensions(("x-right" = json!("me"))), request_body = OwnClickedFields,
    responses((status = 204, description = "It is noted."), OwnProblems))]
pub(crate) async fn clicked(
    own: OwnDevice,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let (fields, _): (OwnClickedFields, _) = read_json(&app, request).await?;
    let push = named("push", fields.push.parse::<PushId>())?;
    let action = fields.action.map(|action| named("action", ClickAction::new(&action))).transpose()?;
    ask(&app, own, OwnRequest::Clicked(push, action)).await
}

/// The fields of a device that it changes by itself. Fields that are left out stay.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the body; the registry reads it")]
pub(crate) struct OwnDeviceFields {
    /// Tags to add and to remove, where the app's setting `device_writable` names them.
    #[schema(value_type = Option<serde_json::Value>, example = json!({"add": ["news-local"], "remove": ["news-sport"]}))]
    tags: Option<Value>,
    /// Attributes by name, where the app's setting `device_writable` names them; `null` takes one
    /// away.
    #[schema(value_type = Option<serde_json::Value>, example = json!({"language": "de"}))]
    attributes: Option<Value>,
    /// Whether it wants pushes.
    opted_in: Option<bool>,
}

/// Changes the device: all of the body, or nothing where the app does not let devices change a part
/// of it.
#[utoipa::path(patch, operation_id = "change_own_device", path = "/api/me/device", tag = "Devices' own",
    security(("device" = [])), extensions(("x-right" = json!("me"))), request_body = OwnDeviceFields,
    responses((status = 204, description = "It is changed."), OwnProblems))]
pub(crate) async fn change(
    own: OwnDevice,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let (body, _): (Value, _) = read_json(&app, request).await?;
    let request = OwnRequest::change_of(&body).map_err(|error| mistake("", error))?;
    ask(&app, own, request).await
}

/// Has the device's shard carry it out.
async fn ask(app: &App, own: OwnDevice, request: OwnRequest) -> Result<StatusCode, Problem> {
    let () = ask_for(app, Command::Own { app: own.app, device: own.device, request }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The device as it sees itself.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the answer, which is a part of the registry's JSON")]
pub(crate) struct OwnDeviceReport {
    /// Its app.
    app: String,
    /// Its id.
    device: String,
    /// Whether it wants pushes.
    opted_in: bool,
    /// Its tags.
    tags: Vec<String>,
    /// Its attributes by name.
    #[schema(value_type = serde_json::Value)]
    attributes: Map<String, Value>,
}

/// The device: its tags, its attributes, and whether it is opted in.
#[utoipa::path(get, operation_id = "show_own_device", path = "/api/me/device", tag = "Devices' own",
    security(("device" = [])), extensions(("x-right" = json!("me"))),
    responses((status = 200, description = "The device.", body = OwnDeviceReport), OwnProblems))]
pub(crate) async fn show(own: OwnDevice, State(app): State<Arc<App>>) -> Result<Json<Value>, Problem> {
    let view = own.known(&app).await?;
    let json = view.device.to_json();
    Ok(Json(json!({
        "app": own.app,
        "device": own.device,
        "opted_in": json["opt_in"],
        "tags": json["tags"],
        "attributes": json["attributes"],
    })))
}

/// A page of the pushes that the device is owed.
#[derive(Serialize, ToSchema)]
pub(crate) struct OwnInbox {
    /// In the order in which the device gets them. A page ends early behind a megabyte of messages.
    inbox: Vec<InboxMessageReport>,
    /// `after` of the next page; none on the last one.
    next: Option<String>,
}

/// A push that the device is owed, as it gets it over MQTT too.
#[derive(Serialize, ToSchema)]
pub(crate) struct InboxMessageReport {
    /// Its id.
    push: String,
    /// When it started (RFC 3339).
    since: String,
    /// When it expires.
    until: Option<String>,
    /// 0 to 9.
    priority: u8,
    /// The message, or a notification as JSON, where it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The message in base64, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_base64: Option<String>,
    /// The message's MIME type.
    content_type: Option<String>,
    /// The user properties of the message.
    user_properties: Vec<PropertyReport>,
}

impl InboxMessageReport {
    fn of(message: &InboxMessage) -> Self {
        let (text, base64) = spelled(&message.payload);
        Self {
            push: message.owed.push.to_string(),
            since: timestamp(message.owed.since),
            until: message.owed.until.map(timestamp),
            priority: message.owed.priority,
            message: text,
            message_base64: base64,
            content_type: message.content_type.as_ref().map(ToString::to_string),
            user_properties: PropertyReport::all(&message.properties),
        }
    }
}

/// The pushes that the device is owed, with their contents, those on their way over MQTT included.
/// Reading settles nothing.
#[utoipa::path(get, operation_id = "show_own_inbox", path = "/api/me/inbox", tag = "Devices' own",
    security(("device" = [])), extensions(("x-right" = json!("me"))),
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Of a page; 20 by default."),
           ("after" = Option<String>, Query, description = "Only pushes behind this one: `next` of the page before.")),
    responses((status = 200, description = "The inbox.", body = OwnInbox), OwnProblems))]
pub(crate) async fn inbox(
    own: OwnDevice,
    State(app): State<Arc<App>>,
    uri: Uri,
) -> Result<Json<OwnInbox>, Problem> {
    let query = Query::read(&uri, &["limit", "after"])?;
    let limit = query.limit(INBOX_PAGE_DEFAULT, OwnRequest::SETTLED_MAX)?;
    let after = query.value("after").map(str::parse::<PushId>).transpose();
    let after = after.map_err(|error| wrong("after", error.to_string()))?;
    let command = Command::Inbox { app: own.app, device: own.device, after, pushes_max: limit as u32 };
    let page: InboxPage = ask_for(&app, command).await?;
    let last = page.messages.last().filter(|_| page.more);
    Ok(Json(OwnInbox {
        next: last.map(|message| message.owed.push.to_string()),
        inbox: page.messages.iter().map(InboxMessageReport::of).collect(),
    }))
}

/// The pushes that the device has taken.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnSettledFields {
    /// Their ids, 1 to 100.
    #[schema(min_items = 1, max_items = 100, example = json!(["0190a1b2c3d47e5f8a9b0c1d2e3f4a5b"]))]
    pushes: Vec<String>,
}

/// The outcome of pushes that a device settles.
#[derive(Serialize, ToSchema)]
pub(crate) struct OwnSettled {
    /// Those that the device was owed: they are delivered now.
    settled: Vec<String>,
    /// Those that it is not owed: settled or acknowledged before, over, or never its own. Nothing
    /// happened to them.
    not_owed: Vec<String>,
}

/// Settles pushes of the inbox: they count as delivered, and do not come over MQTT any more, unless
/// they are on their way already. The same again changes nothing.
#[utoipa::path(post, operation_id = "settle_own_inbox", path = "/api/me/inbox/settle", tag = "Devices' own",
    security(("device" = [])), extensions(("x-right" = json!("me"))), request_body = OwnSettledFields,
    responses((status = 200, description = "What became of each.", body = OwnSettled), OwnProblems))]
pub(crate) async fn settle(
    own: OwnDevice,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Json<OwnSettled>, Problem> {
    let (fields, _): (OwnSettledFields, _) = read_json(&app, request).await?;
    if !(1..=OwnRequest::SETTLED_MAX).contains(&fields.pushes.len()) {
        let detail = format!("it names 1 to {} pushes", OwnRequest::SETTLED_MAX);
        return Err(field("pushes", &detail));
    }
    let each = fields.pushes.iter().enumerate();
    let pushes: Result<Vec<PushId>, Problem> =
        each.map(|(at, push)| named(&format!("pushes[{at}]"), push.parse::<PushId>())).collect();
    let pushes = pushes?;
    let request = OwnRequest::Settle(pushes.clone());
    let outcomes: Vec<bool> =
        ask_for(&app, Command::Own { app: own.app, device: own.device, request }).await?;
    let mut answer = OwnSettled { settled: Vec::new(), not_owed: Vec::new() };
    for (push, was_owed) in pushes.iter().zip(outcomes) {
        let list = if was_owed { &mut answer.settled } else { &mut answer.not_owed };
        list.push(push.to_string());
    }
    Ok(Json(answer))
}
