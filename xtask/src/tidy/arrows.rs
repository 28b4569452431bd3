//! Arrows between crates point down only, and some doors stay shut.
//!
//! The table is the picture in docs/architecture.md. A workspace member that is not in the table is
//! a finding: a new crate enters the picture first. Dev-dependencies are free: a test may drive
//! whatever it needs, and nothing ships from it.

use anyhow::{Context as _, Result};
use cargo_metadata::{DependencyKind, MetadataCommand};

use super::Finding;

/// Each member and the members it may lean on directly.
pub(super) const ARROWS: &[(&str, &[&str])] = &[
    ("stadium-addresses", &[]),
    ("stadium-grants", &[]),
    ("stadium-mqtt", &[]),
    ("stadium-reactor", &["stadium-addresses", "stadium-wheel"]),
    ("stadium-rsocket", &[]),
    ("stadium-etcd", &[]),
    ("stadium-discovery", &["stadium-etcd"]),
    ("stadium-memcache", &[]),
    ("stadium-metrics", &[]),
    ("stadium-membership", &[]),
    ("stadium-membership-etcd", &["stadium-etcd", "stadium-membership"]),
    ("stadium-rpc", &["stadium-reactor", "stadium-rsocket", "stadium-discovery"]),
    ("stadium-rpc-build", &[]),
    ("protoc-gen-stadium", &["stadium-rpc-build"]),
    ("stadium-ffi", &["stadium-rpc", "stadium-discovery", "stadium-reactor"]),
    ("stadium-python", &["stadium-ffi", "stadium-rpc"]),
    (
        "stadium-links",
        &["stadium-journal-log", "stadium-reactor", "stadium-rpc", "stadium-rsocket", "stadium-wheel"],
    ),
    (
        "stadium-edge",
        &[
            "stadium-addresses",
            "stadium-grants",
            "stadium-memcache",
            "stadium-reactor",
            "stadium-mqtt",
            "stadium-push",
            "stadium-session",
            "stadium-shard",
            "stadium-telemetry",
            "stadium-token-keys",
        ],
    ),
    ("stadium-oidc", &["stadium-token-keys"]),
    ("stadium-token-keys", &[]),
    ("stadium-wheel", &[]),
    ("stadium-table", &[]),
    ("stadium-telemetry", &["stadium-state-machine"]),
    ("stadium-state-machine", &[]),
    ("stadium-queue", &["stadium-state-machine", "stadium-wheel", "stadium-table"]),
    ("stadium-wallet", &["stadium-state-machine", "stadium-wheel", "stadium-table"]),
    ("stadium-registry", &["stadium-state-machine", "stadium-table"]),
    ("stadium-push", &["stadium-state-machine", "stadium-registry", "stadium-table"]),
    ("stadium-session", &["stadium-state-machine", "stadium-table"]),
    ("stadium-journal", &[]),
    ("stadium-journal-log", &["stadium-journal"]),
    ("stadium-journal-replicated", &["stadium-journal", "stadium-journal-log"]),
    ("stadium-journal-kafka", &["stadium-journal", "stadium-journal-log"]),
    ("stadium-audit", &["stadium-journal"]),
    ("stadium-objects", &[]),
    ("stadium-archive", &["stadium-journal", "stadium-objects"]),
    (
        "stadium-shard",
        &[
            "stadium-state-machine",
            "stadium-queue",
            "stadium-wallet",
            "stadium-push",
            "stadium-session",
            "stadium-telemetry",
            "stadium-journal",
            "stadium-table",
            "stadium-wheel",
        ],
    ),
    (
        "stadium-forward",
        &[
            "stadium-links",
            "stadium-membership",
            "stadium-push",
            "stadium-queue",
            "stadium-shard",
            "stadium-shard-wire",
            "stadium-state-machine",
        ],
    ),
    (
        "stadium-cluster",
        &[
            "stadium-archive",
            "stadium-forward",
            "stadium-journal",
            "stadium-journal-log",
            "stadium-journal-replicated",
            "stadium-links",
            "stadium-membership",
            "stadium-membership-etcd",
            "stadium-push",
            "stadium-queue",
            "stadium-objects",
            "stadium-shard",
            "stadium-shard-wire",
            "stadium-state-machine",
            "stadium-telemetry",
        ],
    ),
    (
        "stadium-cluster-admin",
        &[
            "stadium-archive",
            "stadium-cluster",
            "stadium-journal",
            "stadium-journal-kafka",
            "stadium-journal-log",
            "stadium-membership",
            "stadium-membership-etcd",
        ],
    ),
    (
        "stadium-shard-wire",
        &[
            "stadium-state-machine",
            "stadium-queue",
            "stadium-wallet",
            "stadium-push",
            "stadium-registry",
            "stadium-session",
            "stadium-shard",
        ],
    ),
    ("stadium-console", &[]),
    (
        "stadium-http",
        &[
            "stadium-addresses",
            "stadium-console",
            "stadium-oidc",
            "stadium-grants",
            "stadium-metrics",
            "stadium-shard",
            "stadium-telemetry",
            "stadium-queue",
            "stadium-wallet",
            "stadium-push",
            "stadium-registry",
            "stadium-session",
        ],
    ),
    (
        "stadium-rpc-api",
        &[
            "stadium-grants",
            "stadium-http",
            "stadium-oidc",
            "stadium-shard",
            "stadium-queue",
            "stadium-wallet",
            "stadium-push",
            "stadium-registry",
            "stadium-rpc",
            "stadium-rpc-build",
            "stadium-rsocket",
            "stadium-telemetry",
            "stadium-token-keys",
        ],
    ),
    (
        "stadium-node",
        &[
            "stadium-addresses",
            "stadium-archive",
            "stadium-edge",
            "stadium-grants",
            "stadium-http",
            "stadium-shard",
            "stadium-telemetry",
            "stadium-queue",
            "stadium-wallet",
            "stadium-push",
            "stadium-registry",
            "stadium-session",
            "stadium-journal",
            "stadium-cluster",
            "stadium-journal-kafka",
            "stadium-journal-log",
            "stadium-links",
            "stadium-memcache",
            "stadium-membership",
            "stadium-membership-etcd",
            "stadium-rpc",
            "stadium-rpc-api",
            "stadium-discovery",
            "stadium-rsocket",
            "stadium-reactor",
            "stadium-mqtt",
            "stadium-token-keys",
        ],
    ),
    ("stadium-http-client", &[]),
    ("stadium-local-services", &[]),
    ("stadium-scenario", &[]),
    ("stadium-report", &[]),
    (
        "stadium-load",
        &[
            "stadium-reactor",
            "stadium-mqtt",
            "stadium-rsocket",
            "stadium-rpc",
            "stadium-rpc-build",
            "stadium-discovery",
            "stadium-http-client",
            "stadium-objects",
            "stadium-scenario",
            "stadium-report",
        ],
    ),
    (
        "stadium-cli",
        &[
            "stadium-node",
            "stadium-cluster-admin",
            "stadium-local-services",
            "stadium-memcache",
            "stadium-membership",
            "stadium-metrics",
            "stadium-load",
            "stadium-report",
            "stadium-scenario",
            "stadium-journal",
            "stadium-archive",
            "stadium-audit",
            "stadium-rpc",
            "stadium-rsocket",
            "stadium-discovery",
            "stadium-example-voting",
        ],
    ),
    ("stadium-example-geo", &["stadium-rpc", "stadium-rpc-build", "stadium-discovery"]),
    (
        "stadium-example-voting",
        &["stadium-memcache", "stadium-rpc", "stadium-rpc-build", "stadium-rsocket", "stadium-mqtt"],
    ),
    ("stadium-bench", &["stadium-testing"]),
    ("stadium-sdk-conformance", &["stadium-ffi", "stadium-rpc", "stadium-rpc-build", "stadium-testing"]),
    ("stadium-testing", &["stadium-local-services"]),
    (
        "stadium-simulator",
        &[
            "stadium-shard",
            "stadium-queue",
            "stadium-wallet",
            "stadium-push",
            "stadium-registry",
            "stadium-state-machine",
            "stadium-journal",
            "stadium-journal-log",
            "stadium-links",
            "stadium-forward",
            "stadium-membership",
            "stadium-shard-wire",
            "stadium-mqtt",
            "stadium-session",
            "stadium-archive",
            "stadium-objects",
        ],
    ),
    ("xtask", &[]),
];

