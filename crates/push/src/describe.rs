//! Events of the push platform in words.
//!
//! Names and audiences are shown; words of notifications, values of attributes and secrets of
//! devices are not.

use stadium_registry::{Changes, DeviceId};
use stadium_state_machine::encoding::Reader;
use stadium_state_machine::{Description, Section};

use crate::events::{Event, Taken};
use crate::log::What;
use crate::{
    Audience, Content, Corrupt, Held, NewPush, NewSchedule, ScheduleName, ShardMessage, Time, When, Zone,
};

/// Steps of one event that are described; a push to many has thousands.
const STEPS_MAX: usize = 32;

/// Describes the events of a record.
pub(crate) fn describe(section: Section<'_>, into: &mut Vec<Description>) -> Result<(), Corrupt> {
    let mut input = Reader::new(section.events);
    while !input.is_empty() {
        into.push(in_words(&Event::decode(&mut input, section.time)?).into());
    }
    Ok(())
}

fn in_words(event: &Event<'_>) -> String {
    match event {
        Event::App { app, name, version, settings: _ } => {
            format!("app {app}: {}, settings of version {version}", name.as_str())
        }
        Event::AppDropped { app } => format!("app {app} dropped"),
        Event::Device { app, device, changes } => {
            format!("app {app}, device {}: {}", device.as_str(), of_changes(changes))
        }
        Event::Removed { app, device } => format!("app {app}, device {} removed", device.as_str()),
        Event::Seen { app, slots } => format!("app {app}: {} devices seen", slots.len()),
        Event::Located { app, spots } => format!("app {app}: {} devices located", spots.len()),
        Event::Audience { app, name, selector } => {
            format!("app {app}, audience {}: {selector}", name.as_str())
        }
        Event::AudienceDropped { app, name } => format!("app {app}, audience {} dropped", name.as_str()),
        Event::Accepted { app, push, .. } => format!("app {app}: push accepted, {}", of_push(push)),
        Event::Edited { push, new, .. } => format!("push number {push} edited, now {}", of_push(new)),
        Event::Cancelled { app, push } => format!("app {app}: push {push} cancelled"),
        Event::Started { push } => format!("push number {push} started"),
        Event::Reaches { push, slots } => {
            format!("push number {push} goes to {} connected devices only", slots.len())
        }
        Event::Steps(steps) => of_steps(steps),
        Event::Expired { pushes } => format!("pushes number {pushes:?} expired"),
        Event::Forgotten { pushes } => format!("pushes number {pushes:?} forgotten"),
        Event::LogDropped { push } => format!("trace of push number {push} dropped"),
        Event::Released { push, until } => {
            format!("push number {push}: deliveries due by {} released", until.0)
        }
        Event::Zone { push, zone } => format!("push number {push} started in time zone {zone}"),
        Event::ZonesOver { push } => format!("push number {push} started in all time zones"),
        Event::Schedule { app, schedule, next } => {
            format!("app {app}, schedule {}{}", of_schedule(schedule), of_next(*next))
        }
        Event::Held { app, name, held, next } => {
            let held = match held {
                Held::Paused => "paused",
                Held::Active => "resumed",
            };
            format!("app {app}, schedule {} {held}{}", name.as_str(), of_next(*next))
        }
        Event::Unscheduled { app, name } => format!("app {app}, schedule {} removed", name.as_str()),
        Event::Occurred { app, name, at, next } => {
            format!("app {app}, schedule {} occurred at {}{}", name.as_str(), at.0, of_next(*next))
        }
        Event::Missed { app, name, count, at, next } => {
            let (name, at, next) = (name.as_str(), at.0, of_next(*next));
            format!("app {app}, schedule {name} missed {count} occurrences, the last at {at}{next}")
        }
        Event::ShardMessage { from, message } => {
            format!("from shard {}, message {}: {}", from.shard, from.number, of_message(message))
        }
        Event::Confirmed { message } => format!("message {message} to another shard confirmed"),
        Event::Withdrawn { shard, message } => {
            format!("message {message} of shard {shard} will start nothing: its push is cancelled")
        }
    }
}

