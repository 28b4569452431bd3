//! PostgreSQL on a data directory of its own.
//!
//! Durable as ours: `fsync` and `synchronous_commit` are on (the defaults), the log is synced by fdatasync.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::{Service, Start};

/// Where Debian puts the server's programs, before the version.
const PROGRAMS: &str = "/usr/lib/postgresql";

/// PostgreSQL running, empty.
pub(crate) fn start(start: &Start<'_>) -> Result<Service> {
    let programs = programs()?;
    let service = start.service("postgresql", |folder, port| {
        let data = folder.join("data");
        // It refuses to run as root; Debian's package made this user.
        let owned = Command::new("chown").arg("postgres:").arg(folder).status()?;
        if !owned.success() {
            bail!("cannot give {} to the user postgres", folder.display());
        }
        let mut init = as_postgres(start, &format!("{programs}/initdb"));
        init.args(["--auth=trust", "--no-locale", "--encoding=UTF8", "--no-sync", "-U", "postgres", "-D"]);
        let output = init.arg(&data).output()?;
        if !output.status.success() {
            bail!("initdb: {}", String::from_utf8_lossy(&output.stderr));
        }
        let mut command = as_postgres(start, &format!("{programs}/postgres"));
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
        let mut ask = Command::new(format!("{programs}/pg_isready"));
        let answer = ask.args(["--quiet", "-h", "127.0.0.1", "-p", &port]).status();
        answer.is_ok_and(|answer| answer.success())
    })?;
    Ok(service)
}

/// Its packages.
pub(crate) fn version() -> String {
    super::version::of("postgresql-*[0-9]")
}

/// The newest version's programs.
fn programs() -> Result<String> {
    let versions =
        std::fs::read_dir(PROGRAMS).context("PostgreSQL is missing (Debian package postgresql)")?;
    let newest = versions
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .max()
        .context("PostgreSQL is missing (Debian package postgresql)")?;
    Ok(format!("{PROGRAMS}/{newest}/bin"))
}

fn as_postgres(start: &Start<'_>, program: &str) -> Command {
    let mut command = start.command("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--", program]);
    command
}
