//! The events of the wallets, as docs/formats/wallet-events.md has them.
//!
//! Reading decides nothing: what an event means is in [`crate::books`] and [`crate::groups`].

use crate::bytes::Cursor;
use crate::tree::Hash;

/// Bytes of the id of a principal at most.
const PRINCIPAL_BYTES_MAX: usize = 260;

/// Entries at these distances have a pointer of their own.
pub(crate) const JUMPS: [u64; 4] = [64, 4_096, 262_144, 16_777_216];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    Asset {
        asset: u32,
        scale: u8,
        code: &'a str,
    },
    Opened {
        account: u32,
        asset: u32,
        rules: Rules,
        wallet: &'a str,
    },
    Changed {
        account: u32,
        rules: Rules,
    },
    Transfer(Moved<'a>),
    Held {
        hold: Promise<'a>,
        expires: u64,
    },
    Voided(Promise<'a>),
    Expired {
        id: u128,
    },
    Seal {
        number: u64,
        records: u64,
        root: Hash,
    },
    /// The principal that asked for what follows in the record: it decides no amount.
    Principal,
    Began {
        group: u64,
        items: Vec<Item<'a>>,
    },
    Voted {
        message: u64,
    },
    Decided {
        group: u64,
        booked: bool,
        refused_by: Option<u16>,
    },
    Confirmed {
        message: u64,
    },
    Prepared {
        from: MessageHead,
        group: u64,
        items: Vec<Item<'a>>,
    },
    Refused {
        from: MessageHead,
    },
    Settled {
        from: MessageHead,
        prepare: u64,
        group: u64,
        booked: bool,
    },
}

/// Limits of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rules {
    pub(crate) overdraft: bool,
    pub(crate) ceiling: Option<u64>,
    pub(crate) closed: bool,
}

/// What moves an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MoveKind {
    Post,
    Capture,
    Reverse,
}

/// An amount that went from one account to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moved<'a> {
    pub(crate) kind: MoveKind,
    pub(crate) id: u128,
    pub(crate) amount: u64,
    pub(crate) debit: u32,
    pub(crate) debit_entry: Entry,
    pub(crate) credit: u32,
    pub(crate) credit_entry: Entry,
    /// Part of a group: its id is booked with the group's decision.
    pub(crate) of_group: bool,
    pub(crate) more: More<'a>,
}

/// An amount that is held, or no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Promise<'a> {
    pub(crate) id: u128,
    pub(crate) amount: u64,
    pub(crate) debit: u32,
    /// None where it is on another shard: `other` names it.
    pub(crate) credit: Option<u32>,
    pub(crate) more: More<'a>,
}

/// What flags add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct More<'a> {
    pub(crate) of: Option<u128>,
    /// The true wallet of the other shard.
    pub(crate) other: Option<&'a str>,
    pub(crate) reference: &'a str,
    pub(crate) metadata: &'a [u8],
    pub(crate) effective: Option<u64>,
}

/// One line of an account's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) balance: i64,
    pub(crate) back: u64,
    /// As many as divide the number.
    pub(crate) jumps: Vec<u64>,
}

/// What a transfer of a group does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Post,
    Capture,
    Reverse,
    Hold,
    Void,
}

/// A transfer of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item<'a> {
    pub(crate) kind: ItemKind,
    pub(crate) id: u128,
    /// The hash of the client's content: where the group began, and where the transfer would be
    /// decided alone.
    pub(crate) content: Option<u64>,
    pub(crate) amount: u64,
    pub(crate) asset: u32,
    pub(crate) debit: Party<'a>,
    pub(crate) credit: Party<'a>,
    /// Where the group began: the shard that would decide the transfer alone, where it is nobody's that takes part.
    pub(crate) home: Option<u16>,
    pub(crate) of: Option<u128>,
    /// Of a hold: when it ends by itself.
    pub(crate) expires: u64,
}

/// A side of a transfer between shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Party<'a> {
    Here(u32),
    There { shard: u16, wallet: &'a str },
}

/// Which message of which shard it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessageHead {
    pub(crate) shard: u16,
    pub(crate) number: u64,
    pub(crate) confirmed_below: u64,
}

impl<'a> Event<'a> {
    /// Reads an event of a record of that time, to its last byte.
    pub(crate) fn parse(bytes: &'a [u8], time: u64) -> Result<Self, String> {
        let mut from = Cursor::new(bytes);
        let number = from.byte()?;
        let event =
            Self::read(number, &mut from, time).map_err(|what| format!("an event {number}: {what}"))?;
        if !from.is_empty() {
            return Err(format!("an event {number} goes on behind its end"));
        }
        Ok(event)
    }

