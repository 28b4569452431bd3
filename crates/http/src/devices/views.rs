//! Devices as requests name them and answers show them.
//!
//! A device's fields are JSON of the registry's own making, so that an answer can be sent back as
//! it is.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use stadium_push::{Changed, DeviceView};
use stadium_registry::{Changes, Device, DeviceId};
use utoipa::ToSchema;

use crate::platform::states::{detail, word};
use crate::platform::{changes, in_path};
use crate::request::problem::{FIELD_WRONG, Problem, ProblemDocument, ProblemSchema};
use crate::spelling::{field, named, timestamp};

/// Fields of a device that the server makes: ignored where they are sent back.
pub(crate) const MADE: [&str; 9] = [
    "located_at",
    "registered_at",
    "last_seen",
    "has_credential",
    "connected",
    "connection",
    "owed",
    "inbox",
    "newest",
];

/// A device's id out of the path.
pub(crate) fn device_id(text: &str) -> Result<DeviceId, Problem> {
    in_path("device", DeviceId::new(text))
}

/// Devices to be registered or changed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DevicesFields {
    /// 1 to 1,000: each has `device` and what becomes different.
    #[schema(value_type = Vec<DeviceFields>)]
    pub(crate) devices: Vec<Value>,
}

impl DevicesFields {
    /// The devices with their changes.
    pub(crate) fn check(self) -> Result<Vec<(DeviceId, Changes)>, Problem> {
        if !(1..=1_000).contains(&self.devices.len()) {
            let detail = format!("it names 1 to 1,000 devices, not {}", self.devices.len());
            return Err(field("devices", &detail));
        }
        let each = self.devices.into_iter().enumerate();
        each.map(|(index, json)| named_changes(&format!("devices[{index}]"), json)).collect()
    }
}

/// The fields of one device that an object at `at` names.
pub(crate) fn named_changes(at: &str, json: Value) -> Result<(DeviceId, Changes), Problem> {
    let Value::Object(mut fields) = json else {
        return Err(field(at, "it is an object with `device` and what becomes different"));
    };
    let at_device = if at.is_empty() { "device".to_owned() } else { format!("{at}.device") };
    let device = match fields.remove("device") {
        Some(Value::String(device)) => named(&at_device, DeviceId::new(&device))?,
        Some(other) => return Err(field(&at_device, &format!("an id is a text, not {other}"))),
        None => return Err(field(&at_device, "say which device it is")),
    };
    Ok((device, changes(at, &Value::Object(fields))?))
}

/// The same of a line of an exported file: fields that the server makes are ignored.
pub(crate) fn imported(json: Value) -> Result<(DeviceId, Changes), Problem> {
    let Value::Object(mut fields) = json else {
        return Err(Problem::new(FIELD_WRONG, "a line is an object with `device` and what is known of it"));
    };
    for name in MADE.iter().chain(&["revoked"]) {
        fields.remove(*name);
    }
    // Lists are not among the tags that are set: a device is put onto them.
    if let Some(Value::Array(lists)) = fields.remove("lists")
        && !lists.is_empty()
    {
        let list = |name: Value| name.as_str().map_or(name.clone(), |name| format!("list:{name}").into());
        let added: Vec<Value> = lists.into_iter().map(list).collect();
        let tags = match fields.remove("tags") {
            Some(set) => json!({"set": set, "add": added}),
            None => json!({"add": added}),
        };
        fields.insert("tags".into(), tags);
    }
    named_changes("", Value::Object(fields))
}

/// Changes that make a device exactly as given: fields that are left out are cleared. Lists and
/// whether it is opted in stay, which are not the device's own to forget.
pub(crate) fn replacing(given: Changes, known: Option<&Device>) -> Changes {
    let tags_set = given
        .tags_set
        .or_else(|| Some(given.tags_added.iter().filter(|tag| !tag.is_list()).cloned().collect()));
    let mut attributes = given.attributes;
    for (name, _) in known.iter().flat_map(|device| &device.attributes) {
        // Web push keeps the device's subscriptions there: they are not its owner's to forget.
        if name.as_str() == "webpush" {
            continue;
        }
        if !attributes.iter().any(|(given, _)| given == name) {
            attributes.push((name.clone(), None));
        }
    }
    Changes {
        platform: Some(given.platform.flatten()),
        app_version: Some(given.app_version.flatten()),
        language: Some(given.language.flatten()),
        country: Some(given.country.flatten()),
        time_zone: Some(given.time_zone.flatten()),
        user: Some(given.user.flatten()),
        opt_in: given.opt_in,
        quiet_hours: Some(given.quiet_hours.flatten()),
        location: Some(given.location.flatten()),
        tags_set,
        tags_removed: given.tags_removed,
        tags_added: given.tags_added,
        attributes,
        credential: None,
        revoked: None,
    }
}

