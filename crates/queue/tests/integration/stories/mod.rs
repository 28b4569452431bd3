//! The queues' rules, told as stories.
//!
//! Each starts at a fresh desk: `desk.rs`. What no story tells, the model checks at random: `tests/model`.

mod bursts;
mod dedup;
mod lives;
mod order;
mod refusals;
mod schedules;
mod together;
mod transfers;