    fn read(number: u8, from: &mut Cursor<'a>, time: u64) -> Result<Self, String> {
        Ok(match number {
            1 => Event::Asset { asset: from.small()?, scale: from.byte()?, code: from.text()? },
            2 => Event::Opened {
                account: from.small()?,
                asset: from.small()?,
                rules: Rules::read(from)?,
                wallet: from.text()?,
            },
            3 => Event::Changed { account: from.small()?, rules: Rules::read(from)? },
            4 => Event::Transfer(Moved::read(from, time)?),
            5 => {
                let hold = Promise::read(from, time)?;
                Event::Held { hold, expires: from.timestamp(time)? }
            }
            6 => Event::Voided(Promise::read(from, time)?),
            7 => Event::Expired { id: from.id()? },
            8 => Event::Seal { number: from.number()?, records: from.number()?, root: from.array()? },
            9 => {
                principal(from.text()?)?;
                Event::Principal
            }
            16 => {
                let group = from.number()?;
                flags(from, 1)?;
                Event::Began { group, items: Item::read_all(from, time, OF_ITEM | HOME)? }
            }
            17 => Event::Voted { message: from.number()? },
            18 => {
                let group = from.number()?;
                let booked = flags(from, 1)? == 1;
                let mut refused_by = None;
                if !booked {
                    refused_by = from.number()?.checked_sub(1).and_then(|shard| u16::try_from(shard).ok());
                    let (_code, _reason) = (from.text()?, from.text()?);
                }
                Event::Decided { group, booked, refused_by }
            }
            19 => Event::Confirmed { message: from.number()? },
            24 => {
                let message = MessageHead::read(from)?;
                let group = from.number()?;
                Event::Prepared {
                    from: message,
                    group,
                    items: Item::read_all(from, time, OF_ITEM | CONTENT)?,
                }
            }
            25 => {
                let message = MessageHead::read(from)?;
                let (_code, _reason) = (from.text()?, from.text()?);
                Event::Refused { from: message }
            }
            26 => Event::Settled {
                from: MessageHead::read(from)?,
                prepare: from.number()?,
                group: from.number()?,
                booked: settled(from, time)?,
            },
            _ => return Err("this version knows none of that number".to_owned()),
        })
    }
}

/// Whether a text can be the id of a principal.
fn principal(id: &str) -> Result<(), String> {
    if id.is_empty() || id.len() > PRINCIPAL_BYTES_MAX || id.chars().any(char::is_control) {
        return Err(format!("{id:?} is the id of no principal"));
    }
    Ok(())
}

/// Whether it was booked; 2 adds when.
fn settled(from: &mut Cursor<'_>, time: u64) -> Result<bool, String> {
    match from.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        2 => from.timestamp(time).map(|_| true),
        other => Err(format!("the outcome {other}, which is none")),
    }
}

fn shard(from: &mut Cursor<'_>) -> Result<u16, String> {
    let shard = from.number()?;
    u16::try_from(shard).map_err(|_| format!("a shard {shard}"))
}

/// A byte of flags of which only some are known.
fn flags(from: &mut Cursor<'_>, known: u8) -> Result<u8, String> {
    let flags = from.byte()?;
    if flags & !known == 0 { Ok(flags) } else { Err(format!("unknown flags in {flags:#04x}")) }
}

const OF: u8 = 1;
const REFERENCE: u8 = 2;
const METADATA: u8 = 4;
const EFFECTIVE: u8 = 8;
const OTHER: u8 = 16;
const OF_GROUP: u8 = 32;
const ALL: u8 = OF | REFERENCE | METADATA | EFFECTIVE | OTHER | OF_GROUP;
const CONTENT: u8 = 64;
const HOME: u8 = 128;
const OF_ITEM: u8 = OF | REFERENCE | METADATA | EFFECTIVE;

impl Rules {
    fn read(from: &mut Cursor<'_>) -> Result<Self, String> {
        let flags = flags(from, 7)?;
        let ceiling = if flags & 2 != 0 { Some(from.number()?) } else { None };
        Ok(Rules { overdraft: flags & 1 != 0, ceiling, closed: flags & 4 != 0 })
    }
}