/// The fields of a device that change. Fields that are left out stay; `null` clears.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the body; the registry reads it")]
pub(crate) struct DeviceFields {
    /// `ios`, `android`, `web`, `huawei`, or another.
    #[schema(example = "ios")]
    platform: Option<String>,
    /// The version of the app on it.
    #[schema(example = "2.3.1")]
    app_version: Option<String>,
    /// BCP 47.
    #[schema(example = "de-AT")]
    language: Option<String>,
    /// ISO 3166 alpha-2.
    #[schema(example = "AT")]
    country: Option<String>,
    /// IANA.
    #[schema(example = "Europe/Vienna")]
    time_zone: Option<String>,
    /// Whose it is: a named user may have many devices.
    #[schema(example = "user-17")]
    named_user: Option<String>,
    /// Whether it wants pushes.
    opt_in: Option<bool>,
    /// When it wants none, by its own clock.
    #[schema(value_type = Option<serde_json::Value>, example = json!({"from": "22:00", "to": "07:00"}))]
    quiet_hours: Option<Value>,
    /// Where it is.
    #[schema(value_type = Option<serde_json::Value>, example = json!({"latitude": 48.2, "longitude": 16.37}))]
    location: Option<Value>,
    /// All its tags from now on; or `{"set": [..], "remove": [..], "add": [..]}`.
    #[schema(value_type = Option<serde_json::Value>, example = json!(["vip", "loyalty:gold"]))]
    tags: Option<Value>,
    /// Attributes by name: texts, numbers, dates as `{"date": ..}`; `null` takes one away.
    #[schema(value_type = Option<serde_json::Value>, example = json!({"score": 12, "born": {"date": "1990-05-17T00:00:00Z"}}))]
    attributes: Option<Value>,
}

/// A device, and how it stands.
#[derive(ToSchema)]
#[schema(as = RegisteredDevice)]
#[expect(dead_code, reason = "describes the answer, which is the registry's JSON with more fields")]
pub(crate) struct DeviceReport {
    /// Its id.
    device: String,
    /// What is registered, field by field.
    #[schema(inline)]
    fields: DeviceFields,
    /// Whether it may not connect.
    revoked: bool,
    /// Since when it is at its location, as far as that is known (RFC 3339).
    located_at: Option<String>,
    /// When it was registered.
    registered_at: String,
    /// When it was connected last.
    last_seen: Option<String>,
    /// Whether it is connected.
    connected: bool,
    /// Its connection: the loop, and the number there.
    connection: Option<String>,
    /// How many deliveries it is owed, at most 100 are counted.
    owed: u64,
    /// What it is owed, in the order in which it gets it; only where one device is shown.
    inbox: Option<Vec<Value>>,
    /// The newest pushes that were for it or left it out; only where one device is shown.
    newest: Option<Vec<Value>>,
}

/// A device as JSON: one of many, without its inbox.
pub(crate) fn listed(view: &DeviceView) -> Value {
    let mut fields = match view.device.to_json() {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    fields.insert("connected".into(), view.connection.is_some().into());
    fields.insert("connection".into(), view.connection.map(|name| name.to_string()).into());
    Value::Object(fields)
}

/// The pushes that a device is owed, in the order in which it gets them.
pub(crate) fn inbox(view: &DeviceView) -> Value {
    let owed = |owed: &stadium_push::Owed| {
        json!({
            "push": owed.push.to_string(),
            "since": timestamp(owed.since),
            "until": owed.until.map(timestamp),
            "priority": owed.priority,
        })
    };
    view.inbox.iter().map(owed).collect()
}

/// A device as JSON, with what it is owed and what it got.
pub(crate) fn whole(view: &DeviceView) -> Value {
    let mut json = listed(view);
    let newest = |(push, at, state): &(stadium_push::PushId, stadium_push::Time, stadium_push::State)| json!({"push": push.to_string(), "at": timestamp(*at), "state": word(state), "detail": detail(state)});
    json["owed"] = view.inbox.len().into();
    json["inbox"] = inbox(view);
    json["newest"] = view.newest.iter().map(newest).collect();
    json
}

/// A page of devices, by id.
#[derive(Serialize, ToSchema)]
#[schema(as = RegisteredDevicePage)]
pub(crate) struct DevicePage {
    #[schema(value_type = Vec<DeviceReport>)]
    pub(crate) devices: Vec<Value>,
    /// `after` of the next page; none on the last one.
    pub(crate) next: Option<String>,
}

/// What became of the devices that a request removed.
#[derive(Serialize, ToSchema)]
#[schema(as = RemovedRegisteredDevices)]
pub(crate) struct RemovedDevices {
    /// Devices that are forgotten now and were not before.
    pub(crate) removed: u64,
    /// `after` of the next request; none where no more devices match.
    pub(crate) next: Option<String>,
}

/// What became of several devices, each.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChangedDevices {
    /// Of each, in the order of the request.
    pub(crate) results: Vec<ChangedDevice>,
}

/// What became of one device.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChangedDevice {
    /// Which.
    device: String,
    /// `registered` or `updated`; none where there is an `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ProblemSchema>)]
    error: Option<ProblemDocument<'static>>,
}

/// A change's word.
pub(crate) fn changed_word(changed: Changed) -> &'static str {
    match changed {
        Changed::Registered => "registered",
        Changed::Updated => "updated",
    }
}

impl ChangedDevice {
    pub(crate) fn of(device: String, outcome: Result<Changed, Problem>) -> Self {
        match outcome {
            Ok(changed) => Self { device, status: Some(changed_word(changed)), error: None },
            Err(problem) => Self { device, status: None, error: Some(problem.into_document()) },
        }
    }
}

/// A secret that was just made.
#[derive(Serialize, ToSchema)]
pub(crate) struct CredentialReport {
    /// Whose.
    device: String,
    /// The MQTT client id to connect with.
    client_id: String,
    /// The MQTT password to connect with. It cannot be seen again.
    #[schema(example = "Zm9vYmFyYmF6cXV4...")]
    secret: String,
}

impl CredentialReport {
    pub(crate) fn of(device: &DeviceId, client_id: String, secret: String) -> Self {
        Self { device: device.to_string(), client_id, secret }
    }
}
