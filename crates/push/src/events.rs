//! What stands in a record: written and read back.
//!
//! docs/formats/push-events.md is the format; `crate::apply` carries them out. Apps are named by
//! the numbers that they got on this shard, pushes too.

use std::borrow::Cow;

use roaring::RoaringBitmap;
use stadium_registry::{AppName, Changes, DeviceId, Location, Selector};
use stadium_state_machine::encoding::{Reader, corrupt, number, text, timestamp};

use crate::encode::{
    app, audience_name, bitmap, click_action, device, held, id, maybe, schedule_name, write_bitmap,
    write_held, write_id, write_maybe,
};
use crate::log::What;
use crate::{
    AppSettings, AudienceName, ClickAction, ConnectionName, Corrupt, Held, NewPush, NewSchedule, PushId,
    ScheduleName, ShardMessage, Time,
};

/// What was decided.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event<'a> {
    /// An app has these settings: a new one, where nobody has that number.
    App {
        app: u32,
        name: AppName,
        version: u64,
        settings: AppSettings,
    },
    AppDropped {
        app: u32,
    },
    Device {
        app: u32,
        device: Cow<'a, DeviceId>,
        changes: Cow<'a, Changes>,
    },
    Removed {
        app: u32,
        device: Cow<'a, DeviceId>,
    },
    Seen {
        app: u32,
        slots: Cow<'a, [(u32, Time)]>,
    },
    /// Devices were seen there then.
    Located {
        app: u32,
        spots: Cow<'a, [(u32, Time, Location)]>,
    },
    Audience {
        app: u32,
        name: AudienceName,
        selector: Cow<'a, Selector>,
    },
    AudienceDropped {
        app: u32,
        name: AudienceName,
    },
    Accepted {
        app: u32,
        push: Cow<'a, NewPush>,
        body: &'a [u8],
    },
    Edited {
        push: u64,
        new: Cow<'a, NewPush>,
        body: &'a [u8],
    },
    Cancelled {
        app: u32,
        push: PushId,
    },
    Started {
        push: u64,
    },
    /// A push of QoS 0 goes to these; for all others that it targets it has expired.
    Reaches {
        push: u64,
        slots: RoaringBitmap,
    },
    Steps(Cow<'a, [Taken]>),
    Expired {
        pushes: Cow<'a, [u64]>,
    },
    Forgotten {
        pushes: Cow<'a, [u64]>,
    },
    LogDropped {
        push: u64,
    },
    Released {
        push: u64,
        until: Time,
    },
    Zone {
        push: u64,
        zone: Cow<'a, str>,
    },
    ZonesOver {
        push: u64,
    },
    Schedule {
        app: u32,
        schedule: Cow<'a, NewSchedule>,
        next: Option<Time>,
    },
    Held {
        app: u32,
        name: ScheduleName,
        held: Held,
        next: Option<Time>,
    },
    Unscheduled {
        app: u32,
        name: ScheduleName,
    },
    /// An occurrence made its push.
    Occurred {
        app: u32,
        name: Cow<'a, ScheduleName>,
        at: Time,
        next: Option<Time>,
    },
    /// So many occurrences were missed, the last of them at that time.
    Missed {
        app: u32,
        name: Cow<'a, ScheduleName>,
        count: u64,
        at: Time,
        next: Option<Time>,
    },
    ShardMessage {
        from: From,
        message: Cow<'a, ShardMessage>,
    },
    Confirmed {
        message: u64,
    },
    /// A message that is still to come starts nothing: the home has cancelled its push.
    Withdrawn {
        shard: u16,
        message: u64,
    },
}

/// Where a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct From {
    pub(crate) shard: u16,
    pub(crate) number: u64,
    pub(crate) confirmed_below: u64,
}

/// A step of a delivery that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) push: u64,
    pub(crate) slot: u32,
    pub(crate) what: What,
    pub(crate) at: Time,
    /// Of one that was sent.
    pub(crate) connection: ConnectionName,
    /// Of a click; boxed, because few steps are clicks.
    pub(crate) action: Option<Box<ClickAction>>,
}

