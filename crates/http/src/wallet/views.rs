//! Assets, accounts and transfers as the API shows them.
//!
//! Amounts are whole minor units, see [`crate::wallet::amount`]; ids are UUIDs; timestamps are RFC
//! 3339.

use serde::{Deserialize, Serialize};
use stadium_wallet::{
    AccountView, AssetView, Balance, BookState, Booked, Direction, Entry, HoldView, Outcome, Overdraft,
    TransferId, TransferView,
};
use utoipa::ToSchema;

use crate::request::problem::{Problem, ProblemDocument, ProblemSchema};
use crate::spelling::{spelled, timestamp};
use crate::wallet::amount::Amount;

/// An asset, and what all accounts of it hold together.
#[derive(Serialize, ToSchema)]
pub(crate) struct AssetReport {
    /// What it is called.
    #[schema(example = "EUR")]
    asset: String,
    /// Digits behind the point when an amount is shown.
    #[schema(example = 2)]
    scale: u8,
    /// Accounts of it. A system wallet's is one on each shard.
    accounts: u64,
    /// Sum of all balances above zero. Each shard's part of a system wallet counts by itself, and so does what shards owe one
    /// another.
    credit: Amount,
    /// Sum of all balances below zero, without its sign.
    debit: Amount,
    /// Held, all in all.
    held: Amount,
    /// Whether `credit` is `debit`: each amount that is somewhere came from somewhere. Always true.
    balanced: bool,
}

impl AssetReport {
    pub(crate) fn of(asset: &AssetView) -> Self {
        Self {
            asset: asset.asset.to_string(),
            scale: asset.scale,
            accounts: asset.accounts,
            credit: asset.credit.into(),
            debit: asset.debit.into(),
            held: asset.held.into(),
            balanced: asset.credit == asset.debit,
        }
    }
}

/// All assets, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct Assets {
    pub(crate) assets: Vec<AssetReport>,
}

/// Whether an account may be overdrawn.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OverdraftWord {
    /// The available amount never falls below zero.
    Never,
    /// Without limit.
    Allowed,
}

impl From<OverdraftWord> for Overdraft {
    fn from(word: OverdraftWord) -> Self {
        match word {
            OverdraftWord::Never => Self::Never,
            OverdraftWord::Allowed => Self::Allowed,
        }
    }
}

impl From<Overdraft> for OverdraftWord {
    fn from(overdraft: Overdraft) -> Self {
        match overdraft {
            Overdraft::Never => Self::Never,
            Overdraft::Allowed => Self::Allowed,
        }
    }
}

/// An account as it stands.
#[derive(Serialize, ToSchema)]
pub(crate) struct AccountReport {
    /// Whose.
    #[schema(example = "alice")]
    wallet: String,
    /// Of what.
    #[schema(example = "EUR")]
    asset: String,
    /// What came in less what went out.
    posted: Amount,
    /// Of that: promised to others by holds.
    held: Amount,
    /// What can be spent: `posted` less `held`.
    available: Amount,
    /// Whether it may be overdrawn.
    overdraft: OverdraftWord,
    /// The most that it may hold; none: no bound.
    ceiling: Option<Amount>,
    /// No transfer any more.
    closed: bool,
    /// Entries that its history has.
    entries: u64,
    /// When it was opened.
    opened_at: String,
}

impl AccountReport {
    pub(crate) fn of(account: &AccountView) -> Self {
        Self {
            wallet: account.wallet.to_string(),
            asset: account.asset.to_string(),
            posted: account.balance.posted.into(),
            held: account.balance.held.into(),
            available: account.balance.available().into(),
            overdraft: account.overdraft.into(),
            ceiling: account.ceiling.map(Into::into),
            closed: account.closed,
            entries: account.entries,
            opened_at: timestamp(account.opened),
        }
    }
}

/// A wallet: its accounts, one for each asset.
#[derive(Serialize, ToSchema)]
pub(crate) struct WalletReport {
    pub(crate) wallet: String,
    pub(crate) accounts: Vec<AccountReport>,
}

/// A page of accounts, by wallet and asset.
#[derive(Serialize, ToSchema)]
pub(crate) struct AccountPage {
    pub(crate) accounts: Vec<AccountReport>,
    /// `after` of the next page; none on the last one.
    #[schema(example = "alice/EUR")]
    pub(crate) next: Option<String>,
}

/// What became of one account of several: `opened` or `error`.
#[derive(Serialize, ToSchema)]
pub(crate) struct EachOpened {
    pub(crate) wallet: String,
    pub(crate) asset: String,
    /// Whether it was opened now; `false`: it was there, with the same rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) opened: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ProblemSchema>)]
    pub(crate) error: Option<ProblemDocument<'static>>,
}

/// What became of each account, in the order of the request.
#[derive(Serialize, ToSchema)]
pub(crate) struct OpenedAccounts {
    pub(crate) results: Vec<EachOpened>,
}

