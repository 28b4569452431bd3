//! The directory that holds everything a node must find again: one node at a time may use it.
//!
//! Made with mode 0700, because the admin key is in it. A lock file, held open and locked for the node's life, keeps a
//! second node out; the kernel lets it go when the process ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Name of the lock file.
pub(crate) const LOCK_NAME: &str = "lock";

/// The directory, ours alone until dropped.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    path: PathBuf,
    _lock: File,
}

impl DataDirectory {
    /// Makes the directory where it is missing and takes it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |what: &str, error: std::io::Error| {
            Error::Data(format!("the data directory {} {what}: {error}", path.display()))
        };
        stadium_journal::make_folder(path).map_err(|error| failed("cannot be made", error))?;
        let whole = || match stadium_archive::is_unfinished(path) {
            true => Err(Error::Data(format!(
                "the data directory {} is no whole one: a restore is writing it or was interrupted ({} is there); run \
                 `stadium restore` on it again",
                path.display(),
                stadium_archive::MARK
            ))),
            false => Ok(()),
        };
        whole()?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path.join(LOCK_NAME))
            .map_err(|error| failed("cannot be written", error))?;
        match lock.try_lock() {
            Ok(()) => {
                // A restore that began meanwhile finds the lock file, or is found here.
                whole()?;
                Ok(Self { path: path.to_owned(), _lock: lock })
            }
            Err(TryLockError::WouldBlock) => Err(Error::Data(format!(
                "the data directory {} is in use by another stadium: stop it, or name another directory with --data",
                path.display()
            ))),
            Err(TryLockError::Error(error)) => Err(failed("cannot be locked", error)),
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn directory_is_private_and_taken_by_one_at_a_time() {
        let parent = tempfile::tempdir().expect("a temporary directory can be made");
        let path = parent.path().join("a/b");
        let first = DataDirectory::open(&path).expect("it can be made");
        let mode = std::fs::metadata(first.path()).expect("it exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let refused = DataDirectory::open(&path).expect_err("it is taken").to_string();
        assert!(
            refused.contains("in use by another stadium") && refused.ends_with("(NODE-001)"),
            "{refused}"
        );
        drop(first);
        DataDirectory::open(&path).expect("it is free again");
    }

    #[test]
    fn half_a_restore_is_never_served() {
        let parent = tempfile::tempdir().expect("a temporary directory can be made");
        std::fs::write(parent.path().join(stadium_archive::MARK), "").expect("the directory is writable");
        let refused = DataDirectory::open(parent.path()).expect_err("it is not whole").to_string();
        assert!(refused.contains("stadium restore") && refused.ends_with("(NODE-001)"), "{refused}");
        assert!(!parent.path().join(LOCK_NAME).exists(), "a refusal changes nothing");
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let parent = tempfile::tempdir().expect("a temporary directory can be made");
        let path = parent.path().join("file");
        std::fs::write(&path, "").expect("the directory is writable");
        let refused = DataDirectory::open(&path).expect_err("it is a file").to_string();
        assert!(refused.contains("file") && refused.contains("cannot be"), "{refused}");
    }
}
