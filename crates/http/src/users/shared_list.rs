//! The erasures of a cluster, in documents that all of its nodes share and follow.
//!
//! | document | holds |
//! |---|---|
//! | `erasing/ID` | an erasure under way, with the user's name |
//! | `erased/ID` | a finished one, until each node has it in its own file |
//! | `restored/N` | users whose erasures a restore undid |
//! | `session-nodes/NAME` | a node that may have sessions: an erasure finishes when each of them is done |
//!
//! The file of finished ones is `erasures.cluster.ndjson`, a line each.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::secret_file;
use crate::shared_documents::{NotChanged, SharedDocuments, Texts};
use crate::users::list::{Erased, Erasure, Finished, List, Running};
use crate::users::receipt::{Seed, hash};
use crate::users::record::RUNNING_MAX;

/// The finished erasures that this node has seen.
pub(crate) const FILE: &str = "erasures.cluster.ndjson";

/// The folder of erasures under way.
pub(crate) const ERASING: &str = "erasing/";

/// The folder of users whose erasures a restore undid, see [`crate::users::restored`].
pub(crate) const RESTORED: &str = "restored/";

/// The folder of finished erasures.
pub(crate) const ERASED: &str = "erased/";
const NODES: &str = "session-nodes/";

/// Finished erasures that nodes which are away have not taken yet. At the bound none begins.
const UNTAKEN_MAX: usize = 200;

/// The erasures as a node of a cluster knows them.
pub(crate) struct SharedErasures {
    documents: Arc<dyn SharedDocuments>,
    dir: PathBuf,
    seed: Mutex<Option<Arc<Secret>>>,
    /// Held while the file is written.
    file: Mutex<()>,
}

struct Secret {
    seed: Seed,
    salt: String,
}

impl SharedErasures {
    /// Those of these documents; the node's own file is in `dir`.
    pub(crate) fn of(documents: Arc<dyn SharedDocuments>, dir: &Path) -> Self {
        Self { documents, dir: dir.to_owned(), seed: Mutex::new(None), file: Mutex::new(()) }
    }

    /// Changes whenever the documents do.
    pub(crate) fn version(&self) -> u64 {
        self.documents.version()
    }

    /// The nodes that may have sessions, as this one knows them.
    pub(crate) fn nodes(&self) -> BTreeSet<String> {
        nodes(&self.documents.read().texts)
    }

    /// Adds a node to those that may have sessions.
    pub(crate) fn register(&self, node: &str) -> io::Result<()> {
        self.alter(|texts| Ok(texts.insert(format!("{NODES}{node}"), "{}".to_owned()).is_none()))
    }

    /// Takes a node out of them, whose sessions are lost or removed. False where it is none of
    /// them.
    pub(crate) fn forget(&self, node: &str) -> io::Result<bool> {
        let mut was_known = false;
        self.alter(|texts| {
            was_known |= texts.remove(&format!("{NODES}{node}")).is_some();
            Ok(was_known)
        })?;
        Ok(was_known)
    }

    /// Whether a node is one of them, as the store has it now.
    pub(crate) fn is_registered(&self, node: &str) -> io::Result<bool> {
        let mut is_known = false;
        self.alter(|texts| {
            is_known = texts.contains_key(&format!("{NODES}{node}"));
            Ok(false)
        })?;
        Ok(is_known)
    }

    /// The erasures under way, oldest first.
    pub(crate) fn running(&self) -> Vec<Running> {
        running(&self.documents.read().texts)
    }

    /// Users whose erasures a restore undid.
    pub(crate) fn to_repeat(&self) -> BTreeSet<Erased> {
        let parts: Vec<Vec<Erased>> = all(&self.documents.read().texts, RESTORED);
        parts.into_iter().flatten().collect()
    }

    /// Their erasures were begun again.
    pub(crate) fn repeated(&self) -> io::Result<()> {
        self.alter(|texts| {
            let before = texts.len();
            texts.retain(|name, _| !name.starts_with(RESTORED));
            Ok(texts.len() < before)
        })
    }

