//! The conclusions of a look at all accounts, holds and assets, when everything is at rest.
//!
//! First what is open is closed: each transfer whose answer was lost is asked for. Then every balance must be exactly what the booked
//! transfers make of it, every hold that is not shown must have ended, and every asset must sum to zero.

use std::collections::{BTreeMap, BTreeSet};

use stadium_wallet::refusal::MOVED;
use stadium_wallet::{
    AccountView, AssetView, BookState, Command, HoldView, Kind, Refusal, Time, TransferId, TransferView,
};

use super::answered::rules_hold;
use super::books::{End, Outcome};
use super::{Checker, WalletPlan};
use crate::clock::Span;
use crate::ledger::Violation;

/// The system wallet that stands for the other shard.
const TRANSIT: &str = "@transit";

/// The observations of a look, while they are collected.
#[derive(Debug, Default)]
pub struct Look {
    waiting: BTreeMap<u64, Question>,
    accounts: Vec<(u16, AccountView)>,
    assets: Vec<(u16, AssetView)>,
    holds: BTreeMap<TransferId, HoldView>,
    /// Those that were asked for, and what was found.
    found: BTreeMap<TransferId, Option<TransferView>>,
    /// Those whose records left the disk.
    moved: BTreeSet<TransferId>,
    /// Somebody was too busy to answer.
    pub is_busy: bool,
}

/// What was asked.
#[derive(Debug)]
enum Question {
    Accounts(u16),
    Assets(u16),
    Holds,
    Find(TransferId),
}

impl Look {
    /// Whether all have answered.
    pub fn is_complete(&self) -> bool {
        self.waiting.is_empty()
    }

    /// All questions: which shard, what.
    pub fn questions(checker: &Checker, plan: &WalletPlan, some: &[TransferId]) -> Vec<(u16, Command)> {
        let mut questions = Vec::new();
        let shards = checker.books.shards;
        for shard in 0..shards {
            let prefix = String::new();
            let all = Command::Accounts { prefix, asset: None, after: None, accounts_max: 1_000 };
            questions.extend([(shard, all), (shard, Command::Assets)]);
        }
        for wallet in &plan.wallets {
            let home = wallet.home(shards).expect("it lives somewhere");
            questions.push((home, Command::Holds { wallet: wallet.clone(), holds_max: 1_000 }));
        }
        let lost = checker.books.transfers.iter().filter(|(_, transfer)| transfer.is_lost).map(|(id, _)| *id);
        let ids: BTreeSet<TransferId> = lost.chain(some.iter().copied()).collect();
        for transfer in ids {
            questions.extend((0..shards).map(|shard| (shard, Command::Find { transfer })));
        }
        questions
    }

    /// Notes a question that was submitted.
    pub fn asked(&mut self, number: u64, shard: u16, command: &Command) {
        let question = match command {
            Command::Accounts { .. } => Question::Accounts(shard),
            Command::Assets => Question::Assets(shard),
            Command::Holds { .. } => Question::Holds,
            Command::Find { transfer } => {
                self.found.entry(*transfer).or_default();
                Question::Find(*transfer)
            }
            other => unreachable!("a look does not ask {other:?}"),
        };
        self.waiting.insert(number, question);
    }

    /// Takes in an answer.
    ///
    /// # Errors
    ///
    /// It is none to what was asked.
    pub fn answered(
        &mut self,
        number: u64,
        answer: Result<stadium_wallet::Answer, Refusal>,
        may_be_busy: bool,
    ) -> Result<(), Violation> {
        use stadium_wallet::Answer;
        let Some(question) = self.waiting.remove(&number) else {
            return Violation::new(format!("the checker's question #{number} is answered twice"));
        };
        match (question, answer) {
            (Question::Accounts(shard), Ok(Answer::Accounts(views))) => {
                self.accounts.extend(views.into_iter().map(|view| (shard, view)));
            }
            (Question::Assets(shard), Ok(Answer::Assets(views))) => {
                self.assets.extend(views.into_iter().map(|view| (shard, view)));
            }
            (Question::Holds, Ok(Answer::Holds(views))) => {
                self.holds.extend(views.into_iter().map(|view| (view.transfer, view)));
            }
            (Question::Find(id), Ok(Answer::Transfer(view))) => {
                if let Some(Some(other)) = self.found.insert(id, Some(*view)) {
                    return Violation::new(format!("two shards know {id}, one as {other:?}"));
                }
            }
            (Question::Find(_), Err(Refusal::Rejected { code: "WAL-022", .. })) => {}
            (Question::Find(id), Err(Refusal::Rejected { code: MOVED, .. })) => {
                self.moved.insert(id);
            }
            (_, Err(Refusal::Busy { code, .. } | Refusal::Unknown { code, .. }))
                if may_be_busy || code == stadium_wallet::refusal::PENDING =>
            {
                self.is_busy = true;
            }
            (question, answer) => {
                return Violation::new(format!("the question {question:?} is answered {answer:?}"));
            }
        }
        Ok(())
    }
}