/// What an open answers: the account, or what became of each of several.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Opened {
    One(AccountReport),
    Several(OpenedAccounts),
}

/// The balance of an account, now or at a time.
#[derive(Serialize, ToSchema)]
pub(crate) struct BalanceReport {
    pub(crate) wallet: String,
    pub(crate) asset: String,
    /// The time that was asked for; none: now.
    at: Option<String>,
    /// What came in less what went out.
    posted: Amount,
    /// Of that: promised to others by holds. Only known of now.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<Amount>,
    /// What can be spent. Only known of now.
    #[serde(skip_serializing_if = "Option::is_none")]
    available: Option<Amount>,
}

impl BalanceReport {
    pub(crate) fn now(account: &AccountView) -> Self {
        Self {
            wallet: account.wallet.to_string(),
            asset: account.asset.to_string(),
            at: None,
            posted: account.balance.posted.into(),
            held: Some(account.balance.held.into()),
            available: Some(account.balance.available().into()),
        }
    }

    pub(crate) fn at(wallet: String, asset: String, at: String, balance: Balance) -> Self {
        Self { wallet, asset, at: Some(at), posted: balance.posted.into(), held: None, available: None }
    }
}

/// An open hold.
#[derive(Serialize, ToSchema)]
pub(crate) struct HoldReport {
    /// Its id: capture or void it under this one.
    #[schema(format = "uuid")]
    id: String,
    /// From whom.
    debit: String,
    /// To whom, when it is captured.
    credit: String,
    /// Of what.
    asset: String,
    /// How much.
    amount: Amount,
    /// When it was made.
    held_at: String,
    /// When it ends by itself.
    expires_at: String,
}

impl HoldReport {
    pub(crate) fn of(hold: &HoldView) -> Self {
        Self {
            id: hold.transfer.to_string(),
            debit: hold.debit.to_string(),
            credit: hold.credit.to_string(),
            asset: hold.asset.to_string(),
            amount: hold.amount.into(),
            held_at: timestamp(hold.at),
            expires_at: timestamp(hold.expires),
        }
    }
}

/// The open holds of a wallet, oldest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct Holds {
    pub(crate) holds: Vec<HoldReport>,
}

/// A transfer that was booked.
#[derive(Serialize, ToSchema)]
pub(crate) struct BookedTransfer {
    /// Its id.
    #[schema(format = "uuid", example = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b")]
    id: String,
    /// When it was booked, by the server's clock.
    booked_at: String,
    /// Whether it had been booked before, so that nothing happened now.
    duplicate: bool,
}

impl BookedTransfer {
    pub(crate) fn of(booked: &Booked) -> Self {
        Self { id: booked.transfer.to_string(), booked_at: timestamp(booked.at), duplicate: booked.duplicate }
    }
}

/// What became of one transfer of several: `booked_at` and `duplicate`, or `error`.
#[derive(Serialize, ToSchema)]
pub(crate) struct EachBooked {
    /// Its id.
    #[schema(format = "uuid")]
    id: String,
    /// When it was booked.
    #[serde(skip_serializing_if = "Option::is_none")]
    booked_at: Option<String>,
    /// Whether it had been booked before.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ProblemSchema>)]
    error: Option<ProblemDocument<'static>>,
}

/// What became of each transfer, in the order of the request.
#[derive(Serialize, ToSchema)]
pub(crate) struct BookedTransfers {
    results: Vec<EachBooked>,
}

impl BookedTransfers {
    pub(crate) fn of(ids: &[TransferId], outcomes: Vec<Outcome>) -> Self {
        let each = |(id, outcome): (&TransferId, Outcome)| match outcome {
            Ok(booked) => EachBooked {
                id: id.to_string(),
                booked_at: Some(timestamp(booked.at)),
                duplicate: Some(booked.duplicate),
                error: None,
            },
            Err(refusal) => EachBooked {
                id: id.to_string(),
                booked_at: None,
                duplicate: None,
                error: Some(Problem::from(refusal).into_document()),
            },
        };
        Self { results: ids.iter().zip(outcomes).map(each).collect() }
    }
}

/// What became of a transfer.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BookWord {
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

impl BookWord {
    /// As the API spells it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Posted => "posted",
            Self::Held => "held",
            Self::Captured => "captured",
            Self::Voided => "voided",
            Self::Expired => "expired",
            Self::Reversed => "reversed",
            Self::Pending => "pending",
        }
    }
}

impl From<BookState> for BookWord {
    fn from(state: BookState) -> Self {
        match state {
            BookState::Posted => Self::Posted,
            BookState::Held => Self::Held,
            BookState::Captured => Self::Captured,
            BookState::Voided => Self::Voided,
            BookState::Expired => Self::Expired,
            BookState::Reversed => Self::Reversed,
            BookState::Pending => Self::Pending,
        }
    }
}

