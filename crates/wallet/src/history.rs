//! Reading the books backwards: an account's history, its balance at a time, one transfer.
//!
//! The journal is its driver's: a [`Walk`] names records and takes them in. It first *seeks* the newest entry that is old enough, over the
//! links that entries have to the one before and to those 64, 4,096 ... before, and then *scans* from there, entry by entry.

use stadium_state_machine::encoding::corrupt;
use stadium_state_machine::{Description, Gone, Section, busy, rejected};

use crate::account::JUMPS;
use crate::apply::principal_id;
use crate::chain::HASH_BYTES;
use crate::events::{Event, Events, Line, PRINCIPAL, Promised, TRANSFER, Transferred};
use crate::plan::count;
use crate::refusal::{MISDIRECTED, MOVED, TOO_FAR, TRANSFER_UNKNOWN};
use crate::transaction::{Item, ItemKind, Party};
use crate::{
    Answer, Balance, BookState, Command, Corrupt, Direction, Entry, EntryPage, Ledger, Range, Refusal, Time,
    TransferId, TransferView, WalletName,
};

/// The part that has to be read from the journal, or was known without.
pub type Lookup = stadium_state_machine::Lookup<Answer, Walk>;

/// Reads records of the journal backwards for one command. Its driver reads what [`Self::next`] names, until there is nothing
/// or it has read enough, and then takes the answer.
#[derive(Debug)]
pub struct Walk {
    next: Option<u64>,
    what: What,
}

#[derive(Debug)]
enum What {
    Find { id: TransferId, state: BookState, at: Time, found: Option<Box<TransferView>> },
    History { steps: Steps, range: Range, page: EntryPage },
    Balance { steps: Steps, at: Time, balance: Option<i64> },
}

/// Where an entry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stands {
    number: u64,
    record: u64,
}

/// How far a walk through an account's entries got.
#[derive(Debug)]
struct Steps {
    account: u32,
    /// Entries with this number and above are too new. Those below may be.
    new: u64,
    /// The newest entry that is known to be old enough.
    old: Option<Stands>,
    /// Entries to be looked at next, the oldest first: each is newer than `old` and older than `new`.
    links: Vec<Stands>,
    /// Whether the first one wanted was found: from now on entry by entry.
    scans: bool,
}

/// An entry of the account, as one record has it.
struct Found {
    line: Line,
    direction: Direction,
    transfer: TransferView,
}

impl Walk {
    /// The position of the record that is to be read next.
    pub fn next(&self) -> Option<u64> {
        self.next
    }

    /// Takes in the record that [`Self::next`] named: its time, and the wallets' section of it, the chain value included.
    ///
    /// # Errors
    ///
    /// A section that this version did not write, or that does not hold what it must.
    pub fn read(&mut self, ledger: &Ledger, time: Time, section: &[u8]) -> Result<(), Corrupt> {
        let Some(record) = self.next.take() else { return Ok(()) };
        let events = section.get(..section.len().saturating_sub(HASH_BYTES)).unwrap_or_default();
        match &mut self.what {
            What::Find { id, state, at, found } => {
                let mut principal = None;
                for event in Events::new(events) {
                    let event = Event::decode(event?, time)?;
                    if let Event::Principal(id) = event {
                        principal = Some(principal_id(id)?);
                    }
                    if let Some(mut view) = ledger.view_from_event(&event, *id, time) {
                        (view.state, view.at, view.principal) = (*state, *at, principal);
                        *found = Some(Box::new(view));
                        return Ok(());
                    }
                }
                Err(missing(format!("the transfer {id}"), record))
            }
            What::History { steps, range, page } => {
                let lines = ledger.lines_of(steps.account, time, events)?;
                let old = |number: u64| {
                    range.before.is_none_or(|before| number < before) && range.to.is_none_or(|to| time < to)
                };
                self.next = steps.take_in(record, &lines, old, |found| take(range, page, time, found))?;
                Ok(())
            }
            What::Balance { steps, at, balance } => {
                let lines = ledger.lines_of(steps.account, time, events)?;
                self.next = steps.take_in(
                    record,
                    &lines,
                    |_| time <= *at,
                    |found| {
                        *balance = Some(found.line.balance);
                        Flow::Stop
                    },
                )?;
                Ok(())
            }
        }
    }

