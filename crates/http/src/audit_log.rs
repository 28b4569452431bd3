//! Changes over the API, refused keys, sign-ins and logouts: a line of JSON for each, in
//! `audit.ndjson` of the data directory.
//!
//! A line is handed to the system before the change is answered, and continues the hash chain of
//! the lines before it ([`chain`]). The first [`LINES_PER_SECOND`] of a key in a second are written
//! one by one; its further ones are counted by route and status, and written as one line each when
//! the second is over. So a busy sender hides neither an administrator's change nor another
//! sender's. A full file is kept beside the current one ([`files`]).

mod chain;
mod files;
pub(crate) mod verify;

use std::collections::HashMap;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::principal::Principal;
use crate::rfc3339;
use crate::spelling::hex;

/// Bytes of a file before the next one is begun.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Changes of one key written one by one in a second: people and deployments make fewer, programs
/// that push make more. Refused logins of one address likewise.
const LINES_PER_SECOND: u32 = 100;

/// Keys and addresses that have lines of their own in a second; those of further ones are counted.
const CALLERS_MAX: usize = 1_024;

/// Sorts of further changes in a second that are counted apart; beyond that they are counted
/// together.
const SORTS_MAX: usize = 1_000;

/// What stands for a key and a route where changes beyond [`SORTS_MAX`] are counted.
const SEVERAL: &str = "several";

/// The key of a refused login.
const NO_KEY: &str = "none";

/// Bytes of a path or name in a line; more is cut.
const TEXT_BYTES_MAX: usize = 512;

/// How often the counts are written.
pub(crate) const TICK: Duration = Duration::from_secs(1);

/// The principal of a request: set where it is known, read when the request is answered.
pub(crate) type CallerPlace = Arc<OnceLock<Arc<dyn Principal>>>;

/// Set on the response by a handler that only checked the request: it gets no entry.
///
/// The handler decides, never the request's text: a query cannot take a change out of the log.
#[derive(Clone, Copy)]
pub(crate) struct DryRun;

/// Set on the response by a handler whose path must not be written down: this stands in its place.
#[derive(Clone)]
pub(crate) struct AuditedPath(pub(crate) String);

/// A change, made or refused; a sign-in or a logout; or a key that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Entry {
    /// When it was answered (RFC 3339).
    pub(crate) at: String,
    /// The API key that asked, `oidc:SUBJECT` of a person, `token:SUBJECT of ISSUER` or
    /// `certificate:NAME` of a caller of RPC; `none` where nobody is known.
    #[schema(example = "k_3f9a01c2d4e5")]
    pub(crate) key: String,
    /// The name of that key, person or caller.
    pub(crate) name: String,
    /// The roles, or `grants` of a key that has none; none of a person without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "sender")]
    pub(crate) role: Option<String>,
    /// The address that asked; none where changes of several are counted together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "192.0.2.7")]
    pub(crate) address: Option<String>,
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
    /// The HTTP status: below 400 it was made.
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
    /// None of a refused login.
    pub(crate) caller: Option<&'a Arc<dyn Principal>>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) route: &'a Arc<str>,
    pub(crate) path: &'a str,
    pub(crate) made: Option<&'a str>,
    pub(crate) status: u16,
    pub(crate) code: Option<&'a str>,
}

/// The log of a data directory.
pub(crate) struct AuditLog {
    data_dir: PathBuf,
    files_max: usize,
    inner: Mutex<Inner>,
}

struct Inner {
    writing: Option<Writing>,
    /// Which second `written` is about.
    second: u64,
    /// Lines of this second, by caller.
    written: HashMap<Caller, u32>,
    /// Changes beyond those written one by one.
    more: HashMap<Sort, u64>,
}

/// The file that is written, and the chain after its last line.
struct Writing {
    file: File,
    bytes: u64,
    chain: chain::Link,
}

#[derive(Clone)]
enum Caller {
    Known(Arc<dyn Principal>),
    /// Nobody that is known.
    Address(Option<IpAddr>),
}

impl Caller {
    /// A principal is the one of its id.
    fn id(&self) -> (Option<&str>, Option<IpAddr>) {
        match self {
            Self::Known(principal) => (Some(principal.id()), None),
            Self::Address(address) => (None, *address),
        }
    }
}

impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Caller {}

