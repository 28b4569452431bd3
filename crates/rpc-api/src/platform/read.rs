//! Requests become commands.
//!
//! Names, ids and JSON are checked here for their form, everything else by the shard. Zero and the
//! empty text stand for "not given", as the contract has it; where zero could be meant, fields are
//! optional. A mistake in JSON is refused with its path.

use stadium_push::{
    AppName, Audience, AudienceName, Cap, Civil, ClickAction, CollapseKey, Command, Content, DeviceId, Held,
    Missed, NewPush, NewSchedule, Notification, Options, Pace, PushId, QuietHours, ScheduleName, Time, When,
    Words, Zone,
};
use stadium_registry::{Changes, Selector};
use stadium_rpc::Refusal;

use crate::proto;
use crate::request::{given, named, wrong};

/// Items of a page of no given size.
const PAGE: u32 = 100;

pub(crate) fn send(request: proto::NewPush) -> Result<Command, Refusal> {
    Ok(Command::Send { push: Box::new(push(request)?) })
}

pub(crate) fn check(request: proto::NewPush) -> Result<Command, Refusal> {
    Ok(Command::Check { push: Box::new(push(request)?) })
}

pub(crate) fn edit(request: proto::NewPush) -> Result<Command, Refusal> {
    Ok(Command::Edit { push: Box::new(push(request)?) })
}

pub(crate) fn cancel(request: proto::PushNamed) -> Result<Command, Refusal> {
    Ok(Command::Cancel { app: app(&request.app)?, push: id("push", &request.push)? })
}

pub(crate) fn find(request: proto::PushNamed) -> Result<Command, Refusal> {
    Ok(Command::Push { app: app(&request.app)?, push: id("push", &request.push)? })
}

pub(crate) fn list(request: proto::ListPushesRequest) -> Result<Command, Refusal> {
    let before = match (request.before_ms, request.before_push.as_slice()) {
        (0, []) => None,
        (at, push) => Some((Time(at), id("before_push", push)?)),
    };
    let pushes_max = given(request.pushes_max).unwrap_or(PAGE);
    Ok(Command::Pushes { app: app(&request.app)?, before, pushes_max })
}

pub(crate) fn trace(request: proto::TraceRequest) -> Result<Command, Refusal> {
    Ok(Command::Trace {
        app: app(&request.app)?,
        push: id("push", &request.push)?,
        device: device_id(&request.device)?,
    })
}

pub(crate) fn opened(request: proto::TraceRequest) -> Result<Command, Refusal> {
    Ok(Command::Opened {
        app: app(&request.app)?,
        push: id("push", &request.push)?,
        device: device_id(&request.device)?,
    })
}

pub(crate) fn clicked(request: proto::ClickedRequest) -> Result<Command, Refusal> {
    let action = match request.action.as_str() {
        "" => None,
        action => Some(named(ClickAction::new(action))?),
    };
    Ok(Command::Clicked {
        app: app(&request.app)?,
        push: id("push", &request.push)?,
        device: device_id(&request.device)?,
        action,
    })
}

pub(crate) fn preview(request: proto::PreviewRequest) -> Result<Command, Refusal> {
    Ok(Command::Preview {
        app: app(&request.app)?,
        audience: selector(&request.selector)?,
        sample_max: request.sample_max,
        push: None,
    })
}

pub(crate) fn change(request: proto::ChangeDevicesRequest) -> Result<Command, Refusal> {
    let change = |(place, change): (usize, proto::DeviceChange)| {
        let at = |text: String| wrong(format!("devices[{place}].{text}"));
        let device = DeviceId::new(&change.device).map_err(|error| at(format!("device: {error}")))?;
        if change.changes.is_empty() {
            return Ok((device, Changes::default()));
        }
        let json = serde_json::from_str(&change.changes)
            .map_err(|error| at(format!("changes: it is no JSON: {error}")))?;
        let changes = Changes::parse(&json).map_err(|mistake| at(format!("changes: {mistake}")))?;
        if changes.revoked.is_some() {
            return Err(at("changes: revoked: keeping a device out takes push/Admit".to_owned()));
        }
        Ok((device, changes))
    };
    let devices = request.devices.into_iter().enumerate().map(change).collect::<Result<_, Refusal>>()?;
    Ok(Command::Change { app: app(&request.app)?, devices })
}

pub(crate) fn remove(request: proto::DevicesNamed) -> Result<Command, Refusal> {
    let devices = request.devices.iter().map(|device| device_id(device)).collect::<Result<_, _>>()?;
    Ok(Command::Remove { app: app(&request.app)?, devices })
}

pub(crate) fn device(request: proto::DeviceNamed) -> Result<Command, Refusal> {
    Ok(Command::Device { app: app(&request.app)?, device: device_id(&request.device)? })
}

pub(crate) fn admit(request: proto::AdmitRequest) -> Result<Command, Refusal> {
    use proto::admit_request::Credential;
    let credential = match request.credential {
        None | Some(Credential::NoCredential(false)) => None,
        Some(Credential::NoCredential(true)) => Some(None),
        Some(Credential::SecretSha256(hash)) => Some(Some(
            <[u8; 32]>::try_from(hash)
                .map_err(|hash| wrong(format!("secret_sha256 has 32 bytes, not {}", hash.len())))?,
        )),
    };
    let changes = Changes { credential, revoked: request.revoked, ..Changes::default() };
    if changes.is_empty() {
        return Err(wrong("nothing is asked for: set `credential` or `revoked`".to_owned()));
    }
    Ok(Command::Change { app: app(&request.app)?, devices: vec![(device_id(&request.device)?, changes)] })
}

