//! Which command is carried out where, and transfers that stay on this shard.
//!
//! Everything is decided before the first event is written: a refusal leaves the record empty.

use stadium_state_machine::{Record, busy, rejected};

use crate::account::{NONE, Rules};
use crate::events::{Event, Promised, Transferred};
use crate::ledger::{Executed, TRANSIT};
use crate::plan::{Checked, Intent, Looked, Overlay, Side};
use crate::prefetch::TOGETHER;
use crate::record::Writer;
use crate::refusal::{
    ASSETS_FULL, ID_CONTENT, INSUFFICIENT, LINKED, MISDIRECTED, RESERVED, RULES, SCALE, SHARDS,
    TRANSFER_UNKNOWN,
};
use crate::transaction::{ItemKind, Notes};
use crate::{
    Answer, AssetCode, Booked, Bounds, Change, Command, Ledger, NewAccount, NewTransfer, Outcome, Overdraft,
    Refusal, Time, WalletName,
};

impl Ledger {
    /// Carries out a command that may change something; those that only read memory are answered too.
    ///
    /// # Errors
    ///
    /// The refusals of docs/wallet.md; nothing happened then, and the record stays as it was begun. So do History, BalanceAt and
    /// Find (MISDIRECTED): they go to [`Self::look_up`].
    pub fn execute(
        &mut self,
        at: u64,
        now: Time,
        command: &Command,
        record: &mut Record,
    ) -> Result<Executed, Refusal> {
        self.now = self.now.max(now);
        let mut writer = self.writer(record, at, now);
        let executed = match command {
            Command::Transfer { transfers, linked, principal } => {
                writer.of(principal.as_ref());
                let mut ids = std::mem::take(&mut self.ids);
                let fits = self.list_fits(transfers, &mut ids);
                self.ids = ids;
                match fits {
                    Err(refusal) => Err(refusal),
                    Ok(()) if *linked => self.linked(&mut writer, transfers),
                    Ok(()) => Ok(self.one_by_one(&mut writer, transfers)),
                }
            }
            Command::Declare { asset, scale } => {
                self.declare(&mut writer, asset, *scale).map(|()| Executed::Done(Answer::Done))
            }
            Command::Open { accounts } => self.open(&mut writer, accounts).map(Executed::Done),
            Command::Change { wallet, asset, change } => {
                self.change(&mut writer, wallet, asset, change).map(|()| Executed::Done(Answer::Done))
            }
            Command::Wallet { .. }
            | Command::Accounts { .. }
            | Command::Holds { .. }
            | Command::Assets
            | Command::Seals { .. } => self.read(now, command).map(Executed::Done),
            Command::History { .. } | Command::BalanceAt { .. } | Command::Find { .. } => {
                Err(rejected(MISDIRECTED, "it is read from the journal, not from the wallets' memory"))
            }
        };
        debug_assert!(executed.is_ok() || writer.events() == 0, "a refusal writes nothing");
        self.close(writer, 0);
        self.order_new();
        executed
    }

    /// Whether `execute` would carry out these transfers now, all of them, and without another shard: for records that several
    /// machines share.
    ///
    /// # Errors
    ///
    /// What `execute` would refuse; SHARDS where other shards would be asked; MISDIRECTED for what is no transfer.
    pub fn check(&self, now: Time, command: &Command) -> Result<Checked, Refusal> {
        let Command::Transfer { transfers, .. } = command else {
            return Err(rejected(MISDIRECTED, "only transfers are checked beforehand"));
        };
        debug_assert!(now >= Time(0), "the time is that of the last call");
        self.list_fits(transfers, &mut Vec::new())?;
        let mut overlay = Overlay::default();
        let mut known = 0;
        for (at, transfer) in transfers.iter().enumerate() {
            let refused = |refusal| of_linked(at, transfers, refusal);
            match self.look_at(transfer, true).map_err(refused)? {
                Looked::Known(_) => known += 1,
                Looked::New(intent) if intent.needs_others() => {
                    let id = transfer.id;
                    let reason = match intent.home {
                        Some(home) => format!(
                            "the transfer {id} between system wallets is decided on shard {home}, by its id: send it by itself"
                        ),
                        None => format!(
                            "the transfer {id} is between wallets of several shards: give them a common {{tag}}"
                        ),
                    };
                    return Err(rejected(SHARDS, reason));
                }
                Looked::New(intent) => self.admit(&intent, Some(&mut overlay)).map_err(refused)?,
            }
        }
        match known {
            0 => Ok(Checked::New),
            known if known == transfers.len() => Ok(Checked::Known),
            _ => Err(partly_known(transfers)),
        }
    }

