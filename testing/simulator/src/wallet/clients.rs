//! Chooses what clients ask of wallets next.
//!
//! Most of it is right; much has not enough credit; some comes twice, some names what has ended or is wrong in itself.

use bytes::Bytes;
use fastrand::Rng;
use stadium_queue::NewJob;
use stadium_wallet::{
    AssetCode, Change, Command, Kind as What, NewTransfer, Range, TransferId, WalletName, refusal,
};

use super::asked::{Ask, principal_of};
use super::books::{Books, Outcome, Transfer};
use super::plan::{Kind, WalletPlan};
use crate::clock::Clock;
use crate::ledger::Ledger;
use crate::message::{Content, Tag};
use crate::place::QueueNumber;
use crate::plan::Plan;

/// The request, and the refusal that it must meet where it is wrong in itself.
pub type Wish = (Ask, Option<&'static str>);

/// What the clients of a run know.
#[derive(Debug, Default)]
pub struct Clients {
    /// Lists of transfers that were asked for, to be asked again.
    asked: Vec<Ask>,
    /// Holds that were asked for, the newest last.
    holds: Vec<TransferId>,
    /// What may be moved back.
    movements: Vec<TransferId>,
    count: u32,
}

/// Who chooses, from what.
pub struct Choice<'a> {
    pub plan: &'a Plan,
    pub wallets: &'a WalletPlan,
    pub books: &'a mut Books,
    pub ledger: &'a mut Ledger,
    pub clock: &'a Clock,
    pub random: &'a mut Rng,
}

impl Choice<'_> {
    fn any<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.random.usize(..from.len())]
    }

    fn wallet(&mut self) -> WalletName {
        let wallets = self.wallets;
        self.any(&wallets.wallets).clone()
    }

    fn system(&mut self) -> WalletName {
        let wallets = self.wallets;
        self.any(&wallets.systems).clone()
    }

    fn asset(&mut self) -> AssetCode {
        let wallets = self.wallets;
        self.any(&wallets.assets).0.clone()
    }

    fn amount(&mut self) -> u64 {
        let most = [5, 30, 150][self.random.usize(..3)];
        self.random.u64(1..=most)
    }

    /// Two wallets, at most one of them a system wallet.
    fn pair(&mut self) -> (WalletName, WalletName) {
        let (one, other) = match self.random.u8(..8) {
            0..=1 => (self.wallet(), self.system()),
            2..=3 => (self.system(), self.wallet()),
            _ => (self.wallet(), self.wallet()),
        };
        if one == other { (self.system(), other) } else { (one, other) }
    }
}

impl Clients {
    /// What every wallet gets before anything else.
    pub fn first_credit(&mut self, choice: &mut Choice<'_>) -> Vec<Wish> {
        let credit = choice.wallets.credit;
        if credit == 0 {
            return Vec::new();
        }
        let accounts = choice.wallets.accounts.clone();
        let credits = accounts.into_iter().map(|account| {
            let debit = choice.system();
            let kind = What::Post { debit, credit: account.wallet, asset: account.asset, amount: credit };
            (self.one(kind, choice), None)
        });
        credits.collect()
    }

