//! API keys and their roles.
//!
//! A key is `sk_` and 256 random bits; only its SHA-256 is kept, in `api-keys.toml` in the data
//! directory. A slow password hash would add nothing: nobody guesses 256 bits. Files are readable
//! by their owner alone and replaced whole, so a crash leaves the old or the new one. The command
//! line and a running server may change the file at the same time: writers hold a lock, and a
//! server looks again and again whether the file changed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::RwLock;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use utoipa::ToSchema;

use crate::spelling::hex;

/// Keys in one file. Every request compares with each of them, so the bound keeps that under 50 µs; one more is
/// refused.
pub const KEYS_MAX: usize = 1_024;

/// Characters in a key's name.
pub const KEY_NAME_CHARS_MAX: usize = 64;

/// What a key may do. Each role contains the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// See devices, pushes, metrics and the live view.
    Read,
    /// Also push.
    Send,
    /// Also disconnect devices and manage keys.
    Admin,
}

impl Role {
    /// The word of the role in files, on the wire and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Send => "send",
            Self::Admin => "admin",
        }
    }
}

/// A key as it may be shown: without its secret, which nobody has any more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Names the key in lists, logs and when it is revoked.
    pub id: String,
    /// What its owner called it.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// When it was made.
    pub created_at: SystemTime,
}

/// A key that was just made: its secret can be seen only now.
#[derive(Debug)]
pub struct CreatedKey {
    /// The key.
    pub key: Key,
    /// What goes behind `Authorization: Bearer`.
    pub secret: String,
}

/// Why the keys could not be read or changed.
#[derive(Debug)]
pub enum Error {
    /// The system refused.
    Io {
        /// The file it was about.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file is not what this server writes.
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The name is empty, too long, or holds control characters.
    Name,
    /// [`KEYS_MAX`] is reached.
    Full,
    /// No key has the id.
    Unknown,
    /// It is the only admin key.
    LastAdmin,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io { path, error } => write!(f, "{}: {error} (HTTP-023)", path.display()),
            Self::Format { path, reason } => {
                write!(
                    f,
                    "{} is not a file of API keys: {reason}; mend it, or move it away to start anew",
                    path.display()
                )
            }
            Self::Name => {
                write!(f, "a key's name has 1 to {KEY_NAME_CHARS_MAX} characters, without control characters")
            }
            Self::Full => write!(f, "there are {KEYS_MAX} keys already; revoke one first (HTTP-022)"),
            Self::Unknown => f.write_str("no API key has this id (HTTP-020)"),
            Self::LastAdmin => {
                f.write_str("this is the last admin key; make another before revoking it (HTTP-021)")
            }
        }
    }
}

impl std::error::Error for Error {}

/// The keys of one data directory.
pub struct KeyStore {
    dir: PathBuf,
    loaded: RwLock<Loaded>,
    opened: Instant,
    /// When the file was last looked at, microseconds since `opened`.
    looked_us: AtomicU64,
}

#[derive(Default)]
struct Loaded {
    entries: Vec<Entry>,
    /// The same, as callers see them.
    keys: Vec<Arc<Key>>,
    stamp: Stamp,
}

impl Loaded {
    fn new(entries: Vec<Entry>, stamp: Stamp) -> Self {
        let keys = entries.iter().map(|entry| Arc::new(entry.key())).collect();
        Self { entries, keys, stamp }
    }
}

/// Distinguishes two versions of the file without reading them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    changed_s: i64,
    changed_ns: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    #[serde(default)]
    key: Vec<Entry>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    name: String,
    role: Role,
    /// Seconds since 1970.
    created_at: u64,
    /// SHA-256 of the whole secret in unpadded URL-safe base64.
    sha256: String,
}

impl Entry {
    fn key(&self) -> Key {
        let created_at = UNIX_EPOCH + Duration::from_secs(self.created_at);
        Key { id: self.id.clone(), name: self.name.clone(), role: self.role, created_at }
    }
}

