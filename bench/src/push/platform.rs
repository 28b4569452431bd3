//! The server of these rows: the built binary with one door for HTTP and one for devices, on a data directory on this disk.

use std::process::Command;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use rustls::ClientConfig;

use super::load::Target;
use super::sizes::Sizes;
use crate::process::Cores;
use crate::services::stadium::Stadium;
use crate::services::{Folder, Start};
use crate::tls::{Identity, trusting};

/// A running server.
pub(super) struct Platform {
    pub(super) server: Stadium,
    tls: Option<Arc<ClientConfig>>,
    /// Certificate and key, where it speaks HTTPS.
    _identity: Option<Folder>,
}

impl Platform {
    /// Starts it anew with plain HTTP.
    pub(super) fn start(start: &Start<'_>, sizes: &Sizes) -> Result<Self> {
        Self::start_with(start, sizes, Vec::new())
    }

    /// The same with more settings.
    pub(super) fn start_with(start: &Start<'_>, sizes: &Sizes, more: Vec<String>) -> Result<Self> {
        let settings = [settings(sizes), more].concat();
        let server = Stadium::start_for_devices(start, start.cores, settings)?;
        Ok(Self { server, tls: None, _identity: None })
    }

    /// Starts it anew with HTTPS.
    pub(super) fn start_secured(start: &Start<'_>, sizes: &Sizes) -> Result<Self> {
        let folder = start.folder("identity", 0)?;
        let (certificate, key) = Identity::generate()?.write(&folder.0)?;
        let mut settings = settings(sizes);
        settings.push(format!("http.certificate={}", certificate.display()));
        settings.push(format!("http.key={}", key.display()));
        let tls = Some(trusting(&certificate)?);
        let server = Stadium::start_for_devices(start, start.cores, settings)?;
        Ok(Self { server, tls, _identity: Some(folder) })
    }

    /// How its HTTP is encrypted, if it is.
    pub(super) fn tls(&self) -> Option<&Arc<ClientConfig>> {
        self.tls.as_ref()
    }

    /// Moves all its threads to these cores.
    pub(super) fn move_to(&self, cores: Cores) -> Result<()> {
        let list = match cores {
            Cores::First => "0",
            Cores::Second => "1",
            Cores::Both => "0,1",
        };
        let mut command = Command::new("taskset");
        command.args(["-a", "-p", "-c", list, &self.server.pid().to_string()]);
        let moved = command.output().context("cannot run taskset")?;
        if !moved.status.success() {
            bail!("taskset: {}", String::from_utf8_lossy(&moved.stderr).trim());
        }
        Ok(())
    }

    /// Where its API is.
    pub(super) fn target(&self) -> Target<'_> {
        Target { address: self.server.http(), key: self.server.key(), tls: self.tls.clone() }
    }
}

/// One loop, and so many shards: the rest is as by default.
fn settings(sizes: &Sizes) -> Vec<String> {
    vec!["server.loops=1".to_owned(), format!("shards.count={}", sizes.shards)]
}
