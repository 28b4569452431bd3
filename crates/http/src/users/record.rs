//! Erasures on disk: those under way, and those that are finished.
//!
//! | file | holds |
//! |---|---|
//! | `erasing.json` | the erasures under way, with the names of their users, so that a crash ends none |
//! | `erasures.ndjson` | a salt, then a line for each finished erasure: the salted hash of the name, and the receipt |
//! | `erasures.restored.json` | written by a restore: the moment of the state. Erasures that finished later are carried out again |
//!
//! A name leaves `erasing.json` after its line in `erasures.ndjson` is on disk.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::key_store::private_file::write_private;
use crate::secret_file;
use crate::spelling::hex;
use crate::users::list::{Erasure, Finished, List, Running};
use crate::users::receipt::{Seed, hash};

/// The finished erasures.
pub(crate) const FINISHED: &str = "erasures.ndjson";

/// The erasures under way.
pub(crate) const RUNNING: &str = "erasing.json";

/// The moment of a restored state.
pub(crate) const RESTORED: &str = "erasures.restored.json";

/// Erasures under way: they are carried out one after the other. One more is refused.
pub(crate) const RUNNING_MAX: usize = 100;

/// Finished erasures, about 2 KB each in memory. At the bound no further one begins.
pub(crate) const FINISHED_MAX: usize = 100_000;

#[derive(Serialize, Deserialize)]
struct Heading {
    version: u32,
    salt: String,
}

#[derive(Default, Serialize, Deserialize)]
struct RunningFile {
    running: Vec<Running>,
}

#[derive(Serialize, Deserialize)]
struct Restored {
    moment_ms: u64,
}

/// The erasures of a data directory. They are read when they are asked for first.
pub(crate) struct Erasures {
    dir: PathBuf,
    loaded: Mutex<Option<Loaded>>,
    /// Notified when one begins.
    pub(crate) begun: Notify,
}

struct Loaded {
    salt: String,
    running: Vec<Running>,
    finished: Vec<Finished>,
    seed: Seed,
}

impl Erasures {
    /// Those of this directory.
    pub(crate) fn of(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), loaded: Mutex::new(None), begun: Notify::new() }
    }

    /// Whether the directory has ever had one.
    pub(crate) fn are_any(dir: &Path) -> bool {
        [FINISHED, RUNNING, RESTORED].iter().any(|name| dir.join(name).exists())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Loaded) -> io::Result<T>) -> io::Result<T> {
        let mut loaded = self.loaded.lock();
        if loaded.is_none() {
            *loaded = Some(load(&self.dir)?);
        }
        act(loaded.as_mut().expect("it was loaded above"))
    }

    /// The hashes of users who were erased after the moment of a restored state; none where the
    /// state was not restored.
    pub(crate) fn to_repeat(&self) -> io::Result<Option<BTreeSet<String>>> {
        let text = match fs::read_to_string(self.dir.join(RESTORED)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let restored: Restored = serde_json::from_str(&text).map_err(|error| damaged(RESTORED, &error))?;
        self.with(|loaded| {
            let later = loaded.finished.iter().filter(|one| one.finished_ms > restored.moment_ms);
            Ok(Some(later.map(|one| one.hash.clone()).collect()))
        })
    }

    /// Erasures that a restore undid are carried out: the state is no longer one of the past.
    pub(crate) fn repeated(&self) -> io::Result<()> {
        fs::remove_file(self.dir.join(RESTORED))?;
        File::open(&self.dir)?.sync_all()
    }
}

impl List for Erasures {
    fn hash(&self, user: &str) -> io::Result<String> {
        self.with(|loaded| Ok(hash(&loaded.salt, user)))
    }

    fn salt_and_key(&self) -> io::Result<(String, String)> {
        self.with(|loaded| Ok((loaded.salt.clone(), loaded.seed.public_key())))
    }

    fn begin(&self, new: Running) -> io::Result<Option<Erasure>> {
        let kept = self.with(|loaded| {
            let same = |one: &&Running| one.user == new.user || one.id == new.id;
            if let Some(same) = loaded.running.iter().find(same) {
                return Ok(Some(Erasure::Running(same.clone())));
            }
            if let Some(same) = loaded.finished.iter().find(|one| one.id == new.id) {
                return Ok(Some(Erasure::Finished(same.clone())));
            }
            if loaded.running.len() >= RUNNING_MAX || loaded.finished.len() >= FINISHED_MAX {
                return Ok(None);
            }
            loaded.running.push(new.clone());
            if let Err(error) = save(&self.dir, &loaded.running) {
                loaded.running.pop();
                return Err(error);
            }
            Ok(Some(Erasure::Running(new)))
        })?;
        self.begun.notify_one();
        Ok(kept)
    }

