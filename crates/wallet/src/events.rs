//! What stands in a record: written and read back.
//!
//! docs/formats/wallet-events.md is the format; [`crate::apply`] carries events out.

use std::borrow::Cow;

use stadium_state_machine::encoding::{Reader, corrupt, number, text, timestamp};

use crate::account::{JUMPS, Rules};
use crate::chain::Hash;
use crate::transaction::{ItemKind, Items, LEG, Notes, Role, decode_items, encode_items, id};
use crate::{Corrupt, Time, TransferId};

/// One line of an account's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Line {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// The posted balance after it.
    pub(crate) balance: i64,
    /// How far before this record the line before stands.
    pub(crate) back: u64,
    /// How far before this record the line stands that is so many before, for each of [`JUMPS`] that divides the number.
    pub(crate) jumps: [u64; 4],
}

impl Line {
    /// How many of [`JUMPS`] divide a number.
    #[inline]
    pub(crate) fn levels(number: u64) -> usize {
        if !number.is_multiple_of(JUMPS[0]) {
            return 0;
        }
        JUMPS.iter().take_while(|&&step| number.is_multiple_of(step)).count()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        number(out, self.number);
        signed(out, self.balance);
        number(out, self.back);
        for &jump in &self.jumps[..Self::levels(self.number)] {
            number(out, jump);
        }
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let number = input.number()?;
        let raw = input.number()?;
        let balance = (raw >> 1) as i64 ^ -((raw & 1) as i64);
        let mut line = Line { number, balance, back: input.number()?, jumps: [0; 4] };
        if number == 0 {
            return Err(corrupt("an entry without number"));
        }
        for jump in &mut line.jumps[..Self::levels(number)] {
            *jump = input.number()?;
        }
        Ok(line)
    }
}

fn signed(out: &mut Vec<u8>, value: i64) {
    number(out, (value << 1 ^ value >> 63) as u64);
}

/// An amount that goes from an account to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transferred<'a> {
    pub(crate) kind: ItemKind,
    pub(crate) id: TransferId,
    /// The hash of the client's content; none where it is part of a transaction.
    pub(crate) content: Option<u64>,
    pub(crate) amount: u64,
    pub(crate) debit: (u32, Line),
    pub(crate) credit: (u32, Line),
    pub(crate) notes: Notes<'a>,
}

/// A hold that was made or voided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Promised<'a> {
    pub(crate) id: TransferId,
    pub(crate) content: u64,
    pub(crate) amount: u64,
    pub(crate) debit: u32,
    /// None where `notes` names the wallet.
    pub(crate) credit: Option<u32>,
    pub(crate) notes: Notes<'a>,
}

/// Why a transaction was not booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failed<'a> {
    /// Who refused; none where nobody answered in time.
    pub(crate) shard: Option<u16>,
    pub(crate) code: &'a str,
    pub(crate) reason: &'a str,
}

/// A message of another shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct From {
    pub(crate) shard: u16,
    pub(crate) number: u64,
    pub(crate) confirmed_below: u64,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    Asset {
        asset: u16,
        scale: u8,
        code: &'a str,
    },
    Opened {
        account: u32,
        asset: u16,
        rules: Rules,
        wallet: &'a str,
    },
    Changed {
        account: u32,
        rules: Rules,
    },
    Transfer(Transferred<'a>),
    Held {
        what: Promised<'a>,
        expires: Time,
    },
    Voided(Promised<'a>),
    Expired {
        hold: TransferId,
    },
    Seal {
        number: u64,
        records: u64,
        root: Hash,
    },
    /// Of the events that follow.
    Principal(&'a str),
    Began {
        transaction: u64,
        linked: bool,
        items: Items<'a>,
    },
    Voted {
        message: u64,
    },
    Decided {
        transaction: u64,
        outcome: Result<(), Failed<'a>>,
    },
    Confirmed {
        message: u64,
    },
    Prepared {
        from: From,
        transaction: u64,
        items: Items<'a>,
    },
    Refused {
        from: From,
        code: &'a str,
        reason: &'a str,
    },
    /// `decided` is the time, where a transfer of the transaction is decided here when it comes
    /// alone.
    Settled {
        from: From,
        prepare: u64,
        transaction: u64,
        booked: bool,
        decided: Option<Time>,
    },
}

const ASSET: u8 = 1;
const OPENED: u8 = 2;
const CHANGED: u8 = 3;
pub(crate) const TRANSFER: u8 = 4;
const HELD: u8 = 5;
const VOIDED: u8 = 6;
const EXPIRED: u8 = 7;
pub(crate) const SEAL: u8 = 8;
pub(crate) const PRINCIPAL: u8 = 9;
const BEGAN: u8 = 16;
const VOTED: u8 = 17;
const DECIDED: u8 = 18;
const CONFIRMED: u8 = 19;
const PREPARED: u8 = 24;
const REFUSED: u8 = 25;
const SETTLED: u8 = 26;

fn write_rules(out: &mut Vec<u8>, rules: &Rules) {
    out.push(rules.flags());
    if let Some(ceiling) = rules.ceiling {
        number(out, ceiling);
    }
}

fn read_rules(input: &mut Reader<'_>) -> Result<Rules, Corrupt> {
    let flags = input.byte()?;
    if !Rules::are_flags(flags) {
        return Err(corrupt(format!("unknown rules {flags:#x} of an account")));
    }
    let ceiling = if Rules::has_ceiling(flags) { input.number()? } else { 0 };
    Ok(Rules::of(flags, ceiling))
}

impl Promised<'_> {
    fn encode(&self, out: &mut Vec<u8>, time: Time) {
        out.push(self.notes.flags());
        out.extend_from_slice(&self.id.0.to_be_bytes());
        out.extend_from_slice(&self.content.to_le_bytes());
        number(out, self.amount);
        number(out, u64::from(self.debit));
        if let Some(credit) = self.credit {
            number(out, u64::from(credit));
        }
        self.notes.encode(out, time);
    }
}

fn read_promised<'a>(input: &mut Reader<'a>, time: Time) -> Result<Promised<'a>, Corrupt> {
    let flags = input.byte()?;
    let id = id(input)?;
    let content = u64::from_le_bytes(input.array()?);
    let amount = input.number()?;
    let debit = input.small()?;
    let credit = if Notes::has_other(flags) { None } else { Some(input.small()?) };
    let notes = Notes::decode(input, flags, time)?;
    Ok(Promised { id, content, amount, debit, credit, notes })
}