    /// The record that [`Self::next`] named was moved to the backups with its segment. A page with
    /// entries ends before it; the next page is refused.
    pub fn gone(&self, ledger: &Ledger) -> Gone {
        if let What::History { page, .. } = &self.what
            && !page.entries.is_empty()
        {
            return Gone::Ends;
        }
        let record = self.next.unwrap_or_default();
        let seals = &ledger.chain.seals;
        // Older seals are not in memory.
        let period = match seals.get(seals.partition_point(|seal| seal.position < record)) {
            Some(seal) if seal.number == 1 || seals.front().is_some_and(|first| first.position < record) => {
                format!("the period of seal {}, sealed at {} ms since 1970", seal.number, seal.at.0)
            }
            _ => "a period that was sealed long ago".to_owned(),
        };
        Gone::Refused(rejected(
            MOVED,
            format!(
                "record {record:#x} of shard {} is in {period}; its records were moved to the backups: `stadium \
                 wallet receipt` and `stadium wallet verify` read them there with --backup URL, and `stadium \
                 restore` writes a directory with the whole history",
                ledger.place.shard
            ),
        ))
    }

    /// What was found; where [`Self::next`] still names a record, as far as was read.
    ///
    /// # Errors
    ///
    /// A balance or a transfer that was not reached.
    pub fn finish(self, _ledger: &Ledger) -> Result<Answer, Refusal> {
        let is_cut = self.next.is_some();
        match self.what {
            What::Find { found: Some(found), .. } => Ok(Answer::Transfer(found)),
            What::Find { id, .. } => {
                Err(rejected(TRANSFER_UNKNOWN, format!("the transfer {id} is not in the journal")))
            }
            What::History { steps, mut page, .. } => {
                if is_cut && page.before.is_none() {
                    page.before = Some(steps.new);
                }
                Ok(Answer::History(page))
            }
            What::Balance { .. } if is_cut => {
                let reason = "the time is too far back in a long history to be found in one go";
                Err(busy(TOO_FAR, 1_000, reason))
            }
            What::Balance { balance, .. } => {
                Ok(Answer::Balance(Balance { posted: balance.unwrap_or(0), held: 0 }))
            }
        }
    }
}

enum Flow {
    Go,
    Stop,
}

fn missing(what: String, record: u64) -> Corrupt {
    stadium_state_machine::encoding::corrupt(format!("record {record} does not hold {what}, as it must"))
}

/// Takes an entry into a page where it is wanted.
fn take(range: &Range, page: &mut EntryPage, time: Time, found: &Found) -> Flow {
    if range.from.is_some_and(|from| time < from) {
        return Flow::Stop;
    }
    let transfer = &found.transfer;
    let other = if found.direction == Direction::Debit { &transfer.credit } else { &transfer.debit };
    let is_wanted = range.direction.is_none_or(|direction| direction == found.direction)
        && range.other.as_ref().is_none_or(|wanted| wanted == other)
        && range.reference.as_ref().is_none_or(|wanted| *wanted == transfer.reference);
    if is_wanted {
        page.entries.push(Entry {
            number: found.line.number,
            transfer: transfer.clone(),
            direction: found.direction,
            balance: found.line.balance,
        });
        if page.entries.len() >= range.entries_max as usize {
            if found.line.number > 1 {
                page.before = Some(found.line.number);
            }
            return Flow::Stop;
        }
    }
    Flow::Go
}

impl Steps {
    /// Takes in the account's entries of one record, newest last, and returns which record is next.
    fn take_in(
        &mut self,
        record: u64,
        lines: &[Found],
        is_old: impl Fn(u64) -> bool,
        mut each: impl FnMut(&Found) -> Flow,
    ) -> Result<Option<u64>, Corrupt> {
        let line_of = |number: u64| {
            let first = lines.first().map_or(0, |found| found.line.number);
            lines
                .get(usize::try_from(number.wrapping_sub(first)).unwrap_or(usize::MAX))
                .filter(|found| found.line.number == number)
                .ok_or_else(|| missing(format!("the entry {number} of account {}", self.account), record))
        };
        while !self.scans {
            let Some(link) = self.links.first().copied() else {
                // Nothing stands between what is too new and what is old enough.
                match self.old {
                    None => return Ok(None),
                    Some(_) => {
                        self.scans = true;
                        break;
                    }
                }
            };
            if link.record != record {
                return Ok(Some(link.record));
            }
            let found = line_of(link.number)?;
            if is_old(link.number) {
                self.old = Some(link);
                self.links.remove(0);
            } else {
                self.new = link.number;
                self.links = links_of(&found.line, record);
                let old = self.old;
                self.links.retain(|link| old.is_none_or(|old| link.number > old.number));
            }
        }
        while let Some(at) = self.old {
            if at.record != record {
                return Ok(Some(at.record));
            }
            let found = line_of(at.number)?;
            self.new = at.number;
            if let Flow::Stop = each(found) {
                return Ok(None);
            }
            self.old = (at.number > 1)
                .then(|| Stands { number: at.number - 1, record: record.saturating_sub(found.line.back) });
        }
        Ok(None)
    }
}

