//! The books of one shard, recounted event by event.
//!
//! Every event is checked against the state before it. After an error the books go on with the
//! journal's values, so that one mistake is reported once. Events that involve several shards are
//! collected for [`crate::groups`].

use std::collections::{BTreeMap, VecDeque};

use crate::chain;
use crate::event::{Entry, Event, Item, ItemKind, JUMPS, MoveKind, Moved, Party, Promise, Rules};
use crate::groups::{Groups, Key, Names, Outstanding};
use crate::id;
use crate::problem::{Kind, Problem, Spot};
use crate::section::Section;
use crate::tree::{self, Hash};

/// The wallet that stands for other shards.
pub(crate) const TRANSIT: &str = "@transit";

#[derive(Debug, Clone)]
pub(crate) struct Asset {
    pub(crate) code: String,
    pub(crate) scale: u8,
}

#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) wallet: String,
    pub(crate) asset: u32,
    pub(crate) rules: Rules,
    pub(crate) posted: i128,
    /// By open holds.
    pub(crate) held: u128,
    /// By groups that are not decided.
    pub(crate) going: u128,
    /// Promised to it by groups that are not decided.
    pub(crate) coming: u128,
    pub(crate) entries: u64,
    /// Where the last entry stands.
    last: u64,
    /// Where each 64th entry stands.
    every_64th: Vec<u64>,
}

/// One side of a transfer: an account here, or a wallet of another shard.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Side {
    Here(u32),
    There(Box<str>),
}

impl Side {
    fn of(party: &Party<'_>) -> Self {
        match *party {
            Party::Here(account) => Side::Here(account),
            Party::There { wallet, .. } => Side::There(wallet.into()),
        }
    }
}

/// An open hold.
#[derive(Debug)]
struct Hold {
    amount: u64,
    debit: Side,
    credit: Side,
    expires: u64,
}

/// A transfer of a group that began here.
#[derive(Debug)]
struct Begun {
    kind: ItemKind,
    id: u128,
    amount: u64,
    debit: Side,
    credit: Side,
    of: Option<u128>,
    expires: u64,
}

/// An id that was booked.
#[derive(Debug)]
struct Known {
    /// The place, for reports.
    position: u64,
    what: What,
    reversed: bool,
}

/// What an id did.
#[derive(Debug)]
enum What {
    /// It moved an amount.
    Moved { debit: Side, credit: Side, amount: u64 },
    /// It held something, or ended a hold.
    Hold,
    /// Another shard booked it, in a list with others: alone it would be booked here.
    Elsewhere,
}

/// The books of one shard.
#[derive(Debug)]
pub(crate) struct Books {
    shard: u16,
    /// The number of all shards, where it is known.
    shards: Option<u16>,
    remembered: usize,
    pub(crate) assets: Vec<Asset>,
    pub(crate) accounts: Vec<Account>,
    by_name: BTreeMap<(String, u32), u32>,
    holds: BTreeMap<u128, Hold>,
    known: BTreeMap<u128, Known>,
    order: VecDeque<u128>,
    forgotten: bool,
    outstanding: BTreeMap<Key, Vec<Outstanding>>,
    begun: BTreeMap<u64, Vec<Begun>>,
    /// Ids of other shards' groups that would be decided here alone, until these are decided.
    promised: BTreeMap<Key, Vec<u128>>,
    /// The latest timestamp of a record.
    now: u64,
    leaves: Vec<Hash>,
    pub(crate) root: Hash,
    pub(crate) chain: Hash,
    pub(crate) seals: u64,
    pub(crate) records: u64,
    pub(crate) transfers: u64,
}

/// What is going on in one record.
struct Turn<'t> {
    spot: Spot,
    time: u64,
    /// The group whose decision this record books.
    group: Option<Key>,
    /// Accounts that are to be looked at when the record is done; whether their ceiling is.
    touched: BTreeMap<u32, bool>,
    groups: &'t mut Groups,
    problems: &'t mut dyn FnMut(Problem),
}

