//! What an answer about wallets proves.
//!
//! *Booked* means booked for ever, once; a refusal means that nothing happened, and must have been true.

use stadium_queue::Placed;
use stadium_wallet::refusal::MOVED;
use stadium_wallet::{
    AccountView, Answer, BookState, Booked, Command, Kind, Refusal, Time, TransferId, TransferView,
};

use super::Checker;
use super::asked::{Ask, Asked};
use super::books::{Books, Leg, Outcome};
use crate::asker::is_open;
use crate::ledger::Violation;

/// An answer as a client gets it.
pub type Answered = Result<Replied, Refusal>;

/// A yes.
#[derive(Debug, Clone)]
pub enum Replied {
    /// Of the wallets.
    Wallet(Answer),
    /// Of wallets and queues together.
    Together(Vec<Booked>, Vec<Placed>),
}

impl Checker {
    /// Holds an answer against the books.
    ///
    /// # Errors
    ///
    /// The promise that it breaks.
    pub fn answered(&mut self, number: u64, answer: &Answered, high: Time) -> Result<(), Violation> {
        let Some(asked) = self.flying.asked.remove(&number) else {
            return Violation::new("an answer about wallets that nobody asked for");
        };
        match (&asked.ask, answer) {
            (_, Err(refusal)) => {
                asked.ask.transfers().iter().for_each(|transfer| self.may_be_under_way(transfer.id, refusal));
                self.refused(&asked, refusal, high)
            }
            (Ask::Together { transfers, jobs }, Ok(Replied::Together(booked, placed))) => {
                // Nothing is put again.
                let is_known = !booked.is_empty() && booked.iter().all(|booked| booked.duplicate);
                let put = if is_known { 0 } else { jobs.len() };
                if booked.len() != transfers.len() || placed.len() != put {
                    return Violation::new(format!(
                        "{} transfers and {} jobs are answered by {} and {}",
                        transfers.len(),
                        jobs.len(),
                        booked.len(),
                        placed.len()
                    ));
                }
                (0..booked.len()).try_for_each(|at| self.booked(&asked, at, &booked[at]))
            }
            (Ask::Wallet(command), Ok(Replied::Wallet(answer))) => {
                self.wallet_answered(&asked, command, answer, high)
            }
            (ask, answer) => Violation::new(format!("{ask:?} was answered {answer:?}")),
        }
    }

    /// The answer is lost: a look asks for what was sent.
    pub fn forget(&mut self, number: u64) -> Option<Ask> {
        let asked = self.flying.asked.remove(&number)?;
        if asked.wrong.is_none() {
            for transfer in asked.ask.transfers() {
                if let Some(known) = self.books.transfers.get_mut(&transfer.id) {
                    known.is_lost = true;
                }
            }
        }
        Some(asked.ask)
    }

    fn refused(&mut self, asked: &Asked, refusal: &Refusal, high: Time) -> Result<(), Violation> {
        let is_true = match &asked.ask {
            Ask::Wallet(Command::Transfer { .. }) | Ask::Together { .. } => {
                asked.check_refusal(&self.books, refusal, high)
            }
            Ask::Wallet(Command::Find { transfer }) => match refusal {
                Refusal::Busy { .. } | Refusal::Unknown { .. } if asked.may_be_busy => Ok(()),
                Refusal::Rejected { code: "WAL-022", .. } if !asked.booked.contains(transfer) => Ok(()),
                // Its record left the disk, and was looked at before.
                Refusal::Rejected { code: MOVED, .. } if self.moves && self.books.is_booked(*transfer) => {
                    Ok(())
                }
                _ => Err("it is booked and must be found".to_owned()),
            },
            Ask::Wallet(command) => match (command, refusal) {
                (_, Refusal::Busy { .. } | Refusal::Unknown { .. }) if asked.may_be_busy => Ok(()),
                // A system wallet opens by itself, when it is first used.
                (
                    Command::Wallet { wallet }
                    | Command::History { wallet, .. }
                    | Command::BalanceAt { wallet, .. },
                    Refusal::Rejected { code: "WAL-021", .. },
                ) if wallet.is_system() => Ok(()),
                (
                    Command::History { .. } | Command::BalanceAt { .. },
                    Refusal::Rejected { code: MOVED, .. },
                ) if self.moves => Ok(()),
                _ => Err("that cannot be".to_owned()),
            },
        };
        if let Err(why) = is_true {
            return Violation::new(format!("refused: {refusal}: {why}"));
        }
        Ok(())
    }

