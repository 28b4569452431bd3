//! Transfers between shards while they are not decided, as they stand in memory, in events and in checkpoints.
//!
//! How they are decided is [`crate::two_phase`]'s business.

use std::borrow::Cow;

use bytes::Bytes;
use stadium_state_machine::encoding::{Reader, corrupt, number, text, timestamp};
use stadium_table::{Damaged, Entry};

use crate::{Corrupt, Time, TransferId, WalletName};

/// What an item does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ItemKind {
    Post = 0,
    Capture = 1,
    Reverse = 2,
    Hold = 3,
    Void = 4,
}

impl ItemKind {
    pub(crate) fn of(code: u8) -> Result<Self, Corrupt> {
        Ok(match code {
            0 => ItemKind::Post,
            1 => ItemKind::Capture,
            2 => ItemKind::Reverse,
            3 => ItemKind::Hold,
            4 => ItemKind::Void,
            other => return Err(corrupt(format!("a transfer of the unknown kind {other}"))),
        })
    }

    /// Whether it moves an amount when it is booked.
    pub(crate) fn moves(self) -> bool {
        matches!(self, ItemKind::Post | ItemKind::Capture | ItemKind::Reverse)
    }
}

/// One side of a transfer between shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Party {
    /// An account of this shard.
    Here(u32),
    /// A wallet of another one.
    There(u16, WalletName),
}

impl Party {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Party::Here(account) => {
                out.push(0);
                number(out, u64::from(*account));
            }
            Party::There(shard, name) => {
                number(out, u64::from(*shard) + 1);
                text(out, name.as_str());
            }
        }
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        Ok(match input.small::<u32>()? {
            0 => Party::Here(input.small()?),
            shard => {
                let shard =
                    u16::try_from(shard - 1).map_err(|_| corrupt("a shard's number out of bounds"))?;
                Party::There(shard, wallet(input.text()?)?)
            }
        })
    }

    pub(crate) fn here(&self) -> Option<u32> {
        match self {
            Party::Here(account) => Some(*account),
            Party::There(..) => None,
        }
    }

    pub(crate) fn shard(&self) -> Option<u16> {
        match self {
            Party::Here(_) => None,
            Party::There(shard, _) => Some(*shard),
        }
    }
}

pub(crate) fn wallet(name: &str) -> Result<WalletName, Corrupt> {
    WalletName::new(name).map_err(|error| corrupt(error.to_string()))
}

/// Optional parts of a transfer's event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Notes<'a> {
    pub(crate) of: Option<TransferId>,
    pub(crate) other: Option<&'a str>,
    pub(crate) reference: &'a str,
    pub(crate) metadata: &'a [u8],
    pub(crate) effective: Option<Time>,
}

const OF: u8 = 1;
const REFERENCE: u8 = 2;
const METADATA: u8 = 4;
const EFFECTIVE: u8 = 8;
const OTHER: u8 = 16;
/// Of a transfer: decided as part of a transaction.
pub(crate) const LEG: u8 = 32;
/// Of an item that another shard keeps: that shard decides it when it comes alone.
const CONTENT: u8 = 64;
/// Of the coordinator's item: which shard decides it when it comes alone, where no party determines
/// it.
const HOME: u8 = 128;

const KNOWN: u8 = OF | REFERENCE | METADATA | EFFECTIVE | OTHER | LEG;

impl<'a> Notes<'a> {
    pub(crate) fn flags(&self) -> u8 {
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        bit(self.of.is_some(), OF)
            | bit(!self.reference.is_empty(), REFERENCE)
            | bit(!self.metadata.is_empty(), METADATA)
            | bit(self.effective.is_some(), EFFECTIVE)
            | bit(self.other.is_some(), OTHER)
    }

    pub(crate) fn has_other(flags: u8) -> bool {
        flags & OTHER != 0
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>, time: Time) {
        if let Some(of) = self.of {
            out.extend_from_slice(&of.0.to_be_bytes());
        }
        if let Some(other) = self.other {
            text(out, other);
        }
        if !self.reference.is_empty() {
            text(out, self.reference);
        }
        if !self.metadata.is_empty() {
            number(out, self.metadata.len() as u64);
            out.extend_from_slice(self.metadata);
        }
        if let Some(effective) = self.effective {
            timestamp(out, time, effective);
        }
    }