/// An outside crate that only some members may link.
struct Door {
    name: &'static str,
    open_to: &'static [&'static str],
    why: &'static str,
}

/// Outside crates with a reason to be kept in one place.
const DOORS: &[Door] = &[
    Door { name: "rdkafka", open_to: &["stadium-journal-kafka"], why: "a default build needs no broker" },
    Door { name: "rskafka", open_to: &["stadium-journal-kafka"], why: "a default build needs no broker" },
    Door {
        name: "tokio",
        open_to: &[
            "stadium-etcd",
            "stadium-membership-etcd",
            "stadium-http",
            "stadium-node",
            "stadium-journal-kafka",
            "stadium-discovery",
            "stadium-example-voting",
            "stadium-load",
            "stadium-objects",
            "stadium-archive",
            "stadium-rpc",
            "stadium-memcache",
            "stadium-telemetry",
            // It drives archives in its world of backups.
            "stadium-simulator",
        ],
        why: "tokio runs the control plane only, object stores and the export of telemetry over gRPC too, in load the live page, in rpc what a service brings, \
              in memcache a form that is off by default, and in journal-kafka the client that is not the default",
    },
    Door {
        name: "axum",
        open_to: &["stadium-http", "stadium-example-voting", "stadium-load", "stadium-objects"],
        why: "the HTTP API lives in one crate; an example, a load run's live page and the S3 server of tests have their own",
    },
    Door {
        name: "mio",
        open_to: &["stadium-reactor", "stadium-bench"],
        why: "sockets of devices belong to the reactor",
    },
];

