//! API keys and their grants.
//!
//! A key is `sk_` and 256 random bits; only its SHA-256 is kept. A slow password hash would add
//! nothing: nobody guesses 256 bits. The keys of a standalone server are in `api-keys.toml` in the
//! data directory, those of a cluster in documents that all nodes share: [`place`] knows both, and
//! the store looks again and again whether somebody else changed them. Files are readable by their
//! owner alone and replaced whole, so a crash leaves the old or the new one.

mod error;
mod file;
mod key;
mod key_file;
mod place;
pub(crate) mod private_file;
mod shared_keys;
mod usage;

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::{Mutex, RwLock};
use ring::rand::{SecureRandom, SystemRandom};
use stadium_grants::Role;
use subtle::ConstantTimeEq as _;

use crate::key_store::file::{Entry, Previous, seconds};
use crate::key_store::key_file::KeyFile;
use crate::key_store::place::{Change, Place, Stamp, Stored};
use crate::key_store::private_file::write_private;
use crate::key_store::shared_keys::SharedKeys;
use crate::key_store::usage::Usages;
use crate::shared_documents::{NotChanged, SharedDocuments};
use crate::spelling::hex;

pub use error::{Error, KEY_NAME_CHARS_MAX, KEYS_MAX};
pub(crate) use key::check_rights;
pub use key::{CreatedKey, Key, NewKey, Unknown};
pub use usage::Used;

/// The keys of a server.
pub struct KeyStore {
    place: Box<dyn Place>,
    loaded: RwLock<Loaded>,
    /// Held during a change, so that the keys in memory never go back to those before it.
    changing: Mutex<()>,
    opened: Instant,
    /// When the place was last looked at, microseconds since `opened`.
    looked_us: AtomicU64,
    usages: Usages,
}

#[derive(Default)]
struct Loaded {
    entries: Vec<Entry>,
    /// The same, as callers see them.
    keys: Vec<Arc<Key>>,
    stamp: Stamp,
}

impl Loaded {
    /// Takes other entries. Keys of those that are as before stay the same, with the use of their
    /// limits.
    fn take(&mut self, entries: Vec<Entry>, stamp: Stamp) -> Result<(), Error> {
        let mut keys = Vec::with_capacity(entries.len());
        for entry in &entries {
            let known = self.entries.iter().position(|earlier| earlier == entry);
            keys.push(match known {
                Some(at) => Arc::clone(&self.keys[at]),
                None => Arc::new(entry.key().map_err(Error::Rights)?),
            });
        }
        *self = Self { entries, keys, stamp };
        Ok(())
    }
}

/// How long the keys in memory are believed before it is looked whether somebody else changed them.
pub const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Characters of a secret that are shown.
const PREFIX_CHARS: usize = 7;

const ADMIN_FILE: &str = "admin.key";