    pub(crate) fn decode(input: &mut Reader<'a>, flags: u8, time: Time) -> Result<Self, Corrupt> {
        if flags & !KNOWN != 0 {
            return Err(corrupt(format!("unknown flags {flags:#x} of a transfer")));
        }
        let mut notes = Notes::default();
        if flags & OF != 0 {
            notes.of = Some(id(input)?);
        }
        if flags & OTHER != 0 {
            notes.other = Some(input.text()?);
        }
        if flags & REFERENCE != 0 {
            notes.reference = input.text()?;
        }
        if flags & METADATA != 0 {
            let bytes = input.small::<usize>()?;
            notes.metadata = input.take(bytes)?;
        }
        if flags & EFFECTIVE != 0 {
            notes.effective = Some(input.timestamp(time)?);
        }
        Ok(notes)
    }
}

pub(crate) fn id(input: &mut Reader<'_>) -> Result<TransferId, Corrupt> {
    Ok(TransferId(u128::from_be_bytes(input.array()?)))
}

/// A transfer of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) kind: ItemKind,
    pub(crate) id: TransferId,
    /// The hash of the client's content: at the coordinator, and at the shard that decides the
    /// transfer when it comes alone.
    pub(crate) content: Option<u64>,
    pub(crate) amount: u64,
    pub(crate) asset: u16,
    pub(crate) debit: Party,
    pub(crate) credit: Party,
    /// At the coordinator, of a transfer between system wallets: the other shard that decides it when it comes alone.
    pub(crate) home: Option<u16>,
    pub(crate) of: Option<TransferId>,
    pub(crate) reference: Box<str>,
    pub(crate) metadata: Bytes,
    pub(crate) effective: Option<Time>,
    /// Of a hold.
    pub(crate) expires: Time,
}

/// Who keeps an item: the coordinator's always has the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Coordinator,
    Participant,
}

impl Item {
    pub(crate) fn notes(&self) -> Notes<'_> {
        Notes {
            of: self.of,
            other: None,
            reference: &self.reference,
            metadata: &self.metadata,
            effective: self.effective,
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>, time: Time, role: Role) {
        let notes = self.notes();
        let content = match role {
            Role::Coordinator => 0,
            Role::Participant if self.content.is_some() => CONTENT,
            Role::Participant => 0,
        };
        out.push(notes.flags() | content | if self.home.is_some() { HOME } else { 0 });
        out.push(self.kind as u8);
        out.extend_from_slice(&self.id.0.to_be_bytes());
        if let Some(content) = self.content {
            out.extend_from_slice(&content.to_le_bytes());
        }
        number(out, self.amount);
        number(out, u64::from(self.asset));
        self.debit.encode(out);
        self.credit.encode(out);
        if let Some(home) = self.home {
            number(out, u64::from(home));
        }
        notes.encode(out, time);
        if self.kind == ItemKind::Hold {
            timestamp(out, time, self.expires);
        }
    }

    pub(crate) fn decode(input: &mut Reader<'_>, time: Time, role: Role) -> Result<Self, Corrupt> {
        let flags = input.byte()?;
        let allowed = match role {
            Role::Coordinator => HOME,
            Role::Participant => CONTENT,
        };
        if flags & !(OF | REFERENCE | METADATA | EFFECTIVE | allowed) != 0 {
            return Err(corrupt(format!("unknown flags {flags:#x} of a transaction's transfer")));
        }
        let kind = ItemKind::of(input.byte()?)?;
        let id = id(input)?;
        let content = match role {
            Role::Participant if flags & CONTENT == 0 => None,
            _ => Some(u64::from_le_bytes(input.array()?)),
        };
        let amount = input.number()?;
        let asset = input.small()?;
        let debit = Party::decode(input)?;
        let credit = Party::decode(input)?;
        let home = if flags & HOME != 0 { Some(input.small()?) } else { None };
        let notes = Notes::decode(input, flags & KNOWN, time)?;
        let expires = if kind == ItemKind::Hold { input.timestamp(time)? } else { Time(0) };
        Ok(Item {
            kind,
            id,
            content,
            amount,
            asset,
            debit,
            credit,
            home,
            of: notes.of,
            reference: notes.reference.into(),
            metadata: Bytes::copy_from_slice(notes.metadata),
            effective: notes.effective,
            expires,
        })
    }

    /// Bytes that it takes at most as an event, and what it becomes when it is booked.
    pub(crate) fn bytes_max(&self) -> usize {
        512 + self.reference.len() + self.metadata.len()
    }
}

pub(crate) fn encode_items(out: &mut Vec<u8>, items: &[Item], time: Time, role: Role) {
    number(out, items.len() as u64);
    items.iter().for_each(|item| item.encode(out, time, role));
}

