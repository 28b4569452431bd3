//! What a load run measured, and how people read it, without I/O.
//!
//! [`RunResult`] is everything that a run leaves: it travels as JSON, and each view is made from it alone. [`latency`]
//! is how times are counted and merged, [`thresholds`] what must hold of a run, [`Merge`] how several workers' results
//! become one. Texts in, texts out: files, clocks and sockets are the caller's.

pub mod latency;
mod merge;
pub mod number;
mod result;
pub mod thresholds;

pub use merge::Merge;
pub use result::*;
