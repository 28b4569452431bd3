//! Whether a transfer may be booked, and between which accounts: nothing is changed here.
//!
//! A transfer becomes an *intent*: accounts found, ids looked up. An intent is admitted where
//! balances and rules allow it. In a linked list what the transfers before it would do is laid over
//! the state; in a transaction, where others still have to agree, only what they take counts.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use stadium_state_machine::{busy, home, rejected, unknown as unknown_outcome};

use crate::account::{Account, NONE};
use crate::content::content_of;
use crate::ledger::TRANSIT;
use crate::refusal::{
    ACCOUNT_UNKNOWN, ACCOUNTS_FULL, AMOUNT, ASSET_UNKNOWN, CAPTURE, CEILING, CLOSED, COUNT, HOLD, HOLDS_FULL,
    ID_CONTENT, ID_TWICE, INSUFFICIENT, METADATA, MISDIRECTED, NOT_HELD, NOT_REVERSIBLE, OVERFLOW, PENDING,
    REFERENCE, RESERVED, SAME_ACCOUNT, SHARDS, TRANSFER_UNKNOWN,
};
use crate::remembered::{OTHER, Remembered, State};
use crate::transaction::{Item, ItemKind};
use crate::{AssetCode, Booked, Bounds, Kind, Ledger, NewTransfer, Refusal, Time, TransferId, WalletName};

/// After so long a Busy of a full table may be over.
const FULL_RETRY: u64 = 1_000;

/// After so long a transfer between shards is mostly decided.
const PENDING_RETRY: u64 = 100;

impl NewTransfer {
    /// The shard that decides it, of so many. None where it names only an id: whichever shard knows that decides.
    pub fn home(&self, shards: u16) -> Option<u16> {
        match &self.kind {
            Kind::Post { debit, credit, .. } | Kind::Hold { debit, credit, .. } => Some(
                debit
                    .home(shards)
                    .or_else(|| credit.home(shards))
                    .unwrap_or_else(|| home(&self.id.0.to_be_bytes(), shards)),
            ),
            Kind::Capture { .. } | Kind::Void { .. } | Kind::Reverse { .. } => None,
        }
    }
}

/// One side of a transfer that is about to be booked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Side {
    Here(u32),
    /// The part of a system wallet that is not open yet.
    New(WalletName),
    There(u16, WalletName),
}

impl Side {
    pub(crate) fn is_there(&self) -> bool {
        matches!(self, Side::There(..))
    }
}

/// A transfer that was looked up and not yet admitted.
#[derive(Debug, Clone)]
pub(crate) struct Intent {
    pub(crate) kind: ItemKind,
    pub(crate) content: u64,
    pub(crate) debit: Side,
    pub(crate) credit: Side,
    pub(crate) asset: u16,
    pub(crate) amount: u64,
    /// The hold that it ends, or the transfer that it reverses.
    pub(crate) of: Option<TransferId>,
    /// The place of the hold that it ends, and what that holds.
    pub(crate) hold: (u32, u64),
    /// Of a hold.
    pub(crate) expires: Time,
    /// Of a post between system wallets: the other shard that decides it when it comes alone, and must know that it does not.
    pub(crate) home: Option<u16>,
}

impl Intent {
    /// Whether another shard has to agree.
    pub(crate) fn needs_others(&self) -> bool {
        self.kind.moves() && (self.debit.is_there() || self.credit.is_there() || self.home.is_some())
    }

    /// Whether `@transit` takes a side of it.
    pub(crate) fn needs_transit(&self) -> bool {
        self.kind.moves() && self.debit.is_there() != self.credit.is_there()
    }
}

/// Whether an id is new.
pub(crate) enum Looked {
    New(Intent),
    Known(Booked),
}

/// Whether `execute` would do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// It would.
    New,
    /// All transfers were booked before, with the same content: nothing would be written.
    Known,
}

#[derive(Default, Clone, Copy)]
struct Delta {
    posted: i128,
    held: i128,
    incoming: u128,
}

