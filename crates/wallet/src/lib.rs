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

mod answer;
mod bounds;
mod command;
mod delivery;
mod ledger;
mod name;
mod record;
pub mod refusal;

pub use answer::{
    AccountView, Answer, AssetView, Balance, BookState, Booked, Direction, Entry, EntryPage, HoldView,
    Outcome, TransferView,
};
pub use bounds::Bounds;
pub use command::{Change, Command, Kind, NewAccount, NewTransfer, Overdraft, Range};
pub use delivery::{Delivery, Leg, LegKind, Letter};
pub use ledger::{Executed, Figures, Finished, Ledger, Lookup, Place, Seal, Ticked, Walk};
pub use name::{AssetCode, TransferId, WalletName};
pub use record::Record;
pub use refusal::CODES;
pub use stadium_machine::{Corrupt, InvalidName, Milliseconds, Refusal, Time};
