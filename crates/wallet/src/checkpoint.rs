//! The state saved while it goes on changing, and taken back in.
//!
//! A chunk is a byte that names a table, then a slice of that table's own format; the first chunk
//! holds the state outside tables. Derived data (indexes, orders, totals) are in none.
//! docs/formats/checkpoint.md.

use stadium_state_machine::Checkpointed;
use stadium_state_machine::encoding::{Reader, corrupt, number, text};
use stadium_state_machine::rejected;
use stadium_table::{Order, Restored};

use crate::account::NONE;
use crate::apply::principal_id;
use crate::chain::{Hash, Tree};
use crate::ledger::TRANSIT;
use crate::remembered::State;
use crate::transaction::Posted;
use crate::{AssetCode, Corrupt, Ledger, Seal, Time};

/// What the first chunk begins with: the version of what follows.
const VERSION: u8 = 2;

/// The first version with the principals of transactions.
const PRINCIPALS: u8 = 2;

const META: u8 = 0;
const ACCOUNTS: u8 = 1;
/// Behind the last table.
const END: u8 = 8;

/// How far a checkpoint got.
#[derive(Default)]
pub(crate) struct Progress {
    /// The first chunk, made at the beginning.
    meta: Vec<u8>,
    /// The table that comes next; [`END`] where none is left.
    table: u8,
    /// Tables that a restore has whole: bit n is table n.
    restored: u16,
}

macro_rules! with_table {
    ($ledger:expr, $number:expr, |$table:ident| $body:expr) => {
        match $number {
            1 => Some({
                let $table = &mut $ledger.accounts;
                $body
            }),
            2 => Some({
                let $table = &mut $ledger.extras;
                $body
            }),
            3 => Some({
                let $table = &mut $ledger.remembered;
                $body
            }),
            4 => Some({
                let $table = &mut $ledger.others;
                $body
            }),
            5 => Some({
                let $table = &mut $ledger.holds;
                $body
            }),
            6 => Some({
                let $table = &mut $ledger.transactions;
                $body
            }),
            7 => Some({
                let $table = &mut $ledger.prepared;
                $body
            }),
            _ => None,
        }
    };
}

impl Checkpointed for Ledger {
    fn checkpoint_begin(&mut self) {
        for number in ACCOUNTS..END {
            with_table!(self, number, |table| table.checkpoint_begin());
        }
        let mut meta = vec![META, VERSION];
        for value in [
            self.now.0,
            u64::from(self.remembered_next),
            self.holds_made,
            self.transaction_next,
            self.message_next,
            self.assets.len() as u64,
        ] {
            number(&mut meta, value);
        }
        for asset in &self.assets {
            meta.push(asset.scale);
            text(&mut meta, asset.code.as_str());
        }
        number(&mut meta, self.messages.len() as u64);
        for (&at, message) in &self.messages {
            number(&mut meta, at);
            message.encode(&mut meta);
        }
        number(&mut meta, self.incoming.len() as u64);
        for (&(shard, at), answer) in &self.incoming {
            number(&mut meta, u64::from(shard));
            number(&mut meta, at);
            match answer {
                Ok(()) => meta.push(1),
                Err(refusal) => {
                    meta.push(0);
                    text(&mut meta, refusal.code());
                    text(&mut meta, refusal.reason());
                }
            }
        }
        number(&mut meta, self.floors.len() as u64);
        for (&shard, &floor) in &self.floors {
            number(&mut meta, u64::from(shard));
            number(&mut meta, floor);
        }
        self.chain_begin(&mut meta);
        number(&mut meta, self.principals.len() as u64);
        for (&(shard, transaction), principal) in &self.principals {
            number(&mut meta, u64::from(shard));
            number(&mut meta, transaction);
            text(&mut meta, principal.as_str());
        }
        self.checkpoint = Progress { meta, table: META, restored: 0 };
    }

    fn checkpoint_next(&mut self, out: &mut Vec<u8>, bytes_max: usize) -> bool {
        if self.checkpoint.table == META {
            out.append(&mut self.checkpoint.meta);
            self.checkpoint.table = ACCOUNTS;
            return true;
        }
        let number = self.checkpoint.table;
        if number >= END {
            return false;
        }
        out.push(number);
        let more = with_table!(self, number, |table| table.checkpoint_next(out, bytes_max));
        if more != Some(true) {
            self.checkpoint.table += 1;
        }
        self.checkpoint.table < END
    }

