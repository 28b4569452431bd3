//! A connection on its way to another loop.
/// Moved.
pub(crate) struct Moved;
