//! The commands, one file each. Each takes its parsed arguments and the terminal, and returns what
//! failed.
//!
//! Commands that talk to a running server do so by its public HTTP API, through [`crate::api`], or
//! by RPC ([`service`]).

pub(crate) mod api;
pub(crate) mod app;
pub(crate) mod apply;
pub(crate) mod audience;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod cluster;
pub(crate) mod completions;
pub(crate) mod config;
#[cfg(feature = "lab")]
pub(crate) mod demo;
pub(crate) mod device;
pub(crate) mod doctor;
pub(crate) mod health;
pub(crate) mod init;
pub(crate) mod journal;
pub(crate) mod key;
#[cfg(feature = "lab")]
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod memcache;
pub(crate) mod metrics;
pub(crate) mod openapi;
pub(crate) mod passwd;
pub(crate) mod profile;
pub(crate) mod publish;
pub(crate) mod push;
pub(crate) mod queue;
pub(crate) mod restore;
pub(crate) mod retained;
pub(crate) mod schedule;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod syslog;
pub(crate) mod user;
pub(crate) mod wallet;