impl Turn<'_> {
    fn wrong(&mut self, kind: Kind, what: impl Into<String>) {
        (self.problems)(self.spot.problem(kind, what));
    }
}

impl Books {
    pub(crate) fn new(shard: u16, shards: Option<u16>, remembered: usize) -> Self {
        Self {
            shard,
            shards,
            remembered,
            assets: Vec::new(),
            accounts: Vec::new(),
            by_name: BTreeMap::new(),
            holds: BTreeMap::new(),
            known: BTreeMap::new(),
            order: VecDeque::new(),
            forgotten: false,
            outstanding: BTreeMap::new(),
            begun: BTreeMap::new(),
            promised: BTreeMap::new(),
            now: 0,
            leaves: Vec::new(),
            root: chain::beginning(shard),
            chain: chain::beginning(shard),
            seals: 0,
            records: 0,
            transfers: 0,
        }
    }

    pub(crate) fn unsealed(&self) -> usize {
        self.leaves.len()
    }

    pub(crate) fn open_holds(&self) -> usize {
        self.holds.len()
    }

    /// Takes in the events of a record.
    pub(crate) fn record(
        &mut self,
        spot: Spot,
        section: &Section<'_>,
        groups: &mut Groups,
        problems: &mut dyn FnMut(Problem),
    ) {
        self.now = self.now.max(section.time);
        let mut turn =
            Turn { spot, time: section.time, group: None, touched: BTreeMap::new(), groups, problems };
        for event in &section.events {
            match Event::parse(event, section.time) {
                Ok(event) => self.event(&mut turn, event),
                Err(what) => turn.wrong(Kind::Unreadable, what),
            }
        }
        self.look_at_touched(&mut turn);
        self.records += 1;
        self.chain = section.chain;
        self.leaves.push(chain::period_leaf(&section.chain));
    }

    fn event(&mut self, turn: &mut Turn<'_>, event: Event<'_>) {
        match event {
            Event::Asset { asset, scale, code } => self.asset(turn, asset, scale, code),
            Event::Opened { account, asset, rules, wallet } => {
                self.opened(turn, account, asset, rules, wallet)
            }
            Event::Changed { account, rules } => self.changed(turn, account, rules),
            Event::Transfer(moved) => self.transfer(turn, &moved),
            Event::Held { hold, expires } => self.held(turn, &hold, expires),
            Event::Voided(void) => self.voided(turn, &void),
            Event::Expired { id } => self.expired(turn, id),
            Event::Seal { number, records, root } => self.seal(turn, number, records, root),
            Event::Principal => {}
            Event::Began { group, items } => {
                let key = (self.shard, group);
                let outstanding = turn.groups.began(turn.spot, group, &items, self);
                self.promise(turn, key, outstanding);
                self.begun.insert(group, items.iter().map(Begun::of).collect());
            }
            Event::Voted { message } => {
                let problem = turn.groups.voted(turn.spot, message);
                problem.into_iter().for_each(|problem| (turn.problems)(problem));
            }
            Event::Decided { group, booked, refused_by } => {
                let key = (self.shard, group);
                let problem = turn.groups.decided(turn.spot, group, booked, refused_by);
                problem.into_iter().for_each(|problem| (turn.problems)(problem));
                self.release(turn, key);
                turn.group = booked.then_some(key);
                for begun in self.begun.remove(&group).unwrap_or_default() {
                    if booked {
                        self.decided(turn, begun);
                    }
                }
            }
            Event::Confirmed { message } => {
                let problem = turn.groups.confirmed(turn.spot, message);
                problem.into_iter().for_each(|problem| (turn.problems)(problem));
            }
            Event::Prepared { from, group, items } => {
                let (outstanding, problem) = turn.groups.prepared(turn.spot, from, group, &items, self);
                problem.into_iter().for_each(|problem| (turn.problems)(problem));
                self.promise(turn, (from.shard, group), outstanding);
                let ids = items.iter().filter(|item| item.content.is_some()).map(|item| item.id).collect();
                self.promised.insert((from.shard, group), ids);
            }
            Event::Refused { .. } => {}
            Event::Settled { from, prepare, group, booked } => {
                let key = (from.shard, group);
                let problem = turn.groups.settled(turn.spot, from, prepare, group, booked);
                problem.into_iter().for_each(|problem| (turn.problems)(problem));
                self.release(turn, key);
                turn.group = booked.then_some(key);
                for id in self.promised.remove(&key).unwrap_or_default().into_iter().filter(|_| booked) {
                    self.remember(turn, id, What::Elsewhere);
                }
            }
        }
    }

