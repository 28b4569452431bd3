//! The shards of a stopped server, copied into an archive and back as one state.
//!
//! An export holds the locks of all journals until its cut is stored, so no server changes them
//! meanwhile. An import writes a folder beside the place of the shards and renames it at the end.
//! Both block until they have ended.

use std::path::{Path, PathBuf};

use stadium_journal::{LockGuard, copy, shards};
use stadium_objects::{Access, Error as StoreError, Place};

use crate::blocking::run;
use crate::restore::{begin_folder, finish_folder};
use crate::{Archive, Books, Collected, Error, Progress, Restored, Settings};

/// The result of an export.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exported {
    /// The number of the cut.
    pub cut: u64,
    /// The number of shards.
    pub shards: u16,
    /// Bytes of all objects that the cut needs.
    pub bytes: u64,
    /// Objects of earlier exports that nothing needs any more.
    pub removed: Collected,
}

/// The result of an import.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Imported {
    /// The number of the cut.
    pub cut: u64,
    /// When the cut was stored, milliseconds since 1970.
    pub stored_ms: u64,
    /// Each shard, in their order.
    pub shards: Vec<Restored>,
}

/// Stores the folder of all shards of a stopped server at a URL. `progress` is called from this
/// thread.
///
/// An interrupted export leaves the newest cut as it was; the next one uploads again what no
/// manifest names.
///
/// # Errors
/// `Journal` where a server has a journal open, or one is damaged: no books were stored then. See
/// [`Error`] for the others.
pub fn export(
    directory: &Path,
    url: &str,
    access: &Access,
    settings: &Settings,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Exported, Error> {
    let count = shards::count(directory).map_err(Error::file(&shards::file(directory)))?;
    let folders: Vec<PathBuf> = (0..count).map(|shard| shards::folder(directory, shard)).collect();
    let held = folders.iter().map(|folder| copy::hold(&folder.join("journal")));
    let _held: Vec<LockGuard> = held.collect::<Result<_, _>>()?;
    let books: Vec<Books> =
        folders.iter().map(|folder| Books::of_stopped(folder)).collect::<Result<_, _>>()?;
    run(async {
        let archive = Archive::create(Place::find(url, access).await?, count, settings).await?;
        let (mut manifests, mut bytes) = (Vec::with_capacity(books.len()), 0);
        for (shard, books) in (0..count).zip(&books) {
            let manifest = archive.shard(shard)?.store(books, progress).await?;
            bytes += manifest.objects().map(|(_, bytes)| bytes).sum::<u64>();
            manifests.push(manifest.number());
        }
        let cut = archive.cut(manifests).await?;
        archive.collect_cuts().await?;
        let mut removed = Collected::default();
        for (shard, books) in (0..count).zip(&books) {
            let collected = archive.shard(shard)?.collect(books.epoch).await?;
            removed.manifests += collected.manifests;
            removed.objects += collected.objects;
            removed.bytes += collected.bytes;
        }
        Ok(Exported { cut: cut.number(), shards: count, bytes, removed })
    })
}

/// Writes the folder of all shards from the newest cut of the archive at a URL. The folder must be
/// empty, or not there. `progress` is called from this thread.
///
/// # Errors
/// `NotEmpty`; `Incomplete` where no export has ended, or one was interrupted before its cut;
/// `Damaged`. See [`Error`] for the others.
pub fn import(
    directory: &Path,
    url: &str,
    access: &Access,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Imported, Error> {
    let unfinished = begin_folder(directory)?;
    run(async {
        let archive = Archive::open(Place::find(url, access).await?, &Settings::default()).await?;
        let cut = archive.newest_cut().await?.ok_or_else(|| {
            Error::Incomplete(
                "the archive has no cut: its first export has not ended, so repeat it".to_owned(),
            )
        })?;
        stadium_journal::make_folder(&unfinished).map_err(Error::file(&unfinished))?;
        let mut restored = Vec::with_capacity(cut.manifests().len());
        for (shard, number) in (0..archive.shards()).zip(cut.manifests()) {
            let shard_archive = archive.shard(shard)?;
            let manifest = shard_archive.read(*number).await.map_err(|error| match error {
                Error::Store(StoreError::Missing(name)) => {
                    Error::Incomplete(format!("{name} is missing, which cut {} names", cut.number()))
                }
                other => other,
            })?;
            let folder = shards::folder(&unfinished, shard);
            restored.push(shard_archive.write_folder(&manifest, &folder, progress).await?);
        }
        shards::write(&unfinished, archive.shards()).map_err(Error::file(&unfinished))?;
        finish_folder(&unfinished, directory)?;
        Ok(Imported { cut: cut.number(), stored_ms: cut.stored_ms(), shards: restored })
    })
}
