//! What the journal asks of a file system: few operations on one folder.
//!
//! Everything above it is the same on real files ([`crate::FolderDisk`]) and on the disk in memory whose faults a
//! simulator decides ([`crate::memory::MemoryDisk`]).

use std::io;
use std::sync::Arc;

/// One folder of files.
pub trait Disk: Send + Sync {
    /// The folder's name, as an operator knows it.
    fn place(&self) -> String;

    /// Takes the folder for this process, until the guard is dropped.
    ///
    /// # Errors
    /// [`LockError::Held`] by another process, or another guard in this one.
    fn lock(&self) -> Result<LockGuard, LockError>;

    /// The names of all files.
    ///
    /// # Errors
    /// Of the file system.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Opens a file that exists.
    ///
    /// # Errors
    /// Of the file system.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Makes a file, empty; one of that name is replaced.
    ///
    /// # Errors
    /// Of the file system.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Gives a file another name, in whose place it steps. Durable after [`Disk::sync_folder`].
    ///
    /// # Errors
    /// Of the file system.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Like [`Disk::rename`], and refuses with `AlreadyExists` where a file of that name is.
    ///
    /// # Errors
    /// Of the file system.
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Durable after [`Disk::sync_folder`].
    ///
    /// # Errors
    /// Of the file system.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes names durable.
    ///
    /// # Errors
    /// Of the file system.
    fn sync_folder(&self) -> io::Result<()>;

    /// A number that nobody guesses.
    fn random(&self) -> u64;
}

/// Bytes of a large file between two calls of [`DiskFile::trickle`].
pub const PART_BYTES: u64 = 1 << 20;

/// One open file.
pub trait DiskFile: Send + Sync {
    /// Its length, bytes.
    ///
    /// # Errors
    /// Of the file system.
    fn length(&self) -> io::Result<u64>;

    /// Reads at `offset` until `into` is full or the file ends; gives the bytes read.
    ///
    /// # Errors
    /// Of the file system.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// Of the file system.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes what was written durable, and the length. After an error what was written may be lost, and a second call proves nothing.
    ///
    /// # Errors
    /// Of the file system.
    fn sync(&self) -> io::Result<()>;

    /// Called after every [`PART_BYTES`] of a large file: makes them durable, and then leaves the disk to
    /// others for about as long, 1 ms at most. A large file that is synced only at its end holds up the
    /// syncs of all others meanwhile. Blocks; does nothing where nobody waits for a disk.
    ///
    /// # Errors
    /// As for `sync`.
    fn trickle(&self) -> io::Result<()> {
        Ok(())
    }

    /// Makes the file this long, with blocks of its own for each byte, filled with zeros.
    ///
    /// # Errors
    /// `StorageFull`, others of the file system.
    fn allocate(&self, bytes: u64) -> io::Result<()>;

    /// The same beside others that wait for the disk. Between its parts it calls [`DiskFile::trickle`],
    /// as long as `has_time` is true of the bytes that are filled.
    ///
    /// # Errors
    /// As for `allocate`.
    fn allocate_beside(&self, bytes: u64, has_time: &dyn Fn(u64) -> bool) -> io::Result<()> {
        let _ = has_time;
        self.allocate(bytes)
    }

    /// Makes the file this long, with blocks that need not be written: cheaper than
    /// [`DiskFile::allocate`] now, dearer at the next sync. Where the file system cannot, a later
    /// write finds out that there is no room.
    ///
    /// # Errors
    /// As for `allocate`.
    fn reserve(&self, bytes: u64) -> io::Result<()> {
        self.allocate(bytes)
    }

    /// Cuts the file.
    ///
    /// # Errors
    /// Of the file system.
    fn truncate(&self, bytes: u64) -> io::Result<()>;
}

/// Holds a folder's lock until it is dropped.
pub type LockGuard = Box<dyn std::any::Any + Send>;

/// Why a folder wasn't locked.
#[derive(Debug)]
pub enum LockError {
    /// By this process, if the file names it; else 0.
    Held(u32),
    /// The file system's error.
    Io(io::Error),
}