    /// The next command.
    pub fn next(&mut self, choice: &mut Choice<'_>) -> Option<Wish> {
        let weights = &choice.wallets.weights;
        let all: u32 = weights.iter().map(|(_, weight)| weight).sum();
        let mut at = choice.random.u32(..all);
        let (kind, _) = weights.iter().find(|(_, weight)| {
            let found = at < *weight;
            at = at.saturating_sub(*weight);
            found
        })?;
        let ask = match kind {
            Kind::Post => {
                let kind = self.post(choice);
                self.one(kind, choice)
            }
            Kind::List => self.list(choice, false),
            Kind::Linked => self.list(choice, true),
            Kind::Hold => {
                let kind = hold(choice);
                self.one(kind, choice)
            }
            Kind::Capture => {
                let hold = self.some_hold(choice)?;
                let amount = match choice.random.u8(..5) {
                    0..=1 => None,
                    _ => Some(choice.amount()),
                };
                self.one(What::Capture { hold, amount }, choice)
            }
            Kind::Void => {
                let hold = self.some_hold(choice)?;
                self.one(What::Void { hold }, choice)
            }
            Kind::Reverse => {
                let transfer = self.some_movement(choice)?;
                self.one(What::Reverse { transfer }, choice)
            }
            Kind::Repeat => {
                if self.asked.is_empty() {
                    return None;
                }
                let back = choice.random.usize(..self.asked.len().min(40));
                self.asked[self.asked.len() - 1 - back].clone()
            }
            Kind::Reuse => return self.reuse(choice),
            Kind::Together => self.together(choice),
            Kind::Close => Ask::Wallet(Command::Change {
                wallet: choice.wallet(),
                asset: choice.asset(),
                // Mostly open, or nothing happens any more.
                change: Change { closed: Some(choice.random.u8(..3) == 0), ..Change::default() },
            }),
            Kind::Open => Ask::Wallet(Command::Open { accounts: choice.wallets.accounts.clone() }),
            Kind::Find => {
                let ids: Vec<TransferId> = choice.books.transfers.keys().copied().collect();
                let transfer = *ids.get(choice.random.usize(..ids.len().max(1)))?;
                Ask::Wallet(Command::Find { transfer })
            }
            Kind::Wallet => Ask::Wallet(Command::Wallet { wallet: choice.wallet() }),
            Kind::Holds => {
                let wallet = choice.wallet();
                Ask::Wallet(Command::Holds { wallet, holds_max: choice.random.u32(1..20) })
            }
            Kind::History => {
                let (wallet, asset) = (choice.wallet(), choice.asset());
                let range = Range { entries_max: choice.random.u32(1..40), ..Range::default() };
                Ask::Wallet(Command::History { wallet, asset, range })
            }
            Kind::BalanceAt => {
                let (wallet, asset) = (choice.wallet(), choice.asset());
                let at = stadium_wallet::Time(choice.clock.now().0 - choice.random.u64(..100_000));
                Ask::Wallet(Command::BalanceAt { wallet, asset, at })
            }
            Kind::Wrong => return Some(self.wrong(choice)),
        };
        Some((ask, None))
    }

    fn new_transfer(&mut self, kind: What, choice: &mut Choice<'_>) -> NewTransfer {
        self.count += 1;
        let id = TransferId(choice.random.u128(..));
        let reference = if choice.random.bool() { format!("r{}", self.count) } else { String::new() };
        let metadata = match choice.random.u8(..6) {
            0 => Bytes::from(vec![b'm'; choice.random.usize(..900)]),
            _ => Bytes::new(),
        };
        NewTransfer { id, kind, reference, metadata, effective: None }
    }

    /// Remembers what is asked, for the books and to ask it again.
    fn note(&mut self, transfers: &[NewTransfer], linked: bool, choice: &mut Choice<'_>) {
        let (asked, books) = (choice.clock.now(), &mut *choice.books);
        let is_in_transaction = linked && books.is_transaction(transfers);
        let principal = principal_of(transfers);
        for transfer in transfers {
            match transfer.kind {
                What::Hold { .. } => self.holds.push(transfer.id),
                What::Post { .. } | What::Capture { .. } => self.movements.push(transfer.id),
                What::Void { .. } | What::Reverse { .. } => {}
            }
            let known = Transfer {
                kind: transfer.kind.clone(),
                reference: transfer.reference.clone(),
                principal: principal.clone(),
                asked,
                is_in_transaction,
                outcome: Outcome::Open,
                is_lost: false,
                firsts: 0,
                end: None,
                reversed: None,
            };
            books.transfers.insert(transfer.id, known);
        }
        if linked && transfers.len() > 1 {
            books.lists.push(transfers.iter().map(|transfer| transfer.id).collect());
        }
    }