/// The parts of a device that change.
fn of_changes(changes: &Changes) -> String {
    let Changes {
        platform,
        app_version,
        language,
        country,
        time_zone,
        user,
        opt_in,
        quiet_hours,
        location,
        tags_set,
        tags_removed,
        tags_added,
        attributes,
        credential,
        revoked,
    } = changes;
    let mut parts: Vec<String> = [
        ("platform", platform.is_some()),
        ("app version", app_version.is_some()),
        ("language", language.is_some()),
        ("country", country.is_some()),
        ("time zone", time_zone.is_some()),
        ("user", user.is_some()),
        ("quiet hours", quiet_hours.is_some()),
        ("location", location.is_some()),
        ("tags", tags_set.is_some() || !tags_removed.is_empty() || !tags_added.is_empty()),
        ("credential", credential.is_some()),
    ]
    .into_iter()
    .filter(|(_, changes)| *changes)
    .map(|(part, _)| part.to_owned())
    .collect();
    parts.extend(attributes.iter().map(|(name, _)| format!("attribute {}", name.as_str())));
    parts.extend(opt_in.map(|opt_in| if opt_in { "opted in" } else { "opted out" }.to_owned()));
    parts.extend(revoked.map(|revoked| if revoked { "revoked" } else { "no longer revoked" }.to_owned()));
    if parts.is_empty() { "registered".into() } else { format!("changed: {}", parts.join(", ")) }
}

fn of_push(push: &NewPush) -> String {
    let audience = match &push.audience {
        Audience::Device(device) => of_device(device),
        Audience::Selector(selector) => selector.to_string(),
        Audience::Saved(name) => format!("audience {}", name.as_str()),
    };
    let content = match &push.content {
        Content::Notification(_) => "a notification".into(),
        Content::Raw { payload, .. } => format!("{} bytes", payload.len()),
    };
    let when = match push.when {
        When::Now => String::new(),
        When::At(at) => format!(", starts at {}", at.0),
        When::Local(_) => ", starts at a local time".into(),
    };
    format!("{} of {} to {audience}: {content}{when}", push.id, push.app.as_str())
}

fn of_device(device: &DeviceId) -> String {
    format!("device {}", device.as_str())
}

fn of_schedule(schedule: &NewSchedule) -> String {
    let zone = match &schedule.zone {
        Zone::Named(zone) => zone.as_str(),
        Zone::Local => "each device's time zone",
    };
    let (name, cron) = (schedule.name.as_str(), &schedule.cron);
    format!("{name}: {cron} in {zone}, {}", of_push(&schedule.push))
}

fn of_next(next: Option<Time>) -> String {
    next.map_or(", no further occurrence".into(), |at| format!(", next at {}", at.0))
}

fn of_message(message: &ShardMessage) -> String {
    match message {
        ShardMessage::Settings { app, version, .. } => {
            format!("app {}, settings of version {version}", app.as_str())
        }
        ShardMessage::Start { push, accepted_at, schedule } => {
            let schedule = schedule.as_ref().map(ScheduleName::as_str);
            let schedule = schedule.map_or(String::new(), |name| format!(" by schedule {name}"));
            format!("start push accepted at {}{schedule}, {}", accepted_at.0, of_push(push))
        }
    }
}

fn of_steps(steps: &[Taken]) -> String {
    let step = |step: &Taken| {
        let clicked;
        let what = match step.what {
            What::Sent => "sent",
            What::Acknowledged => "acknowledged",
            What::Refused => "refused",
            What::TooLarge => "too large",
            What::Opened => "opened",
            What::Lost => "lost with its connection",
            What::Clicked => match &step.action {
                Some(action) => {
                    clicked = format!("clicked ({:?})", action.as_str());
                    clicked.as_str()
                }
                None => "clicked",
            },
        };
        format!("push number {} to slot {} {what} at {}", step.push, step.slot, step.at.0)
    };
    let shown: Vec<_> = steps.iter().take(STEPS_MAX).map(step).collect();
    let rest = match steps.len().saturating_sub(STEPS_MAX) {
        0 => String::new(),
        rest => format!("; and {rest} more"),
    };
    format!("{}{rest}", shown.join("; "))
}
