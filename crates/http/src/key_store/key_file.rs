//! Keys in `api-keys.toml` of the data directory.
//!
//! The command line and a running server may change the file at the same time, so writers hold a
//! lock.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::error::Error;
use super::file::{self, Entry};
use super::place::{Change, Place, Stamp, Stored};
use super::private_file::write_private;

/// The file's name.
pub(super) const FILE: &str = "api-keys.toml";

const LOCK_FILE: &str = "api-keys.lock";

/// The file of one data directory.
pub(super) struct KeyFile {
    path: PathBuf,
    lock: PathBuf,
}

impl KeyFile {
    pub(super) fn of(dir: &Path) -> Self {
        Self { path: dir.join(FILE), lock: dir.join(LOCK_FILE) }
    }

    /// Its keys; none where there is no file.
    pub(super) fn load_if_there(&self) -> Result<Option<Stored>, Error> {
        let is_there = self.path.try_exists().map_err(|error| self.io_error(error))?;
        is_there.then(|| self.load()).transpose()
    }

    /// Replaces the file; its lock is held.
    fn save(&self, mut entries: Vec<Entry>) -> Result<Stored, Error> {
        entries.iter_mut().for_each(|entry| entry.was_sender = false);
        write_private(&self.path, file::write(&entries).as_bytes())?;
        let stamp = self.stamp()?;
        Ok((entries, stamp))
    }

    /// Held while the file is read, changed and written, by whichever process does it.
    fn lock(&self) -> Result<File, Error> {
        let opened = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&self.lock);
        let locked = opened.and_then(|file| file.lock().map(|()| file));
        locked.map_err(|error| Error::Io { path: self.lock.clone(), error })
    }

    fn io_error(&self, error: std::io::Error) -> Error {
        Error::Io { path: self.path.clone(), error }
    }
}

impl Place for KeyFile {
    fn stamp(&self) -> Result<Stamp, Error> {
        let metadata = fs::metadata(&self.path).map_err(|error| self.io_error(error))?;
        Ok(Stamp([metadata.ino().cast_signed(), metadata.ctime(), metadata.ctime_nsec()]))
    }

    fn load(&self) -> Result<Stored, Error> {
        // The stamp first: a file replaced in between is then read again next time, never missed.
        let stamp = self.stamp()?;
        let text = fs::read_to_string(&self.path).map_err(|error| self.io_error(error))?;
        let format = |reason: String| Error::Format { path: self.path.clone(), reason };
        let entries = file::read(&text).map_err(format)?;
        entries.iter().try_for_each(|entry| entry.key().map(drop)).map_err(format)?;
        Ok((entries, stamp))
    }

    fn load_or_begin(&self, first: &mut dyn FnMut() -> Result<Vec<Entry>, Error>) -> Result<Stored, Error> {
        let _lock = self.lock()?;
        match self.load_if_there()? {
            Some(stored) => Ok(stored),
            None => self.save(first()?),
        }
    }

    fn change(&self, change: Change<'_>) -> Result<Stored, Error> {
        let _lock = self.lock()?;
        let (mut entries, _) = self.load()?;
        change(&mut entries)?;
        self.save(entries)
    }
}
