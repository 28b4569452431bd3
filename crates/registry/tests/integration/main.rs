//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-registry --test integration audiences::`.

mod audiences;
mod format;
mod fuzz;
mod model;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/random.rs"]
mod random;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/registry_input.rs"]
mod registry_input;
mod rules;