    fn declare(&mut self, writer: &mut Writer<'_>, asset: &AssetCode, scale: u8) -> Result<(), Refusal> {
        if scale > Bounds::SCALE_MAX {
            let reason = format!("{scale} digits behind the point: 0 to {} are allowed", Bounds::SCALE_MAX);
            return Err(rejected(SCALE, reason));
        }
        if let Some(known) = self.find_asset(asset) {
            let has = self.assets[usize::from(known)].scale;
            if has != scale {
                let reason = format!("{asset} has {has} digits behind the point, for ever");
                return Err(rejected(RULES, reason));
            }
            return Ok(());
        }
        if self.assets.len() >= Bounds::ASSETS_MAX {
            let reason = format!("there are {} assets: no more are allowed", self.assets.len());
            return Err(busy(ASSETS_FULL, 60_000, reason));
        }
        let number = self.assets.len() as u16;
        self.emit(writer, &Event::Asset { asset: number, scale, code: asset.as_str() });
        Ok(())
    }

    fn open(&mut self, writer: &mut Writer<'_>, accounts: &[NewAccount]) -> Result<Answer, Refusal> {
        crate::plan::count(accounts.len(), "accounts")?;
        Ok(Answer::Opened(accounts.iter().map(|account| self.open_one(writer, account)).collect()))
    }

    fn open_one(&mut self, writer: &mut Writer<'_>, account: &NewAccount) -> Result<bool, Refusal> {
        let NewAccount { wallet, asset, overdraft, ceiling } = account;
        if wallet.is_system() {
            return Err(system(wallet));
        }
        if ceiling.is_some_and(|ceiling| ceiling > Bounds::AMOUNT_MAX) {
            return Err(ceiling_out_of_bounds());
        }
        let asset = self.known_asset(asset)?;
        self.must_live_here(wallet)?;
        let rules = Rules { overdraft: *overdraft, ceiling: *ceiling, closed: false };
        if let Some(number) = self.find_account(wallet, asset) {
            let account = self.accounts.at(number);
            let has = account.rules(self.extra(account));
            if (has.overdraft, has.ceiling) != (rules.overdraft, rules.ceiling) {
                let reason = format!("{wallet} has this account with other rules: change it instead");
                return Err(rejected(RULES, reason));
            }
            return Ok(false);
        }
        if self.accounts.len() >= self.bounds.accounts_max as usize {
            return Err(self.accounts_full());
        }
        self.open_account(writer, wallet, asset, rules);
        Ok(true)
    }

