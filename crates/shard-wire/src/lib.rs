//! Commands, answers and messages of shards between the nodes of a cluster, in Protocol Buffers.
//!
//! An [`Item`] is one of them. [`encode`] appends items to a batch, [`Batch`] takes one apart. The
//! machines' own types are read and written without messages in between; payloads are slices of the
//! batch. docs/formats/shard-wire.md is the format, proto/stadium/shard/v1/wire.proto the contract,
//! which a test writes out of the tables here.

#[macro_use]
mod macros;
mod batch;
mod error;
mod item;
mod outcome;
mod push;
mod queue;
mod reader;
mod registry;
mod session;
#[cfg(test)]
#[path = "../tests/tables/mod.rs"]
mod tests;
mod transport;
mod value;
mod wallet;

pub use batch::{BATCH_BYTES_MAX, Batch, ITEM_BYTES_MAX, Received, encode};
pub use error::Error;
pub use item::{
    Abandoned, Answer, Command, Confirmation, Delivery, Item, Machine, Message, NodeReply, Notice, Question,
    Release, Request, Response, SpreadQueues,
};
pub use transport::{
    AnnounceAgain, Dispatch, LiveCounts, LiveDispatch, Packed, PackedEntry, TransportBatch, TransportCommand,
};
