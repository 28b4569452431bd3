//! A file system of 64 MiB in memory that a suite can fill. Mounting it needs root, as the network suites do.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

/// Unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// Mounts it on a folder.
    pub fn mount(at: &'a Path) -> Result<Self> {
        let status = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"])
            .arg(at)
            .status()
            .context("cannot run mount")?;
        ensure!(status.success(), "cannot mount a small disk; this suite needs root");
        Ok(Self(at))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0).status();
    }
}
