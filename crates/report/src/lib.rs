//! What a load run measured, and how people read it, without I/O.
//!
//! [`RunResult`] is everything that a run leaves: it travels as JSON, and each view is made from it alone. [`latency`]
//! is how times are counted and merged, [`thresholds`] what must hold of a run, [`Merge`] how several workers' results
//! become one. Views are [`html`], [`text`], [`csv`], and [`compare`] for two runs. Texts in, texts out: files, clocks
//! and sockets are the caller's.

pub mod compare;
pub mod csv;
pub mod html;
pub mod latency;
mod merge;
pub mod number;
mod plot;
mod read;
mod result;
mod series;
mod table;
mod tables;
pub mod text;
mod texts;
pub mod thresholds;
mod verdict;

pub use merge::Merge;
pub use read::ReadError;
pub use result::*;

#[cfg(test)]
extern crate self as stadium_report;
#[cfg(test)]
#[path = "../examples/sample/run.rs"]
mod sample;