impl Hash for Caller {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Sort {
    /// None where the callers are counted together too.
    caller: Option<Caller>,
    route: Arc<str>,
    status: u16,
}

impl AuditLog {
    /// The log in this directory; a file is made with the first line. So many files are kept, 0 for
    /// all.
    pub(crate) fn of(data_dir: &Path, files_max: usize) -> Self {
        let inner = Inner { writing: None, second: 0, written: HashMap::new(), more: HashMap::new() };
        Self { data_dir: data_dir.to_owned(), files_max, inner: Mutex::new(inner) }
    }

    /// Writes a change down, or counts it.
    pub(crate) fn record(&self, change: &Change<'_>, now: SystemTime) {
        let second = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut inner = self.inner.lock();
        if inner.second != second {
            self.write_counts(&mut inner, now);
            inner.second = second;
            inner.written.clear();
        }
        let caller = match change.caller {
            Some(principal) => Caller::Known(Arc::clone(principal)),
            None => Caller::Address(change.address),
        };
        if !inner.has_line(&caller) {
            inner.count(caller, change);
            return;
        }
        let entry = Entry {
            at: rfc3339::format(now),
            path: Some(cut(change.path)),
            made: change.made.map(cut),
            address: change.address.map(|address| address.to_canonical().to_string()),
            code: change.code.map(ToOwned::to_owned),
            ..Entry::of(Some(&caller), change.route, change.status)
        };
        self.append(&mut inner, &entry, now);
    }

    /// Writes what was counted.
    pub(crate) fn settle(&self, now: SystemTime) {
        self.write_counts(&mut self.inner.lock(), now);
    }

    fn write_counts(&self, inner: &mut Inner, now: SystemTime) {
        for (Sort { caller, route, status }, times) in std::mem::take(&mut inner.more) {
            let at = rfc3339::format(now);
            let entry = Entry { at, times: Some(times), ..Entry::of(caller.as_ref(), &route, status) };
            self.append(inner, &entry, now);
        }
    }

    fn append(&self, inner: &mut Inner, entry: &Entry, now: SystemTime) {
        let line = serde_json::to_string(entry).expect("strings and numbers always serialise");
        if let Err(error) = self.write(inner, line, now) {
            // The change was made: an error would mislead the caller.
            let path = files::current(&self.data_dir);
            tracing::error!(error = %error, path = %path.display(), "The audit log cannot be written");
        }
    }

    /// Writes a line. After an error the file is opened again with the next one.
    fn write(&self, inner: &mut Inner, line: String, now: SystemTime) -> io::Result<()> {
        let mut writing = match inner.writing.take() {
            Some(writing) => writing,
            None => self.open(now)?,
        };
        if writing.bytes + line.len() as u64 > FILE_BYTES_MAX {
            match files::rotate(&self.data_dir, self.files_max) {
                Ok(()) => {
                    let (file, bytes) = files::append(&self.data_dir)?;
                    writing = Writing { file, bytes, ..writing };
                    writing.begin(now)?;
                }
                // The file grows on: no line is lost for it.
                Err(error) => tracing::error!(error = %error, "The audit log cannot begin another file"),
            }
        }
        writing.line(line)?;
        inner.writing = Some(writing);
        Ok(())
    }

    /// Opens the file, and continues the chain of its last line or of the newest file before it.
    fn open(&self, now: SystemTime) -> io::Result<Writing> {
        let (file, bytes) = files::append(&self.data_dir)?;
        let mut chain = chain::BEGINNING;
        for path in files::all(&self.data_dir)?.iter().rev() {
            if let [(_, link)] = files::last(path, 1, chain::open)?[..] {
                chain = link;
                break;
            }
        }
        let mut writing = Writing { file, bytes, chain };
        writing.begin(now)?;
        Ok(writing)
    }

    /// The newest entries, newest first. Waits for the disk.
    pub(crate) fn newest(&self, limit: usize) -> io::Result<Vec<Entry>> {
        // Held, so that the files stay which they are.
        let _inner = self.inner.lock();
        let mut entries: Vec<Entry> = Vec::new();
        for path in files::all(&self.data_dir)?.iter().rev() {
            // Some lines only continue the chain, and a crash tears some.
            let read = |line: &str| serde_json::from_str(line).ok();
            entries.extend(files::last(path, limit - entries.len(), read)?);
        }
        Ok(entries)
    }
}

impl Inner {
    /// Whether the caller has a line left in this second, which is taken.
    fn has_line(&mut self, caller: &Caller) -> bool {
        if self.written.len() >= CALLERS_MAX && !self.written.contains_key(caller) {
            return false;
        }
        let written = self.written.entry(caller.clone()).or_default();
        let has_line = *written < LINES_PER_SECOND;
        *written += u32::from(has_line);
        has_line
    }

