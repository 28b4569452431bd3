//! A [`Disk`] that is a folder of the file system.
//!
//! Segments are allocated and filled with zeros, so that `fdatasync` of a batch has no metadata to
//! write. Files are readable by their owner only. The folder stays open, with a few descriptors in reserve: it can be synced, and
//! a file be opened, when the process has no descriptors left.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FileType, RawDir, RenameFlags, SeekFrom, seek, statat, statvfs,
};
use rustix::io::{DupFlags, dup3};
use rustix::process::{Resource, getrlimit};

use crate::disk::{Disk, DiskFile, LockError, LockGuard, PART_BYTES};
use crate::error::lacks_descriptors;
use crate::made::make_folder;

/// The file that is locked.
const LOCK: &str = "lock";
/// Zeros are written in pieces of this size.
const ZEROS: &[u8] = &[0; 1 << 18];

/// The longest that the disk is left to others between two parts of a large file.
const TRICKLE_PAUSE_MAX: Duration = Duration::from_millis(1);

/// Bytes that the file system of a folder has free for this process.
///
/// # Errors
/// Of the file system.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let stat = statvfs(folder)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// File descriptors that this process may have.
#[must_use]
pub fn descriptors_max() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// A folder of the file system.
#[derive(Debug)]
pub struct FolderDisk {
    path: PathBuf,
    access: Access,
    /// None where it is only looked at.
    reserve: Option<Arc<Reserve>>,
}

/// Descriptors that a folder holds in reserve: for the next segment and a file that is read, or for a checkpoint and the one that it is
/// checked against.
const RESERVE_MAX: usize = 2;

/// Bytes in which the names of a folder are read.
const NAMES_BYTES: usize = 8 << 10;

/// The open folder, and copies of it: descriptors that are closed for a file that must be opened.
#[derive(Debug)]
struct Reserve {
    folder: File,
    held: Mutex<Vec<File>>,
}

impl Reserve {
    fn of(folder: File) -> io::Result<Self> {
        let held = (0..RESERVE_MAX).map(|_| folder.try_clone()).collect::<io::Result<_>>()?;
        Ok(Self { folder, held: Mutex::new(held) })
    }

    fn held(&self) -> MutexGuard<'_, Vec<File>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a file; with a descriptor of the reserve where the process has none left.
    fn open(&self, open: impl Fn() -> io::Result<File>) -> io::Result<File> {
        let mut held = self.held();
        let mut opened = open();
        while opened.as_ref().is_err_and(lacks_descriptors) && held.pop().is_some() {
            opened = open();
        }
        if opened.is_ok()
            && held.len() < RESERVE_MAX
            && let Ok(again) = self.folder.try_clone()
        {
            held.push(again);
        }
        opened
    }

    /// Closes a file. Where the reserve is short its descriptor goes there, and is never free in between.
    fn close(&self, file: File) {
        let mut held = self.held();
        let mut descriptor = OwnedFd::from(file);
        if held.len() < RESERVE_MAX && dup3(&self.folder, &mut descriptor, DupFlags::CLOEXEC).is_ok() {
            held.push(descriptor.into());
        }
    }
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
        make_folder(path)?;
        let reserve = Arc::new(Reserve::of(File::open(path)?)?);
        Ok(Self { path: path.to_owned(), access: Access::ReadWrite, reserve: Some(reserve) })
    }

    /// A folder that exists, to look at without changing anything.
    #[must_use]
    pub fn read_only(path: &Path) -> Self {
        Self { path: path.to_owned(), access: Access::ReadOnly, reserve: None }
    }

    fn opened(&self, open: impl Fn() -> io::Result<File>) -> io::Result<Arc<dyn DiskFile>> {
        let file = match &self.reserve {
            Some(reserve) => reserve.open(open),
            None => open(),
        }?;
        Ok(Arc::new(OpenFile { file: Some(file), reserve: self.reserve.clone() }))
    }

    /// The names of files in an open folder. Takes no descriptor.
    fn names(folder: &File) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        seek(folder, SeekFrom::Start(0))?;
        let mut buffer = Vec::with_capacity(NAMES_BYTES);
        let mut entries = RawDir::new(folder, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let kind = match entry.file_type() {
                // Some file systems do not report it.
                FileType::Unknown => FileType::from_raw_mode(
                    statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?.st_mode,
                ),
                kind => kind,
            };
            if kind == FileType::RegularFile
                && let Ok(name) = entry.file_name().to_str()
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// The process that has the folder locked, 0 where the file does not name it; none if it is not
    /// locked.
    #[must_use]
    pub fn holder(&self) -> Option<u32> {
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
        match &self.reserve {
            Some(reserve) => {
                // One at a time: the folder's copies share its place.
                let _held = reserve.held();
                Self::names(&reserve.folder)
            }
            None => Self::names(&File::open(&self.path)?),
        }
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let write = self.access == Access::ReadWrite;
        self.opened(|| OpenOptions::new().read(true).write(write).open(self.path.join(name)))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        self.opened(|| options.open(self.path.join(name)))
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
        match &self.reserve {
            Some(reserve) => reserve.folder.sync_all(),
            None => File::open(&self.path)?.sync_all(),
        }
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
struct OpenFile {
    /// None once it was dropped.
    file: Option<File>,
    reserve: Option<Arc<Reserve>>,
}

impl OpenFile {
    fn file(&self) -> &File {
        self.file.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if let (Some(file), Some(reserve)) = (self.file.take(), &self.reserve) {
            reserve.close(file);
        }
    }
}

impl DiskFile for OpenFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.file().metadata()?.len())
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut read = 0;
        while read < into.len() {
            match self.file().read_at(&mut into[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file().write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file().sync_data()
    }

    fn trickle(&self) -> io::Result<()> {
        let begun = Instant::now();
        self.sync()?;
        std::thread::sleep(begun.elapsed().min(TRICKLE_PAUSE_MAX));
        Ok(())
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        self.allocate_beside(bytes, &|_| false)
    }

    fn allocate_beside(&self, bytes: u64, has_time: &dyn Fn(u64) -> bool) -> io::Result<()> {
        match rustix::fs::fallocate(self.file(), FallocateFlags::empty(), 0, bytes) {
            // A file system without fallocate: writing the zeros finds out whether there is room.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
        let mut written = 0;
        while written < bytes {
            let piece = (bytes - written).min(ZEROS.len() as u64);
            self.file().write_all_at(&ZEROS[..piece as usize], written)?;
            written += piece;
            if written.is_multiple_of(PART_BYTES) && written < bytes && has_time(written) {
                self.trickle()?;
            }
        }
        self.file().set_len(bytes)
    }

    fn reserve(&self, bytes: u64) -> io::Result<()> {
        match rustix::fs::fallocate(self.file(), FallocateFlags::empty(), 0, bytes) {
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => self.file().set_len(bytes),
            Err(error) => Err(error.into()),
        }
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.file().set_len(bytes)
    }
}