    fn checkpoint_abort(&mut self) {
        for number in ACCOUNTS..END {
            with_table!(self, number, |table| table.checkpoint_abort());
        }
        self.checkpoint = Progress { table: END, ..Progress::default() };
    }

    fn restore(&mut self, chunk: &[u8]) -> Result<(), Corrupt> {
        let (&number, slice) = chunk.split_first().ok_or_else(|| corrupt("an empty chunk"))?;
        if number == META {
            return self.restore_meta(slice);
        }
        let restored = with_table!(self, number, |table| table.restore(slice))
            .ok_or_else(|| {
                corrupt(format!("chunk of table {number}, which is none: a newer version wrote it"))
            })?
            .map_err(|damaged| corrupt(format!("table {number}: {damaged}")))?;
        if restored == Restored::Complete {
            self.checkpoint.restored |= 1 << number;
        }
        Ok(())
    }

    fn restore_finish(&mut self) -> Result<(), Corrupt> {
        if self.checkpoint.restored != (1 << END) - 1 {
            return Err(corrupt("the checkpoint is not whole"));
        }
        self.checkpoint = Progress { table: END, ..Progress::default() };
        self.rebuild_accounts()?;
        self.rebuild_ids()?;
        self.rebuild_transactions()
    }
}

impl Ledger {
    fn chain_begin(&self, meta: &mut Vec<u8>) {
        let chain = &self.chain;
        meta.extend_from_slice(&chain.value);
        meta.extend_from_slice(&chain.root);
        number(meta, chain.seals_made);
        number(meta, chain.since.map_or(0, |since| since.0.saturating_add(1)));
        number(meta, chain.tree.leaves());
        chain.tree.whole().iter().for_each(|hash| meta.extend_from_slice(hash));
        number(meta, chain.seals.len() as u64);
        for seal in &chain.seals {
            for value in [seal.number, seal.at.0, seal.position, seal.records] {
                number(meta, value);
            }
            meta.extend_from_slice(&seal.root);
        }
    }

    fn restore_meta(&mut self, slice: &[u8]) -> Result<(), Corrupt> {
        let input = &mut Reader::new(slice);
        let version = input.byte()?;
        if !(1..=VERSION).contains(&version) {
            return Err(corrupt(format!(
                "version {version} of the wallets' checkpoint: this one reads up to {VERSION}"
            )));
        }
        if self.checkpoint.restored != 0 {
            return Err(corrupt("the first chunk comes a second time"));
        }
        self.now = Time(input.number()?);
        self.remembered_next = input.small()?;
        self.holds_made = input.number()?;
        self.transaction_next = input.number()?;
        self.message_next = input.number()?;
        for _ in 0..input.small::<u16>()? {
            let scale = input.byte()?;
            let code = AssetCode::new(input.text()?).map_err(|error| corrupt(error.to_string()))?;
            self.add_asset(code, scale);
        }
        for _ in 0..input.number()? {
            let at = input.number()?;
            self.messages.insert(at, Posted::decode(input)?);
        }
        for _ in 0..input.number()? {
            let (shard, at) = (input.small()?, input.number()?);
            let answer = match input.byte()? {
                1 => Ok(()),
                _ => Err(rejected(crate::two_phase::known_code(input.text()?), input.text()?)),
            };
            self.incoming.insert((shard, at), answer);
        }
        for _ in 0..input.number()? {
            let shard = input.small()?;
            self.floors.insert(shard, input.number()?);
        }
        self.restore_chain(input)?;
        if version >= PRINCIPALS {
            for _ in 0..input.number()? {
                let transaction = (input.small()?, input.number()?);
                self.principals.insert(transaction, principal_id(input.text()?)?);
            }
        }
        if !input.is_empty() {
            return Err(corrupt("the first chunk is longer than its stated length"));
        }
        self.checkpoint.restored |= 1 << META;
        Ok(())
    }