/// What the transfers of a list would do, laid over the state.
#[derive(Default)]
pub(crate) struct Overlay {
    deltas: HashMap<u32, Delta, FixedState>,
    /// System accounts that would be opened: their keys count down from [`NONE`].
    new: Vec<(WalletName, u16)>,
    ended: Vec<u32>,
    reversed: Vec<TransferId>,
    holds: usize,
    transaction: bool,
}

impl Overlay {
    pub(crate) fn begin(&mut self, transaction: bool) {
        self.deltas.clear();
        self.new.clear();
        self.ended.clear();
        self.reversed.clear();
        self.holds = 0;
        self.transaction = transaction;
    }

    fn key(&mut self, side: &Side, asset: u16) -> u32 {
        match side {
            Side::Here(account) => *account,
            Side::New(name) => {
                let at =
                    self.new.iter().position(|(other, of)| other == name && *of == asset).unwrap_or_else(
                        || {
                            self.new.push((name.clone(), asset));
                            self.new.len() - 1
                        },
                    );
                NONE - at as u32
            }
            // Not laid over: the shard that owns the wallet checks it.
            Side::There(..) => NONE - Bounds::ITEMS_MAX as u32 * 3,
        }
    }

    fn delta(&mut self, side: &Side, asset: u16) -> &mut Delta {
        let key = self.key(side, asset);
        self.deltas.entry(key).or_default()
    }
}

/// An account, as far as a transfer cares.
struct Standing<'a> {
    name: &'a str,
    posted: i128,
    held: i128,
    incoming: i128,
    may_overdraw: bool,
    ceiling: Option<u64>,
    closed: bool,
}

const BALANCE_MAX: i128 = Bounds::AMOUNT_MAX as i128;

impl Standing<'_> {
    fn is_open(&self) -> Result<(), Refusal> {
        if self.closed {
            return Err(rejected(CLOSED, format!("the account of {:?} is closed", self.name)));
        }
        Ok(())
    }

    fn may_give(&self, amount: u64) -> Result<(), Refusal> {
        self.is_open()?;
        let left = self.posted - self.held - i128::from(amount);
        if left < 0 && !self.may_overdraw {
            let available = self.posted - self.held;
            let reason = format!("{:?} has {available} available, and {amount} are to go out", self.name);
            return Err(rejected(INSUFFICIENT, reason));
        }
        if left < -BALANCE_MAX {
            return Err(self.overflow(amount));
        }
        Ok(())
    }

    fn may_take(&self, amount: u64) -> Result<(), Refusal> {
        self.is_open()?;
        let then = self.posted + self.incoming + i128::from(amount);
        if let Some(ceiling) = self.ceiling
            && then > i128::from(ceiling)
        {
            let has = self.posted + self.incoming;
            let reason = format!(
                "{:?} has {has} of at most {ceiling}, what is under way to it included, and {amount} are to come in",
                self.name
            );
            return Err(rejected(CEILING, reason));
        }
        if then > BALANCE_MAX {
            return Err(self.overflow(amount));
        }
        Ok(())
    }

    fn overflow(&self, amount: u64) -> Refusal {
        let reason = format!(
            "the balance of {:?} is {}: with {amount} more it would be out of bounds",
            self.name, self.posted
        );
        rejected(OVERFLOW, reason)
    }
}

/// How many there are in a command.
pub(crate) fn count(items: usize, what: &str) -> Result<(), Refusal> {
    if items == 0 || items > Bounds::ITEMS_MAX {
        let reason = format!("it names {items} {what}: 1 to {} are allowed", Bounds::ITEMS_MAX);
        return Err(rejected(COUNT, reason));
    }
    Ok(())
}

fn amount_fits(amount: u64) -> Result<(), Refusal> {
    if amount == 0 || amount > Bounds::AMOUNT_MAX {
        let reason = format!("the amount {amount} is not one of 1 to {}", Bounds::AMOUNT_MAX);
        return Err(rejected(AMOUNT, reason));
    }
    Ok(())
}