/// How long the keys in memory are believed before it is looked whether the file changed.
pub const LOOK_EVERY: Duration = Duration::from_millis(10);

const FILE: &str = "api-keys.toml";
const ADMIN_FILE: &str = "admin.key";
const LOCK_FILE: &str = "api-keys.lock";
const FILE_VERSION: u32 = 1;

impl KeyStore {
    /// Opens the keys of a data directory, which must exist. At the first start it makes an admin key and writes
    /// its secret to `admin.key`.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Format`]; a file that cannot be read is never replaced.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let store = Self {
            dir: dir.to_owned(),
            loaded: RwLock::default(),
            opened: Instant::now(),
            looked_us: AtomicU64::new(0),
        };
        let _lock = store.lock()?;
        if store.path().try_exists().map_err(|error| store.io_error(error))? {
            store.load()?;
        } else {
            let (entry, secret) = new_entry("admin", Role::Admin);
            // The secret first: keys whose secret is lost would lock everybody out.
            write_private(&dir.join(ADMIN_FILE), format!("{secret}\n").as_bytes())?;
            store.save(vec![entry])?;
        }
        Ok(store)
    }

    /// Whether the keys of a data directory can be read; makes and changes nothing. A directory without keys is right, too.
    ///
    /// # Errors
    /// As [`KeyStore::open`].
    pub fn check(dir: &Path) -> Result<(), Error> {
        let store = Self {
            dir: dir.to_owned(),
            loaded: RwLock::default(),
            opened: Instant::now(),
            looked_us: AtomicU64::new(0),
        };
        if store.path().try_exists().map_err(|error| store.io_error(error))? { store.load() } else { Ok(()) }
    }

    /// Whose key this is; `None` when it is not one of ours. Takes the same time for every wrong secret.
    ///
    /// A key revoked on the command line stops within [`LOOK_EVERY`]: that often at most it is looked whether the file
    /// changed (one `stat`). A secret that is not known is looked for in the file at once.
    pub fn authenticate(&self, secret: &str) -> Option<Arc<Key>> {
        let now_us = u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX);
        let since_us = now_us.saturating_sub(self.looked_us.load(Ordering::Relaxed));
        let is_fresh = u128::from(since_us) < LOOK_EVERY.as_micros();
        let digest = digest(secret);
        if is_fresh && let Some(key) = self.find(&digest) {
            return Some(key);
        }
        self.looked_us.store(now_us, Ordering::Relaxed);
        let changed = stamp(&self.path()).is_ok_and(|stamp| stamp != self.loaded.read().stamp);
        if changed && let Err(error) = self.load() {
            tracing::warn!(error = %error, "API keys changed on disk and cannot be read; the old ones stay");
        }
        self.find(&digest)
    }

    fn find(&self, digest: &str) -> Option<Arc<Key>> {
        let loaded = self.loaded.read();
        let mut found = None;
        // No early exit: how many keys stand before the right one stays unknown.
        for (entry, key) in loaded.entries.iter().zip(&loaded.keys) {
            if entry.sha256.as_bytes().ct_eq(digest.as_bytes()).into() {
                found = Some(key);
            }
        }
        found.cloned()
    }

    /// The keys, oldest first.
    pub fn list(&self) -> Vec<Key> {
        self.loaded.read().entries.iter().map(Entry::key).collect()
    }

    /// Makes a key. Its secret is in the answer and nowhere else.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Full`], or [`Error::Io`] and [`Error::Format`] when the file could not be changed.
    pub fn create(&self, name: &str, role: Role) -> Result<CreatedKey, Error> {
        let chars = name.chars().count();
        if chars == 0 || chars > KEY_NAME_CHARS_MAX || name.chars().any(char::is_control) {
            return Err(Error::Name);
        }
        let (entry, secret) = new_entry(name, role);
        let key = entry.key();
        self.change(move |entries| {
            if entries.len() >= KEYS_MAX {
                return Err(Error::Full);
            }
            entries.push(entry);
            Ok(())
        })?;
        Ok(CreatedKey { key, secret })
    }

    /// Takes a key away; it stops working at once.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::LastAdmin`], or [`Error::Io`] and [`Error::Format`] when the file could not be
    /// changed.
    pub fn revoke(&self, id: &str) -> Result<Key, Error> {
        let mut revoked = None;
        self.change(|entries| {
            let index = entries.iter().position(|entry| entry.id == id).ok_or(Error::Unknown)?;
            let admins = entries.iter().filter(|entry| entry.role == Role::Admin).count();
            if entries[index].role == Role::Admin && admins == 1 {
                return Err(Error::LastAdmin);
            }
            revoked = Some(entries.remove(index).key());
            Ok(())
        })?;
        revoked.ok_or(Error::Unknown)
    }

    /// Reads the file again if another process changed it.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Format`]; the keys in memory stay as they were.
    pub fn reload(&self) -> Result<(), Error> {
        self.load()
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Entry>) -> Result<(), Error>) -> Result<(), Error> {
        let _lock = self.lock()?;
        self.load()?;
        let mut entries = self.loaded.read().entries.clone();
        change(&mut entries)?;
        self.save(entries)
    }

    fn load(&self) -> Result<(), Error> {
        let path = self.path();
        // The stamp first: a file replaced in between is then read again next time, never missed.
        let stamp = stamp(&path).map_err(|error| self.io_error(error))?;
        let text = fs::read_to_string(&path).map_err(|error| self.io_error(error))?;
        let format = |reason: String| Error::Format { path: path.clone(), reason };
        let contents: Contents = toml::from_str(&text).map_err(|error| format(error.message().to_owned()))?;
        if contents.version != FILE_VERSION {
            return Err(format(format!(
                "its version is {}, this server reads {FILE_VERSION}",
                contents.version
            )));
        }
        *self.loaded.write() = Loaded::new(contents.key, stamp);
        Ok(())
    }

    fn save(&self, entries: Vec<Entry>) -> Result<(), Error> {
        let contents = Contents { version: FILE_VERSION, key: entries };
        let text = toml::to_string(&contents).expect("strings and numbers always serialise");
        let head =
            "# Stadium's API keys. Only hashes are kept; `stadium` and the HTTP API write this file.\n";
        write_private(&self.path(), format!("{head}{text}").as_bytes())?;
        let stamp = stamp(&self.path()).map_err(|error| self.io_error(error))?;
        *self.loaded.write() = Loaded::new(contents.key, stamp);
        Ok(())
    }

    /// Held while the file is read, changed and written, by whichever process does it.
    fn lock(&self) -> Result<File, Error> {
        let path = self.dir.join(LOCK_FILE);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let locked = opened.and_then(|file| file.lock().map(|()| file));
        locked.map_err(|error| Error::Io { path, error })
    }

    fn path(&self) -> PathBuf {
        self.dir.join(FILE)
    }

    fn io_error(&self, error: io::Error) -> Error {
        Error::Io { path: self.path(), error }
    }
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    let metadata = fs::metadata(path)?;
    Ok(Stamp { inode: metadata.ino(), changed_s: metadata.ctime(), changed_ns: metadata.ctime_nsec() })
}

