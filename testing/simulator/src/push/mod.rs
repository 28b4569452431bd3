//! The push platform's side of a simulation: applications, an edge with its devices, and a checker that is written from docs/push.md
//! and the platform's types.
//!
//! The checker shares nothing with the machine. It knows the possible audiences, the reports about
//! each delivery, and which answers are durable. The possible states of each delivery follow from
//! these alone.

mod asked;
mod books;
mod clients;
mod dispatched;
mod edge;
mod facts;
mod look;
mod plan;
mod states;

pub use asked::{Answered, Ask, Asked};
pub use books::{Books, Is, Who};
pub use clients::Choice;
pub use edge::{Edge, Note};
pub use look::{Look, Question};
pub use plan::PushPlan;
