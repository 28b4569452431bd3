//! Commands and messages for shards of other nodes, and those of other nodes for shards of this
//! one.
//!
//! A [`Forwarder`] is the [`Elsewhere`](stadium_shard::Elsewhere) of the node's shards. A command
//! goes to the owner that the map names. A node that does not serve the shard refuses it, and it is
//! asked again, at the owner of then, for up to [`ASKED_FOR`]: callers see a pause where a shard
//! moves or its owner dies. What may have happened is asked again only where that is harmless. The
//! rules are [`stadium_forward::Commands`].
//!
//! [`inbound`] takes in what other nodes send. docs/cluster.md has the rules for callers.

mod alarm;
mod bytes;
mod forwarder;
mod inbound;
mod members;
mod questions;
mod sending;
mod serving;
mod settings;

pub use forwarder::ForwardFigures;
pub(crate) use forwarder::{Forwarder, Forwarding};
pub(crate) use members::number_of;
pub use questions::{AnswerTo, NodeAnswers};
pub use settings::LinkSettings;
pub use stadium_forward::ASKED_FOR;
