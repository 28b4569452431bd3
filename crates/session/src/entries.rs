//! The content of the tables, as checkpoints have it. A session and a retained message are one
//! entry each, so that a checkpoint holds them whole.

use std::sync::Arc;

use bytes::Bytes;
use compact_str::CompactString;
use stadium_state_machine::encoding::{Reader, corrupt, number, text};
use stadium_table::{Damaged, Entry};

use crate::change::{Connect, Origin, Presence, Subscription};
use crate::encoding::{delivery_flags, list};
use crate::{Corrupt, Message, Time};

/// A session, without its deliveries.
pub(crate) struct Session {
    pub connect: Connect,
    pub presence: Presence,
    pub subscriptions: Vec<Subscription>,
    pub unreleased: Vec<u16>,
}

/// Something owed to a session.
pub(crate) struct Delivery {
    /// The session's place.
    pub session: u32,
    /// The message's place; [`NOTHING`] where only a packet id is to be released.
    pub message: u32,
    /// What the session calls it.
    pub number: u32,
    /// Orders the deliveries of a session.
    pub order: u64,
    pub qos: u8,
    pub retain: bool,
    pub shared: u16,
    pub ids: Box<[u32]>,
}

/// No place.
pub(crate) const NOTHING: u32 = u32::MAX;

/// A message that is owed.
pub(crate) struct Kept(pub Arc<Message>);

/// A topic's retained message, or for a while that it has none any more.
pub(crate) struct Retained {
    pub number: u64,
    /// As in [`crate::Change::Retain`].
    pub owner: Option<CompactString>,
    /// The time of the record with it; none where a checkpoint of before owners were kept has it.
    pub set_at: Option<Time>,
    pub message: Arc<Message>,
}

/// The same as checkpoints up to version 3 have it.
pub(crate) struct RetainedBefore {
    pub number: u64,
    pub message: Arc<Message>,
}

/// A publish that was taken for sessions of this shard and is not released.
pub(crate) struct Taken {
    pub origin: Origin,
    pub order: u64,
    /// The receivers that are or were owed it: incarnations of sessions, changed by the shared
    /// subscription that a copy came by, in order. None where a server of before took it and only a
    /// checkpoint records it: then every possible receiver counts.
    pub receivers: Option<Vec<u64>>,
    /// A server of before took it, which had a key of its own for each loop.
    pub of_before: bool,
    /// Copies by shared subscriptions are distinguished; else a receiver was owed all of its
    /// copies.
    pub by_copy: bool,
}

/// The same as version 1 of a checkpoint has it.
pub(crate) struct TakenBefore {
    pub origin: Origin,
    pub order: u64,
}

pub(crate) fn nothing() -> Arc<Message> {
    thread_local! {
        static NOTHING: Arc<Message> = Arc::new(Message::new(Bytes::new(), 0, 0).expect("no bytes are a message"));
    }
    NOTHING.with(Arc::clone)
}

/// Reads an entry with a reader, and moves the input behind it.
fn read<T>(
    input: &mut &[u8],
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, Corrupt>,
) -> Result<T, Damaged> {
    let mut reader = Reader::new(input);
    let entry = read(&mut reader).map_err(|_| Damaged("an entry that cannot be read"))?;
    *input = &input[reader.position()..];
    Ok(entry)
}

impl Entry for Session {
    fn vacant() -> Self {
        let connect = Connect {
            client: CompactString::const_new(""),
            incarnation: 0,
            version: 0,
            expiry_s: 0,
            identity: Bytes::new(),
            will: None,
        };
        Self { connect, presence: Presence::Here, subscriptions: Vec::new(), unreleased: Vec::new() }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.connect.encode(out);
        self.presence.encode(out);
        number(out, self.subscriptions.len() as u64);
        self.subscriptions.iter().for_each(|one| one.encode(out));
        number(out, self.unreleased.len() as u64);
        self.unreleased.iter().for_each(|&id| number(out, u64::from(id)));
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        read(input, |input| {
            let connect = Connect::decode(input)?;
            let presence = Presence::decode(input)?;
            let mut subscriptions = Vec::new();
            for _ in 0..input.small::<usize>()? {
                subscriptions.push(Subscription::decode(input)?);
            }
            let mut unreleased = Vec::new();
            for _ in 0..input.small::<usize>()? {
                unreleased.push(input.small()?);
            }
            Ok(Self { connect, presence, subscriptions, unreleased })
        })
    }
}

