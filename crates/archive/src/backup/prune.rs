//! Removes old backups, and all objects that no kept one names.
//!
//! No backup is under way meanwhile ([`super::lease`]), so nothing is about to be named. An object
//! younger than the time of grace stays: a restore may be reading it.

use std::collections::HashSet;

use super::files;
use super::keep::Keep;
use super::lease::{Lease, Side};
use super::record::Backup;
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
/// is removed then; `Busy` where a backup that is under way does not end within a minute.
pub async fn prune(archive: &Archive, keep: Keep) -> Result<Pruned, Error> {
    let mut pruned = Pruned::default();
    let lease = match Lease::take(&archive.root, Side::Removal).await {
        // A full store has no room for the marker. The objects of the oldest backups make some: no
        // backup that is under way reads them.
        Err(error) if error.is_full() => {
            pruned.backups = expire(archive, keep).await?.0;
            if pruned.backups == 0 {
                return Err(error);
            }
            Lease::take(&archive.root, Side::Removal).await?
        }
        taken => taken?,
    };
    let removed = remove(archive, keep, &lease, &mut pruned).await;
    lease.release().await;
    removed.map(|()| pruned)
}

/// Removes the objects of the backups that `keep` lets go. Returns their number, and those that stay.
async fn expire(archive: &Archive, keep: Keep) -> Result<(u64, Vec<Backup>), Error> {
    let mut backups = read_all(archive, &archive.backups().await?).await?;
    let moments: Vec<u64> = backups.iter().map(|backup| backup.moment_ms).collect();
    let kept = backups.split_off(keep.expired(&moments));
    for backup in &backups {
        archive.backup_series().remove(backup.number).await?;
    }
    Ok((backups.len() as u64, kept))
}

async fn remove(archive: &Archive, keep: Keep, lease: &Lease, pruned: &mut Pruned) -> Result<(), Error> {
    // First the names, then the objects: a backup that exists names only what is there.
    let (expired, kept) = lease.hold(expire(archive, keep)).await?;
    pruned.backups += expired;
    pruned.kept = kept.len() as u64;
    for shard in 0..archive.shards() {
        let of_shard = archive.shard(shard)?;
        let named = kept.iter().map(|backup| backup.shards[usize::from(shard)].manifest).collect();
        let Some(newest) = of_shard.newest().await? else { continue };
        let Collected { manifests, objects, bytes } =
            lease.hold(of_shard.sweep(newest.epoch, &named)).await?;
        pruned.objects += manifests + objects;
        pruned.bytes += bytes;
    }
    let named: HashSet<&String> =
        kept.iter().flat_map(|backup| &backup.files).flat_map(|file| &file.pieces).collect();
    let pieces = files::pieces(archive).await?;
    let now_ms = pieces.iter().map(|(_, stored_ms, _)| *stored_ms).max().unwrap_or(0);
    for (hash, stored_ms, bytes) in pieces {
        if !named.contains(&hash) && stored_ms.saturating_add(archive.root.grace_ms) <= now_ms {
            lease.hold(series::remove(&archive.root.place, &files::object(&hash))).await?;
            pruned.objects += 1;
            pruned.bytes += bytes;
        }
    }
    Ok(())
}
