//! Keys in the documents of a cluster, one document each.
//!
//! A document that cannot be read, as one of a newer version, opens nothing and stays as it is.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::file::{Entry, VERSION};
use super::place::{Change, Place, Stamp, Stored};
use crate::shared_documents::{Documents, SharedDocuments, Texts};

/// How the documents of keys begin.
const FOLDER: &str = "keys/";

/// The document that is there once the first keys are: a cluster whose keys are all gone makes none by
/// itself.
const BEGUN: &str = "keys-begun";

/// Keys that are written as one at the beginning: a store bounds what one change may write.
const WRITTEN_AT_ONCE: usize = 64;

/// The keys of a cluster.
pub(super) struct SharedKeys(pub(super) Arc<dyn SharedDocuments>);

/// The text of a document, in JSON.
#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    key: Entry,
}

impl SharedKeys {
    fn change_texts(
        &self,
        mut change: impl FnMut(&mut Texts) -> Result<(), Error>,
    ) -> Result<Documents, Error> {
        let mut refused = None;
        let changed = self.0.change(&mut |texts| match change(texts) {
            Ok(()) => true,
            Err(error) => {
                refused = Some(error);
                false
            }
        });
        match refused {
            Some(error) => Err(error),
            None => changed.map_err(Error::Shared),
        }
    }
}

impl Place for SharedKeys {
    fn stamp(&self) -> Result<Stamp, Error> {
        Ok(stamp(self.0.version()))
    }

    fn load(&self) -> Result<Stored, Error> {
        Ok(stored(&self.0.read()))
    }

    fn load_or_begin(&self, first: &mut dyn FnMut() -> Result<Vec<Entry>, Error>) -> Result<Stored, Error> {
        let known = self.0.read();
        if known.texts.contains_key(BEGUN) {
            return Ok(stored(&known));
        }
        let first = first()?;
        let mut parts = first.chunks(WRITTEN_AT_ONCE).peekable();
        while let Some(part) = parts.next() {
            let is_last = parts.peek().is_none();
            let mut was_begun = false;
            let changed = self.change_texts(|texts| {
                was_begun = texts.contains_key(BEGUN);
                if !was_begun {
                    texts.extend(part.iter().map(|entry| (name(entry), text(entry))));
                    texts.extend(is_last.then(|| (BEGUN.to_owned(), "{}".to_owned())));
                }
                Ok(())
            })?;
            if is_last || was_begun {
                return Ok(stored(&changed));
            }
        }
        Ok(stored(&known))
    }

    fn change(&self, change: Change<'_>) -> Result<Stored, Error> {
        let changed = self.change_texts(|texts| {
            let before = entries(texts);
            let mut after = before.clone();
            change(&mut after)?;
            let kept: HashSet<&str> = after.iter().map(|entry| entry.id.as_str()).collect();
            for gone in before.iter().filter(|entry| !kept.contains(entry.id.as_str())) {
                texts.remove(&name(gone));
            }
            for changed in after.iter().filter(|entry| !before.contains(entry)) {
                texts.insert(name(changed), text(changed));
            }
            Ok(())
        })?;
        Ok(stored(&changed))
    }
}

fn stamp(version: u64) -> Stamp {
    Stamp([version.cast_signed(), 0, 0])
}

fn stored(documents: &Documents) -> Stored {
    (entries(&documents.texts), stamp(documents.version))
}

fn name(entry: &Entry) -> String {
    format!("{FOLDER}{}", entry.id)
}

fn text(entry: &Entry) -> String {
    let content = Content { version: VERSION, key: entry.clone() };
    serde_json::to_string(&content).expect("strings and numbers always serialise")
}

/// The keys, oldest first.
fn entries(texts: &Texts) -> Vec<Entry> {
    let mut entries: Vec<Entry> = texts
        .range(FOLDER.to_owned()..)
        .take_while(|(name, _)| name.starts_with(FOLDER))
        .filter_map(|(name, text)| match read(name, text) {
            Ok(entry) => Some(entry),
            Err(reason) => {
                tracing::warn!(document = name, reason, "A shared API key cannot be read and opens nothing");
                None
            }
        })
        .collect();
    entries.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
    entries
}

fn read(document: &str, text: &str) -> Result<Entry, String> {
    let Content { version, key } = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if version != VERSION {
        return Err(format!("its version is {version}, this server reads {VERSION}"));
    }
    if name(&key) != document {
        return Err(format!("it is of the key {:?}", key.id));
    }
    // One that is not right must not keep the others from being read.
    key.key().map(|_| key)
}
