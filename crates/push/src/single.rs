//! A push to one device, in few bytes.
//!
//! It holds the request as its event has it; only fields that are read often stand beside it. The
//! links are not saved: they are built anew.

use stadium_state_machine::encoding::Reader;
use stadium_table::{Damaged, Entry};

use crate::outcome::Outcome;
use crate::{ClickAction, CollapseKey, ConnectionName, NewPush, PushId, ScheduleName, Time};

/// No slot, and no place.
pub(crate) const NONE: u32 = u32::MAX;
/// No timestamp yet.
pub(crate) const NEVER: u32 = u32::MAX;

/// A push to one device.
pub(crate) struct Single {
    pub(crate) number: u64,
    pub(crate) app: u32,
    /// Where its device is, since it started; [`NONE`] where it was not registered.
    pub(crate) slot: u32,
    pub(crate) id: PushId,
    pub(crate) accepted_at: Time,
    /// 0 before it starts.
    pub(crate) started_at: Time,
    /// When it expires, once started.
    pub(crate) until: Time,
    /// When it starts, or its device's quiet hours end; or when it is forgotten, once settled.
    pub(crate) next_at: Time,
    /// Milliseconds after the start; [`NEVER`].
    pub(crate) sent_after: u32,
    pub(crate) acknowledged_after: u32,
    pub(crate) opened_after: u32,
    pub(crate) ended_after: u32,
    /// The first click.
    pub(crate) click: Option<Box<Click>>,
    pub(crate) connection: ConnectionName,
    pub(crate) outcome: Outcome,
    pub(crate) cancelled: bool,
    pub(crate) priority: u8,
    pub(crate) qos: u8,
    /// Not saved: dispatched, and nothing more heard.
    pub(crate) in_flight: bool,
    pub(crate) collapse: Option<Box<CollapseKey>>,
    pub(crate) schedule: Option<Box<ScheduleName>>,
    pub(crate) body: Box<[u8]>,
    /// Not saved: neighbours among what the device is owed, and among all that it had.
    pub(crate) owed: Links,
    pub(crate) all: Links,
}

/// That the device's user clicked it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Click {
    /// Milliseconds after the start.
    pub(crate) after: u32,
    pub(crate) action: Option<ClickAction>,
}

/// Neighbours in a list.
#[derive(Clone, Copy)]
pub(crate) struct Links {
    pub(crate) before: u32,
    pub(crate) behind: u32,
}

impl Links {
    pub(crate) const OUT: Links = Links { before: NONE, behind: NONE };
}

impl Single {
    /// What was asked for.
    pub(crate) fn push(&self) -> NewPush {
        NewPush::decode(&mut Reader::new(&self.body)).expect("it was encoded from a push")
    }

    pub(crate) fn is_scheduled(&self) -> bool {
        self.outcome == Outcome::Scheduled
    }

    /// Bytes that it counts for, the same on every machine.
    pub(crate) fn cost(&self) -> u64 {
        256 + self.body.len() as u64
    }

    /// Milliseconds since its start.
    pub(crate) fn after(&self, at: Time) -> u32 {
        u32::try_from(at.0.saturating_sub(self.started_at.0)).unwrap_or(NEVER - 1).min(NEVER - 1)
    }

    /// The time of a number of milliseconds since its start.
    pub(crate) fn at(&self, after: u32) -> Option<Time> {
        (after != NEVER).then(|| self.started_at.after(u64::from(after)))
    }
}

/// Flags of a push in a checkpoint.
const CANCELLED: u8 = 1;
/// Its click follows the texts.
const CLICKED: u8 = 2;
/// The node of its connection, which is not 0, follows the click.
const NODE: u8 = 4;

const FIXED: usize = 8 + 4 + 4 + 16 + 8 * 4 + 4 * 4 + 2 + 8 + 4;

