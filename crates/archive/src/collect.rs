//! Removes objects that no kept manifest names.
//!
//! Kept are the newest manifest, those that were replaced within the time of grace, and those that a
//! kept cut names. An object goes only if it is older than the time of grace and its writer had no
//! newer epoch. So neither the upload of a newer owner nor a restore that reads a manifest loses
//! its objects, also where the collecting process was stopped for hours in between: a later
//! manifest of a newer owner names objects of a kept manifest, or of its own epoch.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use futures::TryStreamExt as _;
use stadium_journal::Epoch;

use crate::layout::{self, Upload};
use crate::series;
use crate::{Error, ShardArchive};

/// The objects that were removed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Collected {
    /// Manifests.
    pub manifests: u64,
    /// Objects of files.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl ShardArchive {
    /// Removes what no kept manifest names. `epoch` is that of the caller, as in
    /// [`crate::Books::epoch`].
    ///
    /// # Errors
    /// Of the store; `Fenced`; `Damaged` where a kept manifest cannot be read, and nothing is
    /// removed then.
    pub async fn collect(&self, epoch: Epoch) -> Result<Collected, Error> {
        self.sweep(epoch, &self.in_kept_cuts().await?).await
    }

    /// As [`Self::collect`], where the caller knows which manifests are named elsewhere.
    pub(crate) async fn sweep(&self, epoch: Epoch, elsewhere: &HashSet<u64>) -> Result<Collected, Error> {
        let mut collected = Collected::default();
        let grace_ms = self.root.grace_ms;
        let manifests = self.manifests();
        let entries = manifests.list().await?;
        let Some(newest) = entries.last() else { return Ok(collected) };
        let now_ms = newest.stored_ms;
        Self::own(epoch, &self.read(newest.number).await?)?;
        let first_kept = series::kept(&entries, grace_ms).start;
        let is_kept = |(index, number): (usize, u64)| index >= first_kept || elsewhere.contains(&number);
        let (mut named, mut old) = (HashSet::new(), Vec::new());
        for (index, entry) in entries.iter().enumerate() {
            if is_kept((index, entry.number)) {
                let manifest = self.read(entry.number).await?;
                named.extend(manifest.objects().map(|(name, _)| name));
            } else {
                old.push(entry.number);
            }
        }
        // First the names, then the objects: a manifest that exists names only what is there.
        for number in old {
            manifests.remove(number).await?;
            collected.manifests += 1;
        }
        let place = &self.root.place;
        for folder in layout::file_folders(self.shard) {
            let listed: Vec<_> = place
                .store
                .list(Some(&place.object(&folder)))
                .try_collect()
                .await
                .map_err(|error| place.refused(&folder, &error))?;
            for object in listed {
                let Some(file) = object.location.filename() else { continue };
                let name = format!("{folder}/{file}");
                let stored_ms = object.last_modified.timestamp_millis();
                let is_old = stored_ms.saturating_add(grace_ms) <= now_ms;
                if is_old && is_of(file, epoch) && !named.contains(&name) {
                    series::remove(place, &name).await?;
                    collected.objects += 1;
                    collected.bytes += object.size;
                }
            }
            if let Some(root) = place.folder() {
                let (folder, grace) = (root.join(folder), Duration::from_millis(grace_ms.unsigned_abs()));
                let swept = tokio::task::spawn_blocking(move || sweep(&folder, epoch, grace)).await;
                swept.unwrap_or_else(|ended| Err(io::Error::other(ended))).map_err(Error::file(root))?;
            }
        }
        Ok(collected)
    }

    /// The manifests of this shard that a kept cut names.
    async fn in_kept_cuts(&self) -> Result<HashSet<u64>, Error> {
        let entries = self.root.cuts().list().await?;
        let mut numbers = HashSet::new();
        for entry in &entries[series::kept(&entries, self.root.grace_ms)] {
            let cut = self.root.read_cut(entry.number).await?;
            numbers.insert(cut.manifests[usize::from(self.shard)]);
        }
        Ok(numbers)
    }
}

/// Whether a writer of this epoch, or of an older one, stored it.
fn is_of(file: &str, epoch: Epoch) -> bool {
    Upload::of_name(file).is_some_and(|upload| upload.epoch <= epoch)
}

/// Removes uploads into a folder that a killed process left unfinished: `NAME#NUMBER`. Other stores
/// remove theirs by a rule of the bucket, and no listing shows them.
fn sweep(folder: &Path, epoch: Epoch, grace: Duration) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some((file, _)) = name.to_str().and_then(|name| name.split_once('#')) else { continue };
        let age = SystemTime::now().duration_since(entry.metadata()?.modified()?).unwrap_or_default();
        if age >= grace && is_of(file, epoch) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