fn new_entry(name: &str, role: Role) -> (Entry, String) {
    let mut secret_bytes = [0; 32];
    let mut id_bytes = [0; 6];
    let random = SystemRandom::new();
    random.fill(&mut secret_bytes).expect("the system has random numbers");
    random.fill(&mut id_bytes).expect("the system has random numbers");
    let secret = format!("sk_{}", URL_SAFE_NO_PAD.encode(secret_bytes));
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let id = format!("k_{}", hex(&id_bytes));
    let entry =
        Entry { id, name: name.to_owned(), role, created_at: since_1970.as_secs(), sha256: digest(&secret) };
    (entry, secret)
}

fn digest(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, secret.as_bytes()))
}

/// Replaces a file whole, readable by its owner alone; it is on disk when this returns.
fn write_private(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let failed = |error| Error::Io { path: path.to_owned(), error };
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    // A file that a crash left behind may have other permissions.
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut file =
        OpenOptions::new().create_new(true).write(true).mode(0o600).open(&fresh).map_err(failed)?;
    file.write_all(contents).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&fresh, path).map_err(failed)?;
    let dir = path.parent().unwrap_or(Path::new("."));
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn admin_secret(dir: &Path) -> String {
        fs::read_to_string(dir.join(ADMIN_FILE)).expect("made at the first start").trim().to_owned()
    }

    #[test]
    fn first_start_makes_an_admin_key_for_its_owner_alone() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let store = KeyStore::open(dir.path()).expect("opens");
        let secret = admin_secret(dir.path());
        assert_eq!(secret.len(), "sk_".len() + 43);
        assert_eq!(store.authenticate(&secret).expect("it is known").role, Role::Admin);
        for file in [FILE, ADMIN_FILE] {
            let mode = fs::metadata(dir.path().join(file)).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
        let kept = fs::read_to_string(dir.path().join(FILE)).expect("it is there");
        assert!(!kept.contains(&secret), "the secret itself is not kept");

        drop(store);
        let again = KeyStore::open(dir.path()).expect("opens");
        assert!(again.authenticate(&secret).is_some(), "a second start keeps the key");
        assert_eq!(again.list().len(), 1);
    }

    #[test]
    fn revoked_key_stops_and_the_last_admin_stays() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let store = KeyStore::open(dir.path()).expect("opens");
        let made = store.create("dashboard", Role::Read).expect("there is room");
        assert_eq!(store.authenticate(&made.secret).as_deref(), Some(&made.key));
        store.revoke(&made.key.id).expect("it is known");
        assert_eq!(store.authenticate(&made.secret), None);
        let admin = store.list()[0].id.clone();
        assert!(matches!(store.revoke(&admin), Err(Error::LastAdmin)));
        assert!(matches!(store.revoke("k_none"), Err(Error::Unknown)));
        assert!(matches!(store.create("", Role::Read), Err(Error::Name)));
    }

    #[test]
    fn key_made_by_another_process_works_in_a_running_server() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let server = KeyStore::open(dir.path()).expect("opens");
        let command_line = KeyStore::open(dir.path()).expect("opens");
        let made = command_line.create("later", Role::Send).expect("there is room");
        assert_eq!(server.authenticate(&made.secret).as_deref(), Some(&made.key));
        command_line.revoke(&made.key.id).expect("it is known");
        std::thread::sleep(LOOK_EVERY);
        assert_eq!(server.authenticate(&made.secret), None, "nor does it outlive its revocation");
        command_line.create("again", Role::Send).expect("there is room");
        server.create("from the server", Role::Read).expect("there is room");
        command_line.reload().expect("it can be read");
        assert_eq!(command_line.list().len(), 3, "neither writer loses the other's key");
    }

    #[test]
    fn damaged_file_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join(FILE), "version = 1\n[[key]]\nid = 7\n").expect("writes");
        let error = KeyStore::open(dir.path()).err().expect("it cannot be read");
        assert!(error.to_string().contains("api-keys.toml is not a file of API keys"), "{error}");
        assert!(!dir.path().join(ADMIN_FILE).exists());
    }

    #[test]
    fn a_full_file_refuses_one_more() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let store = KeyStore::open(dir.path()).expect("opens");
        let entries = (0..KEYS_MAX).map(|n| new_entry(&format!("key {n}"), Role::Admin).0).collect();
        store.save(entries).expect("writes");
        assert!(matches!(store.create("one more", Role::Read), Err(Error::Full)));
    }
}