    fn one(&mut self, kind: What, choice: &mut Choice<'_>) -> Ask {
        let transfers = vec![self.new_transfer(kind, choice)];
        self.note(&transfers, false, choice);
        let (linked, principal) = (choice.random.u8(..10) == 0, principal_of(&transfers));
        let ask = Ask::Wallet(Command::Transfer { transfers, linked, principal });
        self.asked.push(ask.clone());
        ask
    }

    fn post(&mut self, choice: &mut Choice<'_>) -> What {
        let (debit, credit) = choice.pair();
        What::Post { debit, credit, asset: choice.asset(), amount: choice.amount() }
    }

    fn list(&mut self, choice: &mut Choice<'_>, linked: bool) -> Ask {
        let count = choice.random.usize(1..=choice.wallets.list_max);
        let transfers: Vec<NewTransfer> = (0..count)
            .map(|_| {
                let kind = match choice.random.u8(..8) {
                    0 => hold(choice),
                    // Holds that others end too, in lists of one shard.
                    1 if choice.plan.shards == 1 => match self.some_hold(choice) {
                        Some(hold) => What::Capture { hold, amount: None },
                        None => self.post(choice),
                    },
                    _ => self.post(choice),
                };
                self.new_transfer(kind, choice)
            })
            .collect();
        self.note(&transfers, linked, choice);
        let principal = principal_of(&transfers);
        let ask = Ask::Wallet(Command::Transfer { transfers, linked, principal });
        self.asked.push(ask.clone());
        ask
    }

    /// Debits of one shard, with jobs for any queue.
    fn together(&mut self, choice: &mut Choice<'_>) -> Ask {
        let wallet = choice.wallet();
        let shards = choice.plan.shards;
        let near: Vec<WalletName> = choice
            .wallets
            .wallets
            .iter()
            .filter(|other| **other != wallet && other.home(shards) == wallet.home(shards))
            .chain(&choice.wallets.systems)
            .cloned()
            .collect();
        let count = choice.random.usize(1..4);
        let transfers: Vec<NewTransfer> = (0..count)
            .map(|_| {
                let credit = choice.any(&near).clone();
                let kind = What::Post {
                    debit: wallet.clone(),
                    credit,
                    asset: choice.asset(),
                    amount: choice.random.u64(1..30),
                };
                self.new_transfer(kind, choice)
            })
            .collect();
        self.note(&transfers, true, choice);
        let jobs = (0..choice.random.usize(1..4)).map(|_| {
            let queue = QueueNumber(choice.random.usize(..choice.plan.queues.len()));
            let tag = choice.ledger.add(None);
            let payload = Content { tag, version: 0 }.payload(choice.random.usize(..200));
            let attempts_max = Some(choice.random.u16(1..5));
            (queue, NewJob { payload, attempts_max, ..NewJob::default() }, tag)
        });
        let jobs: Vec<(QueueNumber, NewJob, Tag)> = jobs.collect();
        let tags: Vec<Tag> = jobs.iter().map(|(_, _, tag)| *tag).collect();
        choice.ledger.put_by(&tags, principal_of(&transfers).as_ref());
        let ask = Ask::Together { transfers, jobs };
        self.asked.push(ask.clone());
        ask
    }

    /// One of a list that was booked, by itself: nothing is booked again.
    fn one_of_a_list(&mut self, choice: &mut Choice<'_>) -> Option<Wish> {
        let is_post = |transfer: &&NewTransfer| matches!(transfer.kind, What::Post { .. });
        let back = self.asked.iter().rev().take(40);
        let lists = back.filter(|ask| ask.is_linked() && ask.transfers().len() > 1);
        let posts: Vec<NewTransfer> = lists
            .flat_map(|ask| ask.transfers().iter().filter(is_post).cloned())
            .filter(|transfer| choice.books.is_booked(transfer.id))
            .collect();
        let transfer = posts.get(choice.random.usize(..posts.len().max(1)))?.clone();
        // Of another principal, mostly: it stays that of the list.
        Some((alone(transfer), None))
    }