impl KeyStore {
    /// Opens the keys of a data directory, which must exist. At the first start it makes an admin
    /// key and writes its secret to `admin.key`.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Format`]; a file that cannot be read is never replaced.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let file = KeyFile::of(dir);
        let stored = file.load_or_begin(&mut || Ok(vec![first_admin(dir)?]))?;
        Self::of(dir, Box::new(file), stored)
    }

    /// Opens the keys of a cluster, with the last uses of this data directory. Where the cluster has
    /// none yet, the keys of the directory's `api-keys.toml` become its keys, or else an admin key whose
    /// secret is in `admin.key` then. Only the node that is first does either.
    ///
    /// # Errors
    /// Those of [`KeyStore::open`], and [`Error::Shared`] where the first keys cannot be made.
    pub fn open_shared(dir: &Path, documents: Arc<dyn SharedDocuments>) -> Result<Self, Error> {
        let place = SharedKeys(documents);
        let mut made = None;
        let begun = place.load_or_begin(&mut || match KeyFile::of(dir).load_if_there()? {
            Some((entries, _)) if !entries.is_empty() => Ok(entries),
            _ => {
                let admin = first_admin(dir)?;
                made = Some(admin.id.clone());
                Ok(vec![admin])
            }
        });
        let is_kept = match &begun {
            Ok((entries, _)) => entries.iter().any(|entry| Some(&entry.id) == made.as_ref()),
            // The next start finds out.
            Err(Error::Shared(NotChanged::Unknown(_))) => true,
            Err(_) => false,
        };
        if made.is_some() && !is_kept {
            // Another node was first: this secret opens nothing.
            let path = dir.join(ADMIN_FILE);
            fs::remove_file(&path).map_err(|error| Error::Io { path, error })?;
        }
        Self::of(dir, Box::new(place), begun?)
    }

    fn of(dir: &Path, place: Box<dyn Place>, (entries, stamp): Stored) -> Result<Self, Error> {
        let usages = Usages::of(dir);
        usages.load();
        let mut loaded = Loaded::default();
        loaded.take(entries, stamp)?;
        Ok(Self {
            place,
            loaded: RwLock::new(loaded),
            changing: Mutex::new(()),
            opened: Instant::now(),
            looked_us: AtomicU64::new(0),
            usages,
        })
    }

    /// Whether the keys in the file of a data directory can be read; makes and changes nothing. A
    /// directory without keys is right, too.
    ///
    /// # Errors
    /// As [`KeyStore::open`].
    pub fn check(dir: &Path) -> Result<(), Error> {
        KeyFile::of(dir).load_if_there().map(drop)
    }

    /// The key with this secret. Takes the same time for every wrong secret.
    ///
    /// A key that another process revoked stops within [`LOOK_EVERY`]: that often at most it is
    /// looked whether the file changed (one `stat`), or the documents that this node knows (one
    /// atomic). A secret that is not known is looked for there at once.
    ///
    /// # Errors
    /// No key has the secret, or its time is over.
    pub fn authenticate(&self, secret: &str) -> Result<Arc<Key>, Unknown> {
        let now_us = u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX);
        let since_us = now_us.saturating_sub(self.looked_us.load(Ordering::Relaxed));
        let is_fresh = u128::from(since_us) < LOOK_EVERY.as_micros();
        let (digest, now) = (digest(secret), SystemTime::now());
        if is_fresh && let Ok(key) = self.find(&digest, now) {
            return Ok(key);
        }
        self.looked_us.store(now_us, Ordering::Relaxed);
        let changed = self.place.stamp().is_ok_and(|stamp| stamp != self.loaded.read().stamp);
        if changed && let Err(error) = self.reload() {
            tracing::warn!(error = %error, "API keys changed and cannot be read; the old ones stay");
        }
        self.find(&digest, now)
    }

    fn find(&self, digest: &str, now: SystemTime) -> Result<Arc<Key>, Unknown> {
        let loaded = self.loaded.read();
        let mut found = Err(Unknown::Secret);
        // No early exit: how many keys stand before the right one stays unknown.
        for (entry, key) in loaded.entries.iter().zip(&loaded.keys) {
            let is = |sha256: &str| bool::from(sha256.as_bytes().ct_eq(digest.as_bytes()));
            if is(&entry.sha256) {
                found = Ok(key);
            }
            if let Some(previous) = &entry.previous
                && is(&previous.sha256)
            {
                let over = seconds(now) >= previous.until;
                found = if over { Err(Unknown::Rotated(key.id.clone())) } else { Ok(key) };
            }
        }
        match found {
            Ok(key) if key.expires_at.is_some_and(|end| now >= end) => Err(Unknown::Expired(key.id.clone())),
            Ok(key) => Ok(Arc::clone(key)),
            Err(unknown) => Err(unknown),
        }
    }

    /// Whether the key of this id may still be used. Revocations of other nodes and commands are seen
    /// with the next request of any key.
    pub fn is_valid(&self, id: &str) -> bool {
        let now = SystemTime::now();
        let is_it = |key: &&Arc<Key>| key.id == id;
        let loaded = self.loaded.read();
        loaded.keys.iter().find(is_it).is_some_and(|key| key.expires_at.is_none_or(|end| now < end))
    }

    /// The time on the clock by which limits of grants are kept, the same at every door.
    pub fn clock(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.opened)
    }

    /// Writes down that a key was used.
    pub fn used(&self, key: &Key, from: Option<IpAddr>, now: SystemTime) {
        self.usages.used(&key.id, from, seconds(now));
    }

    /// When and from where a key was used last; none if it never was.
    pub fn last_used(&self, id: &str) -> Option<Used> {
        self.usages.last(id)
    }

    /// Keeps the last uses of keys on disk, if there are new ones. Waits for the disk.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn keep_usage(&self) -> Result<(), Error> {
        let known: Vec<_> = self.list().iter().map(|key| key.id.clone()).collect();
        self.usages.keep(&known)
    }

    /// The keys, oldest first.
    pub fn list(&self) -> Vec<Arc<Key>> {
        self.loaded.read().keys.clone()
    }

    /// Makes a key. Its secret is in the answer and nowhere else.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Rights`], [`Error::Full`], or [`Error::Io`], [`Error::Format`] and
    /// [`Error::Shared`] when the keys could not be changed.
    pub fn create(&self, new: &NewKey) -> Result<CreatedKey, Error> {
        let chars = new.name.chars().count();
        if chars == 0 || chars > KEY_NAME_CHARS_MAX || new.name.chars().any(char::is_control) {
            return Err(Error::Name);
        }
        new.check()?;
        let (entry, secret) = new_entry(new, SystemTime::now());
        let key = Arc::new(entry.key().map_err(Error::Rights)?);
        self.change(&mut |entries| {
            if entries.contains(&entry) {
                return Ok(());
            }
            if entries.len() >= KEYS_MAX {
                return Err(Error::Full);
            }
            entries.push(entry.clone());
            Ok(())
        })?;
        Ok(CreatedKey { key, secret })
    }

    /// Gives a key another secret. The one before works for so long still.
    ///
    /// # Errors
    /// [`Error::Unknown`], or [`Error::Io`], [`Error::Format`] and [`Error::Shared`] when the keys
    /// could not be changed.
    pub fn rotate(&self, id: &str, overlap: Duration) -> Result<CreatedKey, Error> {
        let (secret, sha256) = new_secret();
        let mut changed = None;
        self.change(&mut |entries| {
            let entry = entries.iter_mut().find(|entry| entry.id == id).ok_or(Error::Unknown)?;
            if entry.sha256 != sha256 {
                let until = seconds(SystemTime::now()).saturating_add(overlap.as_secs());
                let before = std::mem::replace(&mut entry.sha256, sha256.clone());
                entry.previous = (!overlap.is_zero()).then_some(Previous { sha256: before, until });
                entry.prefix = Some(prefix(&secret));
            }
            changed = Some(entry.key().map_err(Error::Rights)?);
            Ok(())
        })?;
        let key = Arc::new(changed.ok_or(Error::Unknown)?);
        Ok(CreatedKey { key, secret })
    }

    /// Takes a key away; it stops working at once.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::LastAdmin`], or [`Error::Io`], [`Error::Format`] and [`Error::Shared`] when the
    /// keys could not be changed.
    pub fn revoke(&self, id: &str) -> Result<Arc<Key>, Error> {
        let mut revoked = None;
        self.change(&mut |entries| {
            let Some(index) = entries.iter().position(|entry| entry.id == id) else {
                return if revoked.is_some() { Ok(()) } else { Err(Error::Unknown) };
            };
            let entry = entries.remove(index);
            if entry.manages_keys_for_good() && !entries.iter().any(Entry::manages_keys_for_good) {
                return Err(Error::LastAdmin);
            }
            revoked = Some(entry.key().map_err(Error::Rights)?);
            Ok(())
        })?;
        revoked.map(Arc::new).ok_or(Error::Unknown)
    }

    /// Reads the keys again if somebody else changed them.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Format`]; the keys in memory stay as they were.
    pub fn reload(&self) -> Result<(), Error> {
        loop {
            let (entries, stamp) = self.place.load()?;
            let mut loaded = self.loaded.write();
            // A change of this process that was made meanwhile may stand in memory already.
            if self.place.stamp()? == stamp {
                return loaded.take(entries, stamp);
            }
        }
    }

    fn change(&self, change: Change<'_>) -> Result<(), Error> {
        let _changing = self.changing.lock();
        let (entries, stamp) = self.place.change(change)?;
        self.loaded.write().take(entries, stamp)
    }

    /// Keys that a server of version 1 wrote, and whose roles mean something else since: their ids.
    pub fn changed_in_meaning(&self) -> Vec<String> {
        let loaded = self.loaded.read();
        let senders = loaded.entries.iter().filter(|entry| entry.was_sender);
        senders.map(|entry| entry.id.clone()).collect()
    }
}

