//! `stadium-bench`: Stadium beside its peers, in the same run, in turn. Started by `cargo xtask bench`.
//!
//! One binary in three roles. As orchestrator it starts servers pinned to one core and this binary
//! again, as client, pinned to the other; as `bare` it is the loop that does nothing but send. It
//! depends on no crate of the product (docs/decisions/0006-bench-has-its-own-client.md).

mod allocations;
mod backup;
mod bare;
mod client;
mod cluster;
mod connections;
mod edge;
mod figure;
mod harness;
mod load;
mod machine;
mod memcache;
mod newer_debian;
mod process;
mod program;
mod push;
mod queue;
mod ratio;
mod report;
mod rpc;
mod scaling;
mod sdk;
mod selection;
mod server;
mod services;
mod streams;
mod table;
mod taken;
mod tls;
mod wallet;
mod wire;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// What the command line asks for.
#[derive(Parser)]
#[command(name = "stadium-bench", about = "Stadium beside its peers")]
struct Arguments {
    #[command(subcommand)]
    role: Role,
}

/// The roles of this binary.
#[derive(Subcommand)]
enum Role {
    /// Devices over MQTT: memory, fan-out, pairs, connects, storm
    Edge(edge::Options),
    /// Service RPC: the published table, windows, overload
    Rpc(rpc::Options),
    /// Language SDKs: the JVM, Python, C++
    Sdk(sdk::Options),
    /// The memcached client: callers, operations in flight, system calls, allocations
    Memcache(memcache::Options),
    /// A million request-streams
    Streams(streams::Options),
    /// Queues: throughput, latency, recovery, delayed jobs
    Queue(queue::Options),
    /// The wallet: debits, latency, recovery, memory, voting
    Wallet(wallet::Options),
    /// The push platform: registry, audiences, pushes, returns, ingress
    Push(push::Options),
    /// The load lab: requests, sessions and devices from one machine, against five other load generators
    Load(load::Options),
    /// A cluster: kills, moves, takeover, forwarded commands, more nodes
    Cluster(cluster::Options),
    /// Backups: a server at full load, without them and with them
    Backup(backup::Options),
    /// One scenario of the load client; prints one line of JSON (started by the others)
    #[command(hide = true)]
    Client(client::Options),
    /// The bare epoll loop (started by the others)
    #[command(hide = true)]
    Bare(bare::Options),
    /// The bare client of memcached (started by the others)
    #[command(hide = true)]
    BareMemcache(memcache::bare::Options),
    /// The bare HTTPS responder (started by the others)
    #[command(hide = true)]
    BareTls(push::responder::Options),
    /// The bare echo, both sides (started by the others)
    #[command(hide = true)]
    BareEcho {
        #[command(subcommand)]
        side: rpc::bare::Side,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().role {
        Role::Edge(options) => edge::run(&options),
        Role::Client(options) => client::run(&options),
        Role::Bare(options) => bare::run(&options),
        Role::Rpc(options) => rpc::run(&options),
        Role::Sdk(options) => sdk::run(&options),
        Role::Memcache(options) => memcache::run(&options),
        Role::Streams(options) => streams::run(&options),
        Role::Queue(options) => queue::run(&options),
        Role::Wallet(options) => wallet::run(&options),
        Role::Push(options) => push::run(&options),
        Role::Load(options) => load::run(&options),
        Role::Cluster(options) => cluster::run(&options),
        Role::Backup(options) => backup::run(&options),
        Role::BareMemcache(options) => memcache::bare::run(&options),
        Role::BareTls(options) => push::responder::run(&options),
        Role::BareEcho { side } => rpc::bare::run(&side),
    }
}
