//! The checker's own books: requests, acknowledgements, and the required balance of every account.
//!
//! A transfer is booked or not; where nobody heard the answer that is open until a look asks for
//! it. The required balance of an account follows from the booked transfers alone, in any order.

use std::collections::{BTreeMap, BTreeSet};

use stadium_wallet::{AssetCode, Kind, NewTransfer, Overdraft, PrincipalId, Time, TransferId, WalletName};

use super::plan::WalletPlan;
use crate::ledger::Violation;

/// The number of an account.
pub type AccountNumber = usize;

/// One account, as the checker knows it.
#[derive(Debug, Clone)]
pub struct Account {
    /// Whose.
    pub wallet: WalletName,
    /// Of what.
    pub asset: AssetCode,
    /// Where it lives; a system wallet's is on all shards.
    pub home: Option<u16>,
    /// Whether it may be overdrawn.
    pub overdraft: Overdraft,
    /// The most that it may hold.
    pub ceiling: Option<u64>,
    /// Whether it may be open, and whether it may be closed.
    pub closed: (bool, bool),
    /// Times that it was closed or opened again, as far as was asked.
    pub changes: u32,
    /// Its certain balance when everything was looked at last, and the amounts that were answered
    /// since.
    pub sure: Sure,
}

impl Account {
    /// Whether what is available may never fall below zero.
    pub fn is_bound(&self) -> bool {
        self.home.is_some() && self.overdraft == Overdraft::Never
    }
}

/// What an account has for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sure {
    /// What came in less what went out.
    pub posted: i128,
    /// Promised by holds.
    pub held: i128,
}

/// The possible effects of a transfer on an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    /// Which.
    pub account: AccountNumber,
    /// What goes out.
    pub out: u64,
    /// What comes in.
    pub come: u64,
    /// What is held from now on.
    pub hold: u64,
}

/// An amount from one account to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg {
    /// From.
    pub debit: AccountNumber,
    /// To.
    pub credit: AccountNumber,
    /// How much.
    pub amount: u64,
}

/// Whether a transfer is booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nobody has heard that it is.
    Open,
    /// It is, since then.
    Booked(Time),
}

/// How a hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By that transfer.
    Captured(TransferId),
    /// By that transfer.
    Voided(TransferId),
    /// By itself.
    Expired,
}

/// A transfer that was asked for.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// What it does.
    pub kind: Kind,
    /// What an outside system calls it.
    pub reference: String,
    /// The principal that asked for it first.
    pub principal: Option<PrincipalId>,
    /// The time that the clock showed when it was first asked for.
    pub asked: Time,
    /// It is one of a list that several shards book together.
    pub is_in_transaction: bool,
    /// What became of it.
    pub outcome: Outcome,
    /// It was asked for and nobody heard the answer, since the last look.
    pub is_lost: bool,
    /// Answers that reported it as booked just now.
    pub firsts: u32,
    /// How it ended, where it is a hold.
    pub end: Option<End>,
    /// What moved it back.
    pub reversed: Option<TransferId>,
}

/// The books.
#[derive(Debug, Clone)]
pub struct Books {
    /// All accounts.
    pub accounts: Vec<Account>,
    numbers: BTreeMap<(WalletName, AssetCode), AccountNumber>,
    /// All transfers that were ever asked for with a right content.
    pub transfers: BTreeMap<TransferId, Transfer>,
    /// Lists that are booked wholly or not at all.
    pub lists: Vec<Vec<TransferId>>,
    /// Effects of answered transfers that reach another shard later than the answer its client, until the next look.
    pub unsettled: Vec<Effect>,
    /// Shards.
    pub shards: u16,
}

impl Books {
    /// Empty books over the accounts of a plan.
    pub fn new(plan: &WalletPlan, shards: u16) -> Books {
        let mut accounts = Vec::new();
        let account = |wallet: &WalletName, asset: &AssetCode, overdraft, ceiling| Account {
            wallet: wallet.clone(),
            asset: asset.clone(),
            home: wallet.home(shards),
            overdraft,
            ceiling,
            closed: (true, false),
            changes: 0,
            sure: Sure::default(),
        };
        for new in &plan.accounts {
            accounts.push(account(&new.wallet, &new.asset, new.overdraft, new.ceiling));
        }
        for wallet in &plan.systems {
            for (asset, _) in &plan.assets {
                accounts.push(account(wallet, asset, Overdraft::Allowed, None));
            }
        }
        let key = |account: &Account| (account.wallet.clone(), account.asset.clone());
        let numbers = accounts.iter().enumerate().map(|(at, account)| (key(account), at)).collect();
        Books {
            accounts,
            numbers,
            transfers: BTreeMap::new(),
            lists: Vec::new(),
            unsettled: Vec::new(),
            shards,
        }
    }

