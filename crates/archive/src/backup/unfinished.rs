//! A data directory that is being restored: marked until it is whole, so nobody serves half of it.
//!
//! The file `restore.unfinished` marks the directory, and its lock keeps a second restore out. A
//! server refuses a marked directory. All is written in the folder `restore.work`, proved there, and
//! moved up; removing the mark is the last step. The mark names what is moved before the first move,
//! so the next restore after a crash removes exactly that and begins again. The directory itself is
//! never renamed: it may be a mount point, or stand in a folder that this user may not write.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, lchown};
use std::path::{Path, PathBuf};

use stadium_journal::make_folder;

use crate::Error;

/// The file that marks a directory.
pub const MARK: &str = "restore.unfinished";
/// The folder in which the state is written.
const WORK: &str = "restore.work";
/// The folder of the shards, which moves last: without it there is nothing to serve.
const SHARDS: &str = "shards";
/// An empty file system has this folder.
const OF_FILE_SYSTEM: &str = "lost+found";

/// Whether a data directory is marked: a restore is under way, or was interrupted.
#[must_use]
pub fn is_unfinished(data: &Path) -> bool {
    fs::symlink_metadata(data.join(MARK)).is_ok()
}

/// A directory that is marked for a restore. Dropping it removes the mark and what was written.
#[derive(Debug)]
pub(super) struct Unfinished {
    data: PathBuf,
    mark: Option<File>,
    /// The directory was made for the restore.
    is_new: bool,
}

impl Unfinished {
    /// Marks a directory, which must be empty or not there. Remains of an interrupted restore are
    /// removed.
    ///
    /// # Errors
    /// `NotEmpty`; `Conflict` where another restore writes there; `File`.
    pub(super) fn begin(data: &Path) -> Result<Self, Error> {
        let is_new = fs::symlink_metadata(data).is_err();
        make_folder(data).map_err(Error::file(data))?;
        let path = data.join(MARK);
        let is_left = is_unfinished(data);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mark = options.open(&path).map_err(Error::file(&path))?;
        match mark.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Conflict(format!("the directory {}", data.display())));
            }
            Err(TryLockError::Error(error)) => return Err(Error::file(&path)(error)),
        }
        let moved = fs::read_to_string(&path).map_err(Error::file(&path))?;
        let moved: Vec<&str> = moved.lines().collect();
        let mut remains = Vec::new();
        for name in names(data).map_err(Error::file(data))? {
            match name.as_str() {
                MARK | OF_FILE_SYSTEM => {}
                WORK => remains.push(name),
                _ if moved.contains(&name.as_str()) => remains.push(name),
                _ => {
                    if !is_left {
                        fs::remove_file(&path).map_err(Error::file(&path))?;
                    }
                    return Err(Error::NotEmpty(data.to_owned()));
                }
            }
        }
        let begun = Self { data: data.to_owned(), mark: Some(mark), is_new };
        for name in remains {
            remove(&data.join(name))?;
        }
        mark_of(&begun).set_len(0).map_err(Error::file(&path))?;
        sync(data)?;
        let work = begun.work();
        make_folder(&work).map_err(Error::file(&work))?;
        Ok(begun)
    }

    /// The folder in which the state is written.
    pub(super) fn work(&self) -> PathBuf {
        self.data.join(WORK)
    }

    /// Moves the state, which is whole and durable, to its place and removes the mark. All files get
    /// the owner of the directory, where this process may give them away.
    ///
    /// # Errors
    /// `File`.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        let work = self.work();
        let owner = fs::metadata(&self.data).map_err(Error::file(&self.data))?;
        if fs::metadata(&work).map_err(Error::file(&work))?.uid() != owner.uid() {
            give(&work, (owner.uid(), owner.gid()))?;
        }
        sync(&work)?;
        let mut moved = names(&work).map_err(Error::file(&work))?;
        moved.sort_unstable_by_key(|name| (name == SHARDS, name.clone()));
        let path = self.data.join(MARK);
        let list = moved.iter().map(|name| format!("{name}\n")).collect::<String>();
        let mut mark = mark_of(&self);
        mark.write_all(list.as_bytes()).and_then(|()| mark.sync_all()).map_err(Error::file(&path))?;
        for name in &moved {
            fs::rename(work.join(name), self.data.join(name)).map_err(Error::file(&self.data))?;
        }
        fs::remove_dir(&work).map_err(Error::file(&work))?;
        sync(&self.data)?;
        fs::remove_file(&path).map_err(Error::file(&path))?;
        self.mark = None;
        sync(&self.data)
    }
}

