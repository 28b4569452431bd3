//! Commands about wallets on their way, and what may happen meanwhile.
//!
//! Several commands are under way at once and nobody knows in which order they are decided. So each carries how much all others
//! may have taken and brought: a refusal for want of credit is true where it can have been.

use std::collections::{BTreeMap, BTreeSet};

use stadium_queue::NewJob;
use stadium_wallet::{Command, Kind, NewTransfer, PrincipalId, Refusal, Time, TransferId, refusal};

use super::books::{AccountNumber, Books, Effect, Outcome, Sure};
use crate::message::{self, Tag};
use crate::place::QueueNumber;

/// What a client asks.
#[derive(Debug, Clone)]
pub enum Ask {
    /// Of the wallets.
    Wallet(Command),
    /// Of wallets and queues together.
    Together {
        /// All are booked or none.
        transfers: Vec<NewTransfer>,
        /// Put where the transfers are booked.
        jobs: Vec<(QueueNumber, NewJob, Tag)>,
    },
}

impl Ask {
    /// The transfers that it asks for.
    pub fn transfers(&self) -> &[NewTransfer] {
        match self {
            Ask::Wallet(Command::Transfer { transfers, .. }) | Ask::Together { transfers, .. } => transfers,
            Ask::Wallet(_) => &[],
        }
    }

    /// Whether they are all booked or none.
    pub fn is_linked(&self) -> bool {
        matches!(self, Ask::Wallet(Command::Transfer { linked: true, .. }) | Ask::Together { .. })
    }
}

/// The principal that asks for a list of transfers: one of three or none, and the same whenever the
/// same list is asked for again.
pub fn principal_of(transfers: &[NewTransfer]) -> Option<PrincipalId> {
    message::principal_of(transfers.first()?.id.0)
}

/// Possible effects of other commands that are under way on an account.
#[derive(Debug, Clone, Copy, Default)]
pub struct Doubt {
    /// What it had when the command was submitted.
    pub sure: Sure,
    /// May go out.
    pub out: i128,
    /// May come in.
    pub come: i128,
    /// May be held.
    pub hold: i128,
    /// It may be closed.
    pub may_be_closed: bool,
    /// It was certainly closed when the command was submitted, and nobody had asked for it to be opened.
    pub is_closed: bool,
    /// Times that it was asked to change until then.
    pub changes: u32,
}

impl Doubt {
    fn add(&mut self, effect: Effect) {
        self.out += i128::from(effect.out);
        self.come += i128::from(effect.come);
        self.hold += i128::from(effect.hold);
    }

    /// The least that can be spent.
    pub fn available_min(&self) -> i128 {
        self.sure.posted - self.sure.held - self.out - self.hold
    }
}

/// A command on its way.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What was asked.
    pub ask: Ask,
    /// The refusal that it must meet, where it is wrong in itself.
    pub wrong: Option<&'static str>,
    /// Whether a shard may be busy.
    pub may_be_busy: bool,
    /// By account.
    pub doubts: Vec<Doubt>,
    /// Transfers that others ask for or change at the same time.
    pub contended: BTreeSet<TransferId>,
    /// Transfers that were booked when it was submitted.
    pub booked: BTreeSet<TransferId>,
}

/// The transfers that one is about: itself, and what it ends or moves back.
pub fn touched(transfer: &NewTransfer) -> impl Iterator<Item = TransferId> + '_ {
    let target = match &transfer.kind {
        Kind::Capture { hold, .. } | Kind::Void { hold } => Some(*hold),
        Kind::Reverse { transfer } => Some(*transfer),
        Kind::Post { .. } | Kind::Hold { .. } => None,
    };
    std::iter::once(transfer.id).chain(target)
}

/// All commands about wallets that are not answered.
#[derive(Debug, Clone, Default)]
pub struct Flying {
    /// By number.
    pub asked: BTreeMap<u64, Asked>,
}

