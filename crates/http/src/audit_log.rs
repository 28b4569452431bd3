//! Who changed what over the API: a line of JSON for each change, in `audit.ndjson` of the data directory.
//!
//! A line is handed to the system before the change is answered. The first [`LINES_PER_SECOND`] of a second are written one by
//! one; further changes are counted by key, route and status, and written as one line each when the
//! second is over. So a busy sender never pushes an administrator's change out of the log. Two
//! files of [`FILE_BYTES_MAX`] are kept.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::key_store::Key;
use crate::rfc3339;

/// Bytes of a file before it becomes the older one, and the oldest goes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Changes written one by one in a second: people and deployments make fewer, programs that push make more.
const LINES_PER_SECOND: u32 = 100;

/// Sorts of further changes in a second that are counted apart; beyond that they are counted
/// together.
const SORTS_MAX: usize = 1_000;

/// What stands for a key and a route where changes beyond [`SORTS_MAX`] are counted.
const SEVERAL: &str = "several";

/// Bytes of a path or name in a line; more is cut.
const TEXT_BYTES_MAX: usize = 512;

/// Bytes read at once, from the end backwards.
const BLOCK_BYTES: u64 = 64 << 10;

/// How often the counts are written.
pub(crate) const TICK: Duration = Duration::from_secs(1);

/// The key of a request: set where the key is looked at, read when the request is answered.
pub(crate) type CallerPlace = Arc<OnceLock<Arc<Key>>>;

/// Set on the response by a handler that only checked the request: it gets no entry.
///
/// The handler decides, never the request's text: a query cannot take a change out of the log.
#[derive(Clone, Copy)]
pub(crate) struct DryRun;

/// A change, made or refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Entry {
    /// When it was answered (RFC 3339).
    pub(crate) at: String,
    /// The API key that asked.
    #[schema(example = "k_3f9a01c2d4e5")]
    pub(crate) key: String,
    /// What that key was called.
    pub(crate) name: String,
    /// The sort of change.
    #[schema(example = "PUT /api/apps/{app}/devices/{device}")]
    pub(crate) route: String,
    /// What was changed; none where several changes are counted together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "/api/apps/default/devices/phone-7")]
    pub(crate) path: Option<String>,
    /// What was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) made: Option<String>,
    /// The HTTP status: below 300 it was made.
    pub(crate) status: u16,
    /// The code of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// How many changes of this sort were made since the entry before, where they are counted together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) times: Option<u64>,
}

/// What became of a request, for its entry.
pub(crate) struct Change<'a> {
    pub(crate) caller: &'a Arc<Key>,
    pub(crate) route: &'a Arc<str>,
    pub(crate) path: &'a str,
    pub(crate) made: Option<&'a str>,
    pub(crate) status: u16,
    pub(crate) code: Option<&'a str>,
}

/// The log of a data directory.
pub(crate) struct AuditLog {
    path: PathBuf,
    inner: Mutex<Inner>,
}

struct Inner {
    file: Option<File>,
    bytes: u64,
    /// Which second `written` is about.
    second: u64,
    written: u32,
    /// Changes beyond those written one by one.
    more: HashMap<Sort, u64>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Sort {
    /// None where the keys are counted together too.
    caller: Option<Arc<Key>>,
    route: Arc<str>,
    status: u16,
}

impl AuditLog {
    /// The log in this directory; a file is made with the first line.
    pub(crate) fn of(data_dir: &Path) -> Self {
        let inner = Inner { file: None, bytes: 0, second: 0, written: 0, more: HashMap::new() };
        Self { path: data_dir.join("audit.ndjson"), inner: Mutex::new(inner) }
    }

    /// Writes a change down, or counts it.
    pub(crate) fn record(&self, change: &Change<'_>, now: SystemTime) {
        let second = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut inner = self.inner.lock();
        if inner.second != second {
            self.write_counts(&mut inner, now);
            (inner.second, inner.written) = (second, 0);
        }
        if inner.written >= LINES_PER_SECOND {
            let Change { caller, route, status, .. } = *change;
            let mut sort = Sort { caller: Some(Arc::clone(caller)), route: Arc::clone(route), status };
            if inner.more.len() >= SORTS_MAX && !inner.more.contains_key(&sort) {
                sort = Sort { caller: None, route: SEVERAL.into(), status };
            }
            *inner.more.entry(sort).or_default() += 1;
            return;
        }
        inner.written += 1;
        let entry = Entry {
            at: rfc3339::format(now),
            key: change.caller.id.clone(),
            name: change.caller.name.clone(),
            route: change.route.to_string(),
            path: Some(cut(change.path)),
            made: change.made.map(cut),
            status: change.status,
            code: change.code.map(ToOwned::to_owned),
            times: None,
        };
        self.append(&mut inner, &entry);
    }

    /// Writes what was counted.
    pub(crate) fn settle(&self, now: SystemTime) {
        self.write_counts(&mut self.inner.lock(), now);
    }

