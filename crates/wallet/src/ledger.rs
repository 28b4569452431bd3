//! The state of all wallets of a shard, and how things in it are found.
//!
//! Lasting state stands in tables and a few small maps. Everything else is built from them:
//! indexes, orders, totals.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;

use foldhash::quality::FixedState;
use hashbrown::HashTable;
use stadium_state_machine::Place;
use stadium_table::{Index, Order, Table, hash_of};

use crate::account::{Account, Extra, NONE, Rules};
use crate::answer::Answer;
use crate::chain::Chain;
use crate::ids::Ids;
use crate::plan::{Intent, Overlay};
use crate::remembered::{Hold, OTHER, Other, Remembered, State, hash_of_id};
use crate::transaction::{Posted, Prepared, Transaction};
use crate::{AssetCode, Bounds, PrincipalId, Refusal, Seal, Time, TransferId, WalletName};

/// All wallets of one shard.
///
/// `execute`, `tick`, `receive` and `confirm` decide, write what they decided as events into a record (that was begun and is empty), apply those,
/// and close the section with its chain value: one call, one record. `apply` does the same with the section of a record that was read back, and
/// decides nothing. So the state after a replay is the state that was.
///
/// `at` is the position that the record will have; `now` its time, which must stand in its frame: the chain covers it.
/// Where the record stays empty nothing changed.
pub struct Ledger {
    pub(crate) place: Place,
    pub(crate) bounds: Bounds,
    /// The latest time that was seen.
    pub(crate) now: Time,

    pub(crate) accounts: Table<Account>,
    pub(crate) extras: Table<Extra>,
    pub(crate) remembered: Table<Remembered>,
    pub(crate) others: Table<Other>,
    pub(crate) holds: Table<Hold>,
    pub(crate) transactions: Table<Transaction>,
    pub(crate) prepared: Table<Prepared>,
    pub(crate) assets: Vec<Asset>,
    /// The place among the remembered that is overwritten next.
    pub(crate) remembered_next: u32,
    /// Holds that were ever made.
    pub(crate) holds_made: u64,
    pub(crate) transaction_next: u64,
    pub(crate) message_next: u64,
    pub(crate) messages: BTreeMap<u64, Posted>,
    /// The answers to messages of other shards that may arrive again, by shard and number.
    pub(crate) incoming: BTreeMap<(u16, u64), Result<(), Refusal>>,
    /// Messages of other shards below these numbers never arrive again.
    pub(crate) floors: BTreeMap<u16, u64>,
    /// Of transactions that are not decided, by coordinator and number.
    pub(crate) principals: BTreeMap<(u16, u64), PrincipalId>,
    pub(crate) chain: Chain,

    pub(crate) hasher: FixedState,
    pub(crate) by_asset: BTreeMap<AssetCode, u16>,
    pub(crate) by_account: Index,
    pub(crate) by_id: Ids,
    pub(crate) by_hold: HashTable<u32>,
    pub(crate) order: Order,
    /// New accounts that are not in the order yet.
    pub(crate) unordered: Vec<u32>,
    /// Open holds by account and age.
    pub(crate) holds_of: BTreeSet<(u32, u64, u32)>,
    /// Open holds by when they end, but for those that are locked.
    pub(crate) expiries: BTreeSet<(Time, u32)>,
    pub(crate) by_transaction: BTreeMap<u64, u32>,
    pub(crate) by_prepared: BTreeMap<(u16, u64), u32>,
    /// Ids of transactions that are not decided here, and in which.
    pub(crate) pending: BTreeMap<TransferId, u32>,
    /// Ids of other shards' transactions that are prepared here, and are decided here when they
    /// come alone; and in which.
    pub(crate) promised: BTreeMap<TransferId, u32>,
    /// Transfers that transactions reverse that are not decided here.
    pub(crate) reversing: BTreeSet<TransferId>,

