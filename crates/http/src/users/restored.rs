//! Erasures that a restore of a cluster undid: what the files of a former node know of them, and
//! the documents by which the new cluster carries them out again before it serves.
//!
//! The documents `restored/N` hold salted hashes of users whose erasures finished after the
//! restored moment. Erasures that were under way are under way in the new cluster, too.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;

use crate::request::problem::Problem;
use crate::shared_documents::Texts;
use crate::users::at_start::{BY_RESTORE, names};
use crate::users::erase::Work;
use crate::users::list::{Erased, Finished, List as _, Running};
use crate::users::receipt::hash;
use crate::users::record::new_id;
use crate::users::shared_list::{ERASED, ERASING, FILE, RESTORED, SharedErasures, all, written};
use crate::users::spelled::{not_kept, now_ms};

/// The copy of a node's documents, in its data directory.
const COPY: &str = "cluster/access.json";

/// The document of the key that signs receipts.
const KEY: &str = "secrets/receipts.key";

/// Users in one document: a document has 64 KiB.
const HASHES_MAX: usize = 400;

#[derive(Deserialize)]
struct Shared {
    documents: Texts,
}

/// The documents of a cluster that is restored to this moment: of erasures that the data directory
/// of a former node knows, with the key that signs receipts.
///
/// # Errors
/// A file is there and cannot be read, or none is there.
pub fn erased_after(data_dir: &Path, moment_ms: u64) -> io::Result<Texts> {
    let mut texts = Texts::new();
    let copy = read(&data_dir.join(COPY))?;
    let file = read(&data_dir.join(FILE))?;
    if copy.is_none() && file.is_none() {
        let words = format!("{} is not the data directory of a node of a cluster", data_dir.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, words));
    }
    let copy: Shared = serde_json::from_str(copy.as_deref().unwrap_or("{\"documents\":{}}"))?;
    texts.extend(copy.documents.get(KEY).map(|key| (KEY.to_owned(), key.clone())));
    let running = copy.documents.iter().filter(|(name, _)| name.starts_with(ERASING));
    let mut finished: Vec<Finished> = Vec::new();
    for line in file.as_deref().unwrap_or_default().lines() {
        finished.extend(serde_json::from_str::<Finished>(line).ok());
    }
    finished.extend(all::<Finished>(&copy.documents, ERASED));
    for (name, text) in running {
        let Running { id, user, by, began_ms, .. } = serde_json::from_str(text)?;
        if finished.iter().any(|one| one.id == id) {
            continue;
        }
        // Its finished steps are not done in the restored state.
        let anew = Running { again: true, ..Running::new(id, user, &by, began_ms) };
        texts.insert(name.clone(), written(&anew));
    }
    let later = finished.into_iter().filter(|one| one.finished_ms > moment_ms);
    let erased: BTreeSet<Erased> = later
        .map(|one| Erased {
            salt: one.receipt.receipt["salt"].as_str().unwrap_or_default().to_owned(),
            hash: one.hash,
        })
        .collect();
    let erased: Vec<Erased> = erased.into_iter().collect();
    for (number, part) in erased.chunks(HASHES_MAX).enumerate() {
        texts.insert(format!("{RESTORED}{number}"), written(&part));
    }
    Ok(texts)
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    }
}

/// Begins an erasure of each user in the restored state who was erased later.
pub(crate) async fn begin_again(work: &Work<'_>, list: &SharedErasures) -> Result<(), Problem> {
    let erased = list.to_repeat();
    if erased.is_empty() {
        return Ok(());
    }
    tracing::info!(erasures = erased.len(), "Erasures after the restored moment are carried out again");
    let salts: BTreeSet<&str> = erased.iter().map(|one| one.salt.as_str()).collect();
    for name in names(work).await? {
        let is_erased = |salt: &&str| {
            let one = Erased { salt: (*salt).to_owned(), hash: hash(salt, &name) };
            erased.contains(&one)
        };
        if !salts.iter().any(is_erased) {
            continue;
        }
        let id = new_id().map_err(not_kept)?;
        let again = Running { again: true, ..Running::new(id, name, BY_RESTORE, now_ms()) };
        if list.begin(again).map_err(not_kept)?.is_none() {
            // Those that were begun go first; then this is called again.
            return Ok(());
        }
    }
    list.repeated().map_err(not_kept)
}