/// The first admin key; its secret is on disk when this returns, since keys whose secret is lost would
/// lock everybody out.
fn first_admin(dir: &Path) -> Result<Entry, Error> {
    let admin = NewKey { name: "admin".to_owned(), roles: vec![Role::Admin], ..NewKey::default() };
    let (entry, secret) = new_entry(&admin, SystemTime::now());
    write_private(&dir.join(ADMIN_FILE), format!("{secret}\n").as_bytes())?;
    Ok(entry)
}

fn new_entry(new: &NewKey, now: SystemTime) -> (Entry, String) {
    let mut id_bytes = [0; 6];
    SystemRandom::new().fill(&mut id_bytes).expect("the system has random numbers");
    let (secret, sha256) = new_secret();
    let entry = Entry {
        id: format!("k_{}", hex(&id_bytes)),
        name: new.name.clone(),
        roles: new.roles.iter().map(ToString::to_string).collect(),
        apps: new.apps.clone(),
        grants: new.grants.iter().map(ToString::to_string).collect(),
        created_at: seconds(now),
        expires_at: new.expires_in.map(|lives| seconds(now).saturating_add(lives.as_secs())),
        prefix: Some(prefix(&secret)),
        sha256,
        previous: None,
        was_sender: false,
    };
    (entry, secret)
}

