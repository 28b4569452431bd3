//! A file system of 64 MiB in memory that a suite can fill. Mounting it needs root, as the network suites do.

use std::path::{Path, PathBuf};

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

    /// Fills it with one file, but for so many bytes. Removing the file makes room again.
    pub fn fill(&self, room: u64) -> Result<PathBuf> {
        let file = self.0.join("ballast");
        let free = rustix::fs::statvfs(self.0)?;
        let bytes = (free.f_bavail * free.f_frsize).saturating_sub(room);
        std::fs::write(&file, vec![0; usize::try_from(bytes)?])?;
        Ok(file)
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0).status();
    }
}
