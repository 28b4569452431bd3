//! Persistent MQTT sessions and retained messages, as one state machine without I/O.
//!
//! The broker of a loop decides about a session; this machine remembers it. It gets each change, in
//! batches, writes the effective ones to the journal and gives all of it back when the server
//! starts. It knows no topic filter's meaning and sends nothing: deliveries were decided before
//! they come here. docs/sessions.md lists what is durable when.

mod bounds;
mod change;
mod checkpoint;
mod command;
mod describe;
mod encoding;
mod entries;
mod machine;
mod message;
mod page;
mod sessions;

pub use bounds::Bounds;
pub use change::{Change, Connect, Keep, Origin, Presence, Receiver, Subscription, Will, Withdraw};
pub use command::{Answer, Command, Figures, Outcome};
pub use message::{Message, MessageParts};
pub use page::{Owed, Page, Part, RetainedImage, SessionImage};
pub use sessions::Sessions;
pub use stadium_state_machine::{Corrupt, Place, Refusal, Time};

/// The shard, of so many, that keeps the session of a client id, or the retained message of a topic.
pub fn home(name: &str, shards: u16) -> u16 {
    stadium_state_machine::home(name.as_bytes(), shards)
}