    fn restore_chain(&mut self, input: &mut Reader<'_>) -> Result<(), Corrupt> {
        self.chain.value = input.array()?;
        self.chain.root = input.array()?;
        self.chain.seals_made = input.number()?;
        self.chain.since = input.number()?.checked_sub(1).map(Time);
        let leaves = input.number()?;
        let mut whole: Vec<Hash> = Vec::new();
        for _ in 0..leaves.count_ones() {
            whole.push(input.array()?);
        }
        self.chain.tree =
            Tree::restored(whole, leaves).ok_or_else(|| corrupt("a tree with the wrong number of hashes"))?;
        for _ in 0..input.number()? {
            let number = input.number()?;
            let at = Time(input.number()?);
            let position = input.number()?;
            let records = input.number()?;
            self.chain.seals.push_back(Seal { number, at, position, records, root: input.array()? });
        }
        Ok(())
    }

    fn rebuild_accounts(&mut self) -> Result<(), Corrupt> {
        self.by_account.reserve(self.accounts.len());
        for number in 0..self.accounts.len() as u32 {
            let account = self.accounts.get(number).ok_or_else(|| corrupt("a gap between accounts"))?;
            let (name, at) = (&account.name, account.asset);
            if usize::from(at) >= self.assets.len() || self.find_account(name, at).is_some() {
                return Err(corrupt(format!("{name} occurs twice, or has no asset")));
            }
            if account.extra != NONE
                && self.extras.get(account.extra).is_none_or(|extra| extra.account != number)
            {
                return Err(corrupt(format!("{name} has another one's extra")));
            }
            let (posted, held) = (account.posted, account.held);
            let is_transit = name.as_str() == TRANSIT;
            let asset = &mut self.assets[usize::from(at)];
            if is_transit {
                asset.transit = number;
            }
            asset.accounts += 1;
            asset.moved(0, posted);
            asset.held += u128::from(held);
            self.index_account(number);
        }
        if let Some(asset) = self.assets.iter().find(|asset| asset.credit != asset.debit) {
            return Err(corrupt(format!("the sum of all accounts of {} is not zero", asset.code)));
        }
        self.order = Order::from_sorted(&self.sorted_accounts());
        Ok(())
    }

    fn is_party(&self, party: u32) -> bool {
        match party & crate::remembered::OTHER {
            0 => self.accounts.contains(party),
            other => self.others.contains(party & !other),
        }
    }

    fn rebuild_ids(&mut self) -> Result<(), Corrupt> {
        self.by_id.reserve(self.remembered.len());
        let places: Vec<u32> = self.remembered.iter().map(|(place, _)| place).collect();
        for place in places {
            let entry = self.remembered.at(place);
            let id = entry.id();
            let is_between = |debit, credit| {
                self.is_party(debit) && self.is_party(credit) || (debit, credit) == (NONE, NONE)
            };
            if !is_between(entry.debit, entry.credit) {
                return Err(corrupt(format!("the transfer {id} is between nobody")));
            }
            if entry.state() == State::Forgotten {
                continue;
            }
            if place as usize >= self.remembered.len() || self.find_remembered(id).is_some() {
                return Err(corrupt(format!("the transfer {id} is remembered twice, or in a wrong place")));
            }
            self.index_remembered(place);
        }
        let places: Vec<u32> = self.holds.iter().map(|(place, _)| place).collect();
        for place in places {
            let hold = self.holds.at(place);
            if !self.accounts.contains(hold.debit) || !self.is_party(hold.credit) {
                return Err(corrupt(format!("the hold {} is of nobody", hold.id)));
            }
            self.index_hold(place);
        }
        Ok(())
    }

    fn rebuild_transactions(&mut self) -> Result<(), Corrupt> {
        let places: Vec<u32> = self.transactions.iter().map(|(place, _)| place).collect();
        for place in places {
            let items = &self.transactions.at(place).items;
            self.items_fit(items)?;
            self.index_transaction(place)?;
        }
        let places: Vec<u32> = self.prepared.iter().map(|(place, _)| place).collect();
        for place in places {
            let prepared = self.prepared.at(place);
            self.items_fit(&prepared.items)?;
            self.by_prepared.insert((prepared.from, prepared.transaction), place);
            self.index_prepared(place)?;
        }
        Ok(())
    }
}
