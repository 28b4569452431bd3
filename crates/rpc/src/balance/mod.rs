//! Which instance gets a call, and what happens when the answer is not OK.
//!
//! Everything here decides and does no I/O: the driver passes the time (microseconds of one monotonic
//! clock), reports what happened, and asks. Nothing allocates for a call once warm. [`Balancer`]
//! owns the instances of one service; [`RetryBudget`], [`RetryRule`], [`Hedge`] and [`Backoff`] are
//! asked by the client's calls and connections. A server's handling of too many calls is in
//! [`crate::admission`].

mod backoff;
mod balancer;
mod budget;
mod choose;
mod ejection;
mod explain;
mod feedback;
mod hedge;
mod instance;
mod latency;
mod random;
mod rendezvous;
mod retry;
mod settings;
mod subset;

#[cfg(test)]
mod tests;

pub use backoff::Backoff;
pub use balancer::{Balancer, Updated};
pub use budget::{BudgetSettings, RetryBudget};
pub use choose::{Choice, Chosen, Why};
pub use explain::{Candidate, Explained, Explanation, State};
pub use feedback::Outcome;
pub use hedge::{Hedge, HedgeSettings};
pub use instance::{INSTANCES_MAX, InstanceId, Known};
pub use random::Random;
pub use rendezvous::{ClientId, KeyHash, PARTITIONS};
pub use retry::{Attempt, Decision, Elsewhere, Idempotence, RetryRule, Stop};
pub use settings::{BalanceSettings, EjectionSettings, Policy};
