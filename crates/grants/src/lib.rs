//! Rights: a principal holds grants, and one function decides.
//!
//! A [`Grant`] is a [`Verb`], a pattern of resources and an optional [`Limit`], written
//! `queue.put:votes* 100/s`. A [`Role`] is a named list of grants. [`Grants`] is the set that a
//! principal holds; [`Grants::decide`] is asked by every door of the server, with a right that the
//! table of that door names ([`Right`]). A verb without a grant is denied.
//!
//! Devices hold the verbs `stream.*` by rules over topics ([`topics`]), in place of grants of their
//! own; keys and people hold them by grants. Nothing here speaks HTTP, RPC or MQTT, reads a clock
//! or a file.

mod grant;
mod grants;
mod invalid;
mod limit;
mod right;
mod role;
pub mod topics;
mod verb;

pub use grant::{Grant, RESOURCE_BYTES_MAX};
pub use grants::{Asking, Decision, GRANTS_MAX, Grants, Held, Parts, Refused, Source};
pub use invalid::Invalid;
pub use limit::Limit;
pub use right::Right;
pub use role::Role;
pub use verb::{Kind, Verb};