impl Drop for Unfinished {
    /// After a failure: the directory is as it was. What cannot be removed stays marked.
    fn drop(&mut self) {
        if self.mark.is_none() {
            return;
        }
        let listed = fs::read_to_string(self.data.join(MARK)).unwrap_or_default();
        let moved = listed.lines().map(|name| self.data.join(name));
        let cleared = moved.chain([self.work()]).all(|path| remove(&path).is_ok());
        if cleared && fs::remove_file(self.data.join(MARK)).is_ok() && self.is_new {
            // Another file may be there meanwhile.
            let _ = fs::remove_dir(&self.data);
        }
    }
}

fn mark_of(unfinished: &Unfinished) -> &File {
    unfinished.mark.as_ref().expect("it is marked until it is finished")
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

/// Removes a file or a folder; one that is not there is no error.
fn remove(path: &Path) -> Result<(), Error> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::file(path)(error)),
        _ => Ok(()),
    }
}

/// Changes the owner of a folder and of all that is in it.
fn give(path: &Path, (user, group): (u32, u32)) -> Result<(), Error> {
    lchown(path, Some(user), Some(group)).map_err(Error::file(path))?;
    if fs::symlink_metadata(path).map_err(Error::file(path))?.is_dir() {
        for name in names(path).map_err(Error::file(path))? {
            give(&path.join(name), (user, group))?;
        }
    }
    Ok(())
}

fn sync(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::file(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> (tempfile::TempDir, PathBuf) {
        let parent = tempfile::tempdir().expect("a folder can be had");
        let data = parent.path().join("data");
        (parent, data)
    }

    fn write(unfinished: &Unfinished) {
        fs::create_dir(unfinished.work().join(SHARDS)).expect("it is made");
        fs::write(unfinished.work().join("api-keys.toml"), "version = 2").expect("it is written");
    }

    /// As a killed process leaves it: nothing is dropped, and the lock is free.
    fn killed(mut unfinished: Unfinished) {
        unfinished.mark = None;
    }

    #[test]
    fn a_finished_restore_leaves_no_trace() {
        let (_parent, data) = data();
        let unfinished = Unfinished::begin(&data).expect("it is not there");
        assert!(is_unfinished(&data));
        write(&unfinished);
        unfinished.finish().expect("it is moved");
        let mut found = names(&data).expect("it is there");
        found.sort_unstable();
        assert_eq!(found, ["api-keys.toml", SHARDS]);
        assert!(matches!(Unfinished::begin(&data), Err(Error::NotEmpty(_))));
        assert!(!is_unfinished(&data), "a refusal marks nothing");
    }

    #[test]
    fn a_failed_restore_leaves_the_directory_as_it_was() {
        let (_parent, data) = data();
        write(&Unfinished::begin(&data).expect("it is not there"));
        assert!(!data.exists());
        fs::create_dir(&data).expect("it is made");
        write(&Unfinished::begin(&data).expect("it is empty"));
        assert_eq!(names(&data).expect("it is there"), Vec::<String>::new());
    }

    #[test]
    fn a_killed_restore_begins_again_wherever_it_was() {
        for moved in 0..=2 {
            let (_parent, data) = data();
            let unfinished = Unfinished::begin(&data).expect("it is not there");
            write(&unfinished);
            if moved > 0 {
                fs::write(data.join(MARK), format!("api-keys.toml\n{SHARDS}\n")).expect("it is written");
                for name in ["api-keys.toml", SHARDS].iter().take(moved) {
                    fs::rename(unfinished.work().join(name), data.join(name)).expect("it is moved");
                }
            }
            killed(unfinished);
            assert!(is_unfinished(&data), "{moved}");
            let again = Unfinished::begin(&data).expect("it begins again");
            assert_eq!(names(&again.work()).expect("it is there"), Vec::<String>::new(), "{moved}");
            write(&again);
            again.finish().expect("it is moved");
            assert!(!is_unfinished(&data) && data.join(SHARDS).is_dir(), "{moved}");
        }
    }

    #[test]
    fn files_of_somebody_else_are_never_removed() {
        let (_parent, data) = data();
        killed(Unfinished::begin(&data).expect("it is not there"));
        fs::write(data.join("mine"), "x").expect("it is written");
        assert!(matches!(Unfinished::begin(&data), Err(Error::NotEmpty(_))));
        assert!(is_unfinished(&data), "it is not whole");
        assert!(data.join("mine").exists());
    }

    #[test]
    fn two_restores_never_write_into_one_directory() {
        let (_parent, data) = data();
        let first = Unfinished::begin(&data).expect("it is not there");
        assert!(matches!(Unfinished::begin(&data), Err(Error::Conflict(_))));
        write(&first);
        first.finish().expect("the other one changed nothing");
    }
}