const APP: u8 = 1;
const APP_DROPPED: u8 = 2;
const DEVICE: u8 = 3;
const REMOVED: u8 = 4;
const SEEN: u8 = 5;
const AUDIENCE: u8 = 6;
const AUDIENCE_DROPPED: u8 = 7;
const LOCATED: u8 = 8;
const ACCEPTED: u8 = 16;
const EDITED: u8 = 17;
const CANCELLED: u8 = 18;
const STARTED: u8 = 19;
const REACHES: u8 = 20;
const STEPS: u8 = 21;
const EXPIRED: u8 = 22;
const FORGOTTEN: u8 = 23;
const LOG_DROPPED: u8 = 24;
const RELEASED: u8 = 25;
const ZONE: u8 = 26;
const ZONES_OVER: u8 = 27;
const SCHEDULE: u8 = 32;
const HELD: u8 = 33;
const UNSCHEDULED: u8 = 34;
const OCCURRED: u8 = 35;
const MISSED: u8 = 36;
const SHARD_MESSAGE: u8 = 48;
const CONFIRMED: u8 = 49;
const WITHDRAWN: u8 = 50;

/// In the kind of a step that was sent: the node of its connection follows. Without it, the node is
/// that of the step before that was sent, and 0 for the first one.
const NODE: u8 = 0x80;

/// Bytes of an event whose parts are numbers and names: more than any of them takes.
pub(crate) const SMALL_BYTES: usize = 256;
/// Bytes of a device in [`Event::Located`], at most.
pub(crate) const SPOT_BYTES: usize = 32;
/// Bytes of a step, at most.
pub(crate) const STEP_BYTES: usize = 56;

fn distance(out: &mut Vec<u8>, from: u64, to: u64) {
    timestamp(out, Time(from), Time(to));
}

fn near(input: &mut Reader<'_>, from: u64) -> Result<u64, Corrupt> {
    Ok(input.timestamp(Time(from))?.0)
}

fn write_numbers(out: &mut Vec<u8>, numbers: &[u64]) {
    number(out, numbers.len() as u64);
    numbers.iter().fold(0, |before, &one| {
        distance(out, before, one);
        one
    });
}

fn numbers(input: &mut Reader<'_>) -> Result<Vec<u64>, Corrupt> {
    let count = input.number()?;
    let mut numbers = Vec::new();
    let mut before = 0;
    for _ in 0..count {
        before = near(input, before)?;
        numbers.push(before);
    }
    Ok(numbers)
}

impl ShardMessage {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            ShardMessage::Settings { app, version, settings } => {
                out.push(0);
                text(out, app.as_str());
                number(out, *version);
                settings.encode(out);
            }
            ShardMessage::Start { push, accepted_at, schedule } => {
                out.push(1);
                push.encode(out);
                number(out, accepted_at.0);
                text(out, schedule.as_ref().map_or("", ScheduleName::as_str));
            }
        }
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        match input.byte()? {
            0 => Ok(ShardMessage::Settings {
                app: app(input)?,
                version: input.number()?,
                settings: AppSettings::decode(input)?,
            }),
            1 => {
                let push = NewPush::decode(input)?.into();
                let accepted_at = Time(input.number()?);
                let mut name = *input;
                let schedule = if name.text()?.is_empty() {
                    *input = name;
                    None
                } else {
                    Some(schedule_name(input)?)
                };
                Ok(ShardMessage::Start { push, accepted_at, schedule })
            }
            _ => Err(corrupt("a message of an unknown kind")),
        }
    }
}

