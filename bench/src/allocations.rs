//! Counts a server's heap allocations from outside: a preloaded library wraps malloc and counts in a file.
//!
//! The library is a page of C, compiled at bench time, because it must come before libc's own malloc. It
//! works on any dynamically linked server that allocates with libc: ours, and mosquitto; not the Go ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// Environment variable that gives the library the place to count.
pub(crate) const FILE_VARIABLE: &str = "BENCH_ALLOCATIONS_FILE";

/// The library's source.
const SOURCE: &str = include_str!("allocations/count.c");

/// Compiles the library into `folder`; returns its path.
pub(crate) fn library(folder: &Path) -> Result<PathBuf> {
    let source = folder.join("count.c");
    let library = folder.join("libcount.so");
    fs::write(&source, SOURCE)?;
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    if !compile.status().context("cannot start cc")?.success() {
        bail!("cannot compile {}", source.display());
    }
    Ok(library)
}

/// Allocations counted so far; 0 without a file.
pub(crate) fn read(file: Option<&Path>) -> Result<u64> {
    let Some(file) = file else { return Ok(0) };
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let count =
        bytes.first_chunk().with_context(|| format!("{}: the server counts nothing", file.display()))?;
    Ok(u64::from_le_bytes(*count))
}
