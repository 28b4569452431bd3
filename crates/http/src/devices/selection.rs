//! The registered devices that a query selects.
//!
//! The shards evaluate selectors; a search for a part of a text is done on the pages that they give.

use serde_json::Value;
use stadium_push::DeviceView;
use stadium_registry::{Selector, UserName, Value as Attribute};

use crate::platform::mistake;
use crate::request::problem::Problem;
use crate::request::query::{Query, wrong};

/// What `audience` and `named_user` select together.
pub(crate) fn audience(query: &Query) -> Result<Option<Selector>, Problem> {
    let audience = query.value("audience").map(|text| selector("audience", text)).transpose()?;
    let user = query.value("named_user").map(UserName::new).transpose();
    let user = user.map_err(|error| wrong("named_user", error.to_string()))?.map(Selector::User);
    Ok(match (audience, user) {
        (Some(audience), Some(user)) => Some(Selector::And(vec![user, audience])),
        (audience, user) => audience.or(user),
    })
}

/// A selector as JSON in a query parameter.
fn selector(name: &str, text: &str) -> Result<Selector, Problem> {
    let json: Value = serde_json::from_str(text).map_err(|error| {
        crate::request::query::wrong(name, format!("`{name}` is a selector as JSON: {error}"))
    })?;
    Selector::parse(&json).map_err(|error| mistake(name, error))
}

/// The states of devices that a query can ask for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeviceState {
    Any,
    Connected,
    Away,
    OptedOut,
    Revoked,
}

/// The parts of a query that are looked for in devices one by one.
pub(crate) struct Sought {
    /// In lower case; empty for any.
    text: String,
    state: DeviceState,
}

impl Sought {
    pub(crate) fn read(query: &Query) -> Result<Self, Problem> {
        let states = [
            ("all", DeviceState::Any),
            ("connected", DeviceState::Connected),
            ("away", DeviceState::Away),
            ("opted_out", DeviceState::OptedOut),
            ("revoked", DeviceState::Revoked),
        ];
        let text = query.value("search").unwrap_or_default().to_lowercase();
        Ok(Self { text, state: query.one_of("state", &states)? })
    }

    /// Whether every device fits.
    pub(crate) fn is_any(&self) -> bool {
        self.text.is_empty() && self.state == DeviceState::Any
    }

    pub(crate) fn fits(&self, view: &DeviceView) -> bool {
        let device = &view.device;
        let in_state = match self.state {
            DeviceState::Any => true,
            DeviceState::Connected => view.connection.is_some(),
            DeviceState::Away => view.connection.is_none() && !device.revoked,
            DeviceState::OptedOut => !device.opt_in,
            DeviceState::Revoked => device.revoked,
        };
        in_state && (self.text.is_empty() || self.is_in(view))
    }

    fn is_in(&self, view: &DeviceView) -> bool {
        let device = &view.device;
        let has = |text: &str| text.to_lowercase().contains(&self.text);
        let texts = [
            device.user.as_ref().map(ToString::to_string),
            device.platform.as_ref().map(ToString::to_string),
            device.app_version.as_ref().map(ToString::to_string),
            device.language.as_ref().map(ToString::to_string),
            device.country.as_ref().map(ToString::to_string),
            device.time_zone.as_ref().map(ToString::to_string),
        ];
        has(device.id.as_str())
            || texts.into_iter().flatten().any(|text| has(&text))
            || device.tags.iter().any(|tag| has(&tag.to_string()))
            || device.attributes.iter().any(|(_, value)| matches!(value, Attribute::Text(text) if has(text)))
    }
}