    fn count(&mut self, caller: Caller, change: &Change<'_>) {
        let (route, status) = (Arc::clone(change.route), change.status);
        let mut sort = Sort { caller: Some(caller), route, status };
        if self.more.len() >= SORTS_MAX && !self.more.contains_key(&sort) {
            sort = Sort { caller: None, route: SEVERAL.into(), status };
        }
        *self.more.entry(sort).or_default() += 1;
    }
}

impl Writing {
    /// Writes the line that names the chain which is continued.
    fn begin(&mut self, now: SystemTime) -> io::Result<()> {
        let continues = chain::Continues { at: rfc3339::format(now), continues: hex(&self.chain) };
        self.line(serde_json::to_string(&continues).expect("strings always serialise"))
    }

    fn line(&mut self, mut line: String) -> io::Result<()> {
        let link = chain::close(&mut line, &self.chain);
        line.push('\n');
        self.file.write_all(line.as_bytes())?;
        self.bytes += line.len() as u64;
        self.chain = link;
        Ok(())
    }
}

impl Entry {
    /// Whether one of its texts contains this, which is in lower case.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        let texts = [&self.key, &self.name, &self.route].into_iter();
        let given = [&self.role, &self.address, &self.path, &self.made, &self.code].into_iter().flatten();
        texts.chain(given).any(|each| each.to_lowercase().contains(text))
    }

    /// One of a caller, without what only a single change has.
    fn of(caller: Option<&Caller>, route: &Arc<str>, status: u16) -> Self {
        let (key, name, role) = match caller {
            Some(Caller::Known(known)) => {
                (known.id().to_owned(), known.name().to_owned(), known.roles_in_words())
            }
            Some(Caller::Address(_)) => (NO_KEY.to_owned(), String::new(), None),
            None => (SEVERAL.to_owned(), String::new(), None),
        };
        let address = match caller {
            Some(Caller::Address(Some(address))) => Some(address.to_canonical().to_string()),
            _ => None,
        };
        Self {
            at: String::new(),
            key,
            name,
            role,
            address,
            route: route.to_string(),
            path: None,
            made: None,
            status,
            code: None,
            times: None,
        }
    }
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
    use std::fs::{self, OpenOptions};
    use std::os::unix::fs::PermissionsExt;

    use stadium_grants::{Grants, Role};

    use super::verify::{Broken, Verified, verify};
    use super::*;
    use crate::key_store::Key;

    fn at(second: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(second)
    }

    fn key(name: &str) -> Arc<dyn Principal> {
        let id = format!("k_{name}");
        let name = name.to_owned();
        let roles = vec![Role::Sender];
        Arc::new(Key {
            id,
            name,
            prefix: None,
            grants: Grants::new(&roles, None, &[]).expect("few"),
            roles,
            apps: None,
            own_grants: Vec::new(),
            created_at: at(0),
            expires_at: None,
            rotates_until: None,
        })
    }

    struct Log {
        data: tempfile::TempDir,
        log: AuditLog,
    }

    impl Log {
        fn new() -> Self {
            let data = tempfile::tempdir().expect("a temporary directory");
            let log = AuditLog::of(data.path(), 3);
            Self { data, log }
        }

        fn again(self) -> Self {
            Self { log: AuditLog::of(self.data.path(), 3), data: self.data }
        }

        fn record(&self, caller: Option<&Arc<dyn Principal>>, path: &str, second: u64) {
            let route = "POST /api/apps/{app}/pushes".into();
            let address = Some(IpAddr::from([192, 0, 2, 7]));
            let status = if caller.is_some() { 202 } else { 401 };
            let change = Change { caller, address, route: &route, path, made: None, status, code: None };
            self.log.record(&change, at(second));
        }

        fn paths(&self, limit: usize) -> Vec<String> {
            self.log.newest(limit).expect("it is read").into_iter().filter_map(|entry| entry.path).collect()
        }

        fn verified(&self) -> Verified {
            verify(self.data.path(), None).expect("the chain is whole")
        }

        /// Changes the current file's text.
        fn change(&self, change: impl FnOnce(String) -> String) {
            let path = files::current(self.data.path());
            let text = fs::read_to_string(&path).expect("it is there");
            fs::write(&path, change(text)).expect("it is written");
        }
    }

