//! The service `stadium`: pushes, for services that have RPC and need no HTTP.
//!
//! It makes the live pushes of POST /api/push, under the same bounds, now or later ([`job`]). A
//! caller is a principal that may send; devices, whose requests carry no bearer token, cannot push.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use stadium_grants::Verb;
use stadium_http::PushBounds;
use stadium_http::fleet::{Fleet, Refusal as FleetRefusal};
use stadium_http::new_push_id;
use stadium_push::live::{
    Away, ChannelName, ClientId, InvalidLiveName, LiveAudience, LivePush, Message, Qos, TopicPush,
};
use stadium_push::{AppName, PushId};
use stadium_queue::NewJob;
use stadium_rpc::{Refusal, Service};

use crate::access::{Access, Caller, Gate, Rights};
use crate::principals::Principals;
use crate::proto::push_request::To;
use crate::proto::{PushAccepted, PushRequest, stadium};
use crate::request::wrong;

pub use crate::proto::stadium::{NAME, VERSION};

/// Bytes of a content type, and of a user property's name and value: those of the HTTP API.
const CONTENT_TYPE_BYTES_MAX: usize = 256;
const USER_PROPERTIES_MAX: usize = 32;
const USER_PROPERTY_BYTES_MAX: usize = 1_024;

/// The service over this fleet.
pub fn service(fleet: Arc<dyn Fleet>, principals: &Arc<Principals>, bounds: PushBounds) -> Service {
    let access = Access::new(principals, NAME, RIGHTS);
    Service::new(NAME, VERSION)
        .descriptors(stadium::FILE_DESCRIPTOR_SET)
        .interceptor(Gate(Arc::clone(&access)))
        .inline(&stadium::PUSH, move |call, request: &PushRequest, answer: &mut PushAccepted| {
            let caller = access.caller(call, request.message.len())?;
            let pushed = pushed(&*fleet, &caller, request, bounds);
            let target = || pushed.as_ref().map_or_else(|_| String::new(), ToString::to_string);
            access.answered(&caller, call.route(), target, &pushed);
            answer.id = pushed?.to_string();
            Ok(())
        })
}

/// The rights of its methods.
pub const RIGHTS: Rights = &[("Push", &["push.send:default"])];

/// Hands a push over, if the caller may push.
fn pushed(
    fleet: &dyn Fleet,
    caller: &Caller,
    request: &PushRequest,
    bounds: PushBounds,
) -> Result<PushId, Refusal> {
    let may = caller.asking().may(Verb::PushSend, AppName::DEFAULT);
    may.map_err(|refused| caller.stopped(refused.into()))?;
    let no_id = || Refusal::busy(Duration::from_secs(1), "no id could be made");
    let id = new_push_id().ok_or_else(no_id)?;
    let push = read(request, id, bounds)?;
    fleet.push(push).map_err(|refusal| match refusal {
        FleetRefusal::Busy { retry_after, reason } => Refusal::busy(retry_after, reason),
        FleetRefusal::Rejected { code, reason } => Refusal::rejected(code, reason),
        FleetRefusal::Unknown { reason } => Refusal::unknown("HTTP-018", reason),
    })?;
    Ok(id)
}

fn read(request: &PushRequest, id: PushId, bounds: PushBounds) -> Result<TopicPush, Refusal> {
    if request.message.len() > bounds.message_bytes_max {
        let (bytes, max) = (request.message.len(), bounds.message_bytes_max);
        return Err(wrong(format!("the message has {bytes} bytes; http.message_bytes_max allows {max}")));
    }
    if request.user_properties.len() > USER_PROPERTIES_MAX {
        return Err(wrong(format!("a push has at most {USER_PROPERTIES_MAX} user properties")));
    }
    let mut properties = Vec::with_capacity(request.user_properties.len());
    for property in &request.user_properties {
        let name = text("a user property's name", &property.name, USER_PROPERTY_BYTES_MAX)?;
        let value = text("a user property's value", &property.value, USER_PROPERTY_BYTES_MAX)?;
        properties.push((name.into(), value.into()));
    }
    let content_type = match request.content_type.as_str() {
        "" => None,
        named => Some(text("the content type", named, CONTENT_TYPE_BYTES_MAX)?.into()),
    };
    Ok(TopicPush {
        push: LivePush {
            app: AppName::default(),
            id,
            to: audience(request, bounds)?,
            qos: if request.at_most_once { Qos::AtMostOnce } else { Qos::AtLeastOnce },
            payload_bytes: request.message.len() as u64,
            title: None,
        },
        message: Message { payload: request.message.clone().into(), content_type, properties },
        away: Away::Queue((request.expiry_s > 0).then(|| u64::from(request.expiry_s) * 1_000)),
    })
}

fn audience(request: &PushRequest, bounds: PushBounds) -> Result<LiveAudience, Refusal> {
    match &request.to {
        None | Some(To::Everybody(false)) => Err(wrong("the push is for nobody: set `to`".to_owned())),
        Some(To::Everybody(true)) => Ok(LiveAudience::Channel(ChannelName::everybody())),
        Some(To::Channel(name)) => {
            let name = ChannelName::new(name.as_str());
            name.map(LiveAudience::Channel).map_err(|error| wrong(format!("a channel's name {error}")))
        }
        Some(To::Device(id)) => device(id).map(|id| LiveAudience::Clients(vec![id])),
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
            Ok(LiveAudience::Clients(ids))
        }
    }
}

fn device(id: &str) -> Result<ClientId, Refusal> {
    let id = ClientId::new(id).map_err(|error: InvalidLiveName| wrong(format!("a device id {error}")))?;
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
/// A push that would be refused now is refused now.
pub(crate) fn job(request: &PushRequest, bounds: PushBounds) -> Result<NewJob, Refusal> {
    // The push gets its id when the job is done.
    read(request, PushId(0), bounds)?;
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
            let later = read_push(&job.payload, PushId(7), bounds).expect("it is a push");
            assert_eq!(later, read(&request, PushId(7), bounds).expect("it is a push"));
        }
        assert!(job(&PushRequest::default(), bounds).is_err(), "it is for nobody");
    }
}