    fn change(&self, id: &str, change: &mut dyn FnMut(&mut Running)) -> io::Result<Option<Running>> {
        self.with(|loaded| {
            let Some(one) = loaded.running.iter_mut().find(|one| one.id == id) else { return Ok(None) };
            change(one);
            let changed = one.clone();
            save(&self.dir, &loaded.running)?;
            Ok(Some(changed))
        })
    }

    fn waits(&self, id: &str, reason: Option<String>) {
        let noted = self.with(|loaded| {
            if let Some(one) = loaded.running.iter_mut().find(|one| one.id == id) {
                one.waits_for = reason;
            }
            Ok(())
        });
        debug_assert!(noted.is_ok(), "it was loaded when the erasure began");
    }

    fn finish(&self, id: &str, receipt: serde_json::Value, finished_ms: u64) -> io::Result<()> {
        self.with(|loaded| {
            let Some(at) = loaded.running.iter().position(|one| one.id == id) else { return Ok(()) };
            let finished = Finished {
                id: id.to_owned(),
                hash: hash(&loaded.salt, &loaded.running[at].user),
                finished_ms,
                receipt: loaded.seed.sign(receipt),
                taken: BTreeSet::new(),
            };
            append(&self.dir, &finished)?;
            loaded.finished.push(finished);
            loaded.running.remove(at);
            save(&self.dir, &loaded.running)
        })
    }

    fn find(&self, id: &str) -> io::Result<Option<Erasure>> {
        self.with(|loaded| {
            let running = loaded.running.iter().find(|one| one.id == id).cloned().map(Erasure::Running);
            let finished = || loaded.finished.iter().find(|one| one.id == id).cloned();
            Ok(running.or_else(|| finished().map(Erasure::Finished)))
        })
    }

    fn newest(&self, limit: usize) -> io::Result<Vec<Erasure>> {
        self.with(|loaded| {
            let running = loaded.running.iter().rev().cloned().map(Erasure::Running);
            let finished = loaded.finished.iter().rev().cloned().map(Erasure::Finished);
            Ok(running.chain(finished).take(limit).collect())
        })
    }

    fn under_way(&self) -> io::Result<Vec<String>> {
        self.with(|loaded| Ok(loaded.running.iter().map(|one| one.id.clone()).collect()))
    }
}

/// Notes in a restored data directory the moment of its state. Erasures that finished later are
/// carried out when a server starts on it, before it serves anybody.
///
/// # Errors
/// The system's.
pub fn restored(dir: &Path, moment_ms: u64) -> io::Result<()> {
    if !Erasures::are_any(dir) {
        return Ok(());
    }
    let text = serde_json::to_vec(&Restored { moment_ms })?;
    write_private(&dir.join(RESTORED), &text).map_err(io::Error::other)
}

/// A new id.
pub(crate) fn new_id() -> io::Result<String> {
    Ok(hex(&random::<16>()?))
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("the system gave no random bytes"))?;
    Ok(bytes)
}

fn damaged(name: &str, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {error}"))
}

fn load(dir: &Path) -> io::Result<Loaded> {
    let loss = "the proof of receipts that are not signed yet";
    let seed = secret_file::open_file(dir, "receipts.key", "receipts", loss)?;
    let path = dir.join(FINISHED);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let heading = Heading { version: 1, salt: hex(&random::<16>()?) };
            let line = format!("{}\n", serde_json::to_string(&heading)?);
            write_private(&path, line.as_bytes()).map_err(io::Error::other)?;
            line
        }
        Err(error) => return Err(error),
    };
    // A crash tore the line behind the last end: its erasure is under way still.
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    if whole < text.len() {
        let file = OpenOptions::new().write(true).open(&path)?;
        file.set_len(whole as u64)?;
        file.sync_all()?;
    }
    let mut lines = text[..whole].lines();
    let heading: Heading =
        serde_json::from_str(lines.next().unwrap_or_default()).map_err(|error| damaged(FINISHED, &error))?;
    if heading.version != 1 {
        return Err(damaged(FINISHED, &format!("version {} is newer than this server", heading.version)));
    }
    let finished: Result<Vec<Finished>, _> = lines.map(serde_json::from_str).collect();
    let finished = finished.map_err(|error| damaged(FINISHED, &error))?;
    let mut running = match fs::read(dir.join(RUNNING)) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| damaged(RUNNING, &error))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => RunningFile::default(),
        Err(error) => return Err(error),
    }
    .running;
    // Finished just before a crash.
    running.retain(|one| finished.iter().all(|done| done.id != one.id));
    Ok(Loaded { salt: heading.salt, running, finished, seed: Seed::of(&seed) })
}

