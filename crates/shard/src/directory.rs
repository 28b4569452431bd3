//! The data directory of the shards is opened for one number of shards, and for no other.
//!
//! The journal's crate has the layout of the directory ([`stadium_journal::shards`]).

use std::io;
use std::path::Path;

use stadium_journal::shards::{self, COUNT_MAX, VERSION};

pub(crate) use stadium_journal::shards::folder as shard;

use crate::Error;

/// More shards start only where disk and descriptors suffice for all of them; fewer start with what there is.
const FEW_SHARDS: u16 = 16;

/// Descriptors that the process needs beside those of its shards, at least.
const OTHER_DESCRIPTORS: u64 = 128;

/// Checks that a process with a limit of descriptors can hold those of so many shards.
///
/// # Errors
///
/// It cannot.
pub(crate) fn check_descriptors(count: u16, needed: u64, limit: u64) -> Result<(), Error> {
    let needed = needed + OTHER_DESCRIPTORS;
    if count > FEW_SHARDS && limit < needed {
        return Err(Error::Descriptors { shards: count, needed, limit });
    }
    Ok(())
}

/// Makes the directory for so many shards, whose empty journals take so many bytes, or checks that it
/// was made for them.
///
/// # Errors
///
/// It was made for another number, or cannot be used, or its disk is too small.
pub(crate) fn open(directory: &Path, count: u16, bytes: u64) -> Result<(), Error> {
    check_count(count)?;
    let path = shards::file(directory);
    let failed =
        |what: &str, error: io::Error| Error::Directory(format!("{what} {}: {error}", path.display()));
    stadium_journal::make_folder(directory).map_err(|error| failed("cannot make the folder of", error))?;
    match shards::count(directory) {
        Ok(made_for) if made_for == count => Ok(()),
        Ok(made_for) => {
            Err(Error::OtherShards { made_for, asked: count, place: directory.display().to_string() })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if shard(directory, 0).exists() {
                return Err(Error::Directory(format!(
                    "{} is missing, but there are shards beside it: restore it from where the directory was copied, \
                     or write `version = {VERSION}` and `count = N` into it, N being their number",
                    path.display()
                )));
            }
            let free = stadium_journal::free_bytes(directory)
                .map_err(|error| failed("cannot measure the free room beside", error))?;
            if count > FEW_SHARDS && free < bytes {
                return Err(Error::Directory(format!(
                    "{count} empty shards take {bytes} bytes, and the disk of {} has {free} bytes free: make room, name \
                     another directory, or lower shards.count, shards.preallocated_bytes_max or journal.segment_bytes",
                    directory.display()
                )));
            }
            shards::write(directory, count).map_err(|error| failed("cannot write", error))
        }
        Err(error) => Err(failed("cannot read", error)),
    }
}

/// Whether there can be so many shards.
///
/// # Errors
///
/// There cannot.
pub(crate) fn check_count(count: u16) -> Result<(), Error> {
    if count == 0 || count > COUNT_MAX {
        return Err(Error::Directory(format!(
            "there can be 1 to {COUNT_MAX} shards, not {count}: see shards.count"
        )));
    }
    Ok(())
}

/// For how many shards the directory was made.
///
/// # Errors
///
/// The number is unknown.
pub(crate) fn count(directory: &Path) -> Result<u16, Error> {
    shards::count(directory)
        .map_err(|error| Error::Directory(format!("{}: {error}", shards::file(directory).display())))
}

#[cfg(test)]
mod tests {
    use super::{check_descriptors, open, shard};
    use crate::Error;

    #[test]
    fn a_directory_keeps_its_number_of_shards() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("data");
        open(&path, 2, 0).expect("it is made");
        open(&path, 2, 0).expect("it is the same");
        assert!(matches!(open(&path, 3, 0), Err(Error::OtherShards { made_for: 2, asked: 3, .. })));
    }

    #[test]
    fn a_lost_file_is_not_made_again_beside_shards() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(shard(directory.path(), 0)).expect("a folder");
        let error = open(directory.path(), 2, 0).expect_err("the number is not known");
        assert!(error.to_string().contains("count = N"), "{error}");
    }

    #[test]
    fn a_bad_number_of_shards_is_refused() {
        for text in [
            "",
            "version = 1",
            "version = 2\ncount = 1",
            "version = 1\ncount = 0",
            "version = 1\ncount = 2000",
        ] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            std::fs::write(directory.path().join("shards"), text).expect("written");
            assert!(matches!(open(directory.path(), 1, 0), Err(Error::Directory(_))), "{text:?}");
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        assert!(open(directory.path(), 0, 0).is_err());
        assert!(open(directory.path(), 1_025, 0).is_err());
    }

    #[test]
    fn many_shards_need_descriptors_for_all_of_them() {
        check_descriptors(1_024, 12 * 1_024, 20_000).expect("they suffice");
        check_descriptors(16, 12 * 16, 64).expect("few take what there is");
        let error = check_descriptors(1_024, 12 * 1_024, 4_096).expect_err("they do not").to_string();
        assert!(
            error.contains("12416") && error.contains("4096") && error.contains("LimitNOFILE"),
            "{error}"
        );
    }

    #[test]
    fn many_shards_need_room_for_all_of_them() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("data");
        let error = open(&path, 17, u64::MAX).expect_err("no disk is so large").to_string();
        assert!(error.contains("shards.preallocated_bytes_max") && error.contains("SHARD-012"), "{error}");
        open(&path, 16, u64::MAX).expect("few take what there is");
    }
}