    /// Commands that wait for transactions; lost with the process.
    pub(crate) waiting: crate::waiting::Waiting,
    pub(crate) booked: u64,
    pub(crate) refused: u64,
    pub(crate) checkpoint: crate::checkpoint::Progress,
    /// Of writers, between records.
    pub(crate) scratch: crate::record::Scratch,
    // Reused, so that the hot path allocates nothing.
    pub(crate) ids: Vec<TransferId>,
    pub(crate) intents: Vec<Intent>,
    pub(crate) overlay: Overlay,
}

/// Something that is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asset {
    pub(crate) code: AssetCode,
    pub(crate) scale: u8,
    pub(crate) accounts: u64,
    /// Sum of the balances above zero.
    pub(crate) credit: u128,
    /// Sum of those below.
    pub(crate) debit: u128,
    pub(crate) held: u128,
    /// The account of `@transit`.
    pub(crate) transit: u32,
}

impl Asset {
    pub(crate) fn new(code: AssetCode, scale: u8) -> Self {
        Self { code, scale, accounts: 0, credit: 0, debit: 0, held: 0, transit: NONE }
    }

    /// A balance was `old` and is `new`.
    #[inline]
    pub(crate) fn moved(&mut self, old: i64, new: i64) {
        let part = |balance: i64| {
            let size = u128::from(balance.unsigned_abs());
            if balance >= 0 { (size, 0) } else { (0, size) }
        };
        let ((old_credit, old_debit), (new_credit, new_debit)) = (part(old), part(new));
        self.credit = self.credit - old_credit + new_credit;
        self.debit = self.debit - old_debit + new_debit;
    }
}

/// The system wallet that takes the other side of what goes to another shard.
pub(crate) const TRANSIT: &str = "@transit";

/// New accounts up to which each is put into the order by itself.
const ITEMS_ORDERED_SINGLY: usize = 2 * Bounds::ITEMS_MAX;

/// What a command came to.
pub type Executed = stadium_state_machine::Executed<Answer>;

/// The answer of a command that was pending.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finished {
    /// The number in [`Executed::Pending`].
    pub(crate) number: u64,
    /// What came of it. It may leave when the record is durable that was written last.
    pub(crate) answer: Result<Answer, Refusal>,
}

/// Figures for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Accounts.
    pub accounts: u64,
    /// Open holds.
    pub holds: u64,
    /// Ids that are remembered.
    pub remembered: u64,
    /// Transactions that are not decided, here as coordinator or waiting for another shard's
    /// decision.
    pub pending: u64,
    /// Messages that are not confirmed.
    pub outgoing: u64,
    /// Transfers that were booked since the start; replayed ones count.
    pub booked: u64,
    /// Transfers that were refused since the start.
    pub refused: u64,
    /// Seals that were ever made.
    pub seals: u64,
    /// Records that no seal covers.
    pub unsealed: u64,
}

impl Ledger {
    /// No wallets.
    pub fn new(place: Place, bounds: Bounds) -> Self {
        Self {
            hasher: FixedState::with_seed(place.hash_seed),
            chain: Chain::new(place.shard),
            place,
            bounds,
            now: Time(0),
            accounts: Table::new(),
            extras: Table::new(),
            remembered: Table::new(),
            others: Table::new(),
            holds: Table::new(),
            transactions: Table::new(),
            prepared: Table::new(),
            assets: Vec::new(),
            remembered_next: 0,
            holds_made: 0,
            transaction_next: 1,
            message_next: 1,
            messages: BTreeMap::new(),
            incoming: BTreeMap::new(),
            floors: BTreeMap::new(),
            principals: BTreeMap::new(),
            by_asset: BTreeMap::new(),
            by_account: Index::new(),
            by_id: Ids::new(),
            by_hold: HashTable::new(),
            order: Order::new(),
            unordered: Vec::new(),
            holds_of: BTreeSet::new(),
            expiries: BTreeSet::new(),
            by_transaction: BTreeMap::new(),
            by_prepared: BTreeMap::new(),
            pending: BTreeMap::new(),
            promised: BTreeMap::new(),
            reversing: BTreeSet::new(),
            waiting: crate::waiting::Waiting::default(),
            booked: 0,
            refused: 0,
            checkpoint: crate::checkpoint::Progress::default(),
            scratch: crate::record::Scratch::default(),
            ids: Vec::new(),
            intents: Vec::new(),
            overlay: Overlay::default(),
        }
    }

