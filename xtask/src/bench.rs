//! `cargo xtask bench NAME`: builds both sides, then hands over to the binary of bench/.
//!
//! Peers are installed once under target/peers: packages of Debian, crates, a Go module, a Maven project. The bench
//! itself (scenarios, pinning, medians, results) lives in bench/; this only makes sure that it can run.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::newer_debian::{MOSQUITTO, POSTGRESQL, REDIS};
use crate::step::{Step, WITH_CLUSTERS, cargo, command};
use crate::{components, drill, newer_debian, quotes, sdk_bench};

/// The peer crate and its version: a quoted figure names what it was taken against.
///
/// Its own lock file names a release of `metrics` that no longer compiles, so it is resolved anew.
const RUMQTTD: &str = "rumqttd@0.20.0";

/// The NATS server of `bench edge`, of the proxy of Go modules.
const NATS: &str = "github.com/nats-io/nats-server/v2@v2.15.3";

/// Load generators, and their versions.
const OHA: &str = "oha@1.16.0";
const K6: &str = "go.k6.io/k6@v1.8.1";

/// What to bench, and how much of it.
#[derive(Args)]
pub(crate) struct Options {
    /// Which bench
    name: Name,
    /// Passed on to the bench, for example `--only fanout --rounds 1` (see `--help` there)
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// The benches there are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Devices over MQTT: memory, fan-out, pairs, connects, storm, against five peers
    Edge,
    /// Service RPC: the published table, windows, overload, against six peers
    Rpc,
    /// Language SDKs: the JVM, Python, C++, against gRPC, bare Netty, rsocket-py and the Rust client
    Sdk,
    /// The memcached client: callers, operations in flight, against Xmemcached, Folsom, spymemcached, two crates
    Memcache,
    /// A million request-streams, against bare Netty and rsocket-java
    Streams,
    /// Queues: throughput, latency, recovery, delayed jobs, shards, against seven other ways to keep jobs
    Queue,
    /// The wallet: debits, latency, recovery, memory, voting, against PostgreSQL and Redis
    Wallet,
    /// The push platform: registry, audiences, pushes, returns, ingress, beside bare loops
    Push,
    /// The load lab: requests, sessions and devices from one machine, against five other load generators
    Load,
    /// A cluster: kills, moves, takeover, commands beside a bare producer, forwarded commands, more nodes
    Cluster,
    /// Backups: a server at full load without them and with them, and a restore
    Backup,
}

impl Name {
    /// The role of the bench's binary.
    fn role(self) -> &'static str {
        match self {
            Self::Edge => "edge",
            Self::Rpc => "rpc",
            Self::Sdk => "sdk",
            Self::Memcache => "memcache",
            Self::Streams => "streams",
            Self::Queue => "queue",
            Self::Wallet => "wallet",
            Self::Push => "push",
            Self::Load => "load",
            Self::Cluster => "cluster",
            Self::Backup => "backup",
        }
    }
}

/// Builds and runs; the bench's exit code is ours.
pub(crate) fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    let good = Step::start("peers").end(peers(root, options.name))
        && Step::start("build").end(build(root, options.name));
    if !good {
        bail!("cannot bench");
    }
    let mut bench = Command::new(root.join("target/dist/stadium-bench"));
    bench.arg(options.name.role()).args(&options.rest);
    if options.name == Name::Cluster {
        bench.env("STADIUM_DRILLS", drill::build()?);
    }
    let status = bench.status()?;
    // A bench that is only looked at has written no page.
    quotes::write(root)?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn build(root: &Path, name: Name) -> Result<()> {
    let dist = ["build", "--profile", "dist", "--package"];
    command(&mut cargo(&[&dist[..], &["stadium-bench"]].concat()))?;
    match name {
        Name::Edge | Name::Queue | Name::Push | Name::Load | Name::Backup => {
            command(&mut cargo(&[&dist[..], &["stadium-cli"]].concat()))
        }
        Name::Wallet => {
            let both =
                ["stadium-cli", "--package", "stadium-example-voting", "--bin", "stadium", "--bin", "voting"];
            command(&mut cargo(&[&dist[..], &both].concat()))
        }
        Name::Rpc | Name::Streams => {
            command(&mut cargo(&[&dist[..], &["stadium-rpc", "--examples"]].concat()))
        }
        Name::Sdk => {
            command(&mut cargo(&[&dist[..], &["stadium-rpc", "--examples"]].concat()))?;
            command(&mut cargo(&[&dist[..], &["stadium-ffi", "--package", "stadium-python"]].concat()))?;
            command(&mut cargo(&[&dist[..], &["stadium-cli"]].concat()))?;
            sdk_bench::build(root)
        }
        Name::Memcache => command(&mut cargo(&[&dist[..], &["stadium-memcache", "--examples"]].concat())),
        Name::Cluster => {
            command(&mut cargo(&[&dist[..], &["stadium-cluster", "--example", "shard_on_kafka"]].concat()))?;
            command(cargo(&[&dist[..], &["stadium-cli"]].concat()).args(WITH_CLUSTERS))
        }
    }
}

