//! A [`Disk`] that is a folder of the file system.
//!
//! Segments are allocated and filled with zeros, so that `fdatasync` of a batch has no metadata to
//! write. Files are readable by their owner only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FallocateFlags, RenameFlags};

use crate::disk::{Disk, DiskFile, LockError, LockGuard};

/// The file that is locked.
const LOCK: &str = "lock";
/// Zeros are written in pieces of this size.
const ZEROS: &[u8] = &[0; 1 << 18];

/// A folder of the file system.
#[derive(Debug)]
pub struct FolderDisk {
    path: PathBuf,
    access: Access,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    ReadWrite,
    ReadOnly,
}

impl FolderDisk {
    /// Makes the folder where it doesn't exist (mode 0700), and its parents.
    ///
    /// # Errors
    /// Of the file system.
    pub fn create(path: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            File::open(parent)?.sync_all()?;
        }
        Ok(Self { path: path.to_owned(), access: Access::ReadWrite })
    }

    /// A folder that exists, to look at without changing anything.
    #[must_use]
    pub fn read_only(path: &Path) -> Self {
        Self { path: path.to_owned(), access: Access::ReadOnly }
    }

    /// The process that has the folder locked, 0 where the file doesn't say; nothing if nobody has.
    pub(crate) fn holder(&self) -> Option<u32> {
        let mut file = File::open(self.path.join(LOCK)).ok()?;
        match file.try_lock_shared() {
            Err(fs::TryLockError::WouldBlock) => {
                let mut text = String::new();
                file.read_to_string(&mut text).ok()?;
                Some(text.trim().parse().unwrap_or(0))
            }
            _ => None,
        }
    }
}

impl Disk for FolderDisk {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn lock(&self) -> Result<LockGuard, LockError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.path.join(LOCK))
            .map_err(LockError::Io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                let mut text = String::new();
                let holder = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                return Err(LockError::Held(holder.unwrap_or(0)));
            }
            Err(fs::TryLockError::Error(error)) => return Err(LockError::Io(error)),
        }
        // The text is for people; the lock is what counts.
        let text = format!("{}\n", std::process::id());
        file.set_len(0).and_then(|()| file.write_all(text.as_bytes())).map_err(LockError::Io)?;
        Ok(Box::new(file))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_file()
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let write = self.access == Access::ReadWrite;
        let file = OpenOptions::new().read(true).write(write).open(self.path.join(name))?;
        Ok(Arc::new(OpenFile(file)))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.path.join(name))?;
        Ok(Arc::new(OpenFile(file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.path.join(from), self.path.join(to));
        Ok(rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn random(&self) -> u64 {
        // The keys of a RandomState are random for each process and differ from one to the next.
        use std::hash::{BuildHasher as _, Hasher as _, RandomState};
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        hasher.finish()
    }
}

#[derive(Debug)]
struct OpenFile(File);

impl DiskFile for OpenFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut read = 0;
        while read < into.len() {
            match self.0.read_at(&mut into[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        match rustix::fs::fallocate(&self.0, FallocateFlags::empty(), 0, bytes) {
            // A file system without fallocate: writing the zeros finds out whether there is room.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
        let mut written = 0;
        while written < bytes {
            let piece = (bytes - written).min(ZEROS.len() as u64);
            self.0.write_all_at(&ZEROS[..piece as usize], written)?;
            written += piece;
        }
        self.0.set_len(bytes)
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}