/// Where the entries stand that a line knows, the oldest first.
fn links_of(line: &Line, record: u64) -> Vec<Stands> {
    let mut links = Vec::new();
    if line.number > 1 {
        links.push(Stands { number: line.number - 1, record: record.saturating_sub(line.back) });
    }
    for (step, jump) in JUMPS.iter().zip(line.jumps).take(Line::levels(line.number)) {
        if line.number > *step {
            links.push(Stands { number: line.number - step, record: record.saturating_sub(jump) });
        }
    }
    links.reverse();
    links
}

impl Ledger {
    /// Begins to answer History, BalanceAt and Find.
    ///
    /// # Errors
    ///
    /// Unknown accounts and transfers; MISDIRECTED for every other command.
    pub fn look_up(&self, _now: Time, command: &Command) -> Result<Lookup, Refusal> {
        match command {
            Command::Find { transfer } => self.look_for(*transfer),
            Command::History { wallet, asset, range } => {
                count(range.entries_max as usize, "entries of a page")?;
                let account = self.account_named(wallet, asset)?;
                let newest = range.before.unwrap_or(u64::MAX);
                let Some(steps) = self.steps(account, newest) else {
                    return Ok(Lookup::Answer(Answer::History(EntryPage::default())));
                };
                let what = What::History { steps, range: range.clone(), page: EntryPage::default() };
                Ok(Lookup::Walk(Walk::begin(what)))
            }
            Command::BalanceAt { wallet, asset, at } => {
                let account = self.account_named(wallet, asset)?;
                let Some(steps) = self.steps(account, u64::MAX) else {
                    return Ok(Lookup::Answer(Answer::Balance(Balance::default())));
                };
                Ok(Lookup::Walk(Walk::begin(What::Balance { steps, at: *at, balance: None })))
            }
            _ => Err(rejected(MISDIRECTED, "it is not read from the journal")),
        }
    }

    fn account_named(&self, wallet: &WalletName, asset: &crate::AssetCode) -> Result<u32, Refusal> {
        let asset = self.known_asset(asset)?;
        self.find_account(wallet, asset).ok_or_else(|| self.unknown_account(wallet, asset))
    }

    /// The first steps through an account's entries below a number; none where there are none.
    fn steps(&self, number: u32, below: u64) -> Option<Steps> {
        let account = self.accounts.at(number);
        if account.entries == 0 || below <= 1 {
            return None;
        }
        let mut links = vec![Stands { number: account.entries, record: account.last }];
        if let Some(extra) = self.extra(account) {
            for (step, record) in JUMPS.iter().zip(extra.jumps) {
                let number = account.entries - account.entries % step;
                if number > 0 && number < links.last().expect("it begins with one").number {
                    links.push(Stands { number, record });
                }
            }
        }
        links.reverse();
        Some(Steps { account: number, new: account.entries + 1, old: None, links, scans: false })
    }

    /// The account's entries in one record, in their order.
    fn lines_of(&self, account: u32, time: Time, events: &[u8]) -> Result<Vec<Found>, Corrupt> {
        let mut lines = Vec::new();
        let mut principal = None;
        for event in Events::new(events) {
            let event = event?;
            if !matches!(event.first(), Some(&(TRANSFER | PRINCIPAL))) {
                continue;
            }
            let what = match Event::decode(event, time)? {
                Event::Transfer(what) => what,
                Event::Principal(id) => {
                    principal = Some(principal_id(id)?);
                    continue;
                }
                _ => continue,
            };
            let (line, direction) = if what.debit.0 == account {
                (what.debit.1, Direction::Debit)
            } else if what.credit.0 == account {
                (what.credit.1, Direction::Credit)
            } else {
                continue;
            };
            let transfer = TransferView { principal: principal.clone(), ..self.view_of(&what, time) };
            lines.push(Found { line, direction, transfer });
        }
        Ok(lines)
    }

    fn wallet_of(&self, account: u32) -> WalletName {
        self.accounts.get(account).map_or_else(WalletName::vacant, |account| account.name.clone())
    }