/// A secret and its hash.
fn new_secret() -> (String, String) {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).expect("the system has random numbers");
    let secret = format!("sk_{}", URL_SAFE_NO_PAD.encode(bytes));
    let sha256 = digest(&secret);
    (secret, sha256)
}

/// The beginning of a secret, for its owner to recognise it: 24 of its 256 random bits.
fn prefix(secret: &str) -> String {
    secret.chars().take(PREFIX_CHARS).collect()
}

fn digest(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, secret.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use stadium_grants::Verb;

    use super::key_file::FILE;
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
        assert_eq!(store.authenticate(&secret).expect("it is known").roles, [Role::Admin]);
        for file in [FILE, ADMIN_FILE] {
            let mode = fs::metadata(dir.path().join(file)).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
        let kept = fs::read_to_string(dir.path().join(FILE)).expect("it is there");
        assert!(!kept.contains(&secret), "the secret itself is not kept");

        drop(store);
        let again = KeyStore::open(dir.path()).expect("opens");
        assert!(again.authenticate(&secret).is_ok(), "a second start keeps the key");
        assert_eq!(again.list().len(), 1);
    }

    fn of_role(name: &str, role: Role) -> NewKey {
        NewKey { name: name.to_owned(), roles: vec![role], ..NewKey::default() }
    }

    /// The id of the key with this secret.
    fn id(store: &KeyStore, secret: &str) -> Result<String, Unknown> {
        store.authenticate(secret).map(|key| key.id.clone())
    }

    #[test]
    fn revoked_key_stops_and_the_last_admin_stays() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let store = KeyStore::open(dir.path()).expect("opens");
        let made = store.create(&of_role("dashboard", Role::Viewer)).expect("there is room");
        assert_eq!(id(&store, &made.secret), Ok(made.key.id.clone()));
        store.revoke(&made.key.id).expect("it is known");
        assert_eq!(id(&store, &made.secret), Err(Unknown::Secret));
        let admin = store.list()[0].id.clone();
        let short = NewKey { expires_in: Some(Duration::from_secs(60)), ..of_role("guest", Role::Admin) };
        store.create(&short).expect("there is room");
        assert!(matches!(store.revoke(&admin), Err(Error::LastAdmin)), "one with an end does not count");
        assert!(matches!(store.revoke("k_none"), Err(Error::Unknown)));
    }

    #[test]
    fn rights_that_are_none_or_wrong_are_refused() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let store = KeyStore::open(dir.path()).expect("opens");
        assert!(matches!(store.create(&of_role("", Role::Viewer)), Err(Error::Name)));
        let wrong = [
            NewKey { roles: Vec::new(), ..of_role("nothing", Role::Viewer) },
            NewKey { apps: Some(Vec::new()), ..of_role("of no app", Role::Sender) },
            NewKey { apps: Some(vec!["a/b".to_owned()]), ..of_role("of no name", Role::Sender) },
            NewKey { expires_in: Some(Duration::ZERO), ..of_role("over", Role::Sender) },
        ];
        for new in wrong {
            assert!(matches!(store.create(&new), Err(Error::Rights(_))), "{}", new.name);
        }
        assert_eq!(store.list().len(), 1);
    }

    #[test]
    fn a_key_of_an_app_holds_its_roles_there_and_its_grants() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let store = KeyStore::open(dir.path()).expect("opens");
        let grants = vec!["queue.put:shop-* 9/s".parse().expect("a grant")];
        let new = NewKey { apps: Some(vec!["shop".to_owned()]), grants, ..of_role("shop", Role::Sender) };
        let made = store.create(&new).expect("there is room");
        drop(store);
        let again = KeyStore::open(dir.path()).expect("opens");
        let key = again.authenticate(&made.secret).expect("it is kept");
        assert_eq!(key.prefix.as_deref(), made.secret.get(..7));
        for (verb, resource, allowed) in [
            (Verb::PushSend, "shop", true),
            (Verb::PushSend, "other", false),
            (Verb::DeviceRead, "shop/phone", true),
            (Verb::DeviceRead, "other/phone", false),
            (Verb::QueuePut, "shop-orders", true),
            (Verb::QueuePut, "orders", false),
            (Verb::NodeRead, "*", false),
        ] {
            assert_eq!(key.grants.allows(verb, resource), allowed, "{verb}:{resource}");
        }
    }

    #[test]
    fn a_key_ends_at_its_time_and_a_rotated_secret_after_the_overlap() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let store = KeyStore::open(dir.path()).expect("opens");
        let new = NewKey { expires_in: Some(Duration::from_secs(100)), ..of_role("guest", Role::Viewer) };
        let made = store.create(&new).expect("there is room");
        let at = |secret: &str, seconds| {
            let now = SystemTime::now() + Duration::from_secs(seconds);
            store.find(&digest(secret), now).map(|key| key.id.clone())
        };
        let known = made.key.id.clone();
        assert_eq!(at(&made.secret, 90), Ok(known.clone()));
        assert_eq!(at(&made.secret, 101), Err(Unknown::Expired(known.clone())));

        let rotated = store.rotate(&known, Duration::from_secs(50)).expect("it is known");
        assert_ne!(rotated.secret, made.secret);
        assert_eq!((at(&made.secret, 40), at(&rotated.secret, 40)), (Ok(known.clone()), Ok(known.clone())));
        assert_eq!(at(&made.secret, 60), Err(Unknown::Rotated(known.clone())));
        assert_eq!(at(&rotated.secret, 60), Ok(known.clone()));
        assert_eq!(at(&rotated.secret, 101), Err(Unknown::Expired(known.clone())));

        let at_once = store.rotate(&known, Duration::ZERO).expect("it is known");
        assert_eq!(at(&rotated.secret, 0), Err(Unknown::Secret), "without an overlap it stops at once");
        assert_eq!(at(&at_once.secret, 0), Ok(known));
        assert!(matches!(store.rotate("k_none", Duration::ZERO), Err(Error::Unknown)));
    }

    #[test]
    fn the_last_use_of_a_key_outlives_the_server() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let store = KeyStore::open(dir.path()).expect("opens");
        let made = store.create(&of_role("dashboard", Role::Viewer)).expect("there is room");
        assert_eq!(store.last_used(&made.key.id), None);
        let (now, from) = (file::time(1_800_000_000), Some(IpAddr::from([192, 0, 2, 7])));
        store.used(&made.key, from, now);
        store.keep_usage().expect("it is written");
        drop(store);
        let again = KeyStore::open(dir.path()).expect("opens");
        assert_eq!(again.last_used(&made.key.id), Some(Used { at: now, from }));
        again.revoke(&made.key.id).expect("it is known");
        again.used(&again.list()[0], from, now);
        again.keep_usage().expect("it is written");
        assert_eq!(again.last_used(&made.key.id), None, "a key that is gone is forgotten");
    }

    #[test]
    fn a_limit_stays_used_when_other_keys_change() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let store = KeyStore::open(dir.path()).expect("opens");
        let grants = vec!["node.read 1/s".parse().expect("a grant")];
        let made = store.create(&NewKey { name: "slow".to_owned(), grants, ..NewKey::default() });
        let secret = made.expect("there is room").secret;
        let may = || {
            let key = store.authenticate(&secret).expect("it is known");
            key.grants.decide(Verb::NodeRead, "*", 0, Duration::from_secs(5)).is_allowed()
        };
        assert!(may());
        store.create(&of_role("other", Role::Viewer)).expect("there is room");
        assert!(!may(), "the bucket is still empty");
    }

    #[test]
    fn keys_of_version_1_go_on_working_with_roles_that_no_longer_book() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut text = "version = 1\n".to_owned();
        for role in ["read", "send", "admin"] {
            let sha256 = digest(&format!("sk_{role}"));
            text += &format!(
                "[[key]]\nid = \"k_{role}\"\nname = \"{role}\"\nrole = \"{role}\"\ncreated_at = 7\nsha256 = \"{sha256}\"\n"
            );
        }
        fs::write(dir.path().join(FILE), text).expect("writes");
        let store = KeyStore::open(dir.path()).expect("opens");
        assert_eq!(store.changed_in_meaning(), ["k_send"]);
        let allowed = |role: &str, verb, resource| {
            let key = store.authenticate(&format!("sk_{role}")).expect("it is known");
            key.grants.allows(verb, resource)
        };
        for (verb, resource, expected) in [
            (Verb::PushSend, "default", [false, true, true]),
            (Verb::QueueControl, "votes", [false, true, true]),
            (Verb::PushPayload, "default", [true, true, true]),
            (Verb::QueuePayload, "votes", [true, true, true]),
            (Verb::QueuePut, "events.shop.crm", [false, false, true]),
            (Verb::WalletRead, "alice", [true, true, true]),
            (Verb::WalletTransfer, "debit=alice", [false, false, true]),
            (Verb::WalletTransfer, "debit=@bank", [false, false, true]),
            (Verb::KeysManage, "*", [false, false, true]),
        ] {
            let found = ["read", "send", "admin"].map(|role| allowed(role, verb, resource));
            assert_eq!(found, expected, "{verb}:{resource}");
        }
        store.create(&of_role("another", Role::Viewer)).expect("there is room");
        assert_eq!(
            store.changed_in_meaning(),
            Vec::<String>::new(),
            "a file of version 2 says what each key may do"
        );
        assert!(
            allowed("send", Verb::PushSend, "default")
                && !allowed("send", Verb::WalletTransfer, "debit=alice")
        );
        let version = fs::read_to_string(dir.path().join(FILE)).expect("it is there");
        assert!(version.contains("version = 2"), "{version}");
    }

    #[test]
    fn key_made_by_another_process_works_in_a_running_server() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let server = KeyStore::open(dir.path()).expect("opens");
        let command_line = KeyStore::open(dir.path()).expect("opens");
        let made = command_line.create(&of_role("later", Role::Sender)).expect("there is room");
        assert_eq!(id(&server, &made.secret), Ok(made.key.id.clone()));
        command_line.revoke(&made.key.id).expect("it is known");
        std::thread::sleep(LOOK_EVERY);
        assert_eq!(id(&server, &made.secret), Err(Unknown::Secret), "nor does it outlive its revocation");
        command_line.create(&of_role("again", Role::Sender)).expect("there is room");
        server.create(&of_role("from the server", Role::Viewer)).expect("there is room");
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
        let entries =
            (0..KEYS_MAX).map(|n| new_entry(&of_role(&format!("key {n}"), Role::Admin), SystemTime::now()).0);
        let entries: Vec<_> = entries.collect();
        fs::write(dir.path().join(FILE), file::write(&entries)).expect("writes");
        assert!(matches!(store.create(&of_role("one more", Role::Viewer)), Err(Error::Full)));
    }
}
