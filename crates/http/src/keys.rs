//! API keys, and the log of what was changed with them.

pub(crate) mod audit;
pub(crate) mod description;
pub(crate) mod explain;
pub(crate) mod routes;
mod words;
