//! A notification as one device would get it: its variant, with the device's own values in its texts.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use stadium_push::{Content, NewPush};
use stadium_registry::Device;
use utoipa::ToSchema;

/// The texts that a device would get.
#[derive(Serialize, ToSchema)]
pub(crate) struct RenderedReport {
    /// The device.
    #[schema(example = "phone-7")]
    device: String,
    /// The value that it lacks and the texts need: it would be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
    /// Its title.
    #[schema(example = "Hello Ada")]
    title: Option<String>,
    /// Its body.
    body: Option<String>,
    /// Its data for the application.
    data: Option<Value>,
}

impl RenderedReport {
    /// The texts of a push for a device; none of a push without texts.
    pub(crate) fn of(push: &NewPush, device: &Device) -> Option<Self> {
        let Content::Notification(notification) = &push.content else { return None };
        let fields = device.to_json();
        let platform = device.platform.as_ref().map(ToString::to_string).unwrap_or_default();
        let language = device.language.as_ref().map(ToString::to_string).unwrap_or_default();
        let value = |name: &str| value(&fields, name).map(Cow::Owned);
        let none = Self { device: device.id.to_string(), missing: None, title: None, body: None, data: None };
        Some(match stadium_push::render(notification, &platform, &language, value) {
            Err(missing) => Self { missing: Some(missing), ..none },
            Ok(bytes) => {
                // A value within data may break its JSON: the device gets it so, too.
                let payload: Value = serde_json::from_slice(&bytes).unwrap_or_default();
                let text = |name: &str| payload[name].as_str().map(ToOwned::to_owned);
                Self { title: text("title"), body: text("body"), data: payload.get("data").cloned(), ..none }
            }
        })
    }
}

/// An attribute, or where there is none of that name a field, as text: what the shard puts into texts.
fn value(device: &Value, name: &str) -> Option<String> {
    let shown = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => number.as_f64().map(|number| number.to_string()),
        Value::Object(date) => date.get("date")?.as_str().map(ToOwned::to_owned),
        _ => None,
    };
    const FIELDS: [&str; 7] =
        ["device", "platform", "app_version", "language", "country", "time_zone", "named_user"];
    let attribute = device["attributes"].get(name).and_then(shown);
    attribute.or_else(|| FIELDS.contains(&name).then(|| shown(&device[name]))?)
}