    /// *Under way* is no refusal like others: the transfer may still be booked, and a look asks what became of it. And what
    /// several shards were asked about is held there until they hear that it is off.
    fn may_be_under_way(&mut self, id: TransferId, refusal: &Refusal) {
        if self.books.travels(id) {
            let effects = self.books.effects(&self.books.transfers[&id].kind);
            self.books.unsettled.extend(effects);
        }
        let is_open = refusal.code() == stadium_wallet::refusal::PENDING || is_open(refusal);
        if is_open
            && let Some(known) = self.books.transfers.get_mut(&id)
            && known.outcome == Outcome::Open
        {
            known.is_lost = true;
        }
    }

    /// A transfer is reported as booked.
    fn booked(&mut self, asked: &Asked, at: usize, booked: &Booked) -> Result<(), Violation> {
        let transfer = &asked.ask.transfers()[at];
        let id = transfer.id;
        if booked.transfer != id {
            return Violation::new(format!("{id} was asked and {} is answered", booked.transfer));
        }
        if let Some(wrong) = asked.wrong {
            return Violation::new(format!("{id} is booked and was to be refused with {wrong}"));
        }
        if !booked.duplicate {
            if asked.booked.contains(&id) {
                return Violation::new(format!("{id} had been booked and is booked again"));
            }
            // The receiver of a hold on another shard is asked when it is captured.
            let is_here = |promise: &Leg| {
                let homes = [promise.debit, promise.credit].map(|at| self.books.accounts[at].home);
                homes[1].is_none() || homes[0] == homes[1]
            };
            let promise = self.books.promise(&transfer.kind).map(|promise| match is_here(&promise) {
                true => vec![promise.debit, promise.credit],
                false => vec![promise.debit],
            });
            let moved = self.books.leg(&transfer.kind).map(|leg| vec![leg.debit, leg.credit]);
            for account in promise.or(moved).unwrap_or_default() {
                let doubt = &asked.doubts[account];
                if doubt.is_closed && doubt.changes == self.books.accounts[account].changes {
                    let account = &self.books.accounts[account];
                    return Violation::new(format!(
                        "{id} is booked, and {} {} is closed",
                        account.wallet, account.asset
                    ));
                }
            }
            let known = self.books.transfers.get_mut(&id);
            let firsts = known.map_or(0, |known| {
                known.firsts += 1;
                known.firsts
            });
            if firsts > 1 {
                return Violation::new(format!("{id} is booked for the second time"));
            }
        }
        if self.books.book(id, booked.at)? {
            self.books.settle(id);
        }
        Ok(())
    }

    fn wallet_answered(
        &mut self,
        asked: &Asked,
        command: &Command,
        answer: &Answer,
        high: Time,
    ) -> Result<(), Violation> {
        match (command, answer) {
            (Command::Transfer { transfers, linked, .. }, Answer::Booked(outcomes)) => {
                if outcomes.len() != transfers.len() {
                    return Violation::new(format!(
                        "{} transfers are answered by {}",
                        transfers.len(),
                        outcomes.len()
                    ));
                }
                for (at, outcome) in outcomes.iter().enumerate() {
                    match outcome {
                        Ok(booked) => self.booked(asked, at, booked)?,
                        Err(refusal) if *linked => {
                            return Violation::new(format!("one of a linked list is refused: {refusal}"));
                        }
                        Err(refusal) => {
                            self.may_be_under_way(transfers[at].id, refusal);
                            let is_true = match asked.wrong {
                                Some(wrong) => refusal.code() == wrong,
                                None => asked.may_be_refused(&self.books, at, refusal.code(), high),
                            };
                            let is_busy = !matches!(refusal, Refusal::Rejected { .. }) && asked.may_be_busy;
                            if !is_true && !is_busy {
                                return Violation::new(format!(
                                    "{} is refused, and that cannot be: {refusal}",
                                    transfers[at].id
                                ));
                            }
                        }
                    }
                }
                Ok(())
            }
            (Command::Declare { .. }, Answer::Done) => Ok(()),
            (Command::Open { .. }, Answer::Opened(outcomes)) => {
                match outcomes.iter().find(|one| one.is_err()) {
                    Some(Err(Refusal::Busy { .. } | Refusal::Unknown { .. })) if asked.may_be_busy => Ok(()),
                    Some(outcome) => Violation::new(format!("an account is not opened: {outcome:?}")),
                    None => Ok(()),
                }
            }
            (Command::Change { wallet, asset, change }, Answer::Done) => {
                let others = self.flying.asked.values().any(|other| {
                    matches!(&other.ask, Ask::Wallet(Command::Change { wallet: w, asset: a, .. }) if w == wallet && a == asset)
                });
                if let (Some(account), Some(closed), false) =
                    (self.books.number(wallet, asset), change.closed, others)
                {
                    self.books.accounts[account].closed = (!closed, closed);
                }
                Ok(())
            }
            (Command::Find { transfer }, Answer::Transfer(view)) => self.books.seen(*transfer, view),
            (Command::Wallet { .. }, Answer::Accounts(views)) => {
                views.iter().try_for_each(|view| self.balance_may_be(asked, view))
            }
            (Command::Holds { wallet, .. }, Answer::Holds(views)) => views.iter().try_for_each(|view| {
                let known = self.books.transfers.get(&view.transfer);
                match known.and_then(|known| self.books.promise(&known.kind)) {
                    Some(promise) if promise.amount == view.amount && view.debit == *wallet => Ok(()),
                    _ => Violation::new(format!("a hold is shown that nobody made: {view:?}")),
                }
            }),
            (Command::History { .. }, Answer::History(page)) => super::pages::follows(page),
            (Command::BalanceAt { .. }, Answer::Balance(_)) => Ok(()),
            (command, answer) => Violation::new(format!("{command:?} was answered {answer:?}")),
        }
    }

