//! The queues' rules as behaviours.
//!
//! Each starts at a fresh harness: `harness.rs`. Rules without a test of their own are checked at
//! random by the model: `tests/model`.

mod bursts;
mod dedup;
mod lives;
mod order;
mod principals;
mod refusals;
mod schedules;
mod together;
mod transfers;
