//! The replicated log of a shard, without I/O: who may write, and which messages count.
//!
//! The log is one partition with dense offsets. [`message`] is the format of its messages.
//! [`Reader`] decides which of them count, in the same way for everybody who reads. [`Owner`]
//! claims the log, appends, and knows when a message is durable. It takes events and returns
//! effects; a driver does the I/O, on a [`Partition`]. docs/formats/log-message.md has the format
//! and the rules.

mod claim;
mod error;
mod judge;
mod mark;
pub mod message;
mod owner;
pub mod partition;
mod reader;

pub use claim::{Claim, ClusterId, Log, Offset, Sequence, WriterId};
pub use error::Error;
pub use judge::{Judge, Passed, Rule, Verdict};
pub use mark::Mark;
pub use message::Header;
pub use owner::{Effect, IN_FLIGHT_MAX, Owner, Refused};
pub use partition::{Partition, Topic};
pub use reader::{Counts, Reader};