impl<'a> More<'a> {
    fn read(from: &mut Cursor<'a>, flags: u8, time: u64) -> Result<Self, String> {
        let mut more = More::default();
        if flags & OF != 0 {
            more.of = Some(from.id()?);
        }
        if flags & OTHER != 0 {
            more.other = Some(from.text()?);
        }
        if flags & REFERENCE != 0 {
            more.reference = from.text()?;
        }
        if flags & METADATA != 0 {
            more.metadata = from.bytes()?;
        }
        if flags & EFFECTIVE != 0 {
            more.effective = Some(from.timestamp(time)?);
        }
        Ok(more)
    }
}

impl<'a> Moved<'a> {
    fn read(from: &mut Cursor<'a>, time: u64) -> Result<Self, String> {
        let flags = flags(from, ALL)?;
        let kind = match from.byte()? {
            0 => MoveKind::Post,
            1 => MoveKind::Capture,
            2 => MoveKind::Reverse,
            other => return Err(format!("it is of kind {other}, which is none")),
        };
        let id = from.id()?;
        let of_group = flags & OF_GROUP != 0;
        if !of_group {
            from.take(8)?;
        }
        Ok(Moved {
            kind,
            id,
            of_group,
            amount: from.number()?,
            debit: from.small()?,
            debit_entry: Entry::read(from)?,
            credit: from.small()?,
            credit_entry: Entry::read(from)?,
            more: More::read(from, flags, time)?,
        })
    }
}

impl<'a> Promise<'a> {
    fn read(from: &mut Cursor<'a>, time: u64) -> Result<Self, String> {
        let flags = flags(from, ALL)?;
        let id = from.id()?;
        if flags & OF_GROUP == 0 {
            from.take(8)?;
        }
        Ok(Promise {
            id,
            amount: from.number()?,
            debit: from.small()?,
            credit: if flags & OTHER == 0 { Some(from.small()?) } else { None },
            more: More::read(from, flags, time)?,
        })
    }
}

impl Entry {
    fn read(from: &mut Cursor<'_>) -> Result<Self, String> {
        let (number, balance, back) = (from.number()?, from.signed()?, from.number()?);
        let jumps = JUMPS.iter().filter(|&&jump| number.is_multiple_of(jump));
        let jumps = jumps.map(|_| from.number()).collect::<Result<_, _>>()?;
        Ok(Entry { number, balance, back, jumps })
    }
}

impl<'a> Item<'a> {
    fn read_all(from: &mut Cursor<'a>, time: u64, known: u8) -> Result<Vec<Self>, String> {
        let items = from.number()?;
        (0..items).map(|_| Self::read(from, time, known)).collect()
    }

    fn read(from: &mut Cursor<'a>, time: u64, known: u8) -> Result<Self, String> {
        let flags = flags(from, known)?;
        let kind = match from.byte()? {
            0 => ItemKind::Post,
            1 => ItemKind::Capture,
            2 => ItemKind::Reverse,
            3 => ItemKind::Hold,
            4 => ItemKind::Void,
            other => return Err(format!("an item of kind {other}, which is none")),
        };
        let id = from.id()?;
        // Only where it began, and where the flag is set.
        let has_content = known & CONTENT == 0 || flags & CONTENT != 0;
        let content = if has_content { Some(u64::from_le_bytes(from.array()?)) } else { None };
        let amount = from.number()?;
        let asset = from.small()?;
        let (debit, credit) = (Party::read(from)?, Party::read(from)?);
        let home = if flags & HOME != 0 { Some(shard(from)?) } else { None };
        let more = More::read(from, flags, time)?;
        let expires = if kind == ItemKind::Hold { from.timestamp(time)? } else { 0 };
        Ok(Item { kind, id, content, amount, asset, debit, credit, home, of: more.of, expires })
    }
}

impl<'a> Party<'a> {
    fn read(from: &mut Cursor<'a>) -> Result<Self, String> {
        match from.number()? {
            0 => Ok(Party::Here(from.small()?)),
            shard => {
                let shard = u16::try_from(shard - 1).map_err(|_| format!("a shard {}", shard - 1))?;
                Ok(Party::There { shard, wallet: from.text()? })
            }
        }
    }
}

impl MessageHead {
    fn read(from: &mut Cursor<'_>) -> Result<Self, String> {
        let shard = shard(from)?;
        Ok(MessageHead { shard, number: from.number()?, confirmed_below: from.number()? })
    }
}