    fn named(&self, account: u32) -> String {
        match self.accounts.get(account as usize) {
            Some(one) => format!("{}'s {}", one.wallet, self.code(one.asset)),
            None => format!("account {account}"),
        }
    }

    fn asset(&mut self, turn: &mut Turn<'_>, asset: u32, scale: u8, code: &str) {
        if asset as usize != self.assets.len() {
            turn.wrong(Kind::Order, format!("asset {asset} is declared, and {} is next", self.assets.len()));
        }
        if self.assets.iter().any(|one| one.code == code) {
            turn.wrong(Kind::Order, format!("the asset {code} is declared twice"));
        }
        self.assets.push(Asset { code: code.to_owned(), scale });
    }

    fn opened(&mut self, turn: &mut Turn<'_>, account: u32, asset: u32, rules: Rules, wallet: &str) {
        if account as usize != self.accounts.len() {
            turn.wrong(
                Kind::Order,
                format!("account {account} is opened, and {} is next", self.accounts.len()),
            );
        }
        if asset as usize >= self.assets.len() {
            turn.wrong(Kind::Unknown, format!("{wallet} gets an account of an asset {asset}, which is none"));
        }
        if self.shards.and_then(|shards| home(wallet, shards)).is_some_and(|home| home != self.shard) {
            turn.wrong(Kind::Home, format!("{wallet} was opened here, and belongs elsewhere by its name"));
        }
        let number = u32::try_from(self.accounts.len()).unwrap_or(u32::MAX);
        if self.by_name.insert((wallet.to_owned(), asset), number).is_some() {
            turn.wrong(Kind::Order, format!("{wallet} got a second account of {}", self.code(asset)));
        }
        self.accounts.push(Account {
            wallet: wallet.to_owned(),
            asset,
            rules,
            posted: 0,
            held: 0,
            going: 0,
            coming: 0,
            entries: 0,
            last: 0,
            every_64th: Vec::new(),
        });
    }

    fn changed(&mut self, turn: &mut Turn<'_>, account: u32, rules: Rules) {
        match self.accounts.get_mut(account as usize) {
            Some(one) => {
                one.rules = rules;
                turn.touched.entry(account).or_default();
            }
            None => turn.wrong(Kind::Unknown, format!("account {account} changes, which is none")),
        }
    }

