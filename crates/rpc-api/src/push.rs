//! The service `stadium`: pushes, for services that have RPC and need no HTTP.
//!
//! It takes over what POST /api/push does, under the same bounds, now or later ([`job`]). A caller shows an API key that may send, as a bearer
//! token; so devices, whose requests carry none, cannot push.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use stadium_http::PushBounds;
use stadium_http::fleet::{
    Audience, ChannelName, DeviceId, Fleet, InvalidName, NewPush, Qos, Refusal as FleetRefusal, UserProperty,
};
use stadium_http::key_store::{KeyStore, Role};
use stadium_queue::NewJob;
use stadium_rpc::{Refusal, Service};

use crate::access::Access;
use crate::proto::push_request::To;
use crate::proto::{PushAccepted, PushRequest, stadium};
use crate::request::wrong;

pub use crate::proto::stadium::{NAME, VERSION};

/// Bytes of a content type, and of a user property's name and value: those of the HTTP API.
const CONTENT_TYPE_BYTES_MAX: usize = 256;
const USER_PROPERTIES_MAX: usize = 32;
const USER_PROPERTY_BYTES_MAX: usize = 1_024;

/// The service over this fleet.
pub fn service(fleet: Arc<dyn Fleet>, keys: KeyStore, bounds: PushBounds) -> Service {
    Service::new(NAME, VERSION)
        .descriptors(stadium::FILE_DESCRIPTOR_SET)
        .interceptor(Access::new(keys, needed))
        .inline(&stadium::PUSH, move |_call, request: &PushRequest, answer: &mut PushAccepted| {
            let push = read(request, bounds)?;
            let id = fleet.push(push).map_err(|refusal| match refusal {
                FleetRefusal::Busy { retry_after, reason } => Refusal::busy(retry_after, reason),
                FleetRefusal::Rejected { code, reason } => Refusal::rejected(code, reason),
                FleetRefusal::Unknown { reason } => Refusal::unknown("HTTP-018", reason),
            })?;
            answer.id = id.to_string();
            Ok(())
        })
}

/// Pushing takes a key that may send; the framework's own methods are open.
fn needed(route: &str) -> Option<Role> {
    (route == stadium::PUSH.route()).then_some(Role::Send)
}

fn read(request: &PushRequest, bounds: PushBounds) -> Result<NewPush, Refusal> {
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

fn audience(request: &PushRequest, bounds: PushBounds) -> Result<Audience, Refusal> {
    match &request.to {
        None | Some(To::Everybody(false)) => Err(wrong("the push is for nobody: set `to`".to_owned())),
        Some(To::Everybody(true)) => Ok(Audience::Everybody),
        Some(To::Channel(name)) => {
            let name = ChannelName::new(name.as_str());
            name.map(Audience::Channel).map_err(|error| wrong(format!("a channel's name {error}")))
        }
        Some(To::Device(id)) => device(id).map(Audience::Device),
        Some(To::Devices(devices)) => {
            let (named, max) = (devices.ids.len(), bounds.audience_devices_max);
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

/// The job of the queue of pushes that pushes this later.
///
/// # Errors
/// What would be refused now is refused now.
pub(crate) fn job(request: &PushRequest, bounds: PushBounds) -> Result<NewJob, Refusal> {
    read(request, bounds)?;
    let payload = Value::from(body(request)).to_string().into();
    Ok(NewJob { payload, ..NewJob::default() })
}

/// The push as the body of POST /api/push.
fn body(request: &PushRequest) -> Map<String, Value> {
    let to = match &request.to {
        Some(To::Device(id)) => json!({ "device": id }),
        Some(To::Devices(devices)) => json!({ "devices": devices.ids }),
        Some(To::Channel(name)) => json!({ "channel": name }),
        Some(To::Everybody(_)) | None => "everybody".into(),
    };
    let message = match std::str::from_utf8(&request.message) {
        Ok(text) => ("message", text.into()),
        Err(_) => ("message_base64", STANDARD.encode(&request.message).into()),
    };
    let property =
        |property: &super::proto::UserProperty| json!({"name": property.name, "value": property.value});
    let qos = u8::from(!request.at_most_once);
    let mut fields = vec![("to", to), message, ("qos", qos.into())];
    if request.expiry_s > 0 {
        fields.push(("expiry_s", request.expiry_s.into()));
    }
    if !request.content_type.is_empty() {
        fields.push(("content_type", request.content_type.as_str().into()));
    }
    if !request.user_properties.is_empty() {
        fields.push(("user_properties", request.user_properties.iter().map(property).collect()));
    }
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use stadium_http::read_push;

    use super::*;
    use crate::proto;

    #[test]
    fn a_push_that_waits_as_a_job_is_the_same_push() {
        let bounds = PushBounds { message_bytes_max: 100, audience_devices_max: 2 };
        let ids = ["a", "b"].map(str::to_owned).to_vec();
        let audiences = [
            To::Device("seat-1".to_owned()),
            To::Devices(proto::Devices { ids }),
            To::Channel("news".to_owned()),
            To::Everybody(true),
        ];
        for (to, message) in audiences.into_iter().zip([&b"hello"[..], b"\xff\x00", b"\"quoted\"", b""]) {
            let request = PushRequest {
                to: Some(to),
                message: message.to_vec(),
                expiry_s: 60,
                content_type: "text/plain".to_owned(),
                user_properties: vec![proto::UserProperty { name: "a".to_owned(), value: "1".to_owned() }],
                at_most_once: true,
            };
            let job = job(&request, bounds).expect("it is a push");
            let later = read_push(&job.payload, bounds).expect("it is a push");
            assert_eq!(later, read(&request, bounds).expect("it is a push"));
        }
        assert!(job(&PushRequest::default(), bounds).is_err(), "it is for nobody");
    }
}
