//! Changes as events, and the parts that events and checkpoints have in common.
//!
//! docs/formats/session-events.md is the format. An event is the change itself: that it was written
//! is the decision.

use std::sync::Arc;

use bytes::Bytes;
use compact_str::CompactString;
use stadium_state_machine::encoding::{Reader, corrupt, number, text};

use crate::change::{Change, Connect, Keep, Origin, Presence, Receiver, Subscription, Will, Withdraw};
use crate::{Corrupt, Message, Time};

const CONNECT: u8 = 1;
const DISCONNECT: u8 = 2;
const WILL_GONE: u8 = 3;
const END: u8 = 4;
const SUBSCRIBE: u8 = 5;
const UNSUBSCRIBE: u8 = 6;
pub(crate) const KEEP: u8 = 7;
const RECEIVED: u8 = 8;
const DONE: u8 = 9;
const UNRELEASED: u8 = 10;
const RELEASED: u8 = 11;
const FORGET: u8 = 12;
const RETAIN: u8 = 13;
/// 14 is of [`crate::machine`].
const KEEP_ONCE: u8 = 15;
const WITHDRAW: u8 = 16;
const RETAIN_OWNED: u8 = 17;

/// Bytes of an event beside its texts, messages and lists, at most.
const FIXED_BYTES: usize = 64;

impl Change {
    /// The most bytes that its event has.
    pub(crate) fn encoded_max(&self) -> usize {
        FIXED_BYTES
            + match self {
                Change::Connect(connect) => {
                    let will = connect.will.as_ref().map_or(0, |will| will.message.encoded_max());
                    connect.client.len() + connect.identity.len() + will
                }
                Change::Subscribe { client, subscription } => client.len() + subscription.filter.len(),
                Change::Unsubscribe { client, filter } => client.len() + filter.len(),
                Change::Keep(keep) => {
                    let receiver = |one: &Receiver| 24 + one.client.len() + 5 * one.ids.len();
                    keep.message.encoded_max()
                        + keep.publisher.as_ref().map_or(0, CompactString::len)
                        + keep.receivers.iter().map(receiver).sum::<usize>()
                }
                Change::Done { client, deliveries } => client.len() + 5 * deliveries.len(),
                Change::Disconnect { client, .. }
                | Change::WillGone { client, .. }
                | Change::End { client, .. }
                | Change::Received { client, .. }
                | Change::Unreleased { client, .. }
                | Change::Released { client, .. } => client.len(),
                Change::Withdraw(withdraw) => {
                    withdraw.publisher.as_ref().map_or(0, CompactString::len)
                        + withdraw.receivers.iter().map(|(client, _)| 16 + client.len()).sum::<usize>()
                }
                Change::Forget { .. } | Change::Ask { .. } => 0,
                Change::Retain { owner, message, .. } => {
                    owner.as_ref().map_or(0, CompactString::len) + message.encoded_max()
                }
                Change::ClearNothing { message, .. } => message.encoded_max(),
            }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Change::Connect(connect) => {
                out.push(CONNECT);
                connect.encode(out);
            }
            Change::Disconnect { client, presence } => {
                out.push(DISCONNECT);
                text(out, client);
                presence.encode(out);
            }
            Change::WillGone { client, .. } => named(out, WILL_GONE, client),
            Change::End { client, .. } => named(out, END, client),
            Change::Subscribe { client, subscription } => {
                named(out, SUBSCRIBE, client);
                subscription.encode(out);
            }
            Change::Unsubscribe { client, filter } => {
                named(out, UNSUBSCRIBE, client);
                text(out, filter);
            }
            Change::Keep(keep) => {
                out.push(if keep.is_once() { KEEP_ONCE } else { KEEP });
                keep.encode(out);
            }
            Change::Received { client, delivery } => {
                named(out, RECEIVED, client);
                number(out, u64::from(*delivery));
            }
            Change::Done { client, deliveries } => {
                named(out, DONE, client);
                number(out, deliveries.len() as u64);
                deliveries.iter().for_each(|&delivery| number(out, u64::from(delivery)));
            }
            Change::Unreleased { client, packet_id } => {
                named(out, UNRELEASED, client);
                number(out, u64::from(*packet_id));
            }
            Change::Released { client, packet_id } => {
                named(out, RELEASED, client);
                number(out, u64::from(*packet_id));
            }
            Change::Forget { origin } => {
                out.push(FORGET);
                origin.encode(out);
            }
            // A question means nothing that could be written.
            Change::Ask { .. } => {}
            Change::Withdraw(withdraw) => {
                out.push(WITHDRAW);
                withdraw.encode(out);
            }
            Change::Retain { number: at, owner: Some(owner), message } => {
                out.push(RETAIN_OWNED);
                number(out, *at);
                text(out, owner);
                message.encode(out);
            }
            Change::Retain { number: at, owner: None, message }
            | Change::ClearNothing { number: at, message } => {
                out.push(RETAIN);
                number(out, *at);
                message.encode(out);
            }
        }
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let kind = input.byte()?;
        match kind {
            CONNECT => return Ok(Change::Connect(Box::new(Connect::decode(input)?))),
            KEEP | KEEP_ONCE => return Ok(Change::Keep(Box::new(Keep::decode(input)?))),
            WITHDRAW => return Ok(Change::Withdraw(Box::new(Withdraw::decode(input)?))),
            FORGET => return Ok(Change::Forget { origin: Origin::decode(input)? }),
            RETAIN | RETAIN_OWNED => {
                let number = input.number()?;
                let owner = if kind == RETAIN_OWNED { Some(input.text()?.into()) } else { None };
                return Ok(Change::Retain { number, owner, message: Arc::new(Message::decode(input)?) });
            }
            _ => {}
        }
        let client = CompactString::new(input.text()?);
        Ok(match kind {
            DISCONNECT => Change::Disconnect { client, presence: Presence::decode(input)? },
            WILL_GONE => Change::WillGone { client, will: 0 },
            END => Change::End { client, incarnation: None },
            SUBSCRIBE => Change::Subscribe { client, subscription: Subscription::decode(input)? },
            UNSUBSCRIBE => Change::Unsubscribe { client, filter: input.text()?.into() },
            RECEIVED => Change::Received { client, delivery: input.small()? },
            DONE => {
                let deliveries = list(input, |input| input.small())?;
                Change::Done { client, deliveries }
            }
            UNRELEASED => Change::Unreleased { client, packet_id: input.small()? },
            RELEASED => Change::Released { client, packet_id: input.small()? },
            _ => return Err(corrupt(format!("an event of the kind {kind}"))),
        })
    }
}