    /// The id of a booked transfer with another amount, or of another kind.
    fn reuse(&mut self, choice: &mut Choice<'_>) -> Option<Wish> {
        if choice.random.bool() {
            return self.one_of_a_list(choice);
        }
        let booked: Vec<(TransferId, What)> = choice
            .books
            .transfers
            .iter()
            .filter(|(_, transfer)| transfer.outcome != Outcome::Open)
            .map(|(id, transfer)| (*id, transfer.kind.clone()))
            .collect();
        let (id, kind) = booked.get(choice.random.usize(..booked.len().max(1)))?.clone();
        let kind = match kind {
            What::Post { debit, credit, asset, amount } => {
                What::Post { debit, credit, asset, amount: amount + 1 }
            }
            // On the shard that knows the id.
            What::Hold { debit, credit, asset, amount, .. } => What::Post { debit, credit, asset, amount },
            _ => return None,
        };
        let leg = choice.books.leg(&kind)?;
        // The shard that decides must be the one that decided the first.
        choice.books.accounts[leg.debit].home.or(choice.books.accounts[leg.credit].home)?;
        let transfer =
            NewTransfer { id, kind, reference: String::new(), metadata: Bytes::new(), effective: None };
        Some((alone(transfer), Some(refusal::ID_CONTENT)))
    }

    fn wrong(&mut self, choice: &mut Choice<'_>) -> Wish {
        let (debit, credit) = choice.pair();
        let asset = choice.asset();
        let stranger = WalletName::new("stranger").expect("a name");
        let (kind, code) = match choice.random.u8(..5) {
            0 => (What::Post { debit, credit, asset, amount: 0 }, refusal::AMOUNT),
            1 => (What::Post { debit, credit, asset, amount: 1 << 63 }, refusal::AMOUNT),
            2 => (What::Post { credit: debit.clone(), debit, asset, amount: 1 }, refusal::SAME_ACCOUNT),
            3 => {
                let asset = AssetCode::new("GOLD").expect("a code");
                (What::Post { debit, credit, asset, amount: 1 }, refusal::ASSET_UNKNOWN)
            }
            _ => {
                let debit = choice.system();
                (What::Post { debit, credit: stranger, asset, amount: 1 }, refusal::ACCOUNT_UNKNOWN)
            }
        };
        let transfer = self.new_transfer(kind, choice);
        (alone(transfer), Some(code))
    }

    fn some_hold(&self, choice: &mut Choice<'_>) -> Option<TransferId> {
        latest(&self.holds, choice)
    }

    fn some_movement(&self, choice: &mut Choice<'_>) -> Option<TransferId> {
        latest(&self.movements, choice)
    }
}

/// One transfer, asked for alone.
fn alone(transfer: NewTransfer) -> Ask {
    let transfers = vec![transfer];
    let principal = principal_of(&transfers);
    Ask::Wallet(Command::Transfer { transfers, linked: false, principal })
}

fn latest(from: &[TransferId], choice: &mut Choice<'_>) -> Option<TransferId> {
    let back = choice.random.usize(..from.len().clamp(1, 25));
    from.len().checked_sub(1 + back).map(|at| from[at])
}

fn hold(choice: &mut Choice<'_>) -> What {
    let debit = choice.wallet();
    let credit = match choice.random.bool() {
        true => choice.wallet(),
        false => choice.system(),
    };
    let credit = if credit == debit { choice.system() } else { credit };
    let expires_after = choice.random.u64(1_000..=choice.wallets.hold_max);
    What::Hold { debit, credit, asset: choice.asset(), amount: choice.amount(), expires_after }
}