impl From {
    fn encode(self, out: &mut Vec<u8>) {
        number(out, u64::from(self.shard));
        number(out, self.number);
        number(out, self.confirmed_below);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let shard = input.small()?;
        Ok(From { shard, number: input.number()?, confirmed_below: input.number()? })
    }
}

impl<'a> Event<'a> {
    /// Appends the event without its length.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, time: Time) {
        match self {
            Event::Transfer(what) => {
                let leg = if what.content.is_none() { LEG } else { 0 };
                out.extend_from_slice(&[TRANSFER, what.notes.flags() | leg, what.kind as u8]);
                out.extend_from_slice(&what.id.0.to_be_bytes());
                if let Some(content) = what.content {
                    out.extend_from_slice(&content.to_le_bytes());
                }
                number(out, what.amount);
                for (account, line) in [what.debit, what.credit] {
                    number(out, u64::from(account));
                    line.encode(out);
                }
                what.notes.encode(out, time);
            }
            Event::Asset { asset, scale, code } => {
                out.push(ASSET);
                number(out, u64::from(*asset));
                out.push(*scale);
                text(out, code);
            }
            Event::Opened { account, asset, rules, wallet } => {
                out.push(OPENED);
                number(out, u64::from(*account));
                number(out, u64::from(*asset));
                write_rules(out, rules);
                text(out, wallet);
            }
            Event::Changed { account, rules } => {
                out.push(CHANGED);
                number(out, u64::from(*account));
                write_rules(out, rules);
            }
            Event::Held { what, expires } => {
                out.push(HELD);
                what.encode(out, time);
                timestamp(out, time, *expires);
            }
            Event::Voided(what) => {
                out.push(VOIDED);
                what.encode(out, time);
            }
            Event::Expired { hold } => {
                out.push(EXPIRED);
                out.extend_from_slice(&hold.0.to_be_bytes());
            }
            Event::Seal { number: seal, records, root } => {
                out.push(SEAL);
                number(out, *seal);
                number(out, *records);
                out.extend_from_slice(root);
            }
            Event::Principal(principal) => {
                out.push(PRINCIPAL);
                text(out, principal);
            }
            Event::Began { transaction, linked, items } => {
                out.push(BEGAN);
                number(out, *transaction);
                out.push(u8::from(*linked));
                encode_items(out, items, time, Role::Coordinator);
            }
            Event::Voted { message } => {
                out.push(VOTED);
                number(out, *message);
            }
            Event::Decided { transaction, outcome } => {
                out.push(DECIDED);
                number(out, *transaction);
                out.push(u8::from(outcome.is_ok()));
                if let Err(failed) = outcome {
                    number(out, failed.shard.map_or(0, |shard| u64::from(shard) + 1));
                    text(out, failed.code);
                    text(out, failed.reason);
                }
            }
            Event::Confirmed { message } => {
                out.push(CONFIRMED);
                number(out, *message);
            }
            Event::Prepared { from, transaction, items } => {
                out.push(PREPARED);
                from.encode(out);
                number(out, *transaction);
                encode_items(out, items, time, Role::Participant);
            }
            Event::Refused { from, code, reason } => {
                out.push(REFUSED);
                from.encode(out);
                text(out, code);
                text(out, reason);
            }
            Event::Settled { from, prepare, transaction, booked, decided } => {
                out.push(SETTLED);
                from.encode(out);
                number(out, *prepare);
                number(out, *transaction);
                match decided.filter(|_| *booked) {
                    None => out.push(u8::from(*booked)),
                    Some(decided) => {
                        out.push(2);
                        timestamp(out, time, decided);
                    }
                }
            }
        }
    }

    /// Reads an event, without its length, to its end.
    pub(crate) fn decode(bytes: &'a [u8], time: Time) -> Result<Self, Corrupt> {
        let input = &mut Reader::new(bytes);
        let event = Self::decode_parts(input, time)?;
        if !input.is_empty() {
            return Err(corrupt("an event is shorter than its stated length"));
        }
        Ok(event)
    }

    fn decode_parts(input: &mut Reader<'a>, time: Time) -> Result<Self, Corrupt> {
        Ok(match input.byte()? {
            TRANSFER => {
                let flags = input.byte()?;
                let kind = ItemKind::of(input.byte()?)?;
                if !kind.moves() {
                    return Err(corrupt("a transfer of a kind that moves nothing"));
                }
                let id = id(input)?;
                let content = if flags & LEG == 0 { Some(u64::from_le_bytes(input.array()?)) } else { None };
                let amount = input.number()?;
                let debit = (input.small()?, Line::decode(input)?);
                let credit = (input.small()?, Line::decode(input)?);
                let notes = Notes::decode(input, flags, time)?;
                Event::Transfer(Transferred { kind, id, content, amount, debit, credit, notes })
            }
            ASSET => {
                let asset = input.small()?;
                Event::Asset { asset, scale: input.byte()?, code: input.text()? }
            }
            OPENED => {
                let account = input.small()?;
                let asset = input.small()?;
                let rules = read_rules(input)?;
                Event::Opened { account, asset, rules, wallet: input.text()? }
            }
            CHANGED => {
                let account = input.small()?;
                Event::Changed { account, rules: read_rules(input)? }
            }
            HELD => {
                let what = read_promised(input, time)?;
                Event::Held { what, expires: input.timestamp(time)? }
            }
            VOIDED => Event::Voided(read_promised(input, time)?),
            EXPIRED => Event::Expired { hold: id(input)? },
            SEAL => {
                let number = input.number()?;
                Event::Seal { number, records: input.number()?, root: input.array()? }
            }
            PRINCIPAL => Event::Principal(input.text()?),
            BEGAN => {
                let transaction = input.number()?;
                let linked = input.byte()? == 1;
                let items = Cow::Owned(decode_items(input, time, Role::Coordinator)?);
                Event::Began { transaction, linked, items }
            }
            VOTED => Event::Voted { message: input.number()? },
            DECIDED => {
                let transaction = input.number()?;
                let outcome = match input.byte()? {
                    1 => Ok(()),
                    0 => {
                        let shard = match input.small::<u32>()? {
                            0 => None,
                            shard => Some(
                                u16::try_from(shard - 1)
                                    .map_err(|_| corrupt("a shard's number out of bounds"))?,
                            ),
                        };
                        Err(Failed { shard, code: input.text()?, reason: input.text()? })
                    }
                    other => return Err(corrupt(format!("the unknown outcome {other} of a transaction"))),
                };
                Event::Decided { transaction, outcome }
            }
            CONFIRMED => Event::Confirmed { message: input.number()? },
            PREPARED => {
                let from = From::decode(input)?;
                let transaction = input.number()?;
                let items = Cow::Owned(decode_items(input, time, Role::Participant)?);
                Event::Prepared { from, transaction, items }
            }
            REFUSED => {
                let from = From::decode(input)?;
                Event::Refused { from, code: input.text()?, reason: input.text()? }
            }
            SETTLED => {
                let from = From::decode(input)?;
                let prepare = input.number()?;
                let transaction = input.number()?;
                let (booked, decided) = match input.byte()? {
                    0 => (false, None),
                    1 => (true, None),
                    2 => (true, Some(input.timestamp(time)?)),
                    other => return Err(corrupt(format!("the unknown outcome {other} of a transaction"))),
                };
                Event::Settled { from, prepare, transaction, booked, decided }
            }
            other => return Err(corrupt(format!("the unknown event {other}: a newer version wrote it"))),
        })
    }
}

/// The events of a section, each without its length.
pub(crate) struct Events<'a> {
    input: Reader<'a>,
    bytes: &'a [u8],
}

impl<'a> Events<'a> {
    /// Of a section without its chain value.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { input: Reader::new(bytes), bytes }
    }

    fn one(&mut self) -> Result<&'a [u8], Corrupt> {
        let length = self.input.small::<usize>()?;
        let begin = self.input.position();
        self.input.take(length)?;
        Ok(&self.bytes[begin..begin + length])
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<&'a [u8], Corrupt>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.input.is_empty() {
            return None;
        }
        let event = self.one();
        if event.is_err() {
            // What follows cannot be found.
            self.input = Reader::new(&[]);
        }
        Some(event)
    }
}
