//! Which subscriptions a device has: their numbers, in its attribute.
//!
//! An attribute and not a file of our own: it is journaled, moves with the device, and goes with it. Several for a device, because a
//! distributor of UnifiedPush has one for each application that it serves.

use axum::http::{HeaderMap, header, uri::Authority};
use serde::{Deserialize, Serialize};
use stadium_push::{Changed, Command, DeviceView, Refusal};
use stadium_registry::{AppName, AttributeName, Changes, DeviceId, Value};
use utoipa::ToSchema;

use crate::devices::registry::known;
use crate::request::app::App;
use crate::request::problem::Problem;
use crate::shards::{ask_for, strange};
use crate::spelling::field;
use crate::webpush::problems::{SUBSCRIPTION_UNKNOWN, SUBSCRIPTIONS_FULL};
use crate::webpush::{ATTRIBUTE, WebPush, vapid};

/// Subscriptions of a device: a phone's distributor serves a handful of applications. One more is refused.
const SUBSCRIPTIONS_MAX: usize = 16;

/// What a subscription is made for.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WebPushSubscriptionFields)]
pub(crate) struct SubscriptionFields {
    /// The application server's public key (P-256, uncompressed, base64url): only pushes signed with it are taken. Without one, whoever has
    /// the endpoint may push.
    #[serde(default)]
    #[schema(
        example = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
    )]
    vapid_public_key: Option<String>,
}

impl SubscriptionFields {
    /// The hash of the key.
    pub(crate) fn check(&self) -> Result<Option<[u8; 32]>, Problem> {
        let Some(text) = &self.vapid_public_key else { return Ok(None) };
        let key = vapid::public_key(text).ok_or_else(|| {
            field("vapid_public_key", "it is a public key on P-256: 65 bytes, uncompressed, as base64url")
        })?;
        Ok(Some(vapid::key_hash(&key)))
    }
}

/// A subscription that was made.
#[derive(Serialize, ToSchema)]
#[schema(as = WebPushSubscription)]
pub(crate) struct SubscriptionReport {
    /// Where applications push to. Every holder of it may push, unless the subscription was made
    /// for a key.
    #[schema(example = "https://push.example.org/wp/3q2-7w...")]
    pub(crate) endpoint: String,
    /// Its number: the user property `subscription` of what the device gets over it.
    #[schema(example = "3q2-7wAB")]
    pub(crate) subscription: String,
}

/// The numbers of a device's subscriptions.
#[derive(Serialize, ToSchema)]
#[schema(as = WebPushSubscriptions)]
pub(crate) struct SubscriptionPage {
    /// Oldest first, at most 16.
    #[schema(example = json!(["3q2-7wAB"]))]
    pub(crate) subscriptions: Vec<String>,
}

/// The numbers that stand with a device.
pub(crate) fn numbers(view: &DeviceView) -> impl Iterator<Item = &str> {
    let held = view.device.attributes.iter().find(|(name, _)| name.as_str() == ATTRIBUTE);
    let text = match held {
        Some((_, Value::Text(text))) => text.as_str(),
        _ => "",
    };
    text.split_ascii_whitespace()
}

/// Adds a number to a device's.
pub(crate) async fn add(
    app: &App,
    webpush: &WebPush,
    of: &AppName,
    device: &DeviceId,
    number: &str,
) -> Result<(), Problem> {
    let _alone = webpush.changes.lock().await;
    let view = known(app, of, device).await?;
    let mut all: Vec<&str> = numbers(&view).collect();
    if all.len() >= SUBSCRIPTIONS_MAX {
        let detail = format!(
            "it has {SUBSCRIPTIONS_MAX}; revoke one with DELETE /api/apps/{of}/devices/{device}/webpush/NUMBER"
        );
        return Err(Problem::new(SUBSCRIPTIONS_FULL, detail));
    }
    all.push(number);
    set(app, of, device, &all).await
}

/// Takes one away.
pub(crate) async fn remove(
    app: &App,
    webpush: &WebPush,
    of: &AppName,
    device: &DeviceId,
    number: &str,
) -> Result<(), Problem> {
    let _alone = webpush.changes.lock().await;
    let view = known(app, of, device).await?;
    let all: Vec<&str> = numbers(&view).collect();
    let rest: Vec<&str> = all.iter().copied().filter(|known| *known != number).collect();
    if rest.len() == all.len() {
        return Err(Problem::new(
            SUBSCRIPTION_UNKNOWN,
            format!("device {device} has no subscription {number:?}"),
        ));
    }
    set(app, of, device, &rest).await
}

/// Takes all away.
pub(crate) async fn remove_all(
    app: &App,
    webpush: &WebPush,
    of: &AppName,
    device: &DeviceId,
) -> Result<(), Problem> {
    let _alone = webpush.changes.lock().await;
    let view = known(app, of, device).await?;
    if numbers(&view).next().is_none() { Ok(()) } else { set(app, of, device, &[]).await }
}

async fn set(app: &App, of: &AppName, device: &DeviceId, numbers: &[&str]) -> Result<(), Problem> {
    let name = AttributeName::new(ATTRIBUTE).expect("small letters are a name");
    let value = (!numbers.is_empty()).then(|| Value::Text(numbers.join(" ").into()));
    let changes = Changes { attributes: vec![(name, value)], ..Changes::default() };
    let command = Command::Change { app: of.clone(), devices: vec![(device.clone(), changes)] };
    let outcomes: Vec<Result<Changed, Refusal>> = ask_for(app, command).await?;
    outcomes.into_iter().next().ok_or_else(strange)??;
    Ok(())
}

/// Scheme, host and port under which applications reach this server: as configured, else as the request came.
pub(crate) fn origin(app: &App, headers: &HeaderMap) -> Result<String, Problem> {
    if let Some(origin) = &app.config.public_url {
        return Ok(normal(origin.trim_end_matches('/')));
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host =
        host.filter(|host| host.len() <= 300 && !host.contains('@') && host.parse::<Authority>().is_ok());
    let host = host.ok_or_else(|| field("", "the header `Host` names no host; or set http.public_url"))?;
    let behind_https = headers.get("x-forwarded-proto").is_some_and(|proto| proto.as_bytes() == b"https");
    let scheme = if behind_https || app.config.tls.is_some() { "https" } else { "http" };
    Ok(normal(&format!("{scheme}://{host}")))
}

/// Small letters, and no port where it is the scheme's own: as senders make VAPID tokens out.
fn normal(origin: &str) -> String {
    let origin = origin.to_ascii_lowercase();
    let port = if origin.starts_with("https://") { ":443" } else { ":80" };
    origin.strip_suffix(port).map_or_else(|| origin.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_one_spelling() {
        for (given, expected) in [
            ("https://Push.Example.org:443", "https://push.example.org"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://[::1]:80", "http://[::1]"),
            ("https://push.example.org:80", "https://push.example.org:80"),
        ] {
            assert_eq!(normal(given), expected);
        }
    }
}