pub(crate) fn decode_items(input: &mut Reader<'_>, time: Time, role: Role) -> Result<Vec<Item>, Corrupt> {
    let count = input.small::<usize>()?;
    let mut items = Vec::with_capacity(count.min(crate::Bounds::ITEMS_MAX));
    for _ in 0..count {
        items.push(Item::decode(input, time, role)?);
    }
    Ok(items)
}

/// A shard that was asked whether it can do its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) shard: u16,
    /// The message that asks it.
    pub(crate) message: u64,
    /// It voted yes.
    pub(crate) agreed: bool,
}

/// A transaction that is not decided, at its coordinator.
pub(crate) struct Transaction {
    pub(crate) number: u64,
    /// All or none was asked for; else it is one transfer.
    pub(crate) linked: bool,
    pub(crate) began: Time,
    /// The record with its content.
    pub(crate) record: u64,
    pub(crate) items: Vec<Item>,
    pub(crate) asked: Vec<Asked>,
}

/// A transaction that is not decided, at a shard that voted yes.
pub(crate) struct Prepared {
    pub(crate) from: u16,
    pub(crate) transaction: u64,
    pub(crate) items: Vec<Item>,
}

fn damaged(_: Corrupt) -> Damaged {
    Damaged("a transaction that cannot be read")
}

/// Reads through a reader what stands at the front of the input.
fn reading<T>(
    input: &mut &[u8],
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, Corrupt>,
) -> Result<T, Damaged> {
    let mut reader = Reader::new(input);
    let value = read(&mut reader).map_err(damaged)?;
    let position = reader.position();
    *input = &input[position..];
    Ok(value)
}

impl Entry for Transaction {
    fn vacant() -> Self {
        Self { number: 0, linked: false, began: Time(0), record: 0, items: Vec::new(), asked: Vec::new() }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        number(out, self.number);
        out.push(u8::from(self.linked));
        number(out, self.began.0);
        number(out, self.record);
        encode_items(out, &self.items, self.began, Role::Coordinator);
        number(out, self.asked.len() as u64);
        for asked in &self.asked {
            number(out, u64::from(asked.shard));
            number(out, asked.message);
            out.push(u8::from(asked.agreed));
        }
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        reading(input, |input| {
            let number = input.number()?;
            let linked = input.byte()? == 1;
            let began = Time(input.number()?);
            let record = input.number()?;
            let items = decode_items(input, began, Role::Coordinator)?;
            let mut asked = Vec::new();
            for _ in 0..input.number()? {
                let shard = input.small()?;
                let message = input.number()?;
                asked.push(Asked { shard, message, agreed: input.byte()? == 1 });
            }
            Ok(Transaction { number, linked, began, record, items, asked })
        })
    }
}

impl Entry for Prepared {
    fn vacant() -> Self {
        Self { from: 0, transaction: 0, items: Vec::new() }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        number(out, u64::from(self.from));
        number(out, self.transaction);
        encode_items(out, &self.items, Time(0), Role::Participant);
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        reading(input, |input| {
            let from = input.small()?;
            let transaction = input.number()?;
            Ok(Prepared { from, transaction, items: decode_items(input, Time(0), Role::Participant)? })
        })
    }
}

/// A message that is not confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posted {
    pub(crate) to: u16,
    pub(crate) transaction: u64,
    pub(crate) asks: Asks,
}

/// The content of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    Prepare,
    Decide { prepare: u64, booked: bool, at: Time },
}

impl Posted {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        number(out, u64::from(self.to));
        number(out, self.transaction);
        match self.asks {
            Asks::Prepare => out.push(0),
            Asks::Decide { prepare, booked, at } => {
                out.push(if booked { 3 } else { 1 });
                number(out, prepare);
                if booked {
                    number(out, at.0);
                }
            }
        }
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let to = input.small()?;
        let transaction = input.number()?;
        let asks = match input.byte()? {
            0 => Asks::Prepare,
            1 => Asks::Decide { prepare: input.number()?, booked: false, at: Time(0) },
            // Of before decisions carried a time: the receiver was not notified that it decides a
            // transfer alone, and keeps no time.
            2 => Asks::Decide { prepare: input.number()?, booked: true, at: Time(0) },
            3 => Asks::Decide { prepare: input.number()?, booked: true, at: Time(input.number()?) },
            other => return Err(corrupt(format!("a message of the unknown kind {other}"))),
        };
        Ok(Posted { to, transaction, asks })
    }
}

/// The items of a transaction in an event: borrowed where it is written, owned where it was read.
pub(crate) type Items<'a> = Cow<'a, [Item]>;