fn named(out: &mut Vec<u8>, kind: u8, client: &str) {
    out.push(kind);
    text(out, client);
}

/// A list, by its length. A length that lies is found out before memory is set aside for it.
pub(crate) fn list<T>(
    input: &mut Reader<'_>,
    mut one: impl FnMut(&mut Reader<'_>) -> Result<T, Corrupt>,
) -> Result<Vec<T>, Corrupt> {
    let count = input.small::<usize>()?;
    let mut all = Vec::with_capacity(count.min(1_024));
    for _ in 0..count {
        all.push(one(input)?);
    }
    Ok(all)
}

/// A timestamp that may be missing: 0, or one more than its milliseconds.
fn maybe_timestamp(out: &mut Vec<u8>, at: Option<Time>) {
    number(out, at.map_or(0, |at| at.0.saturating_add(1)));
}

fn read_maybe_timestamp(input: &mut Reader<'_>) -> Result<Option<Time>, Corrupt> {
    Ok(input.number()?.checked_sub(1).map(Time))
}

fn maybe(out: &mut Vec<u8>, value: Option<u32>) {
    number(out, value.map_or(0, |value| u64::from(value) + 1));
}

fn read_maybe(input: &mut Reader<'_>) -> Result<Option<u32>, Corrupt> {
    let value = input.number()?.checked_sub(1);
    value.map(|value| u32::try_from(value).map_err(|_| corrupt("a number out of its bounds"))).transpose()
}

impl Connect {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        text(out, &self.client);
        number(out, self.incarnation);
        out.push(self.version);
        number(out, u64::from(self.expiry_s));
        number(out, self.identity.len() as u64);
        out.extend_from_slice(&self.identity);
        match &self.will {
            None => out.push(0),
            Some(will) if will.id == 0 => out.push(1),
            Some(will) => {
                out.push(2);
                number(out, will.id);
            }
        }
        if let Some(will) = &self.will {
            number(out, u64::from(will.delay_s));
            maybe(out, will.expiry_s);
            will.message.encode(out);
        }
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let client = input.text()?.into();
        let incarnation = input.number()?;
        let version = input.byte()?;
        let expiry_s = input.small()?;
        let identity = input.small::<usize>()?;
        let identity = Bytes::copy_from_slice(input.take(identity)?);
        let will = match input.byte()? {
            0 => None,
            has_id @ (1 | 2) => Some(Will {
                id: if has_id == 2 { input.number()? } else { 0 },
                delay_s: input.small()?,
                expiry_s: read_maybe(input)?,
                message: Arc::new(Message::decode(input)?),
            }),
            _ => return Err(corrupt("whether there is a will")),
        };
        Ok(Self { client, incarnation, version, expiry_s, identity, will })
    }
}

