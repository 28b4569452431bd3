//! The version that coordinator and workers have to share: tallies and scenarios change between
//! versions.

/// The version of this binary.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