    /// The number of an account.
    pub fn number(&self, wallet: &WalletName, asset: &AssetCode) -> Option<AccountNumber> {
        self.numbers.get(&(wallet.clone(), asset.clone())).copied()
    }

    /// Whether a transfer is known to be booked.
    pub fn is_booked(&self, id: TransferId) -> bool {
        self.transfers.get(&id).is_some_and(|transfer| transfer.outcome != Outcome::Open)
    }

    /// What a transfer of this content moves, once it is booked; none for a hold or a void.
    pub fn leg(&self, kind: &Kind) -> Option<Leg> {
        match kind {
            Kind::Post { debit, credit, asset, amount } => Some(Leg {
                debit: self.number(debit, asset)?,
                credit: self.number(credit, asset)?,
                amount: *amount,
            }),
            Kind::Hold { .. } | Kind::Void { .. } => None,
            Kind::Capture { hold, amount } => {
                let promise = self.promise(&self.transfers.get(hold)?.kind)?;
                Some(Leg { amount: amount.unwrap_or(promise.amount), ..promise })
            }
            Kind::Reverse { transfer } => {
                let reversed = &self.transfers.get(&self.moved_by(*transfer))?.kind;
                let Leg { debit, credit, amount } = match reversed {
                    Kind::Post { .. } | Kind::Capture { .. } => self.leg(reversed)?,
                    _ => return None,
                };
                Some(Leg { debit: credit, credit: debit, amount })
            }
        }
    }

    /// The transfer that moved the amount: of a hold that was captured, the capture.
    pub fn moved_by(&self, id: TransferId) -> TransferId {
        match self.transfers.get(&id).and_then(|transfer| transfer.end) {
            Some(End::Captured(capture)) => capture,
            _ => id,
        }
    }

    /// What a hold promises.
    pub fn promise(&self, kind: &Kind) -> Option<Leg> {
        let Kind::Hold { debit, credit, asset, amount, .. } = kind else { return None };
        Some(Leg { debit: self.number(debit, asset)?, credit: self.number(credit, asset)?, amount: *amount })
    }

    /// Its possible effects on accounts.
    pub fn effects(&self, kind: &Kind) -> Vec<Effect> {
        let none = Effect { account: 0, out: 0, come: 0, hold: 0 };
        if let Some(promise) = self.promise(kind) {
            return vec![Effect { account: promise.debit, hold: promise.amount, ..none }];
        }
        let Some(leg) = self.leg(kind) else { return Vec::new() };
        vec![
            Effect { account: leg.debit, out: leg.amount, ..none },
            Effect { account: leg.credit, come: leg.amount, ..none },
        ]
    }

    /// Whether several shards book it, or the list that it is in.
    pub fn travels(&self, id: TransferId) -> bool {
        self.transfers
            .get(&id)
            .is_some_and(|transfer| transfer.is_in_transaction || self.is_between_shards(&transfer.kind))
    }

    /// Whether several shards book these transfers together.
    pub fn is_transaction(&self, transfers: &[NewTransfer]) -> bool {
        let legs = transfers.iter().filter_map(|new| self.leg(&new.kind).or_else(|| self.promise(&new.kind)));
        let accounts = legs.flat_map(|leg| [leg.debit, leg.credit]);
        let homes: BTreeSet<u16> = accounts.filter_map(|at| self.accounts[at].home).collect();
        homes.len() > 1
    }

    /// Whether it moves an amount from one shard to another.
    pub fn is_between_shards(&self, kind: &Kind) -> bool {
        self.leg(kind).is_some_and(|leg| {
            match (self.accounts[leg.debit].home, self.accounts[leg.credit].home) {
                (Some(debit), Some(credit)) => debit != credit,
                _ => false,
            }
        })
    }

    /// What open holds promise to an account.
    pub fn promised_to(&self, account: AccountNumber) -> i128 {
        let open = self.transfers.values().filter(|transfer| transfer.end.is_none());
        let promises = open.filter_map(|transfer| self.promise(&transfer.kind));
        promises.filter(|promise| promise.credit == account).map(|promise| i128::from(promise.amount)).sum()
    }

