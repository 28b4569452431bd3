//! Runs shards with a seed, on a simulated disk and a clock that jumps, and checks every promise.
//!
//! What was acknowledged must be there after any crash; what was settled must not come back; what was
//! under way happened wholly or not at all. docs/simulator.md says what is simulated and checked.

mod answered;
mod audit;
mod clock;
mod effect;
mod ledger;
mod message;
mod place;
