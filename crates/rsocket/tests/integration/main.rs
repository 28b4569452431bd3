//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-rsocket --test integration allocation::`.

mod allocation;
mod fuzz;
mod hostile;
mod pipe;
mod round_trip;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/rsocket_connection.rs"]
mod rsocket_connection;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/rsocket_decode.rs"]
mod rsocket_decode;
mod spec;
mod vectors;
