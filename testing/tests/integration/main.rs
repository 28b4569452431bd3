//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-testing --test integration device_credentials::`.

mod archive;
mod auth_cache;
mod cluster;
mod cluster_doctor;
mod cluster_traces;
mod demo_of_a_cluster;
mod device_credentials;
mod devices_own_rights;
mod drain;
mod durable_sessions;
mod erasure;
mod erasure_in_cluster;
mod hostile;
mod json_log;
mod limits;
mod locations;
mod message_feeds;
mod metrics;
mod mosquitto_clients;
mod mqtt_kill;
mod paho_go;
mod push_api;
mod push_platform;
mod queue_kill;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../fuzz/src/random.rs"]
mod random;
mod redelivery;
mod retained_quota;
mod rpc_faults;
mod rpc_hostile;
mod rpc_java;
mod rpc_principals;
mod slow;
mod storm;
mod topics;
mod upgrade;
mod vanished;
mod wallet_double_spend;
mod wallet_kill;
mod websocket_frames;