fn notes_fit(transfer: &NewTransfer) -> Result<(), Refusal> {
    let reference = &transfer.reference;
    if reference.len() > Bounds::REFERENCE_BYTES_MAX {
        let reason = format!(
            "the reference has {} bytes: {} are allowed",
            reference.len(),
            Bounds::REFERENCE_BYTES_MAX
        );
        return Err(rejected(REFERENCE, reason));
    }
    if reference.chars().any(char::is_control) {
        return Err(rejected(REFERENCE, "the reference holds control characters"));
    }
    if transfer.metadata.len() > Bounds::METADATA_BYTES_MAX {
        let reason = format!(
            "the metadata has {} bytes: {} are allowed",
            transfer.metadata.len(),
            Bounds::METADATA_BYTES_MAX
        );
        return Err(rejected(METADATA, reason));
    }
    Ok(())
}

fn unknown(id: TransferId) -> Refusal {
    rejected(
        TRANSFER_UNKNOWN,
        format!("no transfer {id} is known: it never was, or is not remembered any more"),
    )
}

fn not_held(id: TransferId, why: &str) -> Refusal {
    rejected(NOT_HELD, format!("{id} is no open hold: {why}"))
}

fn not_reversible(id: TransferId, why: &str) -> Refusal {
    rejected(NOT_REVERSIBLE, format!("the transfer {id} cannot be reversed: {why}"))
}

fn other_content(id: TransferId) -> Refusal {
    let reason =
        format!("the id {id} was used for another transfer: an id names one transfer with one content");
    rejected(ID_CONTENT, reason)
}

/// Why an id that is in a transaction which is not decided is not taken again. The same transfer
/// may yet be booked: it is [`Refusal::Unknown`].
fn not_twice(items: &[Item], id: TransferId, content: u64) -> Refusal {
    let item = items.iter().find(|item| item.id == id).expect("its ids are in it");
    if item.content != Some(content) {
        return other_content(id);
    }
    let reason = format!("the transfer {id} is being decided with another shard: ask again with the same id");
    unknown_outcome(PENDING, PENDING_RETRY, reason)
}

/// Why a transfer that needs another one cannot be decided yet: nothing of it happened.
fn under_way(id: TransferId) -> Refusal {
    busy(PENDING, PENDING_RETRY, format!("another shard is asked about the transfer {id}: ask again"))
}