impl<'a> Event<'a> {
    /// Appends the event.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, time: Time) {
        fn begin(out: &mut Vec<u8>, kind: u8, first: u64) {
            out.push(kind);
            number(out, first);
        }
        let next_at = |out: &mut Vec<u8>, next: &Option<Time>| write_maybe(out, next.map(|at| at.0));
        match self {
            Event::App { app, name, version, settings } => {
                begin(out, APP, (*app).into());
                text(out, name.as_str());
                number(out, *version);
                settings.encode(out);
            }
            Event::AppDropped { app } => begin(out, APP_DROPPED, (*app).into()),
            Event::Device { app, device, changes } => {
                begin(out, DEVICE, (*app).into());
                text(out, device.as_str());
                changes.encode(out);
            }
            Event::Removed { app, device } => {
                begin(out, REMOVED, (*app).into());
                text(out, device.as_str());
            }
            Event::Seen { app, slots } => {
                begin(out, SEEN, (*app).into());
                number(out, slots.len() as u64);
                slots.iter().fold((0, time), |(before, from), &(slot, at)| {
                    distance(out, before, slot.into());
                    timestamp(out, from, at);
                    (slot.into(), at)
                });
            }
            Event::Located { app, spots } => {
                begin(out, LOCATED, (*app).into());
                number(out, spots.len() as u64);
                spots.iter().fold((0, time), |(before, from), &(slot, at, location)| {
                    distance(out, before, slot.into());
                    timestamp(out, from, at);
                    out.extend_from_slice(&location.to_bytes());
                    (slot.into(), at)
                });
            }
            Event::Audience { app, name, selector } => {
                begin(out, AUDIENCE, (*app).into());
                text(out, name.as_str());
                selector.encode(out);
            }
            Event::AudienceDropped { app, name } => {
                begin(out, AUDIENCE_DROPPED, (*app).into());
                text(out, name.as_str());
            }
            Event::Accepted { app, body, .. } => {
                begin(out, ACCEPTED, (*app).into());
                number(out, body.len() as u64);
                out.extend_from_slice(body);
            }
            Event::Edited { push, body, .. } => {
                begin(out, EDITED, *push);
                number(out, body.len() as u64);
                out.extend_from_slice(body);
            }
            Event::Cancelled { app, push } => {
                begin(out, CANCELLED, (*app).into());
                write_id(out, *push);
            }
            Event::Started { push } => begin(out, STARTED, *push),
            Event::Reaches { push, slots } => {
                begin(out, REACHES, *push);
                write_bitmap(out, slots);
            }
            Event::Steps(steps) => {
                begin(out, STEPS, steps.len() as u64);
                write_steps(out, time, steps);
            }
            Event::Expired { pushes } => {
                out.push(EXPIRED);
                write_numbers(out, pushes);
            }
            Event::Forgotten { pushes } => {
                out.push(FORGOTTEN);
                write_numbers(out, pushes);
            }
            Event::LogDropped { push } => begin(out, LOG_DROPPED, *push),
            Event::Released { push, until } => {
                begin(out, RELEASED, *push);
                timestamp(out, time, *until);
            }
            Event::Zone { push, zone } => {
                begin(out, ZONE, *push);
                text(out, zone);
            }
            Event::ZonesOver { push } => begin(out, ZONES_OVER, *push),
            Event::Schedule { app, schedule, next } => {
                begin(out, SCHEDULE, (*app).into());
                schedule.encode(out);
                next_at(out, next);
            }
            Event::Held { app, name, held, next } => {
                begin(out, HELD, (*app).into());
                text(out, name.as_str());
                write_held(out, *held);
                next_at(out, next);
            }
            Event::Unscheduled { app, name } => {
                begin(out, UNSCHEDULED, (*app).into());
                text(out, name.as_str());
            }
            Event::Occurred { app, name, at, next } => {
                begin(out, OCCURRED, (*app).into());
                text(out, name.as_str());
                timestamp(out, time, *at);
                next_at(out, next);
            }
            Event::Missed { app, name, count, at, next } => {
                begin(out, MISSED, (*app).into());
                text(out, name.as_str());
                number(out, *count);
                timestamp(out, time, *at);
                next_at(out, next);
            }
            Event::ShardMessage { from, message } => {
                begin(out, SHARD_MESSAGE, from.shard.into());
                number(out, from.number);
                number(out, from.confirmed_below);
                message.encode(out);
            }
            Event::Confirmed { message } => begin(out, CONFIRMED, *message),
            Event::Withdrawn { shard, message } => {
                begin(out, WITHDRAWN, (*shard).into());
                number(out, *message);
            }
        }
    }

    /// Takes an event off the front.
    pub(crate) fn decode(input: &mut Reader<'a>, time: Time) -> Result<Self, Corrupt> {
        let next_at = |input: &mut Reader<'a>| Ok::<_, Corrupt>(maybe(input)?.map(Time));
        Ok(match input.byte()? {
            APP => Event::App {
                app: input.small()?,
                name: app(input)?,
                version: input.number()?,
                settings: AppSettings::decode(input)?,
            },
            APP_DROPPED => Event::AppDropped { app: input.small()? },
            DEVICE => Event::Device {
                app: input.small()?,
                device: Cow::Owned(device(input)?),
                changes: Cow::Owned(Changes::decode(input)?),
            },
            REMOVED => Event::Removed { app: input.small()?, device: Cow::Owned(device(input)?) },
            SEEN => {
                let app = input.small()?;
                let count = input.number()?;
                let (mut slots, mut before, mut from) = (Vec::new(), 0, time);
                for _ in 0..count {
                    before = near(input, before)?;
                    from = input.timestamp(from)?;
                    let slot = u32::try_from(before).map_err(|_| corrupt("a slot out of its bounds"))?;
                    slots.push((slot, from));
                }
                Event::Seen { app, slots: Cow::Owned(slots) }
            }
            LOCATED => {
                let app = input.small()?;
                let count = input.number()?;
                let (mut spots, mut before, mut from) = (Vec::new(), 0, time);
                for _ in 0..count {
                    before = near(input, before)?;
                    from = input.timestamp(from)?;
                    let slot = u32::try_from(before).map_err(|_| corrupt("a slot out of its bounds"))?;
                    let location = Location::from_bytes(input.array()?);
                    let location = location.ok_or_else(|| corrupt("a location that is not on Earth"))?;
                    spots.push((slot, from, location));
                }
                Event::Located { app, spots: Cow::Owned(spots) }
            }
            AUDIENCE => Event::Audience {
                app: input.small()?,
                name: audience_name(input)?,
                selector: Cow::Owned(Selector::decode(input)?),
            },
            AUDIENCE_DROPPED => Event::AudienceDropped { app: input.small()?, name: audience_name(input)? },
            ACCEPTED => {
                let app = input.small()?;
                let (push, body) = read_push(input)?;
                Event::Accepted { app, push, body }
            }
            EDITED => {
                let push = input.number()?;
                let (new, body) = read_push(input)?;
                Event::Edited { push, new, body }
            }
            CANCELLED => Event::Cancelled { app: input.small()?, push: id(input)? },
            STARTED => Event::Started { push: input.number()? },
            REACHES => Event::Reaches { push: input.number()?, slots: bitmap(input)? },
            STEPS => Event::Steps(Cow::Owned(read_steps(input, time)?)),
            EXPIRED => Event::Expired { pushes: Cow::Owned(numbers(input)?) },
            FORGOTTEN => Event::Forgotten { pushes: Cow::Owned(numbers(input)?) },
            LOG_DROPPED => Event::LogDropped { push: input.number()? },
            RELEASED => Event::Released { push: input.number()?, until: input.timestamp(time)? },
            ZONE => Event::Zone { push: input.number()?, zone: Cow::Borrowed(input.text()?) },
            ZONES_OVER => Event::ZonesOver { push: input.number()? },
            SCHEDULE => Event::Schedule {
                app: input.small()?,
                schedule: Cow::Owned(NewSchedule::decode(input)?),
                next: next_at(input)?,
            },
            HELD => Event::Held {
                app: input.small()?,
                name: schedule_name(input)?,
                held: held(input)?,
                next: next_at(input)?,
            },
            UNSCHEDULED => Event::Unscheduled { app: input.small()?, name: schedule_name(input)? },
            OCCURRED => Event::Occurred {
                app: input.small()?,
                name: Cow::Owned(schedule_name(input)?),
                at: input.timestamp(time)?,
                next: next_at(input)?,
            },
            MISSED => Event::Missed {
                app: input.small()?,
                name: Cow::Owned(schedule_name(input)?),
                count: input.number()?,
                at: input.timestamp(time)?,
                next: next_at(input)?,
            },
            SHARD_MESSAGE => Event::ShardMessage {
                from: From {
                    shard: input.small()?,
                    number: input.number()?,
                    confirmed_below: input.number()?,
                },
                message: Cow::Owned(ShardMessage::decode(input)?),
            },
            CONFIRMED => Event::Confirmed { message: input.number()? },
            WITHDRAWN => Event::Withdrawn { shard: input.small()?, message: input.number()? },
            kind => {
                return Err(corrupt(format!(
                    "an event of kind {kind}, which is none: a newer version wrote it"
                )));
            }
        })
    }
}

