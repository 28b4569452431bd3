//! Faults of a [`MemoryDisk`] beside failing writes and syncs: reads and names.
//!
//! Each is set by the disk's owner and happens once, except that a file that was made unreadable stays so.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use rustix::io::Errno;

use super::{MemoryDisk, NameChange};

/// An operation on the folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameOperation {
    /// A file is opened.
    Open,
    /// A file is created.
    Create,
    /// A file is renamed.
    Rename,
    /// A file is removed.
    Remove,
    /// The names are read.
    List,
    /// The folder is synced.
    SyncFolder,
}

#[derive(Debug, Default)]
pub(super) struct Faults {
    failing_read: Option<u64>,
    failing_name: Option<(u64, NameOperation)>,
    /// Files that cannot be read: inodes, since names change.
    unreadable: BTreeSet<u64>,
    pub(super) names_in_any_order: bool,
}

impl Faults {
    pub(super) fn read(&mut self, inode: u64) -> io::Result<()> {
        if self.unreadable.contains(&inode) {
            return Err(Errno::IO.into());
        }
        match &mut self.failing_read {
            None => Ok(()),
            Some(0) => {
                self.failing_read = None;
                Err(Errno::IO.into())
            }
            Some(reads) => {
                *reads -= 1;
                Ok(())
            }
        }
    }

    /// Those that belong to the files themselves.
    pub(super) fn of_files(&self) -> Faults {
        Faults { unreadable: self.unreadable.clone(), ..Faults::default() }
    }

    pub(super) fn name(&mut self, operation: NameOperation) -> io::Result<()> {
        match &mut self.failing_name {
            Some((0, failing)) if *failing == operation => {
                self.failing_name = None;
                Err(Errno::IO.into())
            }
            Some((left, failing)) if *failing == operation => {
                *left -= 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl MemoryDisk {
    /// The read after `reads` more fails with EIO, once. `None`: none fails.
    pub fn fail_read(&self, reads: Option<u64>) {
        self.state().faults.failing_read = reads;
    }

    /// The operation of this kind after so many more fails with EIO, once, and changes nothing. `None`: none fails.
    pub fn fail_name(&self, failing: Option<(u64, NameOperation)>) {
        self.state().faults.failing_name = failing;
    }

    /// From now on each read of this file fails with EIO.
    pub fn make_unreadable(&self, name: &str) {
        let mut state = self.state();
        if let Some(&inode) = state.names.get(name) {
            state.faults.unreadable.insert(inode);
        }
    }

    /// Whether a crash keeps any subset of the changes of names that were not synced, as file systems without an ordered
    /// journal do, instead of the first ones. A rename of a file that has not that name then is lost.
    pub fn names_in_any_order(&self, any: bool) {
        self.state().faults.names_in_any_order = any;
    }
}

/// Applies those changes of names that survive a crash, as in [`MemoryDisk::crash`].
pub(super) fn survive(
    changes: Vec<NameChange>,
    names: &mut BTreeMap<String, u64>,
    any_order: bool,
    choose: &mut dyn FnMut(usize) -> usize,
) {
    if !any_order {
        let happened = choose(changes.len() + 1).min(changes.len());
        changes.into_iter().take(happened).for_each(|change| change.apply(names));
        return;
    }
    for change in changes {
        if choose(2) == 1 {
            change.apply(names);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Disk as _;

    #[test]
    fn a_name_fails_once_and_changes_nothing() {
        let disk = MemoryDisk::new(1);
        drop(disk.create("a").expect("no fault"));
        disk.fail_name(Some((0, NameOperation::Rename)));
        assert!(disk.rename("a", "b").is_err());
        assert!(disk.rename("a", "b").is_ok());
    }

    #[test]
    fn a_read_fails_once() {
        let disk = MemoryDisk::new(1);
        let file = disk.create("a").expect("no fault");
        file.write_at(b"x", 0).expect("no fault");
        disk.fail_read(Some(0));
        assert!(file.read_at(&mut [0], 0).is_err());
        assert_eq!(file.read_at(&mut [0], 0).expect("it failed once"), 1);
    }

    #[test]
    fn names_survive_in_any_order_where_the_disk_is_set_so() {
        let disk = MemoryDisk::new(1);
        for name in ["a", "b"] {
            drop(disk.create(name).expect("no fault"));
        }
        disk.names_in_any_order(true);
        let mut asked = 0;
        disk.crash(&mut |_| {
            asked += 1;
            usize::from(asked == 2)
        });
        assert_eq!(disk.files(), [("b".to_owned(), 0)]);
    }

    #[test]
    fn a_rename_never_gives_its_name_to_another_file() {
        let disk = MemoryDisk::new(1);
        drop(disk.create("a").expect("no fault"));
        disk.remove("a").expect("no fault");
        disk.create("b").expect("no fault").write_at(b"x", 0).expect("no fault");
        disk.rename("b", "a").expect("no fault");
        disk.rename("a", "c").expect("no fault");
        disk.names_in_any_order(true);
        // The first `a` is there and was not removed; the file that was renamed to `a` and `c` has kept the name `b`.
        let mut asked = 0;
        disk.crash(&mut |_| {
            asked += 1;
            usize::from([1, 3, 5].contains(&asked))
        });
        assert_eq!(disk.files(), [("a".to_owned(), 0), ("b".to_owned(), 0)]);
    }

    #[test]
    fn a_fork_has_the_same_files_and_goes_its_own_way() {
        let disk = MemoryDisk::new(1);
        disk.create("a").expect("no fault").write_at(b"x", 0).expect("no fault");
        let fork = disk.fork();
        disk.remove("a").expect("no fault");
        fork.crash(&mut |_| 0);
        assert_eq!(fork.content("a").as_deref(), Some(&b"x"[..]));
    }
}
