//! Accounts, transfers, holds and balances, never overdrawn, as one state machine without I/O.
//!
//! Double entry: a transfer moves an amount of one asset from one account to another, so the sum of all accounts of an asset is
//! always zero. The machine takes commands and the current time and returns answers, events for the journal, and its next
//! deadline. It never reads a clock or draws a random number. The shard (`stadium-shard`) drives it.
//!
//! ```text
//! execute, tick ─▶ decide ─▶ write events ─┬─▶ apply to the balances
//! apply (replay) ────────▶ read events ────┘
//! ```

mod account;
mod answer;
mod apply;
mod audit;
#[cfg(test)]
mod behaviours;
mod bounds;
mod chain;
mod checkpoint;
mod command;
mod content;
mod delivery;
mod events;
mod execute;
mod history;
mod ids;
mod ledger;
mod machine;
mod merging;
mod name;
mod plan;
mod prefetch;
mod read;
mod record;
pub mod refusal;
mod remembered;
mod routing;
mod tick;
mod transaction;
mod two_phase;
mod waiting;

pub use answer::{
    AccountView, Answer, AssetView, Balance, BookState, Booked, Direction, Entry, EntryPage, HoldView,
    Outcome, TransferView,
};
pub use bounds::Bounds;
pub use chain::Seal;
pub use command::{Change, Command, Kind, NewAccount, NewTransfer, Overdraft, Range};
pub use delivery::{Delivery, Leg, LegKind, ShardMessage};
pub use history::{Lookup, Walk};
pub use ledger::{Executed, Figures, Ledger};
pub use merging::who_knows;
pub use name::{AssetCode, TransferId, WalletName};
pub use plan::Checked;
pub use refusal::CODES;
pub use routing::{Merging, linked_shard};
pub use stadium_state_machine::{
    Corrupt, InvalidName, Milliseconds, Place, PrincipalId, Record, Refusal, Time,
};
pub use tick::Ticked;
