//! Makes folders so that they are there after a crash.
//!
//! A folder is a name in its parent, and that name is durable when the parent was synced. A process
//! may be killed between the two, so the parent is synced whether the folder was there before or
//! not. A caller that makes folders in folders calls once for each level whose parent it does not
//! own otherwise: the data directory, its `shards`, a shard's folder.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Makes a folder where it doesn't exist (mode 0700), and its parents, and makes their names durable.
///
/// # Errors
/// Of the file system.
pub fn make_folder(path: &Path) -> io::Result<()> {
    make_on(&RealFolders, path)
}

/// The operations that are asked of a file system, so that a test sees which of them survive.
trait Folders {
    /// Makes one folder. Returns whether it was not there.
    fn make(&self, path: &Path) -> io::Result<bool>;
    fn exists(&self, path: &Path) -> bool;
    fn sync(&self, path: &Path) -> io::Result<()>;
}

fn make_on(folders: &impl Folders, path: &Path) -> io::Result<()> {
    let parent =
        path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    // Only the root has none.
    let Some(parent) = parent else { return Ok(()) };
    if !folders.exists(parent) {
        make_on(folders, parent)?;
    }
    let is_new = folders.make(path)?;
    match folders.sync(parent) {
        // Another process made it in a folder that we may not read: it is theirs to keep.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !is_new => Ok(()),
        synced => synced,
    }
}

struct RealFolders;

impl Folders for RealFolders {
    fn make(&self, path: &Path) -> io::Result<bool> {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn exists(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::*;

    /// Folders in memory: their names survive a crash where their parents were synced behind them.
    #[derive(Default)]
    struct Memory {
        there: RefCell<BTreeSet<PathBuf>>,
        durable: RefCell<BTreeSet<PathBuf>>,
        /// Operations until the process is killed.
        left: Cell<Option<usize>>,
    }

    impl Memory {
        fn new() -> Self {
            let memory = Self::default();
            for set in [&memory.there, &memory.durable] {
                set.borrow_mut().insert(PathBuf::from("/"));
            }
            memory
        }

        fn operate(&self) -> io::Result<()> {
            match self.left.get() {
                Some(0) => Err(io::Error::other("killed")),
                left => {
                    self.left.set(left.map(|left| left - 1));
                    Ok(())
                }
            }
        }

        /// Power fails: a folder is there if its name and those of all its parents are durable.
        fn crash(&self) {
            let durable = self.durable.borrow();
            let stays = |path: &Path| path.ancestors().all(|path| durable.contains(path));
            self.there.borrow_mut().retain(|path| stays(path));
        }
    }

    impl Folders for Memory {
        fn make(&self, path: &Path) -> io::Result<bool> {
            self.operate()?;
            assert!(self.exists(path.parent().expect("not the root")), "{} has no parent", path.display());
            Ok(self.there.borrow_mut().insert(path.to_owned()))
        }

        fn exists(&self, path: &Path) -> bool {
            self.there.borrow().contains(path)
        }

        fn sync(&self, path: &Path) -> io::Result<()> {
            self.operate()?;
            let names =
                self.there.borrow().iter().filter(|one| one.parent() == Some(path)).cloned().collect();
            self.durable.borrow_mut().append(&mut { names });
            Ok(())
        }
    }

    #[test]
    fn every_name_on_the_way_survives_a_crash() {
        let memory = Memory::new();
        let path = Path::new("/var/lib/stadium/shards/shard-0000/journal");
        make_on(&memory, path).expect("nothing fails");
        memory.crash();
        assert!(path.ancestors().all(|path| memory.exists(path)), "{:?}", memory.there);
    }

    #[test]
    fn a_kill_between_making_and_syncing_is_made_up_for() {
        let levels = ["/srv/data", "/srv/data/shards", "/srv/data/shards/shard-0000"];
        let make_all = |memory: &Memory| levels.iter().try_for_each(|path| make_on(memory, Path::new(path)));
        for operations in 0..8 {
            let memory = Memory::new();
            make_on(&memory, Path::new("/srv")).expect("nothing fails");
            memory.left.set(Some(operations));
            let _ = make_all(&memory);
            memory.left.set(None);
            make_all(&memory).expect("nothing fails");
            memory.crash();
            assert!(levels.iter().all(|path| memory.exists(Path::new(path))), "killed after {operations}");
        }
    }

    #[test]
    fn a_folder_of_the_file_system_is_private_and_a_file_in_the_way_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().expect("a temporary directory");
        let path = parent.path().join("a/b");
        make_folder(&path).expect("it is made");
        make_folder(&path).expect("it is there");
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(parent.path().join("file"), "").expect("written");
        assert!(make_folder(&parent.path().join("file")).is_err());
    }
}
