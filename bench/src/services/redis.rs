//! Redis, as durable as it can be: `appendfsync always` writes and syncs the append-only file before any answer of the event
//! loop's turn leaves.

use anyhow::Result;

use super::{Service, Start};
use crate::newer_debian;

/// Redis running, empty.
pub(crate) fn start(start: &Start<'_>) -> Result<Service> {
    let service = start.service("redis", |folder, port| {
        let mut redis = start.command(newer_debian::program(start.places, newer_debian::REDIS));
        redis.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--daemonize", "no"]);
        redis.args(["--appendonly", "yes", "--appendfsync", "always", "--dir"]).arg(folder);
        // A rewrite of the file in the middle of a short run would only cost it.
        redis.args(["--auto-aof-rewrite-percentage", "0", "--maxclients", "10000"]);
        Ok(redis)
    })?;
    service.await_port()?;
    Ok(service)
}

/// Its version.
pub(crate) fn version() -> String {
    newer_debian::version(newer_debian::REDIS, "--version")
}