    /// A balance that is read while others are under way.
    fn balance_may_be(&self, asked: &Asked, view: &AccountView) -> Result<(), Violation> {
        let Some(number) = self.books.number(&view.wallet, &view.asset) else {
            return Violation::new(format!("an account is shown that nobody opened: {view:?}"));
        };
        let account = &self.books.accounts[number];
        if account.home.is_none() {
            // A part of it.
            return Ok(());
        }
        let doubt = &asked.doubts[number];
        let posted = i128::from(view.balance.posted);
        let (least, most) = (doubt.sure.posted - doubt.out, doubt.sure.posted + doubt.come);
        if !(least..=most).contains(&posted) {
            return Violation::new(format!(
                "{} {} shows {posted}, and must have {least} to {most}",
                view.wallet, view.asset
            ));
        }
        rules_hold(account, view)
    }
}

/// Never overdrawn, never above its ceiling.
pub(super) fn rules_hold(account: &super::books::Account, view: &AccountView) -> Result<(), Violation> {
    let what = || format!("{} {}: {:?}", view.wallet, view.asset, view.balance);
    if account.is_bound() && view.balance.available() < 0 {
        return Violation::new(format!("overdrawn: {}", what()));
    }
    if let Some(ceiling) = account.ceiling
        && i128::from(view.balance.posted) > i128::from(ceiling)
    {
        return Violation::new(format!("above its ceiling of {ceiling}: {}", what()));
    }
    if view.overdraft != account.overdraft || view.ceiling != account.ceiling {
        return Violation::new(format!("its rules are others: {view:?}"));
    }
    Ok(())
}

impl Books {
    /// A transfer as it is shown.
    ///
    /// # Errors
    ///
    /// It is not what was asked.
    pub fn seen(&self, id: TransferId, view: &TransferView) -> Result<(), Violation> {
        let Some(known) = self.transfers.get(&id) else {
            return Violation::new(format!("{id} is found, which nobody asked for"));
        };
        let wrong = |what: &str| Violation::new(format!("{id} is shown with another {what}: {view:?}"));
        if view.transfer != id {
            return wrong("id");
        }
        if view.reference != known.reference {
            return wrong("reference");
        }
        if view.principal != known.principal {
            return wrong("principal");
        }
        if let Outcome::Booked(at) = known.outcome
            && view.at != at
            && view.state != BookState::Pending
        {
            return wrong("time");
        }
        let of = match &known.kind {
            Kind::Capture { hold, .. } | Kind::Void { hold } => Some(vec![*hold]),
            // Of a hold that was captured, either may be named.
            Kind::Reverse { transfer } => Some(vec![*transfer, self.moved_by(*transfer)]),
            Kind::Post { .. } | Kind::Hold { .. } => None,
        };
        match (&of, view.of) {
            (None, None) => {}
            (Some(any), Some(of)) if any.contains(&of) => {}
            _ => return wrong("target"),
        }
        if let Some(leg) = self.leg(&known.kind).or_else(|| self.promise(&known.kind)) {
            let (debit, credit) = (&self.accounts[leg.debit], &self.accounts[leg.credit]);
            if (&view.debit, &view.credit, &view.asset) != (&debit.wallet, &credit.wallet, &debit.asset) {
                return wrong("account");
            }
            if view.amount != leg.amount {
                return wrong("amount");
            }
        }
        Ok(())
    }
}