    /// Writes finished erasures into the file of this node. One that all nodes have leaves the
    /// documents.
    pub(crate) fn take(&self, me: &str) -> io::Result<()> {
        let known = self.documents.read();
        let untaken: Vec<Finished> = all(&known.texts, ERASED);
        let untaken: Vec<_> = untaken.into_iter().filter(|one| !one.taken.contains(me)).collect();
        if untaken.is_empty() {
            return Ok(());
        }
        self.append(&untaken)?;
        self.alter(|texts| {
            let nodes = nodes(texts);
            for one in &untaken {
                let name = format!("{ERASED}{}", one.id);
                let Some(mut kept) = texts.get(&name).and_then(|text| read::<Finished>(text)) else {
                    continue;
                };
                kept.taken.insert(me.to_owned());
                match nodes.is_subset(&kept.taken) {
                    true => texts.remove(&name),
                    false => texts.insert(name, written(&kept)),
                };
            }
            Ok(true)
        })
    }

    fn append(&self, finished: &[Finished]) -> io::Result<()> {
        let _writing = self.file.lock();
        let text = fs::read_to_string(self.dir.join(FILE)).or_else(none_yet)?;
        let known: BTreeSet<String> = text.lines().filter_map(read::<Finished>).map(|one| one.id).collect();
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(self.dir.join(FILE))?;
        // A crash tore the line behind the last end.
        let before = text.rfind('\n').map_or(0, |end| end + 1) as u64;
        file.set_len(before)?;
        let new = finished.iter().filter(|one| !known.contains(&one.id));
        let lines: String = new.map(|one| format!("{}\n", written(one))).collect();
        let kept = file.write_all(lines.as_bytes()).and_then(|()| file.sync_all());
        if kept.is_err() {
            // The next line must not continue half of this one.
            file.set_len(before)?;
        }
        kept
    }

    /// The finished erasures of the file, oldest first. A line that a crash tore is none.
    fn in_file(&self) -> io::Result<Vec<Finished>> {
        let text = fs::read_to_string(self.dir.join(FILE)).or_else(none_yet)?;
        Ok(text.lines().filter_map(read).collect())
    }

    /// The finished ones that this node knows, oldest first.
    fn finished(&self) -> io::Result<Vec<Finished>> {
        let mut finished = self.in_file()?;
        let known: BTreeSet<String> = finished.iter().map(|one| one.id.clone()).collect();
        let shared: Vec<Finished> = all(&self.documents.read().texts, ERASED);
        finished.extend(shared.into_iter().filter(|one| !known.contains(&one.id)));
        finished.sort_by_key(|one| one.finished_ms);
        Ok(finished)
    }

    fn secret(&self) -> io::Result<Arc<Secret>> {
        let mut kept = self.seed.lock();
        if let Some(secret) = &*kept {
            return Ok(Arc::clone(secret));
        }
        let loss = "the proof of receipts that are not signed yet";
        let open = || secret_file::open_shared(&*self.documents, &self.dir, "receipts.key", "receipts", loss);
        let bytes = blocking(open)?;
        let seed = Seed::of(&bytes);
        let salt = hash(&crate::spelling::hex(&bytes), "salt")[..32].to_owned();
        let secret = Arc::new(Secret { seed, salt });
        *kept = Some(Arc::clone(&secret));
        Ok(secret)
    }

    /// Changes the documents where `change` says so. It gets the newest ones, again if they change.
    fn alter(&self, mut change: impl FnMut(&mut Texts) -> io::Result<bool>) -> io::Result<()> {
        let mut failure = None;
        let changed = blocking(|| {
            self.documents.change(&mut |texts| match change(texts) {
                Ok(is_changed) => is_changed,
                Err(error) => {
                    failure = Some(error);
                    false
                }
            })
        });
        match (failure, changed) {
            (Some(error), _) => Err(error),
            (None, Ok(_)) => Ok(()),
            (None, Err(error)) => Err(io::Error::new(kind(&error), error.to_string())),
        }
    }
}

/// The kind of the failure, by which an answer has its code.
fn kind(error: &NotChanged) -> io::ErrorKind {
    match error {
        NotChanged::Away(_) => io::ErrorKind::NotConnected,
        NotChanged::Unknown(_) => io::ErrorKind::TimedOut,
        NotChanged::TooLarge(_) => io::ErrorKind::InvalidInput,
    }
}

/// The content of a file that is not there yet.
fn none_yet(error: io::Error) -> io::Result<String> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(String::new()),
        _ => Err(error),
    }
}

/// Lets other tasks of the runtime go on during a call that waits.
fn blocking<T>(call: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(call)
}

fn read<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// A value as a document.
pub(crate) fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("names and numbers always serialise")
}

/// All values of a folder that can be read.
pub(crate) fn all<T: DeserializeOwned>(texts: &Texts, folder: &str) -> Vec<T> {
    let of_folder = texts.iter().filter(|(name, _)| name.starts_with(folder));
    of_folder.filter_map(|(_, text)| read(text)).collect()
}

