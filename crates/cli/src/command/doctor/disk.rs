//! The disk below the data directory: its kind, free space, the size of the data, and how long a
//! sync takes.
//!
//! Every acknowledged write waits for an fdatasync, so its latency bounds that of the whole server.
//! A file of its own is written to and removed; where the directory is missing, the nearest that
//! exists is measured.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{statfs, statvfs};

use super::Checks;
use crate::terminal::short;

/// Syncs that are measured.
const SYNCS: usize = 100;

/// Bytes before each sync: a small batch of a journal.
const BYTES: usize = 4_096;

/// The longest time that measuring may take; a slow disk has fewer syncs measured.
const PATIENCE: Duration = Duration::from_secs(5);

/// The 99th percentile from which on it is a warning: a batch of commands waits for it.
const SLOW: Duration = Duration::from_millis(50);

/// Free bytes below which it is a problem: a journal's next segment of 64 MiB.
const FREE_BYTES_MIN: u64 = 64 << 20;

/// Free bytes below which it is a warning.
const FREE_BYTES_FEW: u64 = 1 << 30;

const AREA: &str = "disk";

/// Kinds of file systems whose promise of a sync is doubtful, by their number.
const DOUBTFUL: [(u64, &str, &str); 3] = [
    (0x0102_1994, "tmpfs: everything is lost with the machine's power", "name a directory on a disk"),
    (0x6969, "NFS: locks and syncs depend on its server", "use a local disk"),
    (
        0x794c_7630,
        "an overlay: data in a container's own layer goes with the container",
        "mount a volume there",
    ),
];

/// Examines it.
pub(super) fn examine(data: &Path, measures: bool, checks: &mut Checks) {
    let named = |path: &Path| if path == Path::new("") { PathBuf::from(".") } else { path.to_owned() };
    let place = data.ancestors().map(named).find(|path| path.is_dir());
    let Some(place) = place else {
        checks.problem(
            AREA,
            format!("there is no directory above {}", data.display()),
            "name another with server.data",
        );
        return;
    };
    let shown = place.display();
    if let Ok(facts) = statfs(&place) {
        let kind = u64::try_from(facts.f_type).unwrap_or(0);
        if let Some((_, what, remedy)) = DOUBTFUL.iter().find(|(number, ..)| *number == kind) {
            checks.warning(AREA, format!("{shown} is on {what}"), *remedy);
        }
    }
    if let Ok(facts) = statvfs(&place) {
        let (free, all) = (facts.f_bavail * facts.f_frsize, facts.f_blocks * facts.f_frsize);
        let mib = |bytes: u64| stadium_node::settings::grouped(bytes >> 20);
        let found = format!("{} MiB of {} are free below {shown}", mib(free), mib(all));
        let remedy = "free space there, or move the data to a larger disk";
        match free {
            free if free < FREE_BYTES_MIN => checks.problem(AREA, found, remedy),
            free if free < FREE_BYTES_FEW => checks.warning(AREA, found, remedy),
            _ => checks.ok(AREA, found),
        }
    }
    if data.is_dir() {
        let shards = std::fs::read_dir(data).into_iter().flatten().flatten();
        let shards = shards.filter(|entry| entry.file_name().to_string_lossy().starts_with("shard-")).count();
        let size = size(data) >> 20;
        checks.ok(AREA, format!("{} holds {size} MiB in {shards} shards", data.display()));
    }
    if measures {
        measured(&place, checks);
    }
}

/// Bytes of all files below.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(facts) if facts.is_dir() => size(&entry.path()),
            Ok(facts) => facts.len(),
            Err(_) => 0,
        })
        .sum()
}

fn measured(place: &Path, checks: &mut Checks) {
    let syncs = tempfile::Builder::new().prefix(".stadium-doctor").tempfile_in(place).and_then(|file| {
        let mut file: &File = file.as_file();
        let (began, mut taken) = (Instant::now(), Vec::with_capacity(SYNCS));
        while taken.len() < SYNCS && began.elapsed() < PATIENCE {
            file.write_all(&[0x5a; BYTES])?;
            let before = Instant::now();
            file.sync_data()?;
            taken.push(before.elapsed());
        }
        taken.sort_unstable();
        Ok(taken)
    });
    let syncs = match syncs {
        Ok(syncs) if !syncs.is_empty() => syncs,
        Ok(_) => return,
        Err(error) => {
            let found = format!("a file in {} cannot be written and synced: {error}", place.display());
            checks.problem(AREA, found, "make this user its owner (chown), or free space");
            return;
        }
    };
    let percentile = |part: f64| syncs[((syncs.len() - 1) as f64 * part).round() as usize];
    let (half, most) = (percentile(0.5), percentile(0.99));
    let found = format!(
        "{} syncs of {BYTES} bytes in {}: p50 {}, p99 {}",
        syncs.len(),
        place.display(),
        short(half.as_secs_f64()),
        short(most.as_secs_f64())
    );
    if most > SLOW {
        let remedy = "use a disk with a write cache that survives power loss; each acknowledged write waits for a sync";
        checks.warning(AREA, found, remedy);
    } else {
        checks.ok(AREA, found);
    }
}