impl Presence {
    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        match self {
            Presence::Here => out.push(0),
            Presence::Away { ends_at, will_at, sent_below } => {
                out.push(1);
                maybe_timestamp(out, ends_at);
                maybe_timestamp(out, will_at);
                number(out, u64::from(sent_below));
            }
        }
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        match input.byte()? {
            0 => Ok(Presence::Here),
            1 => Ok(Presence::Away {
                ends_at: read_maybe_timestamp(input)?,
                will_at: read_maybe_timestamp(input)?,
                sent_below: input.small()?,
            }),
            _ => Err(corrupt("whether a client is away")),
        }
    }
}

impl Subscription {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        text(out, &self.filter);
        out.push(self.options);
        maybe(out, self.id);
        number(out, u64::from(self.shared));
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let filter = input.text()?.into();
        let options = input.byte()?;
        Ok(Self { filter, options, id: read_maybe(input)?, shared: input.small()? })
    }
}

impl Keep {
    /// Whether receivers are remembered by the publish's origin. With a publisher its packet id is noted instead.
    pub(crate) fn is_once(&self) -> bool {
        self.origin.is_some() && self.publisher.is_none()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        came_from(out, self.origin, self.publisher.as_deref());
        self.message.encode(out);
        number(out, self.receivers.len() as u64);
        for receiver in &self.receivers {
            text(out, &receiver.client);
            number(out, u64::from(receiver.delivery));
            out.push(receiver.qos | u8::from(receiver.retain) << 2);
            number(out, u64::from(receiver.shared));
            number(out, receiver.ids.len() as u64);
            receiver.ids.iter().for_each(|&id| number(out, u64::from(id)));
        }
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let (origin, publisher) = read_came_from(input)?;
        let message = Arc::new(Message::decode(input)?);
        let receivers = list(input, |input| {
            let client = input.text()?.into();
            let delivery = input.small()?;
            let (qos, retain) = delivery_flags(input.byte()?)?;
            let shared = input.small()?;
            let ids = list(input, |input| input.small())?.into();
            Ok(Receiver { client, delivery, qos, retain, shared, ids })
        })?;
        Ok(Self { message, receivers, origin, publisher })
    }
}

impl Withdraw {
    fn encode(&self, out: &mut Vec<u8>) {
        came_from(out, self.origin, self.publisher.as_deref());
        number(out, self.receivers.len() as u64);
        for (client, delivery) in &self.receivers {
            text(out, client);
            number(out, u64::from(*delivery));
        }
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let (origin, publisher) = read_came_from(input)?;
        let receivers = list(input, |input| Ok((input.text()?.into(), input.small()?)))?;
        Ok(Self { receivers, origin, publisher })
    }
}

/// Where a message comes from.
fn came_from(out: &mut Vec<u8>, origin: Option<Origin>, publisher: Option<&str>) {
    out.push(u8::from(origin.is_some()) | u8::from(publisher.is_some()) << 1);
    if let Some(origin) = origin {
        origin.encode(out);
    }
    if let Some(publisher) = publisher {
        text(out, publisher);
    }
}

fn read_came_from(input: &mut Reader<'_>) -> Result<(Option<Origin>, Option<CompactString>), Corrupt> {
    let flags = input.byte()?;
    if flags > 0b11 {
        return Err(corrupt("where a message comes from"));
    }
    let origin = if flags & 1 != 0 { Some(Origin::decode(input)?) } else { None };
    let publisher = if flags & 2 != 0 { Some(input.text()?.into()) } else { None };
    Ok((origin, publisher))
}

/// QoS and RETAIN of a delivery.
pub(crate) fn delivery_flags(flags: u8) -> Result<(u8, bool), Corrupt> {
    match flags {
        1 | 2 | 5 | 6 => Ok((flags & 0b11, flags & 0b100 != 0)),
        _ => Err(corrupt("the flags of a delivery")),
    }
}

impl Origin {
    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        number(out, self.incarnation);
        number(out, u64::from(self.packet_id));
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        Ok(Self { incarnation: input.number()?, packet_id: input.small()? })
    }
}