impl Ledger {
    /// Checks a command's list as a whole: how many, and no id twice.
    pub(crate) fn list_fits(
        &self,
        transfers: &[NewTransfer],
        ids: &mut Vec<TransferId>,
    ) -> Result<(), Refusal> {
        count(transfers.len(), "transfers")?;
        if transfers.len() > 1 {
            ids.clear();
            ids.extend(transfers.iter().map(|transfer| transfer.id));
            ids.sort_unstable();
            if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(rejected(ID_TWICE, format!("the command names the id {} twice", twice[0])));
            }
        }
        Ok(())
    }

    /// Looks up everything that a transfer names.
    #[inline]
    pub(crate) fn look_at(&self, transfer: &NewTransfer, linked: bool) -> Result<Looked, Refusal> {
        let content = content_of(transfer);
        if let Some(booked) = self.known(transfer.id, content)? {
            return Ok(Looked::Known(booked));
        }
        notes_fit(transfer)?;
        let intent = match &transfer.kind {
            Kind::Post { debit, credit, asset, amount } => {
                let home = self.other_home(transfer);
                if let Some(home) = home.filter(|_| !linked) {
                    let reason = format!(
                        "{} is decided on shard {home}, and this is {}",
                        transfer.id, self.place.shard
                    );
                    return Err(rejected(MISDIRECTED, reason));
                }
                let (asset, debit, credit) = self.sides(debit, credit, asset, *amount, linked)?;
                Intent {
                    home,
                    kind: ItemKind::Post,
                    content,
                    debit,
                    credit,
                    asset,
                    amount: *amount,
                    of: None,
                    hold: (NONE, 0),
                    expires: Time(0),
                }
            }
            Kind::Hold { debit, credit, asset, amount, expires_after } => {
                if debit.is_system() {
                    return Err(rejected(HOLD, format!("{debit} is a system wallet: it is not held")));
                }
                if *expires_after < Bounds::HOLD_MIN || *expires_after > Bounds::HOLD_MAX {
                    let (min, max) = (Bounds::HOLD_MIN, Bounds::HOLD_MAX);
                    let reason = format!("a hold of {expires_after} ms: {min} ms to {max} ms are allowed");
                    return Err(rejected(HOLD, reason));
                }
                let (asset, debit, credit) = self.sides(debit, credit, asset, *amount, linked)?;
                if debit.is_there() {
                    let reason = "a hold in a linked list must be of a wallet on the shard of the list's first transfer";
                    return Err(rejected(SHARDS, reason));
                }
                Intent {
                    home: None,
                    kind: ItemKind::Hold,
                    content,
                    debit,
                    credit,
                    asset,
                    amount: *amount,
                    of: None,
                    hold: (NONE, 0),
                    expires: self.now.after(*expires_after),
                }
            }
            Kind::Capture { hold, amount } => self.ending(ItemKind::Capture, content, *hold, *amount)?,
            Kind::Void { hold } => self.ending(ItemKind::Void, content, *hold, None)?,
            Kind::Reverse { transfer } => self.reversing(content, *transfer)?,
        };
        Ok(Looked::New(intent))
    }

    /// The first answer to an id, if it was used before.
    #[inline]
    fn known(&self, id: TransferId, content: u64) -> Result<Option<Booked>, Refusal> {
        let (first, at) = if let Some(place) = self.find_remembered(id) {
            let entry = self.remembered.at(place);
            (entry.content, entry.time())
        } else if let Some(place) = self.find_hold(id) {
            let hold = self.holds.at(place);
            (hold.content, hold.at)
        } else if let Some(&place) = self.pending.get(&id) {
            let transaction = self.transactions.at(place);
            return Err(not_twice(&transaction.items, id, content));
        } else if let Some(&place) = self.promised.get(&id) {
            return Err(not_twice(&self.prepared.at(place).items, id, content));
        } else {
            return Ok(None);
        };
        if first != content {
            return Err(other_content(id));
        }
        Ok(Some(Booked { transfer: id, at, duplicate: true }))
    }

    /// Whether a transfer that is decided here when it comes alone may be decided by another shard, in a list with others: it was not booked
    /// before, and nobody else is about to.
    pub(crate) fn may_be_decided_by(&self, shard: u16, id: TransferId, content: u64) -> Result<(), Refusal> {
        let lists = if let Some(&place) = self.pending.get(&id) {
            self.transactions.at(place).linked.then_some(self.place.shard)
        } else if let Some(&place) = self.promised.get(&id) {
            Some(self.prepared.at(place).from)
        } else {
            return match self.known(id, content)? {
                None => Ok(()),
                Some(_) => {
                    let reason = format!("the transfer {id} was booked before, and not with this list");
                    Err(rejected(ID_CONTENT, reason))
                }
            };
        };
        // Of two lists with a common id the one of the higher shard gives way, so that they never wait for each other.
        match lists {
            Some(other) if other < shard => {
                Err(rejected(ID_CONTENT, format!("the transfer {id} is under way with another list")))
            }
            _ => Err(under_way(id)),
        }
    }

    /// The other shard that decides a transfer between system wallets when it comes alone.
    #[inline]
    fn other_home(&self, transfer: &NewTransfer) -> Option<u16> {
        let Kind::Post { debit, credit, .. } = &transfer.kind else { return None };
        if self.place.shards <= 1 || !debit.is_system() || !credit.is_system() {
            return None;
        }
        transfer.home(self.place.shards).filter(|&home| home != self.place.shard)
    }

    /// The asset, and the two accounts.
    #[inline]
    fn sides(
        &self,
        debit: &WalletName,
        credit: &WalletName,
        asset: &AssetCode,
        amount: u64,
        linked: bool,
    ) -> Result<(u16, Side, Side), Refusal> {
        amount_fits(amount)?;
        if debit == credit {
            let reason = format!("{debit} is to be debited and credited: name two wallets");
            return Err(rejected(SAME_ACCOUNT, reason));
        }
        let asset = self.known_asset(asset)?;
        let me = self.place.shard;
        let (debit_shard, credit_shard) = if self.place.shards <= 1 {
            (me, me)
        } else {
            let shards = self.place.shards;
            let (of_debit, of_credit) = (debit.home(shards), credit.home(shards));
            (of_debit.or(of_credit).unwrap_or(me), of_credit.or(of_debit).unwrap_or(me))
        };
        if debit_shard != me && !linked {
            let reason = format!("{debit} lives on shard {debit_shard}, and this is {me}");
            return Err(rejected(MISDIRECTED, reason));
        }
        Ok((asset, self.side(debit, asset, debit_shard)?, self.side(credit, asset, credit_shard)?))
    }

    pub(crate) fn known_asset(&self, asset: &AssetCode) -> Result<u16, Refusal> {
        self.find_asset(asset)
            .ok_or_else(|| rejected(ASSET_UNKNOWN, format!("there is no asset {asset}: declare it first")))
    }

    #[inline]
    pub(crate) fn side(&self, wallet: &WalletName, asset: u16, shard: u16) -> Result<Side, Refusal> {
        if wallet.is_system() && wallet.as_str() == TRANSIT {
            return Err(rejected(RESERVED, format!("the wallet {TRANSIT} is the shards' own")));
        }
        if shard != self.place.shard {
            return Ok(Side::There(shard, wallet.clone()));
        }
        match self.find_account(wallet, asset) {
            Some(account) => Ok(Side::Here(account)),
            None if wallet.is_system() => Ok(Side::New(wallet.clone())),
            None => Err(self.unknown_account(wallet, asset)),
        }
    }

    pub(crate) fn unknown_account(&self, wallet: &WalletName, asset: u16) -> Refusal {
        let code = &self.assets[usize::from(asset)].code;
        rejected(ACCOUNT_UNKNOWN, format!("{:?} has no account of {code}: open it first", wallet.as_str()))
    }

    /// A party that is remembered, as a side.
    fn side_of(&self, party: u32) -> Side {
        if party & OTHER == 0 {
            return Side::Here(party);
        }
        let other = self.others.at(party & !OTHER);
        Side::There(other.shard, other.name.clone())
    }

    /// A capture or a void.
    fn ending(
        &self,
        kind: ItemKind,
        content: u64,
        id: TransferId,
        amount: Option<u64>,
    ) -> Result<Intent, Refusal> {
        if let Some(amount) = amount {
            amount_fits(amount)?;
        }
        let Some(place) = self.find_hold(id) else {
            return Err(if self.pending.contains_key(&id) {
                under_way(id)
            } else {
                match self.find_decided(id).map(|place| self.remembered.at(place).state()) {
                    None => unknown(id),
                    Some(State::Captured) => not_held(id, "it was captured"),
                    Some(State::Voided) => not_held(id, "it was voided"),
                    Some(State::Expired) => not_held(id, "its time was over"),
                    Some(_) => not_held(id, "it is a transfer of another kind"),
                }
            });
        };
        let hold = self.holds.at(place);
        if hold.locked {
            return Err(under_way(id));
        }
        if hold.expires <= self.now {
            return Err(not_held(id, "its time is over"));
        }
        let amount = amount.unwrap_or(hold.amount);
        if amount > hold.amount {
            let reason = format!("{amount} are to be captured, and {id} holds {}", hold.amount);
            return Err(rejected(CAPTURE, reason));
        }
        Ok(Intent {
            home: None,
            kind,
            content,
            debit: Side::Here(hold.debit),
            credit: self.side_of(hold.credit),
            asset: self.accounts.at(hold.debit).asset,
            amount,
            of: Some(id),
            hold: (place, hold.amount),
            expires: Time(0),
        })
    }

    fn reversing(&self, content: u64, id: TransferId) -> Result<Intent, Refusal> {
        let Some(named) = self.find_decided(id) else {
            return Err(if self.pending.contains_key(&id) { under_way(id) } else { unknown(id) });
        };
        let mut place = named;
        if self.remembered.at(named).state() == State::Captured {
            // A hold is remembered before its capture, so it is forgotten before it too.
            let (capture, half) = self.remembered.at(named).capture();
            let is_it = |entry: &Remembered| entry.id().0 as u32 == half && entry.state() != State::Forgotten;
            if !self.remembered.get(capture).is_some_and(is_it) {
                return Err(unknown(id));
            }
            place = capture;
        }
        let entry = self.remembered.at(place);
        match entry.state() {
            State::Posted => {}
            State::Reversed => return Err(not_reversible(id, "it was reversed")),
            State::Reversal => return Err(not_reversible(id, "it is a reversal itself")),
            State::Held => return Err(not_reversible(id, "it is held: void it")),
            State::Captured | State::Voided | State::Expired | State::Forgotten | State::Elsewhere => {
                return Err(not_reversible(id, "it moved nothing"));
            }
        }
        if self.reversing.contains(&entry.id()) {
            return Err(under_way(id));
        }
        let (debit, credit) = (self.side_of(entry.credit), self.side_of(entry.debit));
        let asset = match (&debit, &credit) {
            (Side::Here(account), _) | (_, Side::Here(account)) => self.accounts.at(*account).asset,
            _ => return Err(not_reversible(id, "both of its wallets live on other shards")),
        };
        Ok(Intent {
            home: None,
            kind: ItemKind::Reverse,
            content,
            debit,
            credit,
            asset,
            amount: entry.amount,
            of: Some(entry.id()),
            hold: (NONE, 0),
            expires: Time(0),
        })
    }

    /// The side of `@transit`.
    fn transit_side(&self, asset: u16) -> Side {
        match self.assets[usize::from(asset)].transit {
            NONE => Side::New(WalletName::new(TRANSIT).expect("it is a name")),
            transit => Side::Here(transit),
        }
    }

    fn standing<'a>(&'a self, side: &'a Side, delta: Delta) -> Option<Standing<'a>> {
        let account: &Account = match side {
            Side::Here(account) => self.accounts.at(*account),
            Side::New(name) => {
                return Some(Standing {
                    name: name.as_str(),
                    posted: delta.posted,
                    held: delta.held,
                    incoming: delta.incoming as i128,
                    may_overdraw: true,
                    ceiling: None,
                    closed: false,
                });
            }
            Side::There(..) => return None,
        };
        let extra = self.extra(account);
        Some(Standing {
            name: account.name.as_str(),
            posted: i128::from(account.posted) + delta.posted,
            held: i128::from(account.held) + delta.held,
            incoming: extra.map_or(0, |extra| i128::from(extra.incoming)) + delta.incoming as i128,
            may_overdraw: account.may_overdraw(),
            ceiling: extra.filter(|_| account.has_ceiling()).map(|extra| extra.ceiling),
            closed: account.is_closed(),
        })
    }

    /// Whether balances and rules allow it, after what is laid over them.
    #[inline]
    pub(crate) fn admit(&self, intent: &Intent, mut list: Option<&mut Overlay>) -> Result<(), Refusal> {
        let asset = intent.asset;
        let transit;
        let (debit, credit) = match (&intent.debit, &intent.credit) {
            (Side::There(..), here @ (Side::Here(_) | Side::New(_))) => {
                transit = self.transit_side(asset);
                (&transit, here)
            }
            (here @ (Side::Here(_) | Side::New(_)), Side::There(..)) if intent.kind.moves() => {
                transit = self.transit_side(asset);
                (here, &transit)
            }
            sides => sides,
        };
        let sides = (debit, credit);
        let mut delta_of =
            |side: &Side| list.as_deref_mut().map_or_else(Delta::default, |list| *list.delta(side, asset));
        let debit = self.standing(debit, delta_of(debit));
        let credit = self.standing(credit, delta_of(credit));
        match intent.kind {
            ItemKind::Post | ItemKind::Reverse => {
                debit.map_or(Ok(()), |debit| debit.may_give(intent.amount))?;
                credit.map_or(Ok(()), |credit| credit.may_take(intent.amount))?;
            }
            ItemKind::Capture => {
                match debit {
                    // Elsewhere the hold is: here `@transit` gives what it brings.
                    Some(debit) if intent.hold.0 == NONE => debit.may_give(intent.amount)?,
                    Some(debit) => debit.is_open()?,
                    None => {}
                }
                credit.map_or(Ok(()), |credit| credit.may_take(intent.amount))?;
            }
            ItemKind::Hold => {
                debit.map_or(Ok(()), |debit| debit.may_give(intent.amount))?;
                credit.map_or(Ok(()), |credit| credit.is_open())?;
                let holds = self.holds.len() + list.as_deref().map_or(0, |list| list.holds);
                if holds >= self.bounds.holds_max as usize {
                    let reason =
                        format!("there are {holds} open holds on the shard, as many as holds_max allows");
                    return Err(busy(HOLDS_FULL, FULL_RETRY, reason));
                }
            }
            ItemKind::Void => {}
        }
        let new = usize::from(matches!(intent.debit, Side::New(_)))
            + usize::from(matches!(intent.credit, Side::New(_)));
        // In a list the new ones were counted by their keys.
        let opened = list.as_deref().map_or(new, |list| list.new.len());
        if new > 0 && self.accounts.len() + opened > self.bounds.accounts_max as usize {
            return Err(self.accounts_full());
        }
        list.map_or(Ok(()), |list| list.lay(intent, sides))
    }

    pub(crate) fn accounts_full(&self) -> Refusal {
        let reason = format!(
            "there are {} accounts on the shard, as many as accounts_max allows: raise it",
            self.accounts.len()
        );
        busy(ACCOUNTS_FULL, 10_000, reason)
    }
}