    fn transfer(&mut self, turn: &mut Turn<'_>, moved: &Moved<'_>) {
        // Texts are made only where something is wrong: there are many transfers.
        let shown = || id::show(moved.id);
        let Some((debit, credit)) = self.both(moved.debit, moved.credit) else {
            return turn
                .wrong(Kind::Unknown, format!("the transfer {} names an account that is none", shown()));
        };
        if debit.asset != credit.asset {
            turn.wrong(Kind::Sum, format!("the transfer {} takes one asset and gives another", shown()));
        }
        if moved.debit == moved.credit || moved.amount == 0 {
            turn.wrong(Kind::Sum, format!("the transfer {} moves nothing, or nowhere", shown()));
        }
        let is_transit = debit.wallet == TRANSIT || credit.wallet == TRANSIT;
        if is_transit != moved.more.other.is_some() {
            turn.wrong(
                Kind::Group,
                format!("the transfer {} names another shard's wallet, or {TRANSIT}, alone", shown()),
            );
        }
        if moved.of_group != turn.group.is_some() || (is_transit && !moved.of_group) {
            turn.wrong(
                Kind::Group,
                format!("the transfer {} was booked without the decision of its shards", shown()),
            );
        }
        match turn.group {
            Some(group) => {
                let (from, to) = (self.true_name(moved.debit, moved), self.true_name(moved.credit, moved));
                let kind = match moved.kind {
                    MoveKind::Post => ItemKind::Post,
                    MoveKind::Capture => ItemKind::Capture,
                    MoveKind::Reverse => ItemKind::Reverse,
                };
                turn.groups.booked(self.shard, group, (kind, moved.id, moved.amount, from, to));
            }
            None => {
                for account in [moved.debit, moved.credit] {
                    self.open_or_reported(turn, account, moved.id);
                }
            }
        }
        if !moved.of_group {
            let (debit, credit) = (Side::Here(moved.debit), Side::Here(moved.credit));
            match moved.kind {
                MoveKind::Post => {}
                MoveKind::Capture => {
                    self.captured(turn, moved.id, moved.more.of, (&debit, &credit, moved.amount))
                }
                MoveKind::Reverse => {
                    self.reversed(turn, moved.id, moved.more.of, (&debit, &credit, moved.amount))
                }
            }
            self.remember(turn, moved.id, What::Moved { debit, credit, amount: moved.amount });
        }
        let amount = i128::from(moved.amount);
        self.entry(turn, moved.debit, -amount, &moved.debit_entry, moved.id);
        self.entry(turn, moved.credit, amount, &moved.credit_entry, moved.id);
        turn.touched.entry(moved.debit).or_default();
        // Amounts that a group counted in before may exceed a ceiling that was set since.
        *turn.touched.entry(moved.credit).or_default() |= turn.group.is_none();
        self.transfers += 1;
    }

    /// The true wallet on a side of a transfer.
    fn true_name(&self, account: u32, moved: &Moved<'_>) -> String {
        match (self.party(account), moved.more.other) {
            (wallet, Some(other)) if wallet == TRANSIT => other.to_owned(),
            (wallet, _) => wallet,
        }
    }

    fn both(&self, debit: u32, credit: u32) -> Option<(&Account, &Account)> {
        Some((self.accounts.get(debit as usize)?, self.accounts.get(credit as usize)?))
    }

    fn open_or_reported(&self, turn: &mut Turn<'_>, account: u32, id: u128) {
        if self.accounts.get(account as usize).is_some_and(|one| one.rules.closed) {
            let (shown, named) = (id::show(id), self.named(account));
            turn.wrong(Kind::Closed, format!("{shown} was booked on {named}, which is closed"));
        }
    }

    /// A line in an account's history.
    fn entry(&mut self, turn: &mut Turn<'_>, account: u32, amount: i128, entry: &Entry, id: u128) {
        let one = &mut self.accounts[account as usize];
        let (posted, next) = (one.posted + amount, one.entries.saturating_add(1));
        let distance = |position: u64| if position == 0 { 0 } else { turn.spot.position - position };
        let back = distance(one.last);
        let jumps = JUMPS.iter().filter(|&&jump| entry.number.is_multiple_of(jump)).map(|&jump| match entry
            .number
            .checked_sub(jump)
        {
            None | Some(0) => 0,
            Some(before) => one.every_64th.get(before as usize / 64 - 1).copied().map_or(0, distance),
        });
        let leads_back = back == entry.back && jumps.eq(entry.jumps.iter().copied());
        one.last = turn.spot.position;
        one.posted = i128::from(entry.balance);
        one.entries = entry.number;
        if entry.number.is_multiple_of(64) {
            one.every_64th.push(turn.spot.position);
        }
        if entry.number != next {
            let (shown, named) = (id::show(id), self.named(account));
            let what = format!("{shown} is entry {} of {named}, and {next} is next", entry.number);
            turn.wrong(Kind::Order, what);
        } else if !leads_back {
            let (shown, named) = (id::show(id), self.named(account));
            let what = format!("{shown}: the way back to earlier entries of {named} leads elsewhere");
            turn.wrong(Kind::Order, what);
        }
        if i128::from(entry.balance) != posted {
            let (shown, named, stated) = (id::show(id), self.named(account), entry.balance);
            let what = format!("after {shown} {named} has {posted}, and the record states {stated}");
            turn.wrong(Kind::Balance, what);
        }
    }

