//! The commands of a node for shards that other nodes serve, or that its own shards gave back: which
//! owner is asked, when it is asked again, and when a command is given up.
//!
//! Nothing here does I/O, waits, reads a clock or draws random numbers. A driver sends what
//! [`Commands::attempt`] hands it and reports what became of it; `crates/cluster` is one, the
//! simulator another. A command is answered once. What may have happened is asked again only where
//! that is harmless, and is never answered with Busy.

mod asks;
mod bounds;
mod commands;
mod kept;
mod owners;
mod repeat;
mod table;

pub use asks::Asks;
pub use bounds::{ASKED_FOR, Bounds};
pub use commands::{Commands, Entered, Sent, Step};
pub use kept::{KEPT_MAX, Kept};
pub use owners::{Owner, Owners};