impl Overlay {
    /// Lays over what an intent would do that was admitted, between these sides.
    fn lay(&mut self, intent: &Intent, (debit, credit): (&Side, &Side)) -> Result<(), Refusal> {
        let (asset, amount) = (intent.asset, i128::from(intent.amount));
        let of = intent.of.unwrap_or_default();
        if intent.hold.0 != NONE {
            if self.ended.contains(&intent.hold.0) {
                return Err(not_held(of, "the list ends it twice"));
            }
            self.ended.push(intent.hold.0);
        } else if intent.kind == ItemKind::Reverse {
            if self.reversed.contains(&of) {
                return Err(not_reversible(of, "the list reverses it twice"));
            }
            self.reversed.push(of);
        }
        if intent.kind == ItemKind::Hold {
            self.holds += 1;
            self.delta(debit, asset).held += amount;
            return Ok(());
        }
        if self.transaction {
            if intent.kind.moves() {
                if intent.hold.0 == NONE {
                    self.delta(debit, asset).held += amount;
                }
                self.delta(credit, asset).incoming += amount as u128;
            }
            return Ok(());
        }
        self.delta(debit, asset).held -= i128::from(intent.hold.1);
        if intent.kind.moves() {
            self.delta(debit, asset).posted -= amount;
            self.delta(credit, asset).posted += amount;
        }
        Ok(())
    }
}
