//! The commands, one file each. Each takes its parsed arguments and the terminal, and returns what failed.
//!
//! Commands that talk to a running server do so by its public HTTP API, through [`crate::api`].

pub(crate) mod completions;
pub(crate) mod config;