    fn view_of(&self, what: &Transferred<'_>, time: Time) -> TransferView {
        let asset = self.accounts.get(what.debit.0).map_or(0, |account| account.asset);
        let transit = self.assets.get(usize::from(asset)).map(|asset| asset.transit);
        let name = |account: u32| match what.notes.other.map(WalletName::new) {
            Some(Ok(other)) if Some(account) == transit => other,
            _ => self.wallet_of(account),
        };
        TransferView {
            transfer: what.id,
            state: BookState::Posted,
            debit: name(what.debit.0),
            credit: name(what.credit.0),
            asset: self.code_of(asset),
            amount: what.amount,
            at: time,
            of: what.notes.of,
            effective: what.notes.effective,
            reference: what.notes.reference.to_owned(),
            metadata: bytes::Bytes::copy_from_slice(what.notes.metadata),
            principal: None,
        }
    }

    fn code_of(&self, asset: u16) -> crate::AssetCode {
        self.assets.get(usize::from(asset)).map_or_else(crate::AssetCode::vacant, |asset| asset.code.clone())
    }

    fn view_of_promise(&self, what: &Promised<'_>, state: BookState, time: Time) -> TransferView {
        let asset = self.accounts.get(what.debit).map_or(0, |account| account.asset);
        let credit = match (what.credit, what.notes.other.map(WalletName::new)) {
            (_, Some(Ok(other))) => other,
            (credit, _) => self.wallet_of(credit.unwrap_or(u32::MAX)),
        };
        TransferView {
            transfer: what.id,
            state,
            debit: self.wallet_of(what.debit),
            credit,
            asset: self.code_of(asset),
            amount: what.amount,
            at: time,
            of: what.notes.of,
            effective: what.notes.effective,
            reference: what.notes.reference.to_owned(),
            metadata: bytes::Bytes::copy_from_slice(what.notes.metadata),
            principal: None,
        }
    }

    fn view_of_item(&self, item: &Item, time: Time) -> TransferView {
        let name = |party: &Party| match party {
            Party::Here(account) => self.wallet_of(*account),
            Party::There(_, name) => name.clone(),
        };
        TransferView {
            transfer: item.id,
            state: BookState::Pending,
            debit: name(&item.debit),
            credit: name(&item.credit),
            asset: self.code_of(item.asset),
            amount: item.amount,
            at: time,
            of: item.of,
            effective: item.effective,
            reference: String::from(&*item.reference),
            metadata: item.metadata.clone(),
            principal: None,
        }
    }

    /// The transfer of an event, if the event describes it completely.
    fn view_from_event(&self, event: &Event<'_>, id: TransferId, time: Time) -> Option<TransferView> {
        match event {
            Event::Transfer(what) if what.id == id && what.content.is_some() => {
                Some(self.view_of(what, time))
            }
            Event::Held { what, .. } if what.id == id => {
                Some(self.view_of_promise(what, BookState::Held, time))
            }
            Event::Voided(what) if what.id == id => Some(self.view_of_promise(what, BookState::Voided, time)),
            Event::Began { items, .. } => {
                items.iter().find(|item| item.id == id).map(|item| self.view_of_item(item, time))
            }
            _ => None,
        }
    }

    fn look_for(&self, id: TransferId) -> Result<Lookup, Refusal> {
        let (record, state, at) = if let Some(place) = self.find_decided(id) {
            let entry = self.remembered.at(place);
            (entry.record, entry.state().state(), entry.time())
        } else if let Some(place) = self.find_hold(id) {
            let hold = self.holds.at(place);
            (hold.record, BookState::Held, hold.at)
        } else if let Some(&place) = self.pending.get(&id) {
            let transaction = self.transactions.at(place);
            let item = transaction.items.iter().find(|item| item.id == id).expect("its ids are in it");
            let principal = self.principals.get(&(self.place.shard, transaction.number)).cloned();
            let view = TransferView { principal, ..self.view_of_item(item, transaction.began) };
            return Ok(Lookup::Answer(Answer::Transfer(Box::new(view))));
        } else {
            let reason = format!("no transfer {id} is known: it never was, or is not remembered any more");
            return Err(rejected(TRANSFER_UNKNOWN, reason));
        };
        let what = What::Find { id, state, at, found: None };
        Ok(Lookup::Walk(Walk { next: Some(record), what }))
    }
}

impl Walk {
    fn begin(what: What) -> Self {
        let next = match &what {
            What::History { steps, .. } | What::Balance { steps, .. } => {
                steps.links.first().map(|link| link.record)
            }
            What::Find { .. } => None,
        };
        Walk { next, what }
    }
}