    fn write_counts(&self, inner: &mut Inner, now: SystemTime) {
        for (Sort { caller, route, status }, times) in std::mem::take(&mut inner.more) {
            let at = rfc3339::format(now);
            let (key, name) = match &caller {
                Some(key) => (key.id.clone(), key.name.clone()),
                None => (SEVERAL.to_owned(), String::new()),
            };
            let (route, times) = (route.to_string(), Some(times));
            let entry = Entry { at, key, name, route, path: None, made: None, status, code: None, times };
            self.append(inner, &entry);
        }
    }

    fn append(&self, inner: &mut Inner, entry: &Entry) {
        let mut line = serde_json::to_vec(entry).expect("strings and numbers always serialise");
        line.push(b'\n');
        if let Err(error) = self.write(inner, &line) {
            // The change was made: an error would mislead the caller.
            tracing::error!(error = %error, path = %self.path.display(), "The audit log cannot be written");
            inner.file = None;
        }
    }

    fn write(&self, inner: &mut Inner, line: &[u8]) -> io::Result<()> {
        if inner.bytes + line.len() as u64 > FILE_BYTES_MAX {
            inner.file = None;
            std::fs::rename(&self.path, self.older())?;
            inner.bytes = 0;
        }
        if inner.file.is_none() {
            let file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            inner.bytes = file.metadata()?.len();
            inner.file = Some(file);
        }
        if let Some(file) = &mut inner.file {
            file.write_all(line)?;
            inner.bytes += line.len() as u64;
        }
        Ok(())
    }

    fn older(&self) -> PathBuf {
        self.path.with_file_name("audit.1.ndjson")
    }

    /// The newest entries, newest first. Waits for the disk.
    pub(crate) fn newest(&self, limit: usize) -> io::Result<Vec<Entry>> {
        // Held, so that the files stay which they are.
        let _inner = self.inner.lock();
        let mut entries = last_lines(&self.path, limit)?;
        if entries.len() < limit {
            entries.extend(last_lines(&self.older(), limit - entries.len())?);
        }
        Ok(entries)
    }
}

/// The last entries of a file, the last first. A torn line, left by a crash, is skipped.
fn last_lines(path: &Path, limit: usize) -> io::Result<Vec<Entry>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut from = file.metadata()?.len();
    let mut tail: Vec<u8> = Vec::new();
    while from > 0 && tail.iter().filter(|&&byte| byte == b'\n').count() <= limit {
        let block = from.min(BLOCK_BYTES);
        from -= block;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = vec![0; block as usize];
        file.read_exact(&mut bytes)?;
        bytes.extend(&tail);
        tail = bytes;
    }
    let lines = tail.split(|&byte| byte == b'\n').rev();
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).take(limit).collect())
}

fn cut(text: &str) -> String {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_store::Role;

    fn at(second: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(second)
    }

    fn key(name: &str) -> Arc<Key> {
        Arc::new(Key { id: "k_1".to_owned(), name: name.to_owned(), role: Role::Send, created_at: at(0) })
    }

    #[test]
    fn too_many_changes_of_a_second_are_counted_and_none_is_lost() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let log = AuditLog::of(data.path());
        let (caller, route) = (key("campaigns"), "POST /api/apps/{app}/pushes".into());
        let record = |path: &str, second| {
            let change = Change { caller: &caller, route: &route, path, made: None, status: 202, code: None };
            log.record(&change, at(second));
        };
        for n in 0..250 {
            record(&format!("/{n}"), 1_000);
        }
        record("/last", 1_001);
        let entries = log.newest(1_000).expect("it is read");
        assert_eq!(entries.len(), 102, "a hundred, the count of the others, and the last");
        assert_eq!(entries[0].path.as_deref(), Some("/last"));
        assert_eq!((entries[1].times, &entries[1].path), (Some(150), &None));
        assert_eq!(entries[101].path.as_deref(), Some("/0"));
        assert_eq!(log.newest(2).expect("it is read"), entries[..2]);
    }

    #[test]
    fn a_full_file_becomes_the_older_one_and_a_torn_line_is_skipped() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let log = AuditLog::of(data.path());
        let (caller, route) = (key(""), "PUT /".into());
        let change =
            |path| Change { caller: &caller, route: &route, path, made: None, status: 204, code: None };
        log.record(&change("/first"), at(1));
        log.inner.lock().bytes = FILE_BYTES_MAX;
        log.record(&change("/second"), at(2));
        assert!(log.older().exists());
        let mut file = OpenOptions::new().append(true).open(&log.path).expect("it is there");
        file.write_all(b"{\"at\": \"20").expect("it is written");
        let paths: Vec<_> = log.newest(10).expect("it is read").into_iter().filter_map(|e| e.path).collect();
        assert_eq!(paths, ["/second", "/first"]);
    }
}
