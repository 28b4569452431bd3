//! Numbered objects that are created and never changed: manifests and cuts.
//!
//! The newest has the greatest number. A writer creates the number after the newest that it has
//! read. The store creates a name for one writer only, so of two writers one has to read again.
//! This needs no conditional replacement, which folders do not have.

use std::ops::Range;

use futures::TryStreamExt as _;
use object_store::{ObjectMeta, ObjectStoreExt as _, PutMode, PutPayload};
use stadium_objects::Place;

use crate::{Error, layout};

/// Bytes of a numbered object at most, so that a foreign one is not read into memory.
const BYTES_MAX: u64 = 256 << 20;

/// Numbered objects in a folder.
pub(crate) struct Series<'a> {
    place: &'a Place,
    folder: String,
    suffix: &'static str,
}

/// An object of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    /// When the store says that it was stored, milliseconds since 1970.
    pub(crate) stored_ms: i64,
}

/// The outcome of a creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Created {
    /// The object has it, and is the newest.
    Newest,
    /// Another object has it, or a greater one.
    Taken,
}

impl<'a> Series<'a> {
    pub(crate) fn new(place: &'a Place, folder: String, suffix: &'static str) -> Self {
        Self { place, folder, suffix }
    }

    pub(crate) fn name(&self, number: u64) -> String {
        format!("{}/{number:016x}.{}", self.folder, self.suffix)
    }

    /// All objects, oldest first.
    ///
    /// # Errors
    /// Of the store.
    pub(crate) async fn list(&self) -> Result<Vec<Entry>, Error> {
        let listed = objects(self.place, &self.folder).await?;
        let number_of = |name: &str| layout::hex(name.strip_suffix(self.suffix)?.strip_suffix('.')?);
        let mut entries: Vec<Entry> = listed
            .iter()
            .filter_map(|object| {
                let number = number_of(object.location.filename()?)?;
                Some(Entry { number, stored_ms: object.last_modified.timestamp_millis() })
            })
            .collect();
        entries.sort_unstable_by_key(|entry| entry.number);
        Ok(entries)
    }

    /// Reads an object.
    ///
    /// # Errors
    /// Of the store; `Damaged` where it is too long to be one.
    pub(crate) async fn read(&self, number: u64) -> Result<Vec<u8>, Error> {
        let name = self.name(number);
        let failed = |error: object_store::Error| self.place.failed(&name, &error);
        let found = self.place.store.get(&self.place.object(&name)).await.map_err(failed)?;
        if found.meta.size > BYTES_MAX {
            return Err(Error::Damaged(format!("{name} is damaged: it has {} bytes", found.meta.size)));
        }
        Ok(found.bytes().await.map_err(failed)?.to_vec())
    }

    /// Creates an object, where its number is free.
    ///
    /// A request may be repeated after an answer that was lost. So an object with the same bytes
    /// counts as this one: each contains a random number.
    ///
    /// # Errors
    /// Of the store. The object may exist after one.
    pub(crate) async fn create(&self, number: u64, bytes: Vec<u8>) -> Result<Created, Error> {
        let name = self.name(number);
        match create(self.place, &name, bytes.clone()).await {
            Ok(()) => {}
            Err(Refusal::Exists) if self.read(number).await? == bytes => {}
            Err(Refusal::Exists) => return Ok(Created::Taken),
            Err(Refusal::Failed(error)) => return Err(error),
        }
        // Old numbers become free when their objects are removed. The newest is never removed.
        let newest = self.list().await?.last().map(|entry| entry.number);
        Ok(if newest == Some(number) { Created::Newest } else { Created::Taken })
    }

    /// Removes an object; one that is not there is no error.
    ///
    /// # Errors
    /// Of the store.
    pub(crate) async fn remove(&self, number: u64) -> Result<(), Error> {
        remove(self.place, &self.name(number)).await
    }
}

/// Which objects of a series are kept: the newest, and those that were the newest `grace_ms` ago,
/// which somebody may be reading. The clock is the store's: `now_ms` is when it stored the newest.
pub(crate) fn kept(entries: &[Entry], grace_ms: i64) -> Range<usize> {
    let now_ms = entries.last().map_or(0, |newest| newest.stored_ms);
    let replaced = |index: usize| entries.get(index + 1).map(|successor| successor.stored_ms);
    let is_kept = |index: &usize| {
        replaced(*index).is_none_or(|replaced_ms| replaced_ms.saturating_add(grace_ms) > now_ms)
    };
    (0..entries.len()).find(is_kept).unwrap_or(entries.len())..entries.len()
}

/// Why an object was not created.
pub(crate) enum Refusal {
    /// There is one of this name.
    Exists,
    Failed(Error),
}

/// The objects of a folder, in no order.
///
/// # Errors
/// Of the store.
pub(crate) async fn objects(place: &Place, folder: &str) -> Result<Vec<ObjectMeta>, Error> {
    let listed = place.store.list(Some(&place.object(folder))).try_collect().await;
    listed.map_err(|error| place.refused(folder, &error).into())
}

/// Creates an object unless there is one of its name.
///
/// # Errors
/// See [`Refusal`].
pub(crate) async fn create(place: &Place, name: &str, bytes: Vec<u8>) -> Result<(), Refusal> {
    let object = place.object(name);
    match place.store.put_opts(&object, PutPayload::from(bytes), PutMode::Create.into()).await {
        Ok(_) => Ok(()),
        Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
            Err(Refusal::Exists)
        }
        Err(error) => Err(Refusal::Failed(place.refused(name, &error).into())),
    }
}

/// Removes an object; one that is not there is no error.
///
/// # Errors
/// Of the store.
pub(crate) async fn remove(place: &Place, name: &str) -> Result<(), Error> {
    match place.store.delete(&place.object(name)).await {
        Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(place.refused(name, &error).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_kept_and_what_was_the_newest_within_the_grace() {
        let of = |stored: &[i64], grace_ms| {
            let entry = |(number, &stored_ms): (usize, &i64)| Entry { number: number as u64, stored_ms };
            kept(&stored.iter().enumerate().map(entry).collect::<Vec<_>>(), grace_ms)
        };
        assert_eq!(of(&[], 10), 0..0);
        assert_eq!(of(&[100], 10), 0..1);
        assert_eq!(of(&[100, 200], 0), 1..2, "nothing but the newest");
        assert_eq!(of(&[100, 200], 10), 0..2, "replaced this moment");
        assert_eq!(of(&[100, 195, 200], 10), 0..3, "the first was the newest 5 ms ago");
        assert_eq!(of(&[100, 150, 200], 10), 1..3);
    }
}
