//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-mqtt --test integration broker_behaviours::`.

mod application;
mod broker_behaviours;
mod codec_allocation;
mod codec_fuzz;
mod codec_fuzz_broker;
mod codec_hostile;
mod codec_round_trip;
mod codec_topics;
mod codec_vectors;
mod durable;
mod durable_support;
mod forgotten;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/mqtt_broker.rs"]
mod mqtt_broker;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/mqtt_decode.rs"]
mod mqtt_decode;
mod parts;
#[path = "codec_support/pool.rs"]
mod pool;
mod requests;
mod retained;
mod spec;
