//! The console of an operator: its pages, each one document, its style and its scripts, all in the
//! binary.
//!
//! The pages hold no data: they ask the HTTP API like any other client, with the API key in a
//! header. So the pages themselves need no key, and a policy forbids them to load or send anything
//! elsewhere. The HTTP port serves them; this crate knows no server.

mod assets;
mod pages;

pub use assets::{Asset, asset};
pub use pages::{PAGES, POLICY, Page, UNKNOWN, docs};