    /// An id that may be booked once as long as it is remembered.
    fn remember(&mut self, turn: &mut Turn<'_>, id: u128, what: What) {
        let known = Known { position: turn.spot.position, what, reversed: false };
        if let Some(before) = self.known.insert(id, known) {
            let shown = id::show(id);
            turn.wrong(Kind::Twice, format!("{shown} was booked before, in record {:#x}", before.position));
        } else {
            self.order.push_back(id);
        }
        if self.order.len() > self.remembered
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
            self.forgotten = true;
        }
    }

    fn held(&mut self, turn: &mut Turn<'_>, hold: &Promise<'_>, expires: u64) {
        let shown = id::show(hold.id);
        let Some(one) = self.accounts.get_mut(hold.debit as usize) else {
            return turn.wrong(Kind::Unknown, format!("the hold {shown} is on an account that is none"));
        };
        one.held += u128::from(hold.amount);
        for account in [Some(hold.debit), hold.credit].into_iter().flatten() {
            self.open_or_reported(turn, account, hold.id);
        }
        if expires <= turn.time || hold.amount == 0 {
            turn.wrong(Kind::Hold, format!("the hold {shown} holds nothing, or was over when it began"));
        }
        turn.touched.entry(hold.debit).or_default();
        let (debit, credit) = (Side::Here(hold.debit), promised_to(hold));
        self.holds.insert(hold.id, Hold { amount: hold.amount, debit, credit, expires });
        self.remember(turn, hold.id, What::Hold);
    }

    /// What the decision of a group that began here does besides moving amounts.
    fn decided(&mut self, turn: &mut Turn<'_>, begun: Begun) {
        let Begun { kind, id, amount, debit, credit, of, expires } = begun;
        let shown = id::show(id);
        match kind {
            ItemKind::Post => {}
            ItemKind::Capture => self.captured(turn, id, of, (&debit, &credit, amount)),
            ItemKind::Reverse => self.reversed(turn, id, of, (&debit, &credit, amount)),
            ItemKind::Hold => {
                if let Side::Here(account) = debit
                    && let Some(one) = self.accounts.get_mut(account as usize)
                {
                    one.held += u128::from(amount);
                    turn.touched.entry(account).or_default();
                } else {
                    turn.wrong(Kind::Hold, format!("the hold {shown} is of an account that is not here"));
                }
                self.holds.insert(id, Hold { amount, debit, credit, expires });
                return self.remember(turn, id, What::Hold);
            }
            ItemKind::Void => {
                self.end(turn, of, &shown);
                return self.remember(turn, id, What::Hold);
            }
        }
        self.remember(turn, id, What::Moved { debit, credit, amount });
    }

    /// Ends a hold: what it held is available again.
    fn end(&mut self, turn: &mut Turn<'_>, id: Option<u128>, by: &str) -> Option<Hold> {
        let hold = id.and_then(|id| self.holds.remove(&id));
        match &hold {
            None => {
                let of = id.map(id::show).unwrap_or_default();
                turn.wrong(Kind::Hold, format!("{by} ends the hold {of}, and there is none that is open"));
            }
            Some(hold) => {
                if let Side::Here(account) = hold.debit
                    && let Some(one) = self.accounts.get_mut(account as usize)
                {
                    one.held = one.held.saturating_sub(u128::from(hold.amount));
                }
            }
        }
        hold
    }

    fn captured(&mut self, turn: &mut Turn<'_>, id: u128, of: Option<u128>, moved: (&Side, &Side, u64)) {
        let shown = id::show(id);
        let Some(hold) = self.end(turn, of, &shown) else { return };
        let (debit, credit, amount) = moved;
        if hold.debit != *debit || hold.credit != *credit {
            turn.wrong(Kind::Hold, format!("{shown} captures a hold between other wallets"));
        }
        if amount > hold.amount {
            turn.wrong(Kind::Hold, format!("{shown} captures {amount} of a hold of {}", hold.amount));
        }
    }

    fn voided(&mut self, turn: &mut Turn<'_>, void: &Promise<'_>) {
        let shown = id::show(void.id);
        self.remember(turn, void.id, What::Hold);
        let Some(hold) = self.end(turn, void.more.of, &shown) else { return };
        let of = (hold.amount, hold.debit, hold.credit);
        if of != (void.amount, Side::Here(void.debit), promised_to(void)) {
            turn.wrong(Kind::Hold, format!("{shown} voids {}, and the hold is another one", void.amount));
        }
    }

    fn expired(&mut self, turn: &mut Turn<'_>, id: u128) {
        let shown = id::show(id);
        let Some(hold) = self.end(turn, Some(id), "its time") else { return };
        if hold.expires > self.now {
            let early = hold.expires - self.now;
            turn.wrong(Kind::Hold, format!("the hold {shown} expired {early} ms before its time"));
        }
    }

    fn reversed(&mut self, turn: &mut Turn<'_>, id: u128, of: Option<u128>, moved: (&Side, &Side, u64)) {
        let shown = id::show(id);
        let Some(known) = of.and_then(|of| self.known.get_mut(&of)) else {
            if !self.forgotten {
                turn.wrong(Kind::Reversal, format!("{shown} reverses a transfer that is not in the books"));
            }
            return;
        };
        let was_reversed = std::mem::replace(&mut known.reversed, true);
        let is_same = match &known.what {
            What::Moved { debit, credit, amount } => (credit, debit, *amount) == moved,
            What::Hold | What::Elsewhere => false,
        };
        if was_reversed {
            turn.wrong(Kind::Reversal, format!("{shown} reverses a transfer that was reversed before"));
        }
        if !is_same {
            turn.wrong(Kind::Reversal, format!("{shown} does not move back what the transfer moved"));
        }
    }

    fn seal(&mut self, turn: &mut Turn<'_>, number: u64, records: u64, root: Hash) {
        if Some(number) != self.seals.checked_add(1)
            || records != self.leaves.len() as u64
            || self.leaves.is_empty()
        {
            let (next, leaves) = (self.seals.saturating_add(1), self.leaves.len());
            let what = format!("seal {number} over {records} records; it should be {next}, over {leaves}");
            turn.wrong(Kind::Seal, what);
        } else if chain::seal_root(&self.root, number, &tree::root(&self.leaves)) != root {
            turn.wrong(Kind::Seal, format!("the root of seal {number} is not that of its records"));
        }
        self.leaves.clear();
        self.seals = number;
        self.root = root;
    }

    /// Takes in what a group holds and counts until it is decided.
    fn promise(&mut self, turn: &mut Turn<'_>, key: Key, mut outstanding: Vec<Outstanding>) {
        let group = || format!("group {} of shard {}", key.1, key.0);
        outstanding.retain(|one| {
            let Some(account) = self.accounts.get_mut(one.account as usize) else {
                turn.wrong(Kind::Unknown, format!("{} names an account that is none", group()));
                return false;
            };
            account.going += one.going;
            account.coming += one.coming;
            if account.rules.closed {
                turn.wrong(Kind::Closed, format!("{} is about {}, which is closed", group(), account.wallet));
            }
            *turn.touched.entry(one.account).or_default() |= one.coming > 0;
            true
        });
        self.outstanding.insert(key, outstanding);
    }

    fn release(&mut self, turn: &mut Turn<'_>, key: Key) {
        for one in self.outstanding.remove(&key).unwrap_or_default() {
            let Some(account) = self.accounts.get_mut(one.account as usize) else { continue };
            account.going -= one.going;
            account.coming -= one.coming;
            turn.touched.entry(one.account).or_default();
        }
    }

    /// Invariants after each record.
    fn look_at_touched(&self, turn: &mut Turn<'_>) {
        for (account, is_credited) in std::mem::take(&mut turn.touched) {
            let Some(one) = self.accounts.get(account as usize) else { continue };
            let promised = one.held + one.going;
            let available = one.posted - promised as i128;
            if !one.rules.overdraft && available < 0 {
                let named = self.named(account);
                let what =
                    format!("{named} has {} and {promised} of it held: {available} available", one.posted);
                turn.wrong(Kind::Overdrawn, what);
            }
            let most = one.posted + one.coming as i128;
            if let Some(ceiling) =
                one.rules.ceiling.filter(|&ceiling| is_credited && most > i128::from(ceiling))
            {
                let named = self.named(account);
                turn.wrong(Kind::Ceiling, format!("{named} has {most}, and may have {ceiling}"));
            }
        }
    }

    /// Invariants at the end: sums, and held amounts equal to the open holds.
    pub(crate) fn finish(&self, problems: &mut dyn FnMut(Problem)) {
        let mut wrong = |kind, what| problems(Problem { kind, shard: self.shard, position: None, what });
        let mut held: BTreeMap<u32, u128> = BTreeMap::new();
        for hold in self.holds.values() {
            if let Side::Here(account) = hold.debit {
                *held.entry(account).or_default() += u128::from(hold.amount);
            }
        }
        let mut sums: BTreeMap<u32, i128> = BTreeMap::new();
        for (number, one) in self.accounts.iter().enumerate() {
            *sums.entry(one.asset).or_default() += one.posted;
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            if held.get(&number).copied().unwrap_or_default() != one.held {
                wrong(
                    Kind::Hold,
                    format!("{} holds {}, and its open holds are others", self.named(number), one.held),
                );
            }
        }
        for (asset, sum) in sums {
            if sum != 0 {
                wrong(Kind::Sum, format!("all accounts of {} have {sum} in all", self.code(asset)));
            }
        }
    }
}

