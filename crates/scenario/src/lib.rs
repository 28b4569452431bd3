//! Scenarios: what simulated users do, from the text that people write to the program that an engine runs.
//!
//! Nothing here opens a socket or a file or reads a clock: texts, tables and random numbers are given.

pub mod check;
mod document;
pub mod duration;
mod encode;
pub mod expression;
pub mod extract;
pub mod import;
pub mod json_path;
pub mod mistake;
pub mod problem;
pub mod program;
pub mod schema;
pub mod scope;
pub mod secret;
pub mod table;
pub mod template;
#[cfg(test)]
mod testing;
pub mod value;

pub use document::parse;
pub use problem::Problem;
pub use program::Program;
pub use schema::schema;