    /// The latest time that was seen.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The seals that are kept in memory, the last 10,000, oldest first; older ones are in the journal.
    pub fn seals(&self) -> impl DoubleEndedIterator<Item = &Seal> + '_ {
        self.chain.seals.iter()
    }

    /// Figures for metrics.
    pub fn figures(&self) -> Figures {
        Figures {
            accounts: self.accounts.len() as u64,
            holds: self.holds.len() as u64,
            remembered: self.remembered.len() as u64,
            pending: (self.transactions.len() + self.prepared.len()) as u64,
            outgoing: self.messages.len() as u64,
            booked: self.booked,
            refused: self.refused,
            seals: self.chain.seals_made,
            unsealed: self.chain.tree.leaves(),
        }
    }

    /// Bytes of memory that the state holds, but for names of more than 24 bytes, and what
    /// transactions hold while they are not decided.
    pub fn bytes(&self) -> usize {
        self.accounts.bytes()
            + self.extras.bytes()
            + self.remembered.bytes()
            + self.others.bytes()
            + self.holds.bytes()
            + self.transactions.bytes()
            + self.prepared.bytes()
            + self.by_account.bytes()
            + self.by_id.bytes()
            + self.by_hold.allocation_size()
            + self.order.bytes()
            + self.unordered.capacity() * size_of::<u32>()
            // Nodes of these trees are about two thirds full.
            + (self.holds_of.len() * size_of::<(u32, u64, u32)>()
                + self.expiries.len() * size_of::<(Time, u32)>())
                * 3
                / 2
            + self.chain.seals.len() * size_of::<Seal>()
    }

    // Finding.

    pub(crate) fn find_asset(&self, code: &AssetCode) -> Option<u16> {
        // Mostly there are few, and to look through them is quicker.
        if self.assets.len() <= 8 {
            return self.assets.iter().position(|asset| asset.code == *code).map(|at| at as u16);
        }
        self.by_asset.get(code).copied()
    }

    #[inline]
    fn hash_of_account(&self, name: &str, asset: u16) -> u64 {
        hash_of(self.hasher.hash_one(name) ^ u64::from(asset))
    }

    #[inline]
    pub(crate) fn find_account(&self, name: &WalletName, asset: u16) -> Option<u32> {
        self.by_account.find(self.hash_of_account(name.as_str(), asset), |at| {
            let account = self.accounts.at(at);
            account.asset == asset && account.name == *name
        })
    }

    #[inline]
    pub(crate) fn find_remembered(&self, id: TransferId) -> Option<u32> {
        let hash = hash_of_id(id, self.place.hash_seed);
        self.by_id.find(hash, |at| self.remembered.at(at).id() == id)
    }

    /// One that was decided here: a client that asks for an id is answered by the shard that
    /// decided it.
    #[inline]
    pub(crate) fn find_decided(&self, id: TransferId) -> Option<u32> {
        self.find_remembered(id).filter(|&place| self.remembered.at(place).state() != State::Elsewhere)
    }

    pub(crate) fn find_hold(&self, id: TransferId) -> Option<u32> {
        if self.by_hold.is_empty() {
            return None;
        }
        let hash = hash_of_id(id, self.place.hash_seed);
        self.by_hold.find(hash, |&at| self.holds.at(at).id == id).copied()
    }

    pub(crate) fn extra(&self, account: &Account) -> Option<&Extra> {
        (account.extra != NONE).then(|| self.extras.at(account.extra))
    }

    pub(crate) fn extra_mut(&mut self, account: u32) -> &mut Extra {
        if self.accounts.at(account).extra == NONE {
            let extra = self.extras.insert(Extra { account, ..<Extra as stadium_table::Entry>::vacant() });
            self.accounts.at_mut(account).extra = extra;
        }
        let extra = self.accounts.at(account).extra;
        self.extras.at_mut(extra)
    }

    /// The name of a party, and its shard if that is another one.
    pub(crate) fn name_of(&self, party: u32) -> (&WalletName, Option<u16>) {
        if party & OTHER == 0 {
            return (&self.accounts.at(party).name, None);
        }
        let other = self.others.at(party & !OTHER);
        (&other.name, Some(other.shard))
    }

    // Making and taking away.

    pub(crate) fn add_asset(&mut self, code: AssetCode, scale: u8) {
        self.by_asset.insert(code.clone(), self.assets.len() as u16);
        self.assets.push(Asset::new(code, scale));
    }

    /// Opens an account, and returns its number.
    pub(crate) fn add_account(&mut self, name: WalletName, asset: u16, rules: &Rules, opened: Time) -> u32 {
        if name.as_str() == TRANSIT {
            self.assets[usize::from(asset)].transit = self.accounts.len() as u32;
        }
        let number = self.accounts.insert(Account::new(name, asset, opened));
        self.set_rules(number, rules);
        self.assets[usize::from(asset)].accounts += 1;
        self.index_account(number);
        self.unordered.push(number);
        number
    }

    /// What accounts are ordered by: wallet, then asset.
    pub(crate) fn key(&self, number: u32) -> (&str, &str) {
        let account = self.accounts.at(number);
        (account.name.as_str(), self.assets[usize::from(account.asset)].code.as_str())
    }

    /// Puts new accounts into the order: one by one, or, after a replay, all at once.
    pub(crate) fn order_new(&mut self) {
        if self.unordered.is_empty() {
            return;
        }
        let unordered = std::mem::take(&mut self.unordered);
        if unordered.len() > ITEMS_ORDERED_SINGLY.max(self.accounts.len() / 16) {
            self.order = Order::from_sorted(&self.sorted_accounts());
            return;
        }
        let mut order = std::mem::replace(&mut self.order, Order::new());
        for &number in &unordered {
            let new = self.key(number);
            order.insert(number, |other| self.key(other).cmp(&new));
        }
        self.order = order;
        // The list is kept for the next ones.
        self.unordered = unordered;
        self.unordered.clear();
    }

    /// All accounts in their order. The first sixteen bytes of names are compared without a look into the table.
    pub(crate) fn sorted_accounts(&self) -> Vec<u32> {
        let mut keys: Vec<(u128, u32)> = self
            .accounts
            .iter()
            .map(|(number, account)| {
                let name = account.name.as_str().as_bytes();
                let mut prefix = [0; 16];
                let bytes = name.len().min(16);
                prefix[..bytes].copy_from_slice(&name[..bytes]);
                (u128::from_be_bytes(prefix), number)
            })
            .collect();
        keys.sort_unstable_by(|(a, left), (b, right)| {
            a.cmp(b).then_with(|| self.key(*left).cmp(&self.key(*right)))
        });
        keys.into_iter().map(|(_, number)| number).collect()
    }

    pub(crate) fn index_account(&mut self, number: u32) {
        let account = self.accounts.at(number);
        let hash = self.hash_of_account(account.name.as_str(), account.asset);
        let (accounts, hasher) = (&self.accounts, &self.hasher);
        self.by_account.insert(hash, number, |other| {
            let account = accounts.at(other);
            hash_of(hasher.hash_one(account.name.as_str()) ^ u64::from(account.asset))
        });
    }

    pub(crate) fn set_rules(&mut self, account: u32, rules: &Rules) {
        if let Some(ceiling) = rules.ceiling {
            self.extra_mut(account).ceiling = ceiling;
        }
        self.accounts.at_mut(account).set_flags(rules);
    }

    /// Remembers a transfer in the place of the oldest, where as many are remembered as there may be.
    pub(crate) fn remember(&mut self, entry: Remembered) -> u32 {
        // Only in a replay with a longer memory than there was: it was forgotten, or the id had not been taken again.
        if let Some(older) = self.find_remembered(entry.id()) {
            self.by_id.remove(hash_of_id(entry.id(), self.place.hash_seed), older);
            self.remembered.at_mut(older).set_state(State::Forgotten);
        }
        let place = if self.remembered.len() < self.bounds.transfers_remembered.max(1) as usize {
            self.remembered.insert(entry)
        } else {
            let place = self.remembered_next % self.remembered.len() as u32;
            let hash = hash_of_id(self.remembered.at(place).id(), self.place.hash_seed);
            self.by_id.remove(hash, place);
            let old = std::mem::replace(self.remembered.at_mut(place), entry);
            self.forget_party(old.debit);
            self.forget_party(old.credit);
            self.remembered_next = (place + 1) % self.remembered.len() as u32;
            place
        };
        self.index_remembered(place);
        place
    }

    pub(crate) fn index_remembered(&mut self, place: u32) {
        let hash = hash_of_id(self.remembered.at(place).id(), self.place.hash_seed);
        self.by_id.insert(hash, place);
    }

    /// The place of a name, as a party.
    pub(crate) fn other(&mut self, shard: u16, name: WalletName) -> u32 {
        OTHER | self.others.insert(Other { shard, name })
    }

    pub(crate) fn forget_party(&mut self, party: u32) {
        if party & OTHER != 0 && party != NONE {
            self.others.remove(party & !OTHER);
        }
    }

    /// A second name of the same wallet, for somebody else to forget.
    pub(crate) fn same_party(&mut self, party: u32) -> u32 {
        if party & OTHER == 0 {
            return party;
        }
        let Other { shard, name } = self.others.at(party & !OTHER);
        let (shard, name) = (*shard, name.clone());
        self.other(shard, name)
    }

    pub(crate) fn add_hold(&mut self, hold: Hold) {
        let place = self.holds.insert(hold);
        self.holds_made += 1;
        self.index_hold(place);
    }

    pub(crate) fn index_hold(&mut self, place: u32) {
        let (holds, seed) = (&self.holds, self.place.hash_seed);
        let hold = holds.at(place);
        self.by_hold
            .insert_unique(hash_of_id(hold.id, seed), place, |&other| hash_of_id(holds.at(other).id, seed));
        self.holds_of.insert((hold.debit, hold.number, place));
        if !hold.locked {
            self.expiries.insert((hold.expires, place));
        }
    }

    /// Takes a hold away. What it held is its caller's to release.
    pub(crate) fn remove_hold(&mut self, place: u32) -> Hold {
        let hold = self.holds.remove(place).expect("the caller found it");
        let hash = hash_of_id(hold.id, self.place.hash_seed);
        if let Ok(entry) = self.by_hold.find_entry(hash, |&other| other == place) {
            entry.remove();
        }
        self.holds_of.remove(&(hold.debit, hold.number, place));
        self.expiries.remove(&(hold.expires, place));
        self.forget_party(hold.credit);
        hold
    }

    pub(crate) fn lock_hold(&mut self, place: u32, locked: bool) {
        let hold = self.holds.at_mut(place);
        hold.locked = locked;
        let key = (hold.expires, place);
        if locked {
            self.expiries.remove(&key)
        } else {
            self.expiries.insert(key)
        };
    }

    /// Makes more of an account held, or less.
    pub(crate) fn hold_more(&mut self, account: u32, amount: u64) -> bool {
        let account = self.accounts.at_mut(account);
        let Some(held) = account.held.checked_add(amount) else { return false };
        account.held = held;
        self.assets[usize::from(account.asset)].held += u128::from(amount);
        true
    }

    pub(crate) fn hold_less(&mut self, account: u32, amount: u64) -> bool {
        let account = self.accounts.at_mut(account);
        let Some(held) = account.held.checked_sub(amount) else { return false };
        account.held = held;
        self.assets[usize::from(account.asset)].held -= u128::from(amount);
        true
    }
}