fn nodes(texts: &Texts) -> BTreeSet<String> {
    texts.keys().filter_map(|name| name.strip_prefix(NODES)).map(str::to_owned).collect()
}

fn running(texts: &Texts) -> Vec<Running> {
    let mut running: Vec<Running> = all(texts, ERASING);
    running.sort_by(|one, other| (one.began_ms, &one.id).cmp(&(other.began_ms, &other.id)));
    running
}

impl List for SharedErasures {
    fn hash(&self, user: &str) -> io::Result<String> {
        Ok(hash(&self.secret()?.salt, user))
    }

    fn salt_and_key(&self) -> io::Result<(String, String)> {
        let secret = self.secret()?;
        Ok((secret.salt.clone(), secret.seed.public_key()))
    }

    fn begin(&self, new: Running) -> io::Result<Option<Erasure>> {
        // Made before anything depends on it.
        self.secret()?;
        if let Some(Erasure::Finished(same)) = self.find(&new.id)? {
            return Ok(Some(Erasure::Finished(same)));
        }
        let mut begun = None;
        self.alter(|texts| {
            let under_way = running(texts);
            if let Some(same) = under_way.iter().find(|one| one.user == new.user || one.id == new.id) {
                begun = Some(Erasure::Running(same.clone()));
                return Ok(false);
            }
            let untaken = texts.keys().filter(|name| name.starts_with(ERASED)).count();
            if under_way.len() >= RUNNING_MAX || untaken >= UNTAKEN_MAX {
                begun = None;
                return Ok(false);
            }
            texts.insert(format!("{ERASING}{}", new.id), written(&new));
            begun = Some(Erasure::Running(new.clone()));
            Ok(true)
        })?;
        Ok(begun)
    }

    fn change(&self, id: &str, change: &mut dyn FnMut(&mut Running)) -> io::Result<Option<Running>> {
        let name = format!("{ERASING}{id}");
        let mut changed = None;
        self.alter(|texts| {
            changed = texts.get(&name).and_then(|text| read::<Running>(text));
            let Some(one) = &mut changed else { return Ok(false) };
            change(one);
            let text = written(one);
            Ok(texts.insert(name.clone(), text.clone()) != Some(text))
        })?;
        Ok(changed)
    }

    fn waits(&self, id: &str, reason: Option<String>) {
        let known = self.running();
        if known.iter().any(|one| one.id == id && one.waits_for != reason) {
            // Without the store nobody can be told; it is noted when the store answers.
            let _ = self.change(id, &mut |one| one.waits_for.clone_from(&reason));
        }
    }

    fn finish(&self, id: &str, receipt: serde_json::Value, finished_ms: u64) -> io::Result<()> {
        let secret = self.secret()?;
        let name = format!("{ERASING}{id}");
        self.alter(|texts| {
            // Another node was faster.
            let Some(one) = texts.get(&name).and_then(|text| read::<Running>(text)) else { return Ok(false) };
            let is_done = |node: &String| one.nodes.get(node).is_some_and(|part| part.done);
            if let Some(late) = nodes(texts).iter().find(|node| !is_done(node)) {
                return Err(io::Error::other(format!("the node {late} joined meanwhile")));
            }
            let finished = Finished {
                id: id.to_owned(),
                hash: hash(&secret.salt, &one.user),
                finished_ms,
                receipt: secret.seed.sign(receipt.clone()),
                taken: BTreeSet::new(),
            };
            texts.remove(&name);
            texts.insert(format!("{ERASED}{id}"), written(&finished));
            Ok(true)
        })
    }

    fn find(&self, id: &str) -> io::Result<Option<Erasure>> {
        let known = self.documents.read();
        if let Some(one) = known.texts.get(&format!("{ERASING}{id}")).and_then(|text| read(text)) {
            return Ok(Some(Erasure::Running(one)));
        }
        Ok(self.finished()?.into_iter().find(|one| one.id == id).map(Erasure::Finished))
    }

    fn newest(&self, limit: usize) -> io::Result<Vec<Erasure>> {
        let running = self.running().into_iter().rev().map(Erasure::Running);
        let finished = self.finished()?.into_iter().rev().map(Erasure::Finished);
        Ok(running.chain(finished).take(limit).collect())
    }

    fn under_way(&self) -> io::Result<Vec<String>> {
        Ok(self.running().into_iter().map(|one| one.id).collect())
    }
}

#[cfg(test)]
#[path = "shared_list_tests.rs"]
mod tests;