impl Names for Books {
    fn party(&self, account: u32) -> String {
        self.accounts.get(account as usize).map_or_else(|| format!("#{account}"), |one| one.wallet.clone())
    }

    fn code(&self, asset: u32) -> String {
        self.assets.get(asset as usize).map_or_else(|| format!("#{asset}"), |one| one.code.clone())
    }

    fn transit(&self, asset: u32) -> Option<u32> {
        self.by_name.get(&(TRANSIT.to_owned(), asset)).copied()
    }
}

/// To whom a hold is promised.
fn promised_to(promise: &Promise<'_>) -> Side {
    match promise.credit {
        Some(account) => Side::Here(account),
        None => Side::There(promise.more.other.unwrap_or_default().into()),
    }
}

impl Begun {
    fn of(item: &Item<'_>) -> Self {
        let Item { kind, id, amount, of, expires, .. } = *item;
        Begun { kind, id, amount, debit: Side::of(&item.debit), credit: Side::of(&item.credit), of, expires }
    }
}

/// The shard of a wallet's name, of so many; none for a system wallet, which is on all.
fn home(wallet: &str, shards: u16) -> Option<u16> {
    if wallet.starts_with('@') {
        return None;
    }
    let tag = wallet.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    let hashed = tag.filter(|tag| !tag.is_empty()).unwrap_or(wallet);
    let fnv = hashed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = fnv.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    u16::try_from(mixed % u64::from(shards)).ok()
}
