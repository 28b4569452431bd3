//! MariaDB as it serves the published designs: started on a data directory of its own, and their table.
//!
//! Durable as ours: InnoDB writes and syncs its log at each commit (`innodb_flush_log_at_trx_commit=1`, the default), and every
//! statement commits by itself. Without a binary log, which would be synced too.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use crate::services::{Service, Start};

/// MariaDB running.
pub(super) fn start(start: &Start<'_>) -> Result<Service> {
    let template = start.places.target.join("bench/queue/mariadb-template");
    if !template.join("mysql").exists() {
        initialize(start, &template)?;
    }
    let service = start.service("mariadb", |folder, port| {
        let data = folder.join("data");
        let copied = std::process::Command::new("cp").arg("-r").arg(&template).arg(&data).status()?;
        if !copied.success() {
            bail!("cannot copy {}", template.display());
        }
        let mut command = start.command("mariadbd");
        command.args(["--no-defaults", "--user=root", "--bind-address=127.0.0.1", "--skip-name-resolve"]);
        command.arg(format!("--port={port}")).arg(option("datadir", &data));
        command.arg(option("socket", &folder.join("socket"))).arg(option("tmpdir", folder));
        command.args([
            "--max-connections=1000",
            "--innodb-buffer-pool-size=2G",
            "--innodb-log-file-size=512M",
        ]);
        command.args(["--innodb-flush-log-at-trx-commit=1", "--skip-log-bin", "--performance-schema=OFF"]);
        command.args(["--transaction-isolation=READ-COMMITTED", "--innodb-autoinc-lock-mode=2"]);
        // Measured here: with 200 connections on two cores the pool of threads gives the designs more.
        command.args(["--thread-handling=pool-of-threads", "--max-allowed-packet=64M"]);
        Ok(command)
    })?;
    service.await_port()?;
    Ok(service)
}

/// An empty data directory; made once, copied for each start.
fn initialize(start: &Start<'_>, template: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(template);
    fs::create_dir_all(template)?;
    let mut install = start.command("mariadb-install-db");
    install.args([
        "--no-defaults",
        "--user=root",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]);
    let output = install.arg(option("datadir", template)).stdin(Stdio::null()).output();
    let output = output.context("cannot start mariadb-install-db (Debian package mariadb-server)")?;
    if !output.status.success() {
        let _ = fs::remove_dir_all(template);
        bail!("mariadb-install-db: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn option(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}
