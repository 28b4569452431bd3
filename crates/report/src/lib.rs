//! What a load run measured, and how people read it, without I/O.
//!
//! [`RunResult`] is everything that a run leaves: it travels as JSON, and each view is made from it alone. [`latency`]
//! is how times are counted and merged.

pub mod latency;
mod result;

pub use result::*;