impl Flying {
    /// A command sets out: the others may notice it, and it them.
    pub fn begin(
        &mut self,
        books: &mut Books,
        number: u64,
        ask: Ask,
        wrong: Option<&'static str>,
        may_be_busy: bool,
    ) {
        let mut own = Vec::new();
        if let Ask::Wallet(Command::Change { wallet, asset, change }) = &ask
            && let (Some(number), Some(closed)) = (books.number(wallet, asset), change.closed)
        {
            let account = &mut books.accounts[number];
            account.changes += 1;
            if closed {
                account.closed.1 = true;
                for other in self.asked.values_mut() {
                    other.doubts[number].may_be_closed = true;
                }
            } else {
                account.closed.0 = true;
            }
        }
        let counted = if wrong.is_none() { ask.transfers() } else { &[] };
        for transfer in counted {
            own.extend(books.effects(&transfer.kind));
        }
        let mut doubts: Vec<Doubt> = books
            .accounts
            .iter()
            .map(|account| Doubt {
                sure: account.sure,
                may_be_closed: account.closed.1,
                is_closed: account.closed == (false, true),
                changes: account.changes,
                ..Doubt::default()
            })
            .collect();
        for effect in &books.unsettled {
            doubts[effect.account].add(*effect);
        }
        let lost =
            books.transfers.values().filter(|transfer| transfer.is_lost && transfer.outcome == Outcome::Open);
        for effect in lost.flat_map(|transfer| books.effects(&transfer.kind)) {
            doubts[effect.account].add(effect);
        }
        let mut ids: BTreeSet<TransferId> = ask.transfers().iter().flat_map(touched).collect();
        if let Ask::Wallet(Command::Find { transfer }) = &ask {
            ids.insert(*transfer);
        }
        let mut contended = BTreeSet::new();
        for other in self.asked.values_mut() {
            for effect in &own {
                other.doubts[effect.account].add(*effect);
            }
            for transfer in other.ask.transfers().iter().filter(|_| other.wrong.is_none()) {
                for effect in books.effects(&transfer.kind) {
                    doubts[effect.account].add(effect);
                }
                contended.extend(touched(transfer).filter(|id| ids.contains(id)));
            }
            let theirs: BTreeSet<TransferId> = other.ask.transfers().iter().flat_map(touched).collect();
            other.contended.extend(theirs.intersection(&ids));
        }
        // A request whose answer was lost may be going on still.
        contended.extend(ids.iter().filter(|id| books.is_touched_by_lost(**id)));
        let booked = ids.iter().filter(|id| books.is_booked(**id)).copied().collect();
        self.asked.insert(number, Asked { ask, wrong, may_be_busy, doubts, contended, booked });
    }
}