fn peers(root: &Path, name: Name) -> Result<()> {
    match name {
        Name::Edge => edge_peers(root),
        Name::Rpc => {
            components::for_rpc_bench()?;
            java_peers(root, "java")?;
            rust_peers(root, "tonic")
        }
        Name::Streams => {
            components::for_rpc_bench()?;
            java_peers(root, "java")
        }
        Name::Sdk => {
            components::for_sdk_bench()?;
            sdk_bench::peers(root)?;
            rust_peers(root, "tonic")
        }
        Name::Memcache => {
            components::for_memcache_bench()?;
            let folder = root.join("bench/peers/memcache");
            sdk_bench::programs_of_jvm(&folder, ":stadium-bench-memcache")?;
            rust_peers(root, "memcache/rust")
        }
        Name::Queue => {
            components::for_queue_bench()?;
            newer_debian::provide(root, &[REDIS, POSTGRESQL])
        }
        Name::Wallet => {
            components::for_wallet_bench()?;
            newer_debian::provide(root, &[REDIS, POSTGRESQL])
        }
        Name::Push | Name::Backup => Ok(()),
        Name::Load => load_peers(root),
        Name::Cluster => components::for_cluster_bench(),
    }
}

fn edge_peers(root: &Path) -> Result<()> {
    components::for_bench()?;
    newer_debian::provide(root, &[MOSQUITTO])?;
    let folder = root.join("target/peers");
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin)?;
    if !bin.join("rumqttd").exists() {
        let mut install = cargo(&["install", "--no-default-features", RUMQTTD, "--root"]);
        command(install.arg(&folder).env("CARGO_TARGET_DIR", folder.join("build")))?;
    }
    if !bin.join("nats-server").exists() {
        command(Command::new("go").args(["install", NATS]).env("GOBIN", &bin))?;
    }
    if !bin.join("mochi").exists() {
        let mut build = Command::new("go");
        build.current_dir(root.join("bench/peers/mochi")).args(["build", "-o"]);
        command(build.arg(bin.join("mochi")).arg("."))?;
    }
    java_peers(root, "hivemq")
}

fn load_peers(root: &Path) -> Result<()> {
    components::for_load_bench()?;
    let folder = root.join("target/peers");
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin)?;
    if !bin.join("oha").exists() {
        let mut install = cargo(&["install", "--locked", OHA, "--root"]);
        command(install.arg(&folder).env("CARGO_TARGET_DIR", folder.join("build")))?;
    }
    if !bin.join("k6").exists() {
        command(Command::new("go").args(["install", K6]).env("GOBIN", &bin))?;
    }
    Ok(())
}

/// A Maven project of bench/peers, into target/peers/NAME; Maven itself sees what is up to date.
fn java_peers(root: &Path, name: &str) -> Result<()> {
    let mut maven = Command::new("mvn");
    maven.current_dir(root.join("bench/peers").join(name));
    command(maven.args(["--quiet", "--batch-mode", "package"]))
}

/// A workspace of bench/peers has a target folder of its own, target/peers/NAME.
fn rust_peers(root: &Path, folder: &str) -> Result<()> {
    let mut build = cargo(&["build", "--release", "--locked"]);
    build.current_dir(root.join("bench/peers").join(folder));
    let name = folder.split('/').next().unwrap_or(folder);
    command(build.env("CARGO_TARGET_DIR", root.join("target/peers").join(name)))
}