    #[test]
    fn a_flood_of_one_key_is_counted_and_hides_no_other_key() {
        let log = Log::new();
        let (busy, quiet) = (key("campaigns"), key("admin"));
        for n in 0..250 {
            log.record(Some(&busy), &format!("/{n}"), 1_000);
        }
        log.record(Some(&quiet), "/theirs", 1_000);
        log.record(None, "/login", 1_000);
        log.record(Some(&busy), "/last", 1_001);
        let entries = log.log.newest(1_000).expect("it is read");
        assert_eq!(entries.len(), 104, "a hundred, two of others, the count of the rest, and the last");
        assert_eq!(entries[0].path.as_deref(), Some("/last"));
        assert_eq!((entries[1].times, &entries[1].path, &*entries[1].key), (Some(150), &None, "k_campaigns"));
        let login = &entries[2];
        assert_eq!(
            (&*login.key, login.role.as_deref(), login.address.as_deref()),
            ("none", None, Some("192.0.2.7"))
        );
        let theirs = &entries[3];
        assert_eq!((&*theirs.key, theirs.role.as_deref()), ("k_admin", Some("sender")));
        assert_eq!(entries[103].path.as_deref(), Some("/0"));
        assert_eq!(log.log.newest(2).expect("it is read"), entries[..2]);
        let verified = log.verified();
        assert_eq!((verified.entries, verified.files), (104, 1));
        let mode = fs::metadata(files::current(log.data.path())).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn full_files_are_kept_and_the_chain_goes_through_them() {
        let log = Log::new();
        let caller = key("a");
        for n in 0..6 {
            log.record(Some(&caller), &format!("/{n}"), n);
            if let Some(writing) = &mut log.log.inner.lock().writing {
                writing.bytes = FILE_BYTES_MAX;
            }
        }
        assert_eq!(files::older(log.data.path()).expect("a folder").len(), 2, "three files in all");
        assert_eq!(log.paths(10), ["/5", "/4", "/3"], "the oldest were removed");
        assert_eq!(log.paths(2), ["/5", "/4"]);
        let verified = log.verified();
        assert_eq!((verified.entries, verified.files), (3, 3));
        let log = log.again();
        log.record(Some(&caller), "/after", 9);
        assert!(verify(log.data.path(), Some(&verified.head)).expect("it is whole").contains);
        assert!(!verify(log.data.path(), Some(&"0".repeat(64))).expect("it is whole").contains);
    }

    #[test]
    fn a_torn_line_is_skipped_and_an_old_log_is_continued() {
        let log = Log::new();
        let path = files::current(log.data.path());
        let old = r#"{"at":"x","key":"k","name":"","route":"PUT /","path":"/old","status":204}"#;
        fs::write(&path, format!("{old}\n")).expect("it is written");
        let caller = key("a");
        log.record(Some(&caller), "/first", 1);
        let mut file = OpenOptions::new().append(true).open(&path).expect("it is there");
        file.write_all(b"{\"at\": \"20").expect("it is written");
        let log = log.again();
        log.record(Some(&caller), "/second", 2);
        assert_eq!(log.paths(10), ["/second", "/first", "/old"]);
        let Verified { entries, torn, unchained, .. } = log.verified();
        assert_eq!((entries, torn, unchained), (2, 1, 1));
    }

    #[test]
    fn a_line_that_was_changed_added_or_removed_is_found() {
        type Forgery = fn(String) -> String;
        let forgeries: [(&str, Forgery); 4] = [
            ("changed", |text| text.replace("/1", "/7")),
            ("removed", |text| {
                text.lines().filter(|line| !line.contains("/1")).map(|line| format!("{line}\n")).collect()
            }),
            ("added", |text| format!("{text}{{\"at\":\"x\",\"key\":\"k\",\"name\":\"\"}}\n")),
            ("moved", |text| {
                let mut lines: Vec<&str> = text.lines().collect();
                lines.swap(1, 2);
                lines.join("\n")
            }),
        ];
        for (what, forge) in forgeries {
            let log = Log::new();
            let caller = key("a");
            (0..4).for_each(|n| log.record(Some(&caller), &format!("/{n}"), n));
            log.verified();
            log.change(forge);
            assert!(matches!(verify(log.data.path(), None), Err(Broken::Line { .. })), "{what}");
        }
    }
}