    /// Whether an answer was lost that was about this transfer.
    pub fn is_touched_by_lost(&self, id: TransferId) -> bool {
        self.transfers.iter().any(|(other, transfer)| {
            let target = match &transfer.kind {
                Kind::Capture { hold, .. } | Kind::Void { hold } => Some(*hold),
                Kind::Reverse { transfer } => Some(*transfer),
                Kind::Post { .. } | Kind::Hold { .. } => None,
            };
            transfer.is_lost && (*other == id || target == Some(id))
        })
    }

    /// Whether a booked transfer may still be on its way to another shard.
    pub fn is_unsettled(&self, id: TransferId) -> bool {
        !self.unsettled.is_empty() && self.travels(id)
    }

    /// Notes that a transfer is booked, by an answer or a look. Returns whether that is news.
    ///
    /// # Errors
    ///
    /// It cannot be: the hold that it ends has ended otherwise.
    pub fn book(&mut self, id: TransferId, at: Time) -> Result<bool, Violation> {
        let Some(transfer) = self.transfers.get_mut(&id) else {
            return Violation::new(format!("transfer {id} is booked, which nobody asked for"));
        };
        transfer.is_lost = false;
        match transfer.outcome {
            Outcome::Booked(before) if before != at => {
                return Violation::new(format!(
                    "transfer {id} was booked at {} and is now reported as booked at {}",
                    before.0, at.0
                ));
            }
            Outcome::Booked(_) => return Ok(false),
            Outcome::Open => transfer.outcome = Outcome::Booked(at),
        }
        let kind = transfer.kind.clone();
        match kind {
            Kind::Capture { hold, .. } => self.end(hold, End::Captured(id))?,
            Kind::Void { hold } => self.end(hold, End::Voided(id))?,
            Kind::Reverse { transfer } => {
                let transfer = self.moved_by(transfer);
                let Some(reversed) = self.transfers.get_mut(&transfer) else {
                    return Violation::new(format!("{id} reverses {transfer}, which nobody asked for"));
                };
                if let Some(other) = reversed.reversed.replace(id) {
                    return Violation::new(format!("{transfer} is reversed twice, by {other} and by {id}"));
                }
            }
            Kind::Post { .. } | Kind::Hold { .. } => {}
        }
        Ok(true)
    }

    /// Notes how a hold ended.
    ///
    /// # Errors
    ///
    /// It had ended otherwise.
    pub fn end(&mut self, hold: TransferId, end: End) -> Result<(), Violation> {
        let Some(transfer) = self.transfers.get_mut(&hold) else {
            return Violation::new(format!("{hold} is {end:?}, and nobody asked for it"));
        };
        match transfer.end.replace(end) {
            None => Ok(()),
            Some(before) if before == end => Ok(()),
            Some(before) => Violation::new(format!("the hold {hold} ended twice: {before:?}, and {end:?}")),
        }
    }

    /// Adds what a booked transfer did to what is sure: at once where it stays on one shard.
    pub fn settle(&mut self, id: TransferId) {
        let kind = self.transfers[&id].kind.clone();
        let effects = self.effects(&kind);
        if self.travels(id) {
            self.unsettled.extend(effects);
            return;
        }
        for effect in effects {
            let sure = &mut self.accounts[effect.account].sure;
            sure.posted += i128::from(effect.come) - i128::from(effect.out);
            sure.held += i128::from(effect.hold);
        }
        if let Kind::Capture { hold, .. } | Kind::Void { hold } = kind
            && let Some(promise) = self.promise(&self.transfers[&hold].kind)
        {
            self.accounts[promise.debit].sure.held -= i128::from(promise.amount);
        }
    }

    /// The required balance of every account: all booked transfers, and no more.
    pub fn expected(&self) -> Vec<Sure> {
        let mut all = vec![Sure::default(); self.accounts.len()];
        for transfer in self.transfers.values() {
            if transfer.outcome == Outcome::Open {
                continue;
            }
            if let Some(leg) = self.leg(&transfer.kind) {
                all[leg.debit].posted -= i128::from(leg.amount);
                all[leg.credit].posted += i128::from(leg.amount);
            }
            if let (Some(promise), None) = (self.promise(&transfer.kind), transfer.end) {
                all[promise.debit].held += i128::from(promise.amount);
            }
        }
        all
    }

    /// After a look nothing is open: balances are certain.
    pub fn all_is_settled(&mut self) {
        self.unsettled.clear();
        for (account, sure) in self.expected().into_iter().enumerate() {
            self.accounts[account].sure = sure;
        }
    }
}
