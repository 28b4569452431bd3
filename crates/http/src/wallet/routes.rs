//! The endpoints of accounts, transfers, and the journal's entries.

pub(crate) mod accounts;
pub(crate) mod entries;
pub(crate) mod live;
pub(crate) mod transfers;
