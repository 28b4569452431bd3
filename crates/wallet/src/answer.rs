//! What came of a command.
//!
//! Balances are signed, `i64`; amounts are positive, `u64`. An account's balance is what came in less what went out.

use bytes::Bytes;

use crate::{AssetCode, Overdraft, PrincipalId, Refusal, Seal, Time, TransferId, WalletName};

/// What came of a command, one case for each kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// For a command whose only result is that it is done.
    Done,
    /// Of an open, in its order: opened, or there already.
    Opened(Vec<Result<bool, Refusal>>),
    /// Of a transfer: one for each, in its order. Where they were linked all are `Ok`, or the command was refused.
    Booked(Vec<Outcome>),
    /// Of a wallet and of accounts.
    Accounts(Vec<AccountView>),
    /// Of holds.
    Holds(Vec<HoldView>),
    /// Of a find.
    Transfer(Box<TransferView>),
    /// Of a history.
    History(EntryPage),
    /// For a balance at a time.
    Balance(Balance),
    /// Of assets.
    Assets(Vec<AssetView>),
    /// Of seals, with the shard of each.
    Seals(Vec<(u16, Seal)>),
}

/// What became of one transfer of several.
pub type Outcome = Result<Booked, Refusal>;

/// A transfer that was booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booked {
    /// Its id.
    pub transfer: TransferId,
    /// When it was booked, by the server's clock.
    pub at: Time,
    /// Whether it had been booked before, so that nothing happened now.
    pub duplicate: bool,
}

/// What became of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BookState {
    /// The amount was moved.
    Posted,
    /// The amount is held.
    Held,
    /// The hold ended: moved, at least in part.
    Captured,
    /// The hold ended: taken back.
    Voided,
    /// The hold ended: nobody captured it in time.
    Expired,
    /// The amount was moved, and moved back by a later transfer.
    Reversed,
    /// A part is on its way to another shard: not decided yet.
    Pending,
}

/// An account as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountView {
    /// Whose.
    pub wallet: WalletName,
    /// Of what.
    pub asset: AssetCode,
    /// What it has.
    pub balance: Balance,
    /// Whether it may be overdrawn.
    pub overdraft: Overdraft,
    /// The most that it may hold.
    pub ceiling: Option<u64>,
    /// No transfer any more.
    pub closed: bool,
    /// Entries that its history has.
    pub entries: u64,
    /// When it was opened.
    pub opened: Time,
}

/// What an account has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    /// What came in less what went out.
    pub posted: i64,
    /// Of that: promised to others by holds. At a time in the past: not known, zero.
    pub held: u64,
}

impl Balance {
    /// What can be spent: posted less held.
    pub fn available(self) -> i64 {
        self.posted.saturating_sub_unsigned(self.held)
    }
}

/// An open hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldView {
    /// Its id.
    pub transfer: TransferId,
    /// From whom.
    pub debit: WalletName,
    /// To whom, when it is captured.
    pub credit: WalletName,
    /// Of what.
    pub asset: AssetCode,
    /// How much.
    pub amount: u64,
    /// When it was made.
    pub at: Time,
    /// When it ends by itself.
    pub expires: Time,
}

/// A transfer as it is remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferView {
    /// Its id.
    pub transfer: TransferId,
    /// What became of it.
    pub state: BookState,
    /// From whom.
    pub debit: WalletName,
    /// To whom.
    pub credit: WalletName,
    /// Of what.
    pub asset: AssetCode,
    /// How much.
    pub amount: u64,
    /// When it was booked.
    pub at: Time,
    /// The hold that it captured or voided, or the transfer that it reversed.
    pub of: Option<TransferId>,
    /// When it counts for the books.
    pub effective: Option<Time>,
    /// What an outside system calls it.
    pub reference: String,
    /// What its maker wrote.
    pub metadata: Bytes,
    /// The principal that asked for it; none where the server did itself, and of transfers of older
    /// versions.
    pub principal: Option<PrincipalId>,
}

/// Whether an amount came in or went out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// It came in.
    Credit,
    /// It went out.
    Debit,
}

/// One line of an account's history.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its number in the account, from 1.
    pub number: u64,
    /// Which transfer; its `state` is what it was when it was booked.
    pub transfer: TransferView,
    /// In or out, seen from the account.
    pub direction: Direction,
    /// The account's posted balance after it.
    pub balance: i64,
}

/// A page of an account's history, newest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EntryPage {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Where the next page begins: its `before`. None at the end.
    pub before: Option<u64>,
}

/// An asset, and its totals on the shards that were asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetView {
    /// What it is called.
    pub asset: AssetCode,
    /// Digits behind the point.
    pub scale: u8,
    /// Accounts.
    pub accounts: u64,
    /// Sum of all balances above zero. The balances of `@transit` on several shards count as one.
    pub credit: u128,
    /// Sum of all balances below zero, without its sign. Always as much as `credit`.
    pub debit: u128,
    /// The balance of `@transit`, which is in one of the two sums: over all shards, the amount that
    /// is under way between them.
    pub transit: i128,
    /// Held, all in all.
    pub held: u128,
}
