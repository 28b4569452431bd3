//! The integration tests of this crate, one program: each module is a suite, and its name a
//! filter, as in `cargo test -p stadium-archive --test integration writers::`.

mod backups;
mod export;
mod faulty;
mod formats;
mod garbage;
mod interruptions;
mod moving;
mod restoring;
mod shard;
mod stores;
mod writers;