    fn must_live_here(&self, wallet: &WalletName) -> Result<(), Refusal> {
        match wallet.home(self.place.shards) {
            Some(shard) if shard != self.place.shard => {
                let reason = format!("{wallet} lives on shard {shard}, and this is {}", self.place.shard);
                Err(rejected(MISDIRECTED, reason))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn open_account(
        &mut self,
        writer: &mut Writer<'_>,
        wallet: &WalletName,
        asset: u16,
        rules: Rules,
    ) -> u32 {
        let account = self.accounts.len() as u32;
        self.emit(writer, &Event::Opened { account, asset, rules, wallet: wallet.as_str() });
        account
    }

    fn change(
        &mut self,
        writer: &mut Writer<'_>,
        wallet: &WalletName,
        asset: &AssetCode,
        change: &Change,
    ) -> Result<(), Refusal> {
        let asset = self.known_asset(asset)?;
        if wallet.is_system() {
            return Err(system(wallet));
        }
        self.must_live_here(wallet)?;
        let number = self.find_account(wallet, asset).ok_or_else(|| self.unknown_account(wallet, asset))?;
        let account = self.accounts.at(number);
        let has = account.rules(self.extra(account));
        let mut rules = has;
        if let Some(overdraft) = change.overdraft {
            rules.overdraft = overdraft;
        }
        if let Some(ceiling) = change.ceiling {
            rules.ceiling = ceiling;
        }
        if let Some(closed) = change.closed {
            rules.closed = closed;
        }
        if rules.ceiling.is_some_and(|ceiling| ceiling > Bounds::AMOUNT_MAX) {
            return Err(ceiling_out_of_bounds());
        }
        let available = i128::from(account.posted) - i128::from(account.held);
        if rules.overdraft == Overdraft::Never && has.overdraft == Overdraft::Allowed && available < 0 {
            let reason = format!("{wallet} is overdrawn: {available} are available");
            return Err(rejected(INSUFFICIENT, reason));
        }
        if rules != has {
            self.emit(writer, &Event::Changed { account: number, rules });
        }
        Ok(())
    }

    fn one_by_one(&mut self, writer: &mut Writer<'_>, transfers: &[NewTransfer]) -> Executed {
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(transfers.len());
        let mut transactions = Vec::new();
        for (at, transfer) in transfers.iter().enumerate() {
            if at % TOGETHER == 0
                && let Some(next) = transfers.get(at..at + TOGETHER)
            {
                self.prefetch(next);
            }
            let outcome = match self.look_at(transfer, false) {
                Err(refusal) => Err(refusal),
                Ok(Looked::Known(booked)) => Ok(booked),
                Ok(Looked::New(intent)) => match self.admit(&intent, None) {
                    Err(refusal) => Err(refusal),
                    Ok(()) if intent.needs_others() => {
                        let intents = std::slice::from_ref(&intent);
                        self.begin_transaction(writer, std::slice::from_ref(transfer), intents).map(
                            |transaction| {
                                transactions.push((transaction, outcomes.len()));
                                fresh(transfer, writer.time)
                            },
                        )
                    }
                    Ok(()) => {
                        self.book(writer, transfer, &intent);
                        Ok(fresh(transfer, writer.time))
                    }
                },
            };
            outcomes.push(outcome);
        }
        self.refused += outcomes.iter().filter(|outcome| outcome.is_err()).count() as u64;
        if transactions.is_empty() {
            return Executed::Done(Answer::Booked(outcomes));
        }
        Executed::Pending(self.waiting.wait(false, outcomes, &transactions))
    }

    fn linked(&mut self, writer: &mut Writer<'_>, transfers: &[NewTransfer]) -> Result<Executed, Refusal> {
        let mut intents = std::mem::take(&mut self.intents);
        let mut overlay = std::mem::take(&mut self.overlay);
        let executed = self.linked_with(writer, transfers, &mut intents, &mut overlay);
        intents.clear();
        (self.intents, self.overlay) = (intents, overlay);
        self.refused += if executed.is_err() { transfers.len() as u64 } else { 0 };
        executed
    }

    fn linked_with(
        &mut self,
        writer: &mut Writer<'_>,
        transfers: &[NewTransfer],
        intents: &mut Vec<Intent>,
        overlay: &mut Overlay,
    ) -> Result<Executed, Refusal> {
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(transfers.len());
        for (at, transfer) in transfers.iter().enumerate() {
            match self.look_at(transfer, true).map_err(|refusal| of_linked(at, transfers, refusal))? {
                Looked::Known(booked) => outcomes.push(Ok(booked)),
                Looked::New(intent) => intents.push(intent),
            }
        }
        if intents.is_empty() {
            return Ok(Executed::Done(Answer::Booked(outcomes)));
        }
        if !outcomes.is_empty() {
            return Err(partly_known(transfers));
        }
        let is_transaction = intents.iter().any(Intent::needs_others);
        overlay.begin(is_transaction);
        for (at, intent) in intents.iter().enumerate() {
            self.admit(intent, Some(overlay)).map_err(|refusal| of_linked(at, transfers, refusal))?;
        }
        outcomes.extend(transfers.iter().map(|transfer| Ok(fresh(transfer, writer.time))));
        if is_transaction {
            let transaction = self.begin_transaction(writer, transfers, intents)?;
            return Ok(Executed::Pending(self.waiting.wait(true, outcomes, &[(transaction, 0)])));
        }
        for (transfer, intent) in transfers.iter().zip(&*intents) {
            self.book(writer, transfer, intent);
        }
        Ok(Executed::Done(Answer::Booked(outcomes)))
    }

    /// Books what was admitted.
    #[inline]
    fn book(&mut self, writer: &mut Writer<'_>, transfer: &NewTransfer, intent: &Intent) {
        let notes = Notes {
            of: intent.of,
            other: None,
            reference: &transfer.reference,
            metadata: &transfer.metadata,
            effective: transfer.effective,
        };
        let debit = self.account_of(writer, &intent.debit, intent.asset);
        if intent.kind.moves() {
            let credit = self.account_of(writer, &intent.credit, intent.asset);
            let amount = i128::from(intent.amount);
            let what = Transferred {
                kind: intent.kind,
                id: transfer.id,
                content: Some(intent.content),
                amount: intent.amount,
                debit: (debit, self.line(debit, writer.at, -amount)),
                credit: (credit, self.line(credit, writer.at, amount)),
                notes,
            };
            return self.emit(writer, &Event::Transfer(what));
        }
        let (credit, other) = match &intent.credit {
            Side::There(_, name) => (None, Some(name.as_str())),
            side => (Some(self.account_of(writer, side, intent.asset)), None),
        };
        let what = Promised {
            id: transfer.id,
            content: intent.content,
            amount: intent.amount,
            debit,
            credit,
            notes: Notes { other, ..notes },
        };
        let event = match intent.kind {
            ItemKind::Hold => Event::Held { what, expires: intent.expires },
            _ => Event::Voided(what),
        };
        self.emit(writer, &event);
    }

    /// The account of a side that is here; opened where it is a system wallet's first.
    #[inline]
    pub(crate) fn account_of(&mut self, writer: &mut Writer<'_>, side: &Side, asset: u16) -> u32 {
        match side {
            Side::Here(account) => *account,
            Side::New(name) => match self.find_account(name, asset) {
                Some(account) => account,
                None => self.open_account(writer, name, asset, Rules::SYSTEM),
            },
            Side::There(..) => NONE,
        }
    }

    /// The account that takes the other side of what goes to another shard.
    pub(crate) fn transit(&mut self, writer: &mut Writer<'_>, asset: u16) -> u32 {
        let transit = self.assets[usize::from(asset)].transit;
        if transit != NONE {
            return transit;
        }
        let name = WalletName::new(TRANSIT).expect("it is a name");
        self.open_account(writer, &name, asset, Rules::SYSTEM)
    }
}

fn fresh(transfer: &NewTransfer, at: Time) -> Booked {
    Booked { transfer: transfer.id, at, duplicate: false }
}

fn system(wallet: &WalletName) -> Refusal {
    let reason = format!("{wallet} is a system wallet: its accounts open by themselves and have no rules");
    rejected(if wallet.as_str() == TRANSIT { RESERVED } else { RULES }, reason)
}

fn ceiling_out_of_bounds() -> Refusal {
    rejected(crate::refusal::AMOUNT, format!("a ceiling is at most {}", Bounds::AMOUNT_MAX))
}

/// The reason for which a list was refused. A shard that is asked alone, or asked whether it knows
/// an id, gives it itself.
fn of_linked(at: usize, transfers: &[NewTransfer], refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Rejected { code, reason } if transfers.len() > 1 && code != TRANSFER_UNKNOWN => {
            let (number, id) = (at + 1, transfers[at].id);
            rejected(LINKED, format!("transfer {number} of the list, {id}, was refused: {reason} ({code})"))
        }
        refusal => refusal,
    }
}

fn partly_known(transfers: &[NewTransfer]) -> Refusal {
    let reason = format!(
        "some of the {} linked transfers were booked before, and some were not: the same list is sent again as a whole ({ID_CONTENT})",
        transfers.len()
    );
    rejected(LINKED, reason)
}