impl Checker {
    /// Holds what is seen against the books.
    ///
    /// # Errors
    ///
    /// The promise that is broken.
    pub fn looked(&mut self, look: &Look, now: Time, high: Time, is_full: bool) -> Result<(), Violation> {
        self.resolve(look)?;
        self.holds_agree(look, now, high, is_full)?;
        self.balances_agree(look)?;
        self.sums_are_zero(look)?;
        self.lists_are_whole()?;
        for (id, view) in &look.found {
            if let Some(view) = view {
                self.state_agrees(*id, view)?;
            }
        }
        self.books.all_is_settled();
        Ok(())
    }

    /// What became of the transfers whose answers were lost.
    fn resolve(&mut self, look: &Look) -> Result<(), Violation> {
        for (id, view) in &look.found {
            match view {
                None if look.moved.contains(id) => {
                    let known = self.books.transfers.get_mut(id);
                    let known = known.filter(|known| self.moves && known.outcome != Outcome::Open);
                    let Some(known) = known else {
                        return Violation::new(format!(
                            "the record of {id} left the disk before it was looked at"
                        ));
                    };
                    known.is_lost = false;
                }
                Some(view) => {
                    self.books.book(*id, view.at)?;
                }
                None => {
                    if let Some(transfer) = self.books.transfers.get_mut(id) {
                        if transfer.outcome != Outcome::Open {
                            return Violation::new(format!("{id} was booked, and is not known any more"));
                        }
                        transfer.is_lost = false;
                    }
                }
            }
        }
        for (id, view) in look.found.iter().filter_map(|(id, view)| Some((id, view.as_ref()?))) {
            self.books.seen(*id, view)?;
        }
        for (id, transfer) in &self.books.transfers {
            let target = match &transfer.kind {
                Kind::Capture { hold, .. } | Kind::Void { hold } => Some(hold),
                Kind::Reverse { transfer } => Some(transfer),
                Kind::Post { .. } | Kind::Hold { .. } => None,
            };
            if let (Outcome::Booked(_), Some(target)) = (transfer.outcome, target)
                && !self.books.is_booked(*target)
            {
                return Violation::new(format!("{id} is booked, and {target} is not"));
            }
        }
        Ok(())
    }

    fn holds_agree(&mut self, look: &Look, now: Time, high: Time, is_full: bool) -> Result<(), Violation> {
        let mut expired = Vec::new();
        for (id, transfer) in &self.books.transfers {
            let (Kind::Hold { expires_after, .. }, Outcome::Booked(since)) =
                (&transfer.kind, transfer.outcome)
            else {
                continue;
            };
            // It may have been under way for some time between shards, and its time runs since it was decided where it is.
            // The clock may have been set back between the two.
            let asked = transfer.asked.min(since);
            let until = Span { min: asked.after(*expires_after), max: since.after(*expires_after) };
            match (look.holds.get(id), transfer.end) {
                (None, Some(_)) => {}
                (None, None) if until.min <= high => expired.push(*id),
                (None, None) => {
                    return Violation::new(format!(
                        "the hold {id} is gone, and nobody ended it; it is at most {} and it holds until {}",
                        high.0, until.min.0
                    ));
                }
                (Some(_), Some(end)) => {
                    return Violation::new(format!("the hold {id} stands, although it is {end:?}"));
                }
                (Some(view), None) => {
                    let promise = self.books.promise(&transfer.kind).expect("a hold promises");
                    let debit = &self.books.accounts[promise.debit];
                    let is_same = view.amount == promise.amount
                        && (&view.debit, &view.asset) == (&debit.wallet, &debit.asset)
                        && view.credit == self.books.accounts[promise.credit].wallet
                        && view.at == since
                        && until.holds(view.expires);
                    if !is_same {
                        return Violation::new(format!("the hold {id} is shown otherwise: {view:?}"));
                    }
                    // Work that is due is written when there is room.
                    if view.expires <= now && !is_full {
                        return Violation::new(format!("at {} the hold {id} still stands: {view:?}", now.0));
                    }
                }
            }
        }
        for id in expired {
            self.books.end(id, End::Expired)?;
        }
        for (id, view) in &look.holds {
            if !self.books.is_booked(*id) {
                return Violation::new(format!("a hold stands that was not booked: {view:?}"));
            }
        }
        Ok(())
    }

