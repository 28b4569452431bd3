//! What can be asked of the wallets.
//!
//! Amounts are whole minor units (cents, votes), 1 to 2^63 - 1. A list of transfers is carried out one by one, each with an outcome
//! of its own, or, where they are *linked*, all or none.

use bytes::Bytes;

use crate::{AssetCode, Milliseconds, PrincipalId, Time, TransferId, WalletName};

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Makes an asset known. The same again is fine; another scale is refused. Asked of every shard.
    Declare {
        /// What it is called.
        asset: AssetCode,
        /// Digits behind the point when it is shown, 0 to 18: 2 for EUR, 0 for votes.
        scale: u8,
    },
    /// Opens accounts, each with an outcome: `Ok(true)` opened, `Ok(false)` there already with the same rules.
    Open {
        /// Up to 1,000, all of one shard.
        accounts: Vec<NewAccount>,
    },
    /// Changes an account's rules, or closes it or opens it again.
    Change {
        /// Whose.
        wallet: WalletName,
        /// Which.
        asset: AssetCode,
        /// What becomes different.
        change: Change,
    },
    /// Moves amounts.
    Transfer {
        /// Up to 1,000.
        transfers: Vec<NewTransfer>,
        /// All or none; else each by itself, in this order.
        linked: bool,
        /// The principal that asks for them: beside them in the journal, and no part of their content.
        principal: Option<PrincipalId>,
    },
    /// The accounts of one wallet. Of a system wallet: this shard's part.
    Wallet {
        /// Which.
        wallet: WalletName,
    },
    /// Accounts by name.
    Accounts {
        /// Whose names begin with this.
        prefix: String,
        /// Of this asset only.
        asset: Option<AssetCode>,
        /// After this one of the last page.
        after: Option<(WalletName, AssetCode)>,
        /// At most so many, 1 to 1,000.
        accounts_max: u32,
    },
    /// Open holds of a wallet, oldest first.
    Holds {
        /// Whose.
        wallet: WalletName,
        /// At most so many, 1 to 1,000.
        holds_max: u32,
    },
    /// One transfer by its id, as long as ids are remembered.
    Find {
        /// Which.
        transfer: TransferId,
    },
    /// Entries of an account, newest first; the shard reads them from the journal.
    History {
        /// Whose.
        wallet: WalletName,
        /// Which account.
        asset: AssetCode,
        /// Which entries.
        range: Range,
    },
    /// An account's balance at a time; the shard reads it from the journal.
    BalanceAt {
        /// Whose.
        wallet: WalletName,
        /// Which account.
        asset: AssetCode,
        /// When, by the server's clock.
        at: Time,
    },
    /// All assets, with this shard's totals.
    Assets,
    /// Seals over the books, oldest first. The last 10,000 of a shard are remembered.
    Seals {
        /// Of one shard; else of all, one shard after the other.
        shard: Option<u16>,
        /// Those that are numbered above this.
        after: u64,
        /// At most so many of each shard.
        seals_max: usize,
    },
}

impl Command {
    /// The principal that asks for transfers; none for any other command.
    pub fn principal(&self) -> Option<&PrincipalId> {
        match self {
            Command::Transfer { principal, .. } => principal.as_ref(),
            _ => None,
        }
    }
}

/// An account to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAccount {
    /// Whose.
    pub wallet: WalletName,
    /// Of which asset, which must be declared.
    pub asset: AssetCode,
    /// Whether it may be overdrawn.
    pub overdraft: Overdraft,
    /// The most that it may hold.
    pub ceiling: Option<u64>,
}

/// Whether an account may be overdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overdraft {
    /// Never: what is available never falls below zero.
    #[default]
    Never,
    /// Without limit: accounts of the house.
    Allowed,
}

/// What becomes different about an account; `None` leaves it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// Whether it may be overdrawn. Refused where it is overdrawn now and no longer may.
    pub overdraft: Option<Overdraft>,
    /// The most that it may hold; `Some(None)` takes the ceiling away. The present balance may be
    /// above.
    pub ceiling: Option<Option<u64>>,
    /// No transfer, no hold from now on; open holds may still be voided and expire. `Some(false)` opens it again.
    pub closed: Option<bool>,
}

/// An amount to be moved, at most once for its id.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTransfer {
    /// The client's own id. The same id again with the same content gives the first answer; with other content it is refused.
    pub id: TransferId,
    /// What to do.
    pub kind: Kind,
    /// What an outside system calls it, to be searched and reconciled by: any text, at most 128 bytes; empty: none.
    pub reference: String,
    /// Anything, at most 1 KiB; kept in the journal, shown in the history.
    pub metadata: Bytes,
    /// When it counts for the books, where that is not when it was booked. Only shown and exported.
    pub effective: Option<Time>,
}

/// What a transfer does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Moves an amount now.
    Post {
        /// From whom.
        debit: WalletName,
        /// To whom; another one.
        credit: WalletName,
        /// Of what.
        asset: AssetCode,
        /// How much, at least 1.
        amount: u64,
    },
    /// First phase: the amount stays with its owner and is no longer available.
    Hold {
        /// From whom; no system wallet.
        debit: WalletName,
        /// To whom, when it is captured; another one.
        credit: WalletName,
        /// Of what.
        asset: AssetCode,
        /// How much, at least 1.
        amount: u64,
        /// Gone by itself so long from now, 1 s to 366 days.
        expires_after: Milliseconds,
    },
    /// Second phase: moves the held amount, or a part of it; the rest is available again. Ends the hold.
    Capture {
        /// The hold's id.
        hold: TransferId,
        /// How much of it; all where none.
        amount: Option<u64>,
    },
    /// Second phase: the held amount is available again. Ends the hold.
    Void {
        /// The hold's id.
        hold: TransferId,
    },
    /// Moves all of a posted or captured transfer back, at most once; refused where the one who got it has it no more.
    Reverse {
        /// The transfer's id, as long as ids are remembered.
        transfer: TransferId,
    },
}

/// Which entries of an account's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// Booked at or after.
    pub from: Option<Time>,
    /// Booked before.
    pub to: Option<Time>,
    /// Only those whose amount came in, or went out.
    pub direction: Option<crate::Direction>,
    /// Only those with this other wallet.
    pub other: Option<WalletName>,
    /// Only those with this reference.
    pub reference: Option<String>,
    /// Entries numbered below this one: the last one of the page before.
    pub before: Option<u64>,
    /// At most so many, 1 to 1,000.
    pub entries_max: u32,
}

impl Default for Range {
    fn default() -> Self {
        Self {
            from: None,
            to: None,
            direction: None,
            other: None,
            reference: None,
            before: None,
            entries_max: 100,
        }
    }
}
