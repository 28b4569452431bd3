//! The contract of a shard's state machines, and what they have in common: times, names, homes,
//! refusals, bytes.
//!
//! The machines stand side by side on this and know nothing of each other.

mod corrupt;
mod describe;
pub mod encoding;
mod home;
mod leasing;
mod name;
mod occurrences;
mod payloads;
mod principal;
mod record;
mod refusal;
mod routing;
mod state_machine;
mod time;
mod trace;
mod waiting;

/// What names are kept in; for [`name!`].
pub use compact_str::CompactString;
pub use corrupt::Corrupt;
pub use describe::{Description, Section};
pub use home::{Place, home};
pub use leasing::{Leasing, Unreadable};
pub use name::InvalidName;
pub use occurrences::{InvalidSchedule, Occurrences};
pub use payloads::{MoveCursor, MovePayloads, PayloadAt, PayloadChange};
pub use principal::PrincipalId;
pub use record::Record;
pub use refusal::{Refusal, all_of, busy, rejected, unknown};
pub use routing::{Asked, Merge, Route, Routed};
pub use state_machine::{
    Checkpointed, Delivery, Effects, Executed, Gone, Lookup, MachineState, StateMachine, Walk,
};
pub use time::{Milliseconds, Time};
pub use trace::TraceContext;
pub use waiting::{Line, Waitable};
