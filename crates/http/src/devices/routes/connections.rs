//! Devices: list, show, disconnect.
//!
//! Pages are walked by the last id of the page before, so that a fleet which changes meanwhile skips nobody.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use serde::Serialize;
use stadium_push::live::ClientId;
use utoipa::ToSchema;

use crate::fleet::{ConnectionFilter, DeviceConnection, DeviceQuery, DeviceReport, KickOutcome};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::problem::{DEVICE_AWAY, DEVICE_UNKNOWN, Problem, ProblemSchema};
use crate::request::query::{Name, Query, wrong};
use crate::rfc3339;

/// Devices on a page unless the caller asks for another number.
const PAGE_DEVICES_DEFAULT: usize = 100;

/// Devices on a page at most: each costs its loop a little time in one turn.
const PAGE_DEVICES_MAX: usize = 1_000;

/// A page of devices.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeviceList {
    /// In order of their ids' bytes.
    devices: Vec<DeviceView>,
    /// Where the next page begins: give it as `after`. Missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A device.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeviceView {
    /// Its MQTT client identifier.
    #[schema(example = "seat-0042")]
    id: String,
    /// Whether it has an open connection.
    connected: bool,
    /// Its open connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<ConnectionView>,
    /// When its session ends unless it comes back (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    session_expires_at: Option<String>,
    /// How many subscriptions it has.
    subscription_count: u64,
    /// Its subscriptions; only when one device is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    subscriptions: Option<Vec<SubscriptionView>>,
    /// Messages kept for it and not sent yet.
    queued: u64,
    /// Messages sent and not acknowledged.
    in_flight: u64,
}

/// A device's open connection.
#[derive(Serialize, ToSchema)]
pub(crate) struct ConnectionView {
    /// Where it comes from.
    #[schema(example = "192.0.2.7:51234")]
    address: Option<String>,
    /// `tcp`, `tls`, `ws` or `wss`.
    #[schema(example = "tls")]
    transport: &'static str,
    /// `3.1.1` or `5.0`.
    #[schema(example = "5.0")]
    mqtt_version: &'static str,
    /// Who it logged in as.
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
    /// When it connected (RFC 3339).
    connected_at: String,
    /// Its keep-alive in seconds; 0 when it has none.
    keepalive_s: u16,
    /// The event loop that owns it.
    r#loop: usize,
}

/// A subscription.
#[derive(Serialize, ToSchema)]
pub(crate) struct SubscriptionView {
    /// The topic filter.
    #[schema(example = "channels/news")]
    filter: String,
    /// The maximum QoS granted.
    qos: u8,
}

enum Detail {
    List,
    One,
}

impl DeviceView {
    fn of(report: DeviceReport, detail: Detail) -> Self {
        let subscription =
            |each: crate::fleet::DeviceSubscription| SubscriptionView { filter: each.filter, qos: each.qos };
        let subscriptions = match detail {
            Detail::List => None,
            Detail::One => Some(report.subscriptions.into_iter().map(subscription).collect()),
        };
        Self {
            id: report.id.to_string(),
            connected: report.connection.is_some(),
            connection: report.connection.map(ConnectionView::of),
            session_expires_at: report.session_expires_at.map(rfc3339::format),
            subscription_count: report.subscription_count,
            subscriptions,
            queued: report.queued,
            in_flight: report.in_flight,
        }
    }
}

impl ConnectionView {
    fn of(connection: DeviceConnection) -> Self {
        Self {
            address: connection.address.map(|address| address.to_string()),
            transport: connection.transport,
            mqtt_version: connection.mqtt_version,
            username: connection.username,
            connected_at: rfc3339::format(connection.connected_at),
            keepalive_s: connection.keepalive_s,
            r#loop: connection.loop_index,
        }
    }
}

