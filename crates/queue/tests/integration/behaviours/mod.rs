//! The queues' rules, told as behaviours.
//!
//! Each starts at a fresh harness: `harness.rs`. What no test tells, the model checks at random:
//! `tests/model`.

mod bursts;
mod dedup;
mod lives;
mod order;
mod refusals;
mod schedules;
mod together;
mod transfers;