impl Ledger {
    /// Describes the events of a record, and the chain value behind them: accounts and assets by
    /// their numbers.
    ///
    /// # Errors
    ///
    /// Events that are damaged or unknown; those before them are described.
    pub fn describe(section: Section<'_>, into: &mut Vec<Description>) -> Result<(), Corrupt> {
        let (events, value) = section
            .events
            .split_last_chunk::<HASH_BYTES>()
            .ok_or_else(|| corrupt("a section without a chain value"))?;
        for event in Events::new(events) {
            into.push(in_words(&Event::decode(event?, section.time)?).into());
        }
        let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
        into.push(format!("chain value {hex}").into());
        Ok(())
    }
}

fn in_words(event: &Event<'_>) -> String {
    match event {
        Event::Asset { asset, scale, code } => {
            format!("asset {asset}: {code}, {scale} digits behind the point")
        }
        Event::Opened { account, asset, rules, wallet } => {
            format!("account {account}: {wallet}, asset {asset}, {}", of_rules(rules))
        }
        Event::Changed { account, rules } => format!("account {account} changed: {}", of_rules(rules)),
        Event::Transfer(what) => {
            let kind = match what.kind {
                ItemKind::Capture => "capture",
                ItemKind::Reverse => "reversal",
                _ => "transfer",
            };
            let of = what.notes.of.map_or(String::new(), |of| format!(" of {of}"));
            let other = what.notes.other.map_or(String::new(), |other| format!(", with {other} elsewhere"));
            let ((debit, before), (credit, after)) = (what.debit, what.credit);
            format!(
                "{kind} {}{of}: {} from account {debit} (then {}, entry {}) to account {credit} (then {}, entry {}){other}{}",
                what.id,
                what.amount,
                before.balance,
                before.number,
                after.balance,
                after.number,
                of_reference(what.notes.reference)
            )
        }
        Event::Held { what, expires } => format!(
            "hold {}: {} of account {}, until {}{}",
            what.id,
            what.amount,
            what.debit,
            expires.0,
            of_reference(what.notes.reference)
        ),
        Event::Voided(what) => format!(
            "void {} of {}: {} of account {}",
            what.id,
            what.notes.of.unwrap_or_default(),
            what.amount,
            what.debit
        ),
        Event::Expired { hold } => format!("hold {hold} expired"),
        Event::Seal { number, records, .. } => format!("seal {number} of {records} records"),
        Event::Principal(principal) => format!("by the principal {principal}"),
        Event::Began { transaction, linked: _, items } => {
            let items: Vec<String> = items.iter().map(of_item).collect();
            format!("transaction {transaction} began: {}", items.join("; "))
        }
        Event::Voted { message } => format!("message {message}: yes"),
        Event::Decided { transaction, outcome: Ok(()) } => format!("transaction {transaction} is booked"),
        Event::Decided { transaction, outcome: Err(failed) } => {
            format!("transaction {transaction} is not booked: {} ({})", failed.reason, failed.code)
        }
        Event::Confirmed { message } => format!("message {message} confirmed"),
        Event::Prepared { from, transaction, items } => {
            let items: Vec<String> = items.iter().map(of_item).collect();
            format!(
                "said yes to message {} of shard {}, transaction {transaction}: {}",
                from.number,
                from.shard,
                items.join("; ")
            )
        }
        Event::Refused { from, code, reason } => {
            format!("said no to message {} of shard {}: {reason} ({code})", from.number, from.shard)
        }
        Event::Settled { from, transaction, booked, .. } => {
            let what = if *booked { "booked" } else { "not booked" };
            format!(
                "message {} of shard {}: its transaction {transaction} is {what}",
                from.number, from.shard
            )
        }
    }
}

fn of_rules(rules: &crate::account::Rules) -> String {
    let overdraft = match rules.overdraft {
        crate::Overdraft::Never => "never overdrawn",
        crate::Overdraft::Allowed => "may be overdrawn",
    };
    let ceiling = rules.ceiling.map_or(String::new(), |ceiling| format!(", at most {ceiling}"));
    format!("{overdraft}{ceiling}{}", if rules.closed { ", closed" } else { "" })
}

fn of_reference(reference: &str) -> String {
    if reference.is_empty() { String::new() } else { format!(", reference {reference:?}") }
}

fn of_item(item: &Item) -> String {
    let party = |party: &Party| match party {
        Party::Here(account) => format!("account {account}"),
        Party::There(shard, name) => format!("{name} on shard {shard}"),
    };
    let home = item.home.map_or(String::new(), |home| format!(", decided on shard {home} if it came alone"));
    format!(
        "{:?} {} {} from {} to {}{home}",
        item.kind,
        item.id,
        item.amount,
        party(&item.debit),
        party(&item.credit)
    )
}
