//! API keys, and the log of what was changed with them.

pub(crate) mod audit;
pub(crate) mod description;
pub(crate) mod explain;
mod role_word;
pub(crate) mod routes;
