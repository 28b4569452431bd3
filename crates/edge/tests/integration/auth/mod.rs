//! Authentication from its public side, with real argon2 hashes, real tokens of all three algorithms, real
//! certificates and a real HTTP service on a loopback socket.
//!
//! Verdicts that come late are waited for with a deadline; nothing sleeps for timing.

mod anonymous;
mod callback;
mod certificates;
mod fixture;
mod passwords;
mod registry;
mod tokens;