pub(crate) fn schedule(request: proto::NewPushSchedule) -> Result<Command, Refusal> {
    let Some(push) = request.push else {
        return Err(wrong("a schedule makes a push: set `push`".to_owned()));
    };
    let schedule = NewSchedule {
        name: schedule_name(&request.name)?,
        cron: request.cron.into(),
        zone: if request.zone.is_empty() { Zone::Local } else { Zone::Named(request.zone.into()) },
        missed: given(request.late_ms).map_or(Missed::Skip, Missed::Late),
        push: self::push(push)?,
    };
    Ok(Command::Schedule { schedule: Box::new(schedule) })
}

pub(crate) fn pause(request: proto::PauseScheduleRequest) -> Result<Command, Refusal> {
    Ok(Command::PauseSchedule {
        app: app(&request.app)?,
        name: schedule_name(&request.name)?,
        held: if request.paused { Held::Paused } else { Held::Active },
    })
}

pub(crate) fn unschedule(request: proto::PushScheduleNamed) -> Result<Command, Refusal> {
    Ok(Command::Unschedule { app: app(&request.app)?, name: schedule_name(&request.name)? })
}

pub(crate) fn schedules(request: proto::AppNamed) -> Result<Command, Refusal> {
    Ok(Command::Schedules { app: app(&request.app)? })
}

/// A push that is wanted.
pub(crate) fn push(request: proto::NewPush) -> Result<NewPush, Refusal> {
    use proto::new_push::{Audience as Whom, Content as What, When as Start};
    let audience = match &request.audience {
        None => return Err(wrong("the push is for nobody: set `device`, `saved` or `selector`".to_owned())),
        Some(Whom::Device(device)) => Audience::Device(device_id(device)?),
        Some(Whom::Saved(name)) => Audience::Saved(named(AudienceName::new(name))?),
        Some(Whom::Selector(json)) => Audience::Selector(selector(json)?),
    };
    let content = match request.content {
        None => return Err(wrong("the push is empty: set `notification` or `message`".to_owned())),
        Some(What::Notification(notification)) => {
            Content::Notification(Box::new(self::notification(notification)))
        }
        Some(What::Message(message)) => Content::Raw {
            payload: message.payload,
            content_type: (!message.content_type.is_empty()).then(|| message.content_type.into()),
            properties: message
                .user_properties
                .into_iter()
                .map(|property| (property.name.into(), property.value.into()))
                .collect(),
        },
    };
    Ok(NewPush {
        app: app(&request.app)?,
        id: id("id", &request.id)?,
        audience,
        content,
        options: request.options.map_or_else(|| Ok(Options::default()), options)?,
        when: match request.when {
            None => When::Now,
            Some(Start::AtMs(at)) => When::At(Time(at)),
            Some(Start::LocalS(seconds)) => When::Local(Civil(seconds)),
        },
    })
}

fn notification(notification: proto::Notification) -> Notification {
    let words = |words: Option<proto::Words>| {
        let proto::Words { title, body, data } = words.unwrap_or_default();
        Words { title, body, data }
    };
    let variants = |variants: Vec<proto::WordsVariant>| {
        variants.into_iter().map(|variant| (variant.of.into(), words(variant.words))).collect()
    };
    Notification {
        words: words(notification.words),
        platforms: variants(notification.platforms),
        languages: variants(notification.languages),
    }
}

fn options(given: proto::PushOptions) -> Result<Options, Refusal> {
    use proto::push_options::Pace as Given;
    let usual = Options::default();
    // A number that does not fit is above the bound in any case, and the shard refuses it.
    let small = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
    Ok(Options {
        expiry: given.expiry_ms,
        priority: given.priority.map_or(usual.priority, small),
        collapse: (!given.collapse_key.is_empty())
            .then(|| named(CollapseKey::new(&given.collapse_key)))
            .transpose()?,
        pace: match given.pace {
            None => Pace::AtOnce,
            Some(Given::PerSecond(devices)) => Pace::PerSecond(devices),
            Some(Given::OverMs(time)) => Pace::Over(time),
        },
        cap: match given.cap {
            None => None,
            Some(cap) => {
                let pushes = u16::try_from(cap.pushes)
                    .map_err(|_| wrong(format!("a cap of {} pushes is above 65,535", cap.pushes)))?;
                Some(Cap { pushes, within: cap.within_ms })
            }
        },
        quiet_hours: match proto::QuietHours::try_from(given.quiet_hours) {
            Ok(proto::QuietHours::Wait) => QuietHours::Wait,
            Ok(proto::QuietHours::Skip) => QuietHours::Skip,
            Ok(proto::QuietHours::Ignore) => QuietHours::Ignore,
            Err(_) => return Err(wrong(format!("{} says nothing about quiet hours", given.quiet_hours))),
        },
        qos: if given.at_most_once { 0 } else { 1 },
        holdout: small(given.holdout_percent),
        trace: None,
    })
}

/// The app; the one that is always there where none is named.
fn app(name: &str) -> Result<AppName, Refusal> {
    named(AppName::new(if name.is_empty() { AppName::DEFAULT } else { name }))
}

fn device_id(id: &str) -> Result<DeviceId, Refusal> {
    named(DeviceId::new(id))
}

fn schedule_name(name: &str) -> Result<ScheduleName, Refusal> {
    named(ScheduleName::new(name))
}

fn selector(json: &str) -> Result<Selector, Refusal> {
    Selector::parse_text(json).map_err(|mistake| wrong(format!("selector: {mistake}")))
}

fn id(field: &str, bytes: &[u8]) -> Result<PushId, Refusal> {
    let id = <[u8; 16]>::try_from(bytes)
        .map_err(|_| wrong(format!("{field} has {} bytes; an id of a push has 16", bytes.len())))?;
    Ok(PushId(u128::from_be_bytes(id)))
}