/// A transfer as it is remembered.
#[derive(Serialize, ToSchema)]
pub(crate) struct TransferReport {
    /// Its id.
    #[schema(format = "uuid", example = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b")]
    id: String,
    /// What became of it; in a history what it was when it was booked.
    state: BookWord,
    /// From whom.
    #[schema(example = "alice")]
    debit: String,
    /// To whom.
    #[schema(example = "@shop")]
    credit: String,
    /// Of what.
    #[schema(example = "EUR")]
    asset: String,
    /// How much.
    amount: Amount,
    /// When it was booked. In the history of an account on another shard than the one that decided it: when that shard
    /// booked it, which is later than the time in the answer to the transfer.
    booked_at: String,
    /// The hold that it captured or voided, or the transfer that it reversed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    of: Option<String>,
    /// When it counts for the books, where its maker stated one.
    #[serde(skip_serializing_if = "Option::is_none")]
    effective_at: Option<String>,
    /// What an outside system calls it.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(example = "order-17")]
    reference: String,
    /// What its maker wrote, where it is UTF-8 text.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<String>,
    /// What its maker wrote otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata_base64: Option<String>,
    /// The id of the principal that asked for it: an API key, a person, or the holder of a token or
    /// a certificate. None of a transfer that an older version booked.
    #[schema(example = "k_0011223344556677")]
    principal: Option<String>,
}

impl TransferReport {
    pub(crate) fn of(transfer: &TransferView) -> Self {
        let (metadata, metadata_base64) = match &transfer.metadata[..] {
            [] => (None, None),
            bytes => spelled(bytes),
        };
        Self {
            id: transfer.transfer.to_string(),
            state: transfer.state.into(),
            debit: transfer.debit.to_string(),
            credit: transfer.credit.to_string(),
            asset: transfer.asset.to_string(),
            amount: transfer.amount.into(),
            booked_at: timestamp(transfer.at),
            of: transfer.of.map(|of| of.to_string()),
            effective_at: transfer.effective.map(timestamp),
            reference: transfer.reference.clone(),
            metadata,
            metadata_base64,
            principal: transfer.principal.as_ref().map(ToString::to_string),
        }
    }
}

/// Whether an amount came in or went out.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DirectionWord {
    /// It came in.
    Credit,
    /// It went out.
    Debit,
}

impl From<Direction> for DirectionWord {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Credit => Self::Credit,
            Direction::Debit => Self::Debit,
        }
    }
}

/// One line of an account's history.
#[derive(Serialize, ToSchema)]
pub(crate) struct EntryReport {
    /// Its number in the account, from 1. A system wallet's are numbered on each shard.
    number: u64,
    /// In or out, seen from the account.
    direction: DirectionWord,
    /// How much.
    amount: Amount,
    /// The account's posted balance after it.
    balance: Amount,
    /// The other wallet.
    other: String,
    /// The transfer.
    transfer: TransferReport,
}

impl EntryReport {
    pub(crate) fn of(entry: &Entry) -> Self {
        Self {
            number: entry.number,
            direction: entry.direction.into(),
            amount: entry.transfer.amount.into(),
            balance: entry.balance.into(),
            other: other(entry).to_owned(),
            transfer: TransferReport::of(&entry.transfer),
        }
    }
}

/// The wallet on the other side of an entry.
pub(crate) fn other(entry: &Entry) -> &str {
    match entry.direction {
        Direction::Credit => entry.transfer.debit.as_str(),
        Direction::Debit => entry.transfer.credit.as_str(),
    }
}

/// A page of an account's history, the newest entry first.
#[derive(Serialize, ToSchema)]
pub(crate) struct EntryPageReport {
    pub(crate) entries: Vec<EntryReport>,
    /// `before` of the next page; none on the last one.
    pub(crate) next: Option<String>,
}

/// What happened together.
#[derive(Serialize, ToSchema)]
pub(crate) struct TogetherReport {
    /// The transfers, in the order of the request.
    pub(crate) transfers: Vec<BookedTransfer>,
    /// The jobs, in the order of the request. None where the transfers had been booked before.
    pub(crate) jobs: Vec<PutJob>,
    /// The jobs of the queue `stadium.pushes`, one for each push.
    pub(crate) pushes: Vec<PutJob>,
}

/// A job that was put together with transfers.
#[derive(Serialize, ToSchema)]
pub(crate) struct PutJob {
    /// The job; none where its queue lives on another shard: it is on its way there, and gets its id when it arrives.
    #[schema(example = "18014398509481985")]
    id: Option<String>,
    /// Whether its `dedup_id` was known, so that nothing was put.
    duplicate: bool,
}

impl PutJob {
    pub(crate) fn of(placed: &stadium_queue::Placed) -> Self {
        let id = Some(placed.job).filter(|job| job.sequence() != 0).map(|job| job.to_string());
        Self { id, duplicate: placed.duplicate }
    }
}