impl Asked {
    /// Whether this refusal of one of its transfers can be true.
    pub fn may_be_refused(&self, books: &Books, at: usize, code: &str, high: Time) -> bool {
        let transfers = self.ask.transfers();
        let transfer = &transfers[at];
        if self.booked.contains(&transfer.id) {
            // The first answer is given again. Alone, by another shard than that of its list, as soon as that has heard of it.
            let is_in_transaction =
                books.transfers.get(&transfer.id).is_some_and(|known| known.is_in_transaction);
            return code == refusal::PENDING && is_in_transaction && transfers.len() == 1;
        }
        // Others of the same command come before it, or are counted with it.
        let mut others: BTreeMap<AccountNumber, Doubt> = BTreeMap::new();
        for (_, other) in transfers.iter().enumerate().filter(|(other, _)| *other != at) {
            for effect in books.effects(&other.kind) {
                others.entry(effect.account).or_default().add(effect);
            }
        }
        let others = |account| others.get(&account).copied().unwrap_or_default();
        let leg = books.leg(&transfer.kind).or_else(|| books.promise(&transfer.kind));
        let accounts = leg.map(|leg| [leg.debit, leg.credit]);
        let target = touched(transfer).nth(1).map(|id| (id, books.transfers.get(&id)));
        let is_contended = touched(transfer).any(|id| self.contended.contains(&id));
        let is_same_command = |id: TransferId| {
            transfers
                .iter()
                .enumerate()
                .any(|(other, transfer)| other != at && touched(transfer).any(|one| one == id))
        };
        match code {
            refusal::INSUFFICIENT => {
                let is_capture = matches!(transfer.kind, Kind::Capture { .. });
                leg.is_some_and(|leg| {
                    let (doubt, own) = (&self.doubts[leg.debit], others(leg.debit));
                    let least = doubt.available_min() - own.out - own.hold;
                    books.accounts[leg.debit].is_bound() && !is_capture && least < i128::from(leg.amount)
                })
            }
            refusal::CEILING => leg.is_some_and(|leg| {
                let (doubt, own) = (&self.doubts[leg.credit], others(leg.credit));
                let most = doubt.sure.posted + doubt.come + own.come + books.promised_to(leg.credit);
                let ceiling = books.accounts[leg.credit].ceiling;
                ceiling.is_some_and(|ceiling| most + i128::from(leg.amount) > i128::from(ceiling))
            }),
            refusal::CLOSED => accounts.is_some_and(|accounts| {
                accounts.iter().any(|&at| self.doubts[at].may_be_closed || books.accounts[at].closed.1)
            }),
            refusal::TRANSFER_UNKNOWN => target.is_some_and(|(id, _)| !self.booked.contains(&id)),
            refusal::NOT_HELD => target.is_some_and(|(id, target)| {
                let Some(target) = target else { return true };
                let Kind::Hold { expires_after, .. } = target.kind else { return true };
                let may_be_over =
                    target.outcome == Outcome::Open || target.asked.after(expires_after) <= high;
                target.end.is_some() || is_contended || may_be_over || is_same_command(id)
            }),
            refusal::NOT_REVERSIBLE => target.is_some_and(|(id, target)| {
                let moved = books.transfers.get(&books.moved_by(id));
                let is_movement =
                    moved.is_some_and(|moved| matches!(moved.kind, Kind::Post { .. } | Kind::Capture { .. }));
                // A transfer that was booked in a list of another shard is known there, and its
                // wallets are not.
                let is_far = target.is_some_and(|target| target.is_in_transaction);
                let is_reversed = moved.is_some_and(|moved| moved.reversed.is_some());
                target.is_none()
                    || is_far
                    || !is_movement
                    || is_reversed
                    || is_contended
                    || is_same_command(id)
            }),
            refusal::CAPTURE => match (&transfer.kind, target) {
                (Kind::Capture { amount: Some(amount), .. }, Some((_, Some(target)))) => {
                    books.promise(&target.kind).is_some_and(|promise| *amount > promise.amount)
                }
                _ => false,
            },
            // A hold lives where its list is decided.
            refusal::SHARDS => {
                books.shards > 1 && transfers.len() > 1 && matches!(transfer.kind, Kind::Hold { .. })
            }
            // Another shard may not answer in time.
            refusal::PENDING => {
                is_contended
                    || books.travels(transfer.id)
                    || target.is_some_and(|(id, _)| books.is_unsettled(id))
            }
            _ => false,
        }
    }

    /// Whether a refusal of the whole can be true.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn check_refusal(&self, books: &Books, refusal: &Refusal, high: Time) -> Result<(), String> {
        let code = refusal.code();
        if let Some(wrong) = self.wrong {
            let is_right = code == wrong || !matches!(refusal, Refusal::Rejected { .. }) && self.may_be_busy;
            return is_right.then_some(()).ok_or_else(|| format!("it is to be refused with {wrong}"));
        }
        let transfers = self.ask.transfers();
        let any = |code: &str| (0..transfers.len()).any(|at| self.may_be_refused(books, at, code, high));
        let is_true = match refusal {
            Refusal::Busy { .. } | Refusal::Unknown { .. } => self.may_be_busy || any(code),
            Refusal::Rejected { .. } if code == refusal::LINKED => {
                self.ask.is_linked() && REASONS.iter().any(|code| any(code))
            }
            Refusal::Rejected { .. } => any(code),
        };
        is_true.then_some(()).ok_or_else(|| "that cannot be".to_owned())
    }
}

/// The refusals of a transfer that is right in itself.
const REASONS: &[&str] = &[
    refusal::INSUFFICIENT,
    refusal::CEILING,
    refusal::CLOSED,
    refusal::TRANSFER_UNKNOWN,
    refusal::NOT_HELD,
    refusal::NOT_REVERSIBLE,
    refusal::CAPTURE,
    refusal::SHARDS,
    refusal::PENDING,
];
