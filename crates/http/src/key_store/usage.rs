//! The last use of each key.
//!
//! It is kept in memory, and on disk in `api-keys-used.toml` at most a minute later: a crash may
//! take the last minute of it. The file of the keys itself is not written for it.

use std::collections::HashMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::error::Error;
use super::file::time;
use super::private_file::write_private;

const FILE: &str = "api-keys-used.toml";

/// The last use of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// Its time, in whole seconds.
    pub at: SystemTime,
    /// The address that used it; none where the transport knows none.
    pub from: Option<IpAddr>,
}

pub(super) struct Usages {
    path: PathBuf,
    by_key: Mutex<ByKey>,
}

#[derive(Default)]
struct ByKey {
    last: HashMap<String, (u64, Option<IpAddr>)>,
    /// Whether the file is older.
    changed: bool,
}

#[derive(Serialize, Deserialize)]
struct Contents {
    #[serde(default)]
    used: Vec<Line>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    id: String,
    /// Seconds since 1970.
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<IpAddr>,
}

impl Usages {
    pub(super) fn of(dir: &Path) -> Self {
        Self { path: dir.join(FILE), by_key: Mutex::default() }
    }

    /// Reads the file. One that cannot be read only costs what it held.
    pub(super) fn load(&self) {
        let Ok(text) = fs::read_to_string(&self.path) else { return };
        match toml::from_str::<Contents>(&text) {
            Ok(contents) => {
                let lines = contents.used.into_iter().map(|line| (line.id, (line.at, line.from)));
                self.by_key.lock().last = lines.collect();
            }
            Err(error) => {
                let path = self.path.display();
                tracing::warn!(%path, error = error.message(), "The last uses of API keys cannot be read");
            }
        }
    }

    pub(super) fn used(&self, id: &str, from: Option<IpAddr>, at: u64) {
        let from = from.map(|address| address.to_canonical());
        let mut by_key = self.by_key.lock();
        match by_key.last.get_mut(id) {
            Some(last) if *last == (at, from) => return,
            Some(last) => *last = (at, from),
            None => drop(by_key.last.insert(id.to_owned(), (at, from))),
        }
        by_key.changed = true;
    }

    pub(super) fn last(&self, id: &str) -> Option<Used> {
        let by_key = self.by_key.lock();
        by_key.last.get(id).map(|&(at, from)| Used { at: time(at), from })
    }

    /// Writes the file, if there is something new. Uses of keys that are not known any more go.
    pub(super) fn keep(&self, known: &[String]) -> Result<(), Error> {
        let mut used: Vec<Line> = {
            let mut by_key = self.by_key.lock();
            if !std::mem::take(&mut by_key.changed) {
                return Ok(());
            }
            by_key.last.retain(|id, _| known.contains(id));
            by_key.last.iter().map(|(id, &(at, from))| Line { id: id.clone(), at, from }).collect()
        };
        used.sort_by(|one, other| one.id.cmp(&other.id));
        let text = toml::to_string(&Contents { used }).expect("strings and numbers always serialise");
        write_private(&self.path, text.as_bytes())
    }
}
