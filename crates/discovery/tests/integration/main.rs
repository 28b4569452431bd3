//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-discovery --test integration bounds::`.

mod bounds;
#[cfg(feature = "etcd")]
mod etcd;
mod fixture;
mod names;
#[cfg(feature = "zookeeper")]
mod zookeeper;
