//! The service `stadium`: pushes, for services that have RPC and need no HTTP.
//!
//! It takes over what POST /api/push does, under the same bounds. A caller shows an API key that may send, as a bearer
//! token; so devices, whose requests carry none, cannot push.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use stadium_http::fleet::{
    Audience, ChannelName, DeviceId, Fleet, InvalidName, NewPush, Qos, Refusal as FleetRefusal, UserProperty,
};
use stadium_http::keys::{KeyStore, Role};
use stadium_rpc::{Refusal, Service};

use super::access::Access;
use super::proto::push_request::To;
use super::proto::{PushAccepted, PushRequest, stadium};
use crate::settings::Http;

pub(super) use super::proto::stadium::{NAME, VERSION};

/// Bytes of a content type, and of a user property's name and value: those of the HTTP API.
const CONTENT_TYPE_BYTES_MAX: usize = 256;
const USER_PROPERTIES_MAX: usize = 32;
const USER_PROPERTY_BYTES_MAX: usize = 1_024;

/// The HTTP API's bounds, which hold here too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    message_bytes_max: usize,
    devices_max: usize,
}

impl Bounds {
    pub(super) fn of(http: &Http) -> Self {
        Self {
            message_bytes_max: http.message_bytes_max as usize,
            devices_max: http.audience_devices_max as usize,
        }
    }
}

/// The service over this fleet.
pub(super) fn service(fleet: Arc<dyn Fleet>, keys: KeyStore, bounds: Bounds) -> Service {
    Service::new(NAME, VERSION)
        .descriptors(stadium::FILE_DESCRIPTOR_SET)
        .interceptor(Access::new(keys, needed))
        .inline(&stadium::PUSH, move |_call, request: &PushRequest, answer: &mut PushAccepted| {
            let push = read(request, bounds)?;
            let id = fleet.push(push).map_err(|refusal| match refusal {
                FleetRefusal::Busy { retry_after, reason } => Refusal::busy(retry_after, reason),
                FleetRefusal::Rejected { code, reason } => Refusal::rejected(code, reason),
            })?;
            answer.id = id.to_string();
            Ok(())
        })
}

/// Pushing takes a key that may send; the framework's own methods are open.
fn needed(route: &str) -> Option<Role> {
    (route == stadium::PUSH.route()).then_some(Role::Send)
}

fn read(request: &PushRequest, bounds: Bounds) -> Result<NewPush, Refusal> {
    if request.message.len() > bounds.message_bytes_max {
        let (bytes, max) = (request.message.len(), bounds.message_bytes_max);
        return Err(wrong(format!("the message has {bytes} bytes; http.message_bytes_max allows {max}")));
    }
    if request.user_properties.len() > USER_PROPERTIES_MAX {
        return Err(wrong(format!("a push has at most {USER_PROPERTIES_MAX} user properties")));
    }
    let mut user_properties = Vec::with_capacity(request.user_properties.len());
    for property in &request.user_properties {
        user_properties.push(UserProperty {
            name: text("a user property's name", &property.name, USER_PROPERTY_BYTES_MAX)?,
            value: text("a user property's value", &property.value, USER_PROPERTY_BYTES_MAX)?,
        });
    }
    let content_type = match request.content_type.as_str() {
        "" => None,
        named => Some(text("the content type", named, CONTENT_TYPE_BYTES_MAX)?),
    };
    Ok(NewPush {
        to: audience(request, bounds)?,
        payload: request.message.clone().into(),
        qos: if request.at_most_once { Qos::AtMostOnce } else { Qos::AtLeastOnce },
        expiry: (request.expiry_s > 0).then(|| Duration::from_secs(request.expiry_s.into())),
        content_type,
        user_properties,
    })
}

fn audience(request: &PushRequest, bounds: Bounds) -> Result<Audience, Refusal> {
    match &request.to {
        None | Some(To::Everybody(false)) => Err(wrong("the push is for nobody: set `to`".to_owned())),
        Some(To::Everybody(true)) => Ok(Audience::Everybody),
        Some(To::Channel(name)) => {
            let name = ChannelName::new(name.as_str());
            name.map(Audience::Channel).map_err(|error| wrong(format!("a channel's name {error}")))
        }
        Some(To::Device(id)) => device(id).map(Audience::Device),
        Some(To::Devices(devices)) => {
            let (named, max) = (devices.ids.len(), bounds.devices_max);
            if named == 0 || named > max {
                return Err(wrong(format!("it names {named} devices, not 1 to {max}")));
            }
            let mut seen = HashSet::with_capacity(named);
            let mut ids = Vec::with_capacity(named);
            for id in &devices.ids {
                if seen.insert(id) {
                    ids.push(device(id)?);
                }
            }
            Ok(Audience::Devices(ids))
        }
    }
}

fn device(id: &str) -> Result<DeviceId, Refusal> {
    let id = DeviceId::new(id).map_err(|error: InvalidName| wrong(format!("a device id {error}")))?;
    if id.has_inbox() { Ok(id) } else { Err(wrong(format!("device {:?} has no inbox", id.as_str()))) }
}

fn text(what: &str, text: &str, bytes_max: usize) -> Result<String, Refusal> {
    if text.is_empty() || text.len() > bytes_max || text.contains('\0') {
        return Err(wrong(format!("{what} has 1 to {bytes_max} bytes of text without U+0000")));
    }
    Ok(text.to_owned())
}

fn wrong(what: String) -> Refusal {
    Refusal::rejected("NODE-010", what)
}
