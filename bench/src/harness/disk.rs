//! The bare disk: a loop of write and fdatasync that does nothing else, on a file as a journal's segment.

#![allow(unsafe_code, reason = "fdatasync without anything between")]

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hdrhistogram::Histogram;

/// Preallocated and written once, so that the syncs measured change no metadata: as a journal's segment.
const FILE_BYTES: usize = 64 * 1024 * 1024;
const SPAN: Duration = Duration::from_millis(1_500);

/// What the disk did.
pub(crate) struct Syncs {
    /// Writes, each synced, a second.
    pub(crate) per_second: f64,
    sync_us: Histogram<u64>,
}

impl Syncs {
    /// How long a sync took, milliseconds.
    pub(crate) fn ms(&self, quantile: f64) -> f64 {
        self.sync_us.value_at_quantile(quantile) as f64 / 1e3
    }
}

/// Writes blocks of so many bytes into a file in `folder`, and syncs each.
pub(crate) fn measure(folder: &Path, bytes: usize) -> Result<Syncs> {
    fs::create_dir_all(folder)?;
    let path = folder.join("limit");
    let result = run(&path, bytes.clamp(1, FILE_BYTES));
    let _ = fs::remove_file(path);
    result
}

fn run(path: &Path, bytes: usize) -> Result<Syncs> {
    let file = File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
    file.write_all_at(&vec![0; FILE_BYTES], 0)?;
    file.sync_all()?;
    let block = vec![b'x'; bytes];
    let mut sync_us = Histogram::<u64>::new_with_bounds(1, 60_000_000, 3)?;
    let (mut at, mut rounds) = (0, 0_u32);
    let started = Instant::now();
    while started.elapsed() < SPAN {
        if at + block.len() > FILE_BYTES {
            at = 0;
        }
        file.write_all_at(&block, at as u64)?;
        at += block.len();
        let before = Instant::now();
        // SAFETY: the descriptor is the file's, which is open.
        if unsafe { libc::fdatasync(file.as_raw_fd()) } != 0 {
            return Err(io::Error::last_os_error()).context("fdatasync");
        }
        sync_us.saturating_record(u64::try_from(before.elapsed().as_micros())?);
        rounds += 1;
    }
    Ok(Syncs { per_second: f64::from(rounds) / started.elapsed().as_secs_f64(), sync_us })
}
