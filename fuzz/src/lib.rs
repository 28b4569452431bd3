//! Fuzz bodies as ordinary functions. The targets in fuzz_targets/ hand them what libFuzzer invents
//! (`cargo +nightly fuzz run mqtt_decode`); tests on stable hand them random and damaged packets.

pub mod http1_answer;
pub mod http2_answer;
pub mod journal_decode;
pub mod log_messages;
pub mod memcache_answers;
pub mod mqtt_broker;
pub mod mqtt_decode;
pub mod push_events;
pub mod queue_events;
pub mod registry_input;
pub mod rsocket_connection;
pub mod rsocket_decode;
pub mod scenario_text;
pub mod seeds;
pub mod session_events;
pub mod shard_items;
pub mod state_machine;
pub mod wallet_events;
