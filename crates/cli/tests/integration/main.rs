//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-cli --test integration command_line::`.

mod apply;
mod audit;
mod backup;
mod backup_faults;
mod binary;
mod cluster;
mod command_line;
mod config;
mod demo;
mod doctor;
mod init;
mod key;
mod load;
mod memcache;
mod platform_devices;
mod platform_pushes;
mod principals;
mod profile;
mod push_service;
mod queue;
mod retained;
mod serve;
mod service;
mod store;
mod wallet;
mod wallet_periods;
