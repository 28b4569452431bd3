//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-http-client --test integration allocation::`.

mod allocation;
mod fuzz;
mod h1;
mod h2;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/http1_answer.rs"]
mod http1_answer;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/http2_answer.rs"]
mod http2_answer;
mod servers;
mod sse;
