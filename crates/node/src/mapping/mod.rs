//! What each part of the product makes of the settings: settings in, the parts' own plain structs out.
//!
//! The parts know nothing of settings, and the settings nothing of the parts; only here do both
//! names stand side by side. Zero in a setting becomes `None` where zero means off by its help.

pub(crate) mod about;
pub(crate) mod auth;
pub(crate) mod cache;
pub(crate) mod configured;
pub(crate) mod discovery;
pub(crate) mod edge;
pub(crate) mod http;
pub(crate) mod rpc;
pub(crate) mod secrets;
pub(crate) mod shards;
pub(crate) mod sockets;
#[cfg(feature = "cluster")]
pub(crate) mod stores;
pub(crate) mod telemetry;
pub(crate) mod tls;