impl Entry for Single {
    fn vacant() -> Self {
        Single {
            number: 0,
            app: 0,
            slot: NONE,
            id: PushId(0),
            accepted_at: Time(0),
            started_at: Time(0),
            until: Time(0),
            next_at: Time(0),
            sent_after: NEVER,
            acknowledged_after: NEVER,
            opened_after: NEVER,
            ended_after: NEVER,
            click: None,
            connection: ConnectionName::default(),
            outcome: Outcome::Scheduled,
            cancelled: false,
            priority: 0,
            qos: 0,
            in_flight: false,
            collapse: None,
            schedule: None,
            body: Box::default(),
            owed: Links::OUT,
            all: Links::OUT,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.app.to_le_bytes());
        out.extend_from_slice(&self.slot.to_le_bytes());
        out.extend_from_slice(&self.id.0.to_le_bytes());
        for at in [self.accepted_at, self.started_at, self.until, self.next_at] {
            out.extend_from_slice(&at.0.to_le_bytes());
        }
        for after in [self.sent_after, self.acknowledged_after, self.opened_after, self.ended_after] {
            out.extend_from_slice(&after.to_le_bytes());
        }
        out.extend_from_slice(&self.connection.loop_index.to_le_bytes());
        out.extend_from_slice(&self.connection.connection.to_le_bytes());
        let cancelled = if self.cancelled { CANCELLED } else { 0 };
        let clicked = if self.click.is_some() { CLICKED } else { 0 };
        let node = if self.connection.node == 0 { 0 } else { NODE };
        let flags = cancelled | clicked | node;
        out.extend_from_slice(&[self.outcome as u8, flags, self.priority, self.qos]);
        debug_assert_eq!(out.len() - start, FIXED);
        let mut write = |text: &str| {
            out.push(text.len() as u8);
            out.extend_from_slice(text.as_bytes());
        };
        write(self.collapse.as_ref().map_or("", |key| key.as_str()));
        write(self.schedule.as_ref().map_or("", |name| name.as_str()));
        if let Some(click) = &self.click {
            write(click.action.as_ref().map_or("", |action| action.as_str()));
            out.extend_from_slice(&click.after.to_le_bytes());
        }
        if node != 0 {
            out.extend_from_slice(&self.connection.node.to_le_bytes());
        }
        out.extend_from_slice(&(self.body.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.body);
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        fn number<const BYTES: usize>(input: &mut &[u8]) -> Result<[u8; BYTES], Damaged> {
            stadium_table::take(input)
        }
        fn text<'a>(input: &mut &'a [u8]) -> Result<&'a str, Damaged> {
            let [bytes] = stadium_table::take(input)?;
            let (text, rest) =
                input.split_at_checked(bytes.into()).ok_or(Damaged("a push ends within a text"))?;
            *input = rest;
            std::str::from_utf8(text).map_err(|_| Damaged("a text that is not UTF-8"))
        }
        let mut single = Single::vacant();
        single.number = u64::from_le_bytes(number(input)?);
        single.app = u32::from_le_bytes(number(input)?);
        single.slot = u32::from_le_bytes(number(input)?);
        single.id = PushId(u128::from_le_bytes(number(input)?));
        for at in [&mut single.accepted_at, &mut single.started_at, &mut single.until, &mut single.next_at] {
            *at = Time(u64::from_le_bytes(number(input)?));
        }
        for after in [
            &mut single.sent_after,
            &mut single.acknowledged_after,
            &mut single.opened_after,
            &mut single.ended_after,
        ] {
            *after = u32::from_le_bytes(number(input)?);
        }
        single.connection.loop_index = u16::from_le_bytes(number(input)?);
        single.connection.connection = u64::from_le_bytes(number(input)?);
        let [outcome, flags, priority, qos] = number(input)?;
        single.outcome = Outcome::of(outcome).ok_or(Damaged("an unknown outcome"))?;
        if flags & !(CANCELLED | CLICKED | NODE) != 0 {
            return Err(Damaged("a push with an unknown flag"));
        }
        (single.cancelled, single.priority, single.qos) = (flags & CANCELLED != 0, priority, qos);
        let key = text(input)?;
        if !key.is_empty() {
            let key = CollapseKey::new(key).map_err(|_| Damaged("a collapse key that is none"))?;
            single.collapse = Some(Box::new(key));
        }
        let name = text(input)?;
        if !name.is_empty() {
            let name = ScheduleName::new(name).map_err(|_| Damaged("a schedule's name that is none"))?;
            single.schedule = Some(Box::new(name));
        }
        if flags & CLICKED != 0 {
            let action = match text(input)? {
                "" => None,
                action => Some(ClickAction::new(action).map_err(|_| Damaged("an action that is none"))?),
            };
            let after = u32::from_le_bytes(number(input)?);
            single.click = Some(Box::new(Click { after, action }));
        }
        if flags & NODE != 0 {
            single.connection.node = u32::from_le_bytes(number(input)?);
        }
        let bytes = u32::from_le_bytes(number(input)?) as usize;
        let (body, rest) = input.split_at_checked(bytes).ok_or(Damaged("a push ends within its content"))?;
        *input = rest;
        let mut reader = Reader::new(body);
        NewPush::decode(&mut reader).map_err(|_| Damaged("a push that is none"))?;
        if !reader.is_empty() {
            return Err(Damaged("something follows a push"));
        }
        single.body = body.into();
        Ok(single)
    }
}
