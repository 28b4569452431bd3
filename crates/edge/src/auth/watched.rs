//! Notices that files have changed, at the cost of one `stat` for each a second at most.
//!
//! A change is another time, length or inode: an editor that replaces the file is seen as well as one that
//! writes into it. The thread that notices a change reads; what was read before stays in force when
//! the new content is bad.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How often the files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Some files, and how they looked last.
pub(super) struct Watched {
    paths: Vec<PathBuf>,
    state: Mutex<State>,
}

struct State {
    looked_at: Instant,
    stamps: Vec<Option<Stamp>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    seconds: i64,
    nanoseconds: i64,
    bytes: u64,
    inode: u64,
}

impl Watched {
    /// Looks at the files; call it before reading them, so that a change in between is noticed later.
    pub(super) fn new(paths: Vec<PathBuf>, now: Instant) -> Self {
        let stamps = stamps(&paths);
        Self { paths, state: Mutex::new(State { looked_at: now, stamps }) }
    }

    /// Whether a file has changed since this was last true. Only one caller a second looks.
    pub(super) fn changed(&self, now: Instant) -> bool {
        // Somebody else is looking: nothing is lost by going on.
        let Some(mut state) = self.state.try_lock() else { return false };
        if now.saturating_duration_since(state.looked_at) < LOOK_INTERVAL {
            return false;
        }
        state.looked_at = now;
        let stamps = stamps(&self.paths);
        let changed = stamps != state.stamps;
        state.stamps = stamps;
        changed
    }

    /// Has the next look find a change, for a caller that could not read after all.
    pub(super) fn look_again(&self) {
        self.state.lock().stamps.clear();
    }
}

fn stamps(paths: &[PathBuf]) -> Vec<Option<Stamp>> {
    let stamp = |path: &PathBuf| {
        let seen = fs::metadata(path).ok()?;
        Some(Stamp {
            seconds: seen.mtime(),
            nanoseconds: seen.mtime_nsec(),
            bytes: seen.len(),
            inode: seen.ino(),
        })
    };
    paths.iter().map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_noticed_once_and_not_more_often_than_each_second() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("users");
        fs::write(&path, "one").expect("written");
        let start = Instant::now();
        let watched = Watched::new(vec![path.clone()], start);
        assert!(!watched.changed(start + LOOK_INTERVAL));
        fs::write(&path, "three").expect("written");
        assert!(!watched.changed(start + LOOK_INTERVAL * 3 / 2), "not yet looked at again");
        assert!(watched.changed(start + LOOK_INTERVAL * 2));
        assert!(!watched.changed(start + LOOK_INTERVAL * 3));
        fs::remove_file(&path).expect("removed");
        assert!(watched.changed(start + LOOK_INTERVAL * 4));
    }
}
