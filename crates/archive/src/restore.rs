//! Writes the folder of a shard from a manifest, so that the ordinary opening of the shard goes on
//! from there.
//!
//! All is written beside the folder's place and gets its name when it is whole and durable. So a
//! server never finds half a restore. A checkpoint that is missing or damaged is left out where an
//! older one is whole; a segment is not.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use stadium_journal::copy::{segment_name, write_control};
use stadium_journal::{Epoch, FileCheckpoints, JournalId, Position, make_folder};
use stadium_objects::{Error as StoreError, read_object};

use crate::shard::Meter;
use crate::{Error, Manifest, Progress, ShardArchive, layout};

/// The end of a folder's name until the folder is whole.
const UNFINISHED: &str = "unfinished";

/// The result of a restore.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored {
    /// The number of the manifest.
    pub manifest: u64,
    /// The journal.
    pub journal: JournalId,
    /// The epoch of the manifest's writer. The next opening has a greater one.
    pub epoch: Epoch,
    /// The position of the newest checkpoint that is whole; `START` where there was none.
    pub checkpoint: Position,
    /// The mark of this checkpoint: where the replicated log is read on from.
    pub mark: Vec<u8>,
    /// Checkpoints that were left out, and why.
    pub left_out: Vec<String>,
}

impl ShardArchive {
    /// Writes the folder of the shard from its newest manifest. The folder must be empty, or not
    /// there.
    ///
    /// Dropping the future leaves a folder of another name beside it, which the next restore
    /// removes.
    ///
    /// # Errors
    /// `NotEmpty`; `Incomplete` where there is no manifest; `Damaged` where a segment or all
    /// checkpoints are not as they were stored; of the store; `File`.
    pub async fn restore(
        &self,
        folder: &Path,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Restored, Error> {
        let newest = self
            .newest()
            .await?
            .ok_or_else(|| Error::Incomplete(format!("the archive has nothing of shard {}", self.shard)))?;
        let unfinished = begin_folder(folder)?;
        let restored = self.write_folder(&newest, &unfinished, progress).await?;
        finish_folder(&unfinished, folder)?;
        Ok(restored)
    }

    /// Writes the files of a manifest into a folder that does not exist yet.
    pub(crate) async fn write_folder(
        &self,
        manifest: &Manifest,
        folder: &Path,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Restored, Error> {
        let (journal, checkpoints) = (folder.join("journal"), folder.join("checkpoints"));
        for folder in [folder, &journal, &checkpoints] {
            make_folder(folder).map_err(Error::file(folder))?;
        }
        let of_bytes = manifest.objects().map(|(_, bytes)| bytes).sum();
        let mut meter = Meter { shard: self.shard, bytes: 0, of_bytes, progress };
        meter.add(0);
        for segment in &manifest.segments {
            let wanted = Wanted {
                object: layout::segment(self.shard, segment.number, segment.copy.upload),
                stored_bytes: segment.stored_bytes,
                sha256: segment.copy.sha256,
                file: journal.join(segment_name(segment.number)),
                bytes: segment.restored_bytes(),
            };
            self.download(&wanted, &mut meter).await?.map_err(Error::Damaged)?;
        }
        let (mut whole, mut left_out) = (None, Vec::new());
        for checkpoint in &manifest.checkpoints {
            let wanted = Wanted {
                object: layout::checkpoint(self.shard, checkpoint.position, checkpoint.copy.upload),
                stored_bytes: checkpoint.bytes,
                sha256: checkpoint.copy.sha256,
                file: checkpoints.join(FileCheckpoints::file_name(checkpoint.position)),
                bytes: checkpoint.bytes,
            };
            match self.download(&wanted, &mut meter).await? {
                Ok(()) => whole = whole.or(Some(checkpoint)),
                Err(why) => {
                    tracing::error!(shard = self.shard, why, "A checkpoint of the archive is left out");
                    left_out.push(why);
                }
            }
        }
        if whole.is_none() && !manifest.checkpoints.is_empty() {
            return Err(Error::Damaged(format!("no checkpoint is whole: {}", left_out.join("; "))));
        }
        for folder in [&checkpoints, &journal] {
            sync_folder(folder)?;
        }
        write_control(&journal, self.shard.into(), manifest.journal, manifest.epoch)?;
        Ok(Restored {
            manifest: manifest.number,
            journal: manifest.journal,
            epoch: manifest.epoch,
            checkpoint: whole.map_or(Position::START, |checkpoint| checkpoint.position),
            mark: whole.map(|checkpoint| checkpoint.mark.clone()).unwrap_or_default(),
            left_out,
        })
    }

    /// Writes an object to a file and makes it durable. The inner error is damage of the object;
    /// then there is no file.
    async fn download(&self, wanted: &Wanted, meter: &mut Meter<'_>) -> Result<Result<(), String>, Error> {
        let Wanted { object, stored_bytes, sha256, file: path, bytes } = wanted;
        let failed = |error| Error::file(path)(error);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(path).map_err(failed)?;
        let mut hash = Sha256::new();
        let mut write = |part: Bytes| -> Result<(), Error> {
            hash.update(&part);
            file.write_all(&part).map_err(failed)?;
            meter.add(part.len() as u64);
            Ok(())
        };
        let read = read_object(&self.root.place, object, *stored_bytes, &mut write).await;
        let damage = match read {
            Ok(()) if <[u8; 32]>::from(hash.finalize()) == *sha256 => None,
            Ok(()) => Some(format!("{object} is damaged: its checksum is wrong")),
            Err(Error::Store(StoreError::Missing(_))) => Some(format!("{object} is missing")),
            Err(Error::Store(StoreError::Short { .. })) => Some(format!("{object} is too short")),
            Err(error) => return Err(error),
        };
        if let Some(why) = damage {
            drop(file);
            fs::remove_file(path).map_err(failed)?;
            return Ok(Err(why));
        }
        let bytes = *bytes;
        let synced = tokio::task::spawn_blocking(move || file.set_len(bytes).and_then(|()| file.sync_all()));
        synced.await.unwrap_or_else(|ended| Err(io::Error::other(ended))).map_err(failed)?;
        Ok(Ok(()))
    }
}

/// An object that becomes a file.
struct Wanted {
    object: String,
    stored_bytes: u64,
    sha256: [u8; 32],
    file: PathBuf,
    bytes: u64,
}

/// Checks that a folder is empty or not there, and returns the name under which it is written.
/// Remains of an interrupted restore are removed there.
///
/// # Errors
/// `NotEmpty`, `File`.
pub fn begin_folder(folder: &Path) -> Result<PathBuf, Error> {
    let failed = Error::file(folder);
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => {}
        Ok(false) => return Err(Error::NotEmpty(folder.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(UNFINISHED);
    let unfinished = folder.with_file_name(name);
    match fs::remove_dir_all(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::file(&unfinished)(error)),
        _ => Ok(unfinished),
    }
}

/// Gives a folder that is whole its name, durably.
///
/// # Errors
/// `NotEmpty` where something is there meanwhile; `File`.
pub fn finish_folder(unfinished: &Path, folder: &Path) -> Result<(), Error> {
    sync_folder(unfinished)?;
    // A rename replaces an empty folder and nothing else.
    match fs::rename(unfinished, folder) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            return Err(Error::NotEmpty(folder.to_owned()));
        }
        renamed => renamed.map_err(Error::file(folder))?,
    }
    sync_folder(folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

fn sync_folder(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::file(folder))
}
