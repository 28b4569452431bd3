//! PostgreSQL on a data directory of its own.
//!
//! Durable as ours: `fsync` and `synchronous_commit` are on (the defaults), the log is synced by fdatasync.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::{Service, Start};
use crate::newer_debian;

/// The user that it runs as: it refuses to be root.
const USER: &str = "nobody";

/// PostgreSQL running, empty.
pub(crate) fn start(start: &Start<'_>) -> Result<Service> {
    let server = newer_debian::program(start.places, newer_debian::POSTGRESQL);
    let beside = |name: &str| server.with_file_name(name);
    let service = start.service("postgresql", |folder, port| {
        let data = folder.join("data");
        let owned = Command::new("chown").arg(format!("{USER}:")).arg(folder).status()?;
        if !owned.success() {
            bail!("cannot give {} to the user {USER}", folder.display());
        }
        let mut init = as_user(start, &beside("initdb"));
        init.args(["--auth=trust", "--no-locale", "--encoding=UTF8", "--no-sync", "-U", "postgres", "-D"]);
        let output = init.arg(&data).output()?;
        if !output.status.success() {
            bail!("initdb: {}", String::from_utf8_lossy(&output.stderr));
        }
        let mut command = as_user(start, &server);
        command.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &port.to_string()]);
        for setting in [
            "unix_socket_directories=",
            "max_connections=400",
            "shared_buffers=1GB",
            "max_wal_size=8GB",
            "fsync=on",
            "synchronous_commit=on",
            "wal_sync_method=fdatasync",
            "wal_level=minimal",
            "max_wal_senders=0",
            // A plan that is made while the table is empty must be one for a full table.
            "enable_seqscan=off",
            "autovacuum_naptime=1s",
            "autovacuum_vacuum_cost_delay=0",
        ] {
            command.args(["-c", setting]);
        }
        Ok(command)
    })?;
    let service = service.ask_before_killing();
    let port = service.address().port().to_string();
    service.wait(|| {
        let mut ask = Command::new(beside("pg_isready"));
        let answer = ask.args(["--quiet", "-h", "127.0.0.1", "-p", &port]).status();
        answer.is_ok_and(|answer| answer.success())
    })?;
    Ok(service)
}

/// Its version.
pub(crate) fn version() -> String {
    newer_debian::version(newer_debian::POSTGRESQL, "--version")
}

fn as_user(start: &Start<'_>, program: &Path) -> Command {
    let mut command = start.command("setpriv");
    command.arg(format!("--reuid={USER}")).args(["--regid=nogroup", "--clear-groups", "--"]).arg(program);
    command
}