/// Devices with a connection or a session, in order of their ids.
#[utoipa::path(get, operation_id = "list_devices", path = "/api/devices", tag = "Devices",
    extensions(("x-right" = json!("device.read:*"))),
    params(("prefix" = Option<String>, Query, description = "Only ids that begin so."),
           ("search" = Option<String>, Query, description = "Only ids with this in them, in any case."),
           ("connected" = Option<bool>, Query, description = "`true`: only connected devices; `false`: only those away."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Devices on the page; 100 by default."),
           ("after" = Option<String>, Query, description = "Only ids after this one: `next` of the page before.")),
    responses((status = 200, description = "A page of devices.", body = DeviceList),
              (status = 400, description = "`HTTP-017`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema)))]
pub(crate) async fn list(
    _: Caller,
    State(app): State<Arc<App>>,
    uri: Uri,
) -> Result<Json<DeviceList>, Problem> {
    let query = Query::read(&uri, &["prefix", "search", "connected", "limit", "after"])?;
    let connection = match query.value("connected") {
        None => ConnectionFilter::Any,
        Some("true") => ConnectionFilter::Connected,
        Some("false") => ConnectionFilter::Away,
        Some(other) => {
            return Err(wrong("connected", format!("`connected` is true or false, not {other:?}")));
        }
    };
    let after = match query.value("after") {
        None => None,
        Some(text) => Some(ClientId::new(text).map_err(|error| wrong("after", format!("`after` {error}")))?),
    };
    let limit = query.limit(PAGE_DEVICES_DEFAULT, PAGE_DEVICES_MAX)?;
    let prefix = query.value("prefix").unwrap_or_default().to_owned();
    let search = query.value("search").unwrap_or_default().to_lowercase();
    let page = app.fleet.devices(DeviceQuery { prefix, search, connection, after, limit }).await;
    let next = page.devices.last().filter(|_| page.more).map(|device| device.id.to_string());
    let devices = page.devices.into_iter().map(|device| DeviceView::of(device, Detail::List)).collect();
    Ok(Json(DeviceList { devices, next }))
}

/// One device with its subscriptions.
#[utoipa::path(get, operation_id = "find_device", path = "/api/devices/{id}", tag = "Devices",
    extensions(("x-right" = json!("device.read:{id}"))),
    params(("id" = String, Path, description = "The device's id, percent-encoded.")),
    responses((status = 200, description = "The device.", body = DeviceView),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 404, description = "`HTTP-011`", body = ProblemSchema)))]
pub(crate) async fn show(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(id): Name,
) -> Result<Json<DeviceView>, Problem> {
    let device = app.fleet.device(known_name(&id)?).await.ok_or_else(|| unknown(&id))?;
    Ok(Json(DeviceView::of(device, Detail::One)))
}

/// Closes a device's connection. Its session stays, and it may connect again.
#[utoipa::path(delete, operation_id = "disconnect_device", path = "/api/devices/{id}/connection", tag = "Devices",
    extensions(("x-right" = json!("device.manage:{id}"))),
    params(("id" = String, Path, description = "The device's id, percent-encoded.")),
    responses((status = 204, description = "The connection is being closed."),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 404, description = "`HTTP-011`", body = ProblemSchema),
              (status = 409, description = "`HTTP-012`", body = ProblemSchema),
              (status = 503, description = "`HTTP-013`", body = ProblemSchema),
              (status = 504, description = "`HTTP-018`: it may have been disconnected", body = ProblemSchema)))]
pub(crate) async fn kick(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(id): Name,
) -> Result<StatusCode, Problem> {
    let outcome = app.fleet.kick(known_name(&id)?, "disconnected by an operator".to_owned()).await?;
    tracing::info!(device = id, by = caller.key_id(), outcome = ?outcome, "Device disconnected by an operator");
    match outcome {
        KickOutcome::Kicked => Ok(StatusCode::NO_CONTENT),
        KickOutcome::NotConnected => {
            Err(Problem::new(DEVICE_AWAY, format!("device {id:?} has a session but no connection to close")))
        }
        KickOutcome::Unknown => Err(unknown(&id)),
    }
}

/// A name that no device can have is a device that nobody knows.
fn known_name(id: &str) -> Result<ClientId, Problem> {
    ClientId::new(id).map_err(|_| unknown(id))
}

fn unknown(id: &str) -> Problem {
    Problem::new(DEVICE_UNKNOWN, format!("no connection and no session has the id {id:?}"))
}
