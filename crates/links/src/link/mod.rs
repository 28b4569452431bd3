//! A link without I/O: both halves take bytes and the current time, and return bytes and events.
//!
//! [`Dialer`] is the half that connects and sends requests and letters; [`Acceptor`] is the half
//! that receives them and answers. [`Outbox`] and [`Answers`] collect what other threads send until
//! the loop takes it as one batch. Nothing here opens a socket, reads a clock, starts a thread or
//! draws a random number, so that the simulator runs exactly this code.

mod acceptor;
mod answers;
mod batch;
mod dialer;
mod hello;
mod members;
mod message;
mod outbox;
mod outcome;
mod reach;
mod requests;
mod settings;
mod window;

pub use stadium_journal_log::ClusterId;

pub use acceptor::{Acceptor, Delivery, From};
pub use answers::{Answers, Reply};
pub use dialer::{Dialer, Event, Judge};
pub use hello::{Hello, Incarnation, InvalidName, Lane, NodeName, Range, VERSIONS};
pub use members::{Arrival, Members};
pub use message::{Letter, Message, Messages, Request, Tag, Target};
pub use outbox::{Credit, Outbox, Outgoing, Wake};
pub use outcome::{End, NotSent, Outcome, Refusal, Refused, Unknown};
pub use reach::{Reach, ReachWatch};
pub use settings::{Bounds, Timing, protocol};
pub use window::{InFlight, Window};