fn read_push<'a>(input: &mut Reader<'a>) -> Result<(Cow<'a, NewPush>, &'a [u8]), Corrupt> {
    let bytes = input.small::<usize>()?;
    let body = input.take(bytes)?;
    let mut reader = Reader::new(body);
    let push = NewPush::decode(&mut reader)?;
    if !reader.is_empty() {
        return Err(corrupt("something follows a push"));
    }
    Ok((Cow::Owned(push), body))
}

fn write_steps(out: &mut Vec<u8>, time: Time, steps: &[Taken]) {
    let (mut push, mut slot, mut at, mut node, mut connection) = (0, 0, time, 0, 0);
    for step in steps {
        let is_elsewhere = step.what == What::Sent && step.connection.node != node;
        out.push(step.what as u8 | if is_elsewhere { NODE } else { 0 });
        distance(out, push, step.push);
        distance(out, slot, step.slot.into());
        timestamp(out, at, step.at);
        (push, slot, at) = (step.push, step.slot.into(), step.at);
        if is_elsewhere {
            node = step.connection.node;
            number(out, node.into());
        }
        if step.what == What::Sent {
            number(out, step.connection.loop_index.into());
            distance(out, connection, step.connection.connection);
            connection = step.connection.connection;
        }
        if step.what == What::Clicked {
            text(out, step.action.as_ref().map_or("", |action| action.as_str()));
        }
    }
}

fn read_steps(input: &mut Reader<'_>, time: Time) -> Result<Vec<Taken>, Corrupt> {
    let count = input.number()?;
    let mut steps = Vec::new();
    let (mut push, mut slot, mut at, mut node, mut connection) = (0, 0, time, 0, 0);
    for _ in 0..count {
        let kind = input.byte()?;
        let is_elsewhere = kind == What::Sent as u8 | NODE;
        let what = if is_elsewhere { Some(What::Sent) } else { What::of(kind) };
        let what = what.ok_or_else(|| corrupt("a step of an unknown kind"))?;
        push = near(input, push)?;
        slot = near(input, slot)?;
        at = input.timestamp(at)?;
        let mut name = ConnectionName::default();
        if is_elsewhere {
            node = input.small()?;
        }
        if what == What::Sent {
            let loop_index = input.small()?;
            connection = near(input, connection)?;
            name = ConnectionName { node, loop_index, connection };
        }
        let action = if what == What::Clicked { click_action(input)? } else { None };
        let slot = u32::try_from(slot).map_err(|_| corrupt("a slot out of its bounds"))?;
        steps.push(Taken { push, slot, what, at, connection: name, action: action.map(Box::new) });
    }
    Ok(steps)
}