fn save(dir: &Path, running: &[Running]) -> io::Result<()> {
    let text = serde_json::to_vec(&RunningFile { running: running.to_vec() })?;
    write_private(&dir.join(RUNNING), &text).map_err(io::Error::other)
}

/// Appends a line; it is on disk when this returns.
fn append(dir: &Path, finished: &Finished) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).mode(0o600).open(dir.join(FINISHED))?;
    let before = file.metadata()?.len();
    let written = file
        .write_all(format!("{}\n", serde_json::to_string(finished)?).as_bytes())
        .and_then(|()| file.sync_all());
    if written.is_err() {
        // The next line must not continue half of this one.
        file.set_len(before)?;
    }
    written
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn running(id: &str, user: &str) -> Running {
        Running::new(id.to_owned(), user.to_owned(), "k_1", 1)
    }

    fn is_running(one: Option<Erasure>, id: &str) -> bool {
        matches!(one, Some(Erasure::Running(one)) if one.id == id)
    }

    #[test]
    fn an_erasure_survives_a_crash_and_its_name_goes_with_its_end() {
        let dir = tempfile::tempdir().expect("a folder");
        let text = |name: &str| fs::read_to_string(dir.path().join(name)).expect("it is there");
        let erasures = Erasures::of(dir.path());
        assert!(is_running(erasures.begin(running("1", "ada")).expect("it is kept"), "1"));
        assert!(is_running(erasures.begin(running("2", "ada")).expect("it is kept"), "1"), "one of a user");
        erasures.change("1", &mut |one| one.done.extend(["devices".to_owned()])).expect("it is changed");

        let again = Erasures::of(dir.path());
        assert_eq!(again.under_way().expect("read"), ["1"]);
        let Some(Erasure::Running(one)) = again.find("1").expect("read") else { panic!("it is under way") };
        assert!(one.done.contains("devices"));
        again.finish("1", json!({"id": "1"}), 500).expect("it is finished");
        assert!(!text(RUNNING).contains("\"ada\"") && !text(FINISHED).contains("\"ada\""));

        let hash = again.hash("ada").expect("hashed");
        let last = Erasures::of(dir.path());
        assert!(last.under_way().expect("read").is_empty());
        let Some(Erasure::Finished(one)) = last.find("1").expect("read") else { panic!("it is finished") };
        assert_eq!((one.hash, one.finished_ms), (hash.clone(), 500));
        assert!(matches!(last.begin(running("1", "ada")).expect("read"), Some(Erasure::Finished(_))));

        assert_eq!(last.to_repeat().expect("read"), None);
        for (moment, repeats) in [(499, true), (500, false)] {
            restored(dir.path(), moment).expect("it is noted");
            let found = Erasures::of(dir.path()).to_repeat().expect("read").expect("it was restored");
            assert_eq!(found.contains(&hash), repeats, "{moment}");
        }
        last.repeated().expect("removed");
        assert_eq!(last.to_repeat().expect("read"), None);
    }

    #[test]
    fn a_torn_line_is_cut_off_and_its_erasure_goes_on() {
        let dir = tempfile::tempdir().expect("a folder");
        let erasures = Erasures::of(dir.path());
        erasures.begin(running("1", "ada")).expect("it is kept");
        let mut file = OpenOptions::new().append(true).open(dir.path().join(FINISHED)).expect("it is there");
        file.write_all(b"{\"id\":\"1\",\"ha").expect("it is written");
        let again = Erasures::of(dir.path());
        assert_eq!(again.under_way().expect("read"), ["1"]);
        again.finish("1", json!({}), 7).expect("it is finished");
        assert!(matches!(Erasures::of(dir.path()).find("1").expect("read"), Some(Erasure::Finished(_))));
    }

    #[test]
    fn one_more_than_the_bound_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let erasures = Erasures::of(dir.path());
        for n in 0..RUNNING_MAX {
            erasures.begin(running(&n.to_string(), &format!("u{n}"))).expect("kept").expect("there is room");
        }
        assert!(erasures.begin(running("x", "one more")).expect("read").is_none());
    }
}