    fn balances_agree(&mut self, look: &Look) -> Result<(), Violation> {
        let expected = self.books.expected();
        for (number, expected) in expected.iter().enumerate() {
            let account = &self.books.accounts[number];
            let mut views = look
                .accounts
                .iter()
                .filter(|(_, view)| (&view.wallet, &view.asset) == (&account.wallet, &account.asset));
            let what = format!("{} {}", account.wallet, account.asset);
            let (posted, held) = match account.home {
                Some(home) => {
                    let (Some((shard, view)), None) = (views.next(), views.next()) else {
                        return Violation::new(format!("{what} is not there, or twice"));
                    };
                    if *shard != home {
                        return Violation::new(format!("{what} is on shard {shard}, it lives on {home}"));
                    }
                    rules_hold(account, view)?;
                    let closed = view.closed;
                    let may_be = if closed { account.closed.1 } else { account.closed.0 };
                    if !may_be {
                        return Violation::new(format!("{what}: closed is {closed}"));
                    }
                    self.books.accounts[number].closed = (!closed, closed);
                    (i128::from(view.balance.posted), i128::from(view.balance.held))
                }
                None => views.fold((0, 0), |(posted, held), (_, view)| {
                    (posted + i128::from(view.balance.posted), held + i128::from(view.balance.held))
                }),
            };
            if (posted, held) != (expected.posted, expected.held) {
                return Violation::new(format!(
                    "{what} has {posted}, {held} held; the booked transfers make {}, {} held",
                    expected.posted, expected.held
                ));
            }
        }
        Ok(())
    }

    fn sums_are_zero(&self, look: &Look) -> Result<(), Violation> {
        let mut sums: BTreeMap<(u16, &str), (i128, i128)> = BTreeMap::new();
        let mut transit: BTreeMap<&str, i128> = BTreeMap::new();
        for (shard, view) in &look.accounts {
            let is_transit = view.wallet.as_str() == TRANSIT;
            if !is_transit && self.books.number(&view.wallet, &view.asset).is_none() {
                return Violation::new(format!("an account is there that nobody opened: {view:?}"));
            }
            let posted = i128::from(view.balance.posted);
            let sum = sums.entry((*shard, view.asset.as_str())).or_default();
            sum.0 += posted;
            sum.1 += posted.max(0);
            if is_transit {
                *transit.entry(view.asset.as_str()).or_default() += posted;
            }
        }
        for ((shard, asset), (sum, above)) in &sums {
            if *sum != 0 {
                return Violation::new(format!("all accounts of {asset} on shard {shard} sum to {sum}"));
            }
            let totals = look.assets.iter().find(|(at, view)| at == shard && view.asset.as_str() == *asset);
            let Some((_, totals)) = totals else {
                return Violation::new(format!("shard {shard} has accounts of {asset} and does not show it"));
            };
            if totals.credit != totals.debit || totals.credit != u128::try_from(*above).unwrap_or(0) {
                return Violation::new(format!("shard {shard}: {totals:?}, but {above} is above zero"));
            }
        }
        if let Some((asset, sum)) = transit.into_iter().find(|(_, sum)| *sum != 0) {
            return Violation::new(format!("{sum} of {asset} is between shards, and everything is at rest"));
        }
        Ok(())
    }

    fn lists_are_whole(&self) -> Result<(), Violation> {
        for list in &self.books.lists {
            let booked = list.iter().filter(|id| self.books.is_booked(**id)).count();
            if booked != 0 && booked != list.len() {
                let list: Vec<String> = list.iter().map(TransferId::to_string).collect();
                return Violation::new(format!("of a linked list {booked} are booked: {}", list.join(", ")));
            }
        }
        Ok(())
    }

    fn state_agrees(&self, id: TransferId, view: &TransferView) -> Result<(), Violation> {
        let known = &self.books.transfers[&id];
        let reversed = |state| if known.reversed.is_some() { BookState::Reversed } else { state };
        let may_be: &[BookState] = match (&known.kind, known.end) {
            (Kind::Hold { .. }, None) => &[BookState::Held],
            // A hold whose capture was moved back.
            (Kind::Hold { .. }, Some(End::Captured(_))) => &[BookState::Captured, BookState::Reversed],
            (Kind::Hold { .. }, Some(End::Voided(_))) => &[BookState::Voided],
            (Kind::Hold { .. }, Some(End::Expired)) => &[BookState::Expired],
            (Kind::Void { .. }, _) => &[BookState::Voided, BookState::Posted],
            (Kind::Capture { .. }, _) => &[reversed(BookState::Captured), reversed(BookState::Posted)],
            _ => &[reversed(BookState::Posted)],
        };
        if may_be.contains(&view.state) {
            return Ok(());
        }
        Violation::new(format!("{id} is {:?}, and is to be one of {may_be:?}", view.state))
    }
}
