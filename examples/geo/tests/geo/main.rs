//! The example as its users run it: service processes, client processes, signals, and a real etcd.
//!
//! Nothing here waits for a time to pass: a service prints on standard output where it listens, and
//! what is to happen is waited for with a deadline.

mod datagrams;
mod etcd;
mod fixture;
mod programs;
mod traits;
mod watches;
