//! Removes old backups, and all objects that no kept one names.
//!
//! An object younger than the time of grace stays: a backup that is under way may be about to name
//! it, and a restore may be reading it.

use std::collections::HashSet;

use super::files;
use super::keep::Keep;
use super::restore::read_all;
use crate::{Archive, Collected, Error, series};

/// The backups and objects that were removed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Pruned {
    /// Backups.
    pub backups: u64,
    /// Backups that are left.
    pub kept: u64,
    /// Objects, manifests included.
    pub objects: u64,
    /// Bytes of files' objects.
    pub bytes: u64,
}

/// Removes the backups that `keep` lets go, and what nothing names then.
///
/// # Errors
/// Of the store; `Damaged` where a kept backup or manifest cannot be read, and nothing that it may name
/// is removed then.
pub async fn prune(archive: &Archive, keep: Keep) -> Result<Pruned, Error> {
    let mut pruned = Pruned::default();
    let series_of_backups = archive.backup_series();
    let numbers = archive.backups().await?;
    let backups = read_all(archive, &numbers).await?;
    let moments: Vec<u64> = backups.iter().map(|backup| backup.moment_ms).collect();
    let (old, kept) = backups.split_at(keep.expired(&moments));
    pruned.kept = kept.len() as u64;
    // First the names, then the objects: a backup that exists names only what is there.
    for backup in old {
        series_of_backups.remove(backup.number).await?;
        pruned.backups += 1;
    }
    for shard in 0..archive.shards() {
        let of_shard = archive.shard(shard)?;
        let named = kept.iter().map(|backup| backup.shards[usize::from(shard)].manifest).collect();
        let Some(newest) = of_shard.newest().await? else { continue };
        let Collected { manifests, objects, bytes } = of_shard.sweep(newest.epoch, &named).await?;
        pruned.objects += manifests + objects;
        pruned.bytes += bytes;
    }
    let named: HashSet<&String> =
        kept.iter().flat_map(|backup| &backup.files).flat_map(|file| &file.pieces).collect();
    let pieces = files::pieces(archive).await?;
    let now_ms = pieces.iter().map(|(_, stored_ms, _)| *stored_ms).max().unwrap_or(0);
    for (hash, stored_ms, bytes) in pieces {
        if !named.contains(&hash) && stored_ms.saturating_add(archive.root.grace_ms) <= now_ms {
            series::remove(&archive.root.place, &files::object(&hash)).await?;
            pruned.objects += 1;
            pruned.bytes += bytes;
        }
    }
    Ok(pruned)
}