/// One direct dependency of a member.
struct Arrow<'a> {
    from: &'a str,
    to: &'a str,
    inside: bool,
}

/// Reads `cargo metadata` and checks every normal and build dependency of every member.
pub(crate) fn check() -> Result<Vec<Finding>> {
    let metadata = MetadataCommand::new().no_deps().exec().context("cannot read `cargo metadata`")?;
    let members: Vec<String> = metadata.packages.iter().map(|package| package.name.to_string()).collect();
    let mut findings = Vec::new();
    for package in &metadata.packages {
        for dependency in &package.dependencies {
            if dependency.kind == DependencyKind::Development {
                continue;
            }
            let inside = members.contains(&dependency.name);
            let from: &str = &package.name;
            findings.extend(judge(&Arrow { from, to: &dependency.name, inside }));
        }
        if !ARROWS.iter().any(|(name, _)| *name == package.name.as_str()) {
            let what = format!(
                "`{}` is not in the picture: add it to docs/architecture.md and xtask/src/tidy/arrows.rs",
                package.name
            );
            findings.push(Finding::new("Cargo.toml", 0, what));
        }
    }
    Ok(findings)
}

fn judge(arrow: &Arrow<'_>) -> Option<Finding> {
    let Arrow { from, to, inside } = *arrow;
    let finding = |what: String| Some(Finding::new("Cargo.toml", 0, what));
    if inside {
        let (_, allowed) = ARROWS.iter().find(|(name, _)| *name == from)?;
        if !allowed.contains(&to) {
            return finding(format!("`{from}` may not depend on `{to}` (docs/architecture.md, the picture)"));
        }
        return None;
    }
    let door = DOORS.iter().find(|door| door.name == to)?;
    if door.open_to.contains(&from) {
        return None;
    }
    finding(format!("`{from}` may not link `{to}`: {}", door.why))
}

#[cfg(test)]
mod tests {
    use super::{Arrow, judge};

    fn allowed(from: &str, to: &str) -> bool {
        let inside = to.starts_with("stadium-");
        judge(&Arrow { from, to, inside }).is_none()
    }

    #[test]
    fn arrows_point_down() {
        assert!(allowed("stadium-edge", "stadium-reactor"));
        assert!(allowed("stadium-cli", "stadium-node"));
        assert!(!allowed("stadium-reactor", "stadium-edge"));
        assert!(!allowed("stadium-mqtt", "stadium-reactor"));
        assert!(!allowed("stadium-edge", "stadium-http"));
        assert!(!allowed("stadium-http", "stadium-edge"));
    }

    #[test]
    fn doors_open_to_few() {
        assert!(allowed("stadium-http", "tokio"));
        assert!(!allowed("stadium-edge", "tokio"));
        assert!(allowed("stadium-journal-kafka", "rdkafka"));
        assert!(!allowed("stadium-node", "rdkafka"));
        assert!(!allowed("stadium-node", "rskafka"));
        assert!(!allowed("stadium-mqtt", "mio"));
    }
}