impl Entry for Delivery {
    fn vacant() -> Self {
        let ids = Box::default();
        Self {
            session: NOTHING,
            message: NOTHING,
            number: 0,
            order: 0,
            qos: 0,
            retain: false,
            shared: 0,
            ids,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for value in [self.session, self.message, self.number] {
            number(out, u64::from(value));
        }
        number(out, self.order);
        out.push(self.qos | u8::from(self.retain) << 2);
        number(out, u64::from(self.shared));
        number(out, self.ids.len() as u64);
        self.ids.iter().for_each(|&id| number(out, u64::from(id)));
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        read(input, |input| {
            let (session, message, number) = (input.small()?, input.small()?, input.small()?);
            let order = input.number()?;
            let (qos, retain) = delivery_flags(input.byte()?)?;
            let shared = input.small()?;
            let mut ids = Vec::new();
            for _ in 0..input.small::<usize>()? {
                ids.push(input.small()?);
            }
            Ok(Self { session, message, number, order, qos, retain, shared, ids: ids.into() })
        })
    }
}

impl Entry for Kept {
    fn vacant() -> Self {
        Self(nothing())
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        read(input, |input| Ok(Self(Arc::new(Message::decode(input)?))))
    }
}

impl Entry for Retained {
    fn vacant() -> Self {
        Self { number: 0, owner: None, set_at: None, message: nothing() }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        number(out, self.number);
        number(out, self.set_at.map_or(0, |at| at.0.saturating_add(1)));
        out.push(u8::from(self.owner.is_some()));
        if let Some(owner) = &self.owner {
            text(out, owner);
        }
        self.message.encode(out);
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        read(input, |input| {
            let number = input.number()?;
            let set_at = input.number()?.checked_sub(1).map(Time);
            let owner = match input.byte()? {
                0 => None,
                1 => Some(input.text()?.into()),
                _ => return Err(corrupt("the owner of a retained message")),
            };
            Ok(Self { number, owner, set_at, message: Arc::new(Message::decode(input)?) })
        })
    }
}

impl Entry for RetainedBefore {
    fn vacant() -> Self {
        Self { number: 0, message: nothing() }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        number(out, self.number);
        self.message.encode(out);
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        read(input, |input| {
            let number = input.number()?;
            Ok(Self { number, message: Arc::new(Message::decode(input)?) })
        })
    }
}

const NO_ORIGIN: Origin = Origin { incarnation: 0, packet_id: 0 };

const LISTED: u8 = 1;
const OF_BEFORE: u8 = 2;
const BY_COPY: u8 = 4;

impl Entry for Taken {
    fn vacant() -> Self {
        Self { origin: NO_ORIGIN, order: 0, receivers: None, of_before: false, by_copy: true }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.origin.encode(out);
        number(out, self.order);
        let listed = if self.receivers.is_some() { LISTED } else { 0 };
        let of_before = if self.of_before { OF_BEFORE } else { 0 };
        out.push(listed | of_before | if self.by_copy { BY_COPY } else { 0 });
        if let Some(receivers) = &self.receivers {
            number(out, receivers.len() as u64);
            receivers.iter().for_each(|&one| number(out, one));
        }
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        read(input, |input| {
            let origin = Origin::decode(input)?;
            let order = input.number()?;
            let flags = input.byte()?;
            if flags > LISTED | OF_BEFORE | BY_COPY {
                return Err(corrupt("the flags of a publish"));
            }
            let receivers = if flags & LISTED != 0 {
                let mut receivers = list(input, |input| input.number())?;
                receivers.sort_unstable();
                Some(receivers)
            } else {
                None
            };
            let (of_before, by_copy) = (flags & OF_BEFORE != 0, flags & BY_COPY != 0);
            Ok(Self { origin, order, receivers, of_before, by_copy })
        })
    }
}

impl Entry for TakenBefore {
    fn vacant() -> Self {
        Self { origin: NO_ORIGIN, order: 0 }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.origin.encode(out);
        number(out, self.order);
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        read(input, |input| {
            let origin = Origin::decode(input)?;
            Ok(Self { origin, order: input.number()? })
        })
    }
}
