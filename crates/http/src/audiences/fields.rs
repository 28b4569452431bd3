//! The audience and the pace of a push, as requests name them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stadium_push::{Audience, AudienceName, Pace};
use stadium_registry::DeviceId;
use utoipa::ToSchema;

use crate::apps::views::milliseconds;
use crate::platform::selector;
use crate::request::problem::Problem;
use crate::spelling::{field, named};

/// The audience that stands at `at`.
pub(crate) fn audience(at: &str, json: &Value) -> Result<Audience, Problem> {
    let only = |name: &str| match json {
        Value::Object(fields) if fields.len() == 1 => fields.get(name),
        _ => None,
    };
    let text = |name: &str, value: &Value| {
        let wrong = || field(&format!("{at}.{name}"), &format!("`{name}` is a name, not {value}"));
        value.as_str().map(ToOwned::to_owned).ok_or_else(wrong)
    };
    if let Some(device) = only("device") {
        let device = text("device", device)?;
        return Ok(Audience::Device(named(&format!("{at}.device"), DeviceId::new(&device))?));
    }
    if let Some(name) = only("saved") {
        let name = text("saved", name)?;
        return Ok(Audience::Saved(named(&format!("{at}.saved"), AudienceName::new(&name))?));
    }
    selector(at, json).map(Audience::Selector)
}

/// An audience as [`audience`] reads it.
pub(crate) fn audience_json(audience: &Audience) -> Value {
    match audience {
        Audience::Device(device) => serde_json::json!({"device": device.as_str()}),
        Audience::Saved(name) => serde_json::json!({"saved": name.as_str()}),
        Audience::Selector(selector) => selector.to_json(),
    }
}

/// How fast a push goes out to connected devices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PaceField {
    /// As fast as it can.
    AtOnce,
    /// So many devices a second.
    PerSecond(u32),
    /// Evenly over so many seconds.
    OverS(u64),
}

impl PaceField {
    pub(crate) fn check(self, at: &str) -> Result<Pace, Problem> {
        match self {
            Self::AtOnce => Ok(Pace::AtOnce),
            Self::PerSecond(0) => {
                Err(field(&format!("{at}.per_second"), "a pace is at least 1 device a second"))
            }
            Self::PerSecond(devices) => Ok(Pace::PerSecond(devices)),
            Self::OverS(seconds) => Ok(Pace::Over(milliseconds(&format!("{at}.over_s"), seconds)?)),
        }
    }
}
