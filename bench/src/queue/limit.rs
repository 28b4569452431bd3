//! The limit: a loop of write and fdatasync that does nothing else, on the same disk.
//!
//! Each worker waits for its answer, so what a batch of writes can carry is what all workers have under way. A job takes one put
//! of a producer and two requests of a consumer: with C consumers and batches of B jobs no more than B x C / 2 jobs can pass
//! with each sync, however good the server is.

#![allow(unsafe_code, reason = "fdatasync without anything between")]

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hdrhistogram::Histogram;

use super::crowd::Crowd;
use crate::server::Places;

/// Preallocated and written once, so that the syncs measured change no metadata: as a journal's segment.
const FILE_BYTES: usize = 64 * 1024 * 1024;
/// What a journal writes of a job beside its payload: put, reserved, settled.
const RECORD_BYTES: usize = 56;
const SPAN: Duration = Duration::from_millis(1_500);

/// Measures the loop for a batch size.
pub(super) fn take(places: &Places, crowd: &Crowd, batch: usize) -> Result<Vec<(String, f64)>> {
    let folder = places.target.join("bench/queue");
    fs::create_dir_all(&folder)?;
    let path = folder.join("limit");
    let result = run(&path, crowd, batch);
    let _ = fs::remove_file(path);
    result
}

fn run(path: &std::path::Path, crowd: &Crowd, batch: usize) -> Result<Vec<(String, f64)>> {
    let file = File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
    file.write_all_at(&vec![0; FILE_BYTES], 0)?;
    file.sync_all()?;
    let jobs = crowd.consumers as f64 * batch as f64 / 2.0;
    let bytes = (crowd.payload_bytes + 2 * RECORD_BYTES) * crowd.consumers * batch / 2;
    let block = vec![b'x'; bytes.clamp(1, FILE_BYTES)];
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
    let per_second = f64::from(rounds) * jobs / started.elapsed().as_secs_f64();
    let ms = |quantile| sync_us.value_at_quantile(quantile) as f64 / 1e3;
    Ok([("per_second", per_second), ("sync_p50_ms", ms(0.5)), ("sync_p99_ms", ms(0.99))]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec())
}
