//! Tar archives that come out the same from the same files: sorted, one time, owned by numbers.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context as _, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{EntryType, Header};

/// An entry of an archive, under its path there.
#[derive(Clone)]
enum Content {
    Folder,
    File(Vec<u8>),
    Link(String),
}

struct Entry {
    content: Content,
    mode: u32,
    owner: u64,
}

/// An archive that is being collected.
pub(super) struct Archive {
    entries: BTreeMap<String, Entry>,
    epoch: u64,
}

impl Archive {
    /// An empty one; all its entries will have this time, in seconds since 1970.
    pub(super) fn new(epoch: u64) -> Self {
        Self { entries: BTreeMap::new(), epoch }
    }

    /// Adds a file of root, and the folders that it lies in.
    pub(super) fn file(&mut self, path: &str, mode: u32, bytes: impl Into<Vec<u8>>) {
        self.add(path, Entry { content: Content::File(bytes.into()), mode, owner: 0 });
    }

    /// Adds a folder of this user and group.
    pub(super) fn folder(&mut self, path: &str, mode: u32, owner: u64) {
        self.add(path, Entry { content: Content::Folder, mode, owner });
    }

    /// Adds a symbolic link.
    pub(super) fn link(&mut self, path: &str, target: &str) {
        self.add(path, Entry { content: Content::Link(target.to_owned()), mode: 0o777, owner: 0 });
    }

    fn add(&mut self, path: &str, entry: Entry) {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        for folder in above.filter(|folder| !folder.is_empty()) {
            let folder = folder.to_owned();
            self.entries.entry(folder).or_insert(Entry { content: Content::Folder, mode: 0o755, owner: 0 });
        }
        self.entries.insert(path.to_owned(), entry);
    }

    /// The uncompressed archive.
    pub(super) fn tar(&self) -> Result<Vec<u8>> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, entry) in &self.entries {
            let mut header = Header::new_gnu();
            header.set_mode(entry.mode);
            header.set_mtime(self.epoch);
            header.set_uid(entry.owner);
            header.set_gid(entry.owner);
            let added = match &entry.content {
                Content::Folder => {
                    header.set_entry_type(EntryType::Directory);
                    header.set_size(0);
                    builder.append_data(&mut header, format!("{path}/"), std::io::empty())
                }
                Content::File(bytes) => {
                    header.set_entry_type(EntryType::Regular);
                    header.set_size(bytes.len() as u64);
                    builder.append_data(&mut header, path, bytes.as_slice())
                }
                Content::Link(target) => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_size(0);
                    builder.append_link(&mut header, path, target)
                }
            };
            added.with_context(|| format!("{path} does not fit into an archive"))?;
        }
        Ok(builder.into_inner()?)
    }
}

/// Compresses with gzip, without the time and the name of the machine. The best level takes five
/// times as long for half a percent.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::{Archive, gzip};

    #[test]
    fn the_order_of_additions_does_not_show() {
        let mut first = Archive::new(1);
        first.file("a/b/c", 0o644, "text");
        first.link("a/d", "b/c");
        let mut second = Archive::new(1);
        second.link("a/d", "b/c");
        second.file("a/b/c", 0o644, "text");
        assert_eq!(first.tar().expect("it fits"), second.tar().expect("it fits"));
    }

    #[test]
    fn a_folder_keeps_its_mode_and_owner_whatever_is_added_below_it() {
        let mut archive = Archive::new(7);
        archive.folder("data", 0o700, 10_001);
        archive.file("data/file", 0o600, "x");
        let tar = archive.tar().expect("it fits");
        let mut entries = tar::Archive::new(tar.as_slice());
        let headers: Vec<_> = entries
            .entries()
            .expect("it is an archive")
            .map(|entry| {
                let entry = entry.expect("it is whole");
                let header = entry.header();
                let number = |value: std::io::Result<u64>| value.expect("it is a number");
                let path = entry.path().expect("it has a path").display().to_string();
                (path, header.mode().expect("it has one"), number(header.uid()), number(header.mtime()))
            })
            .collect();
        assert_eq!(headers, [("data/".into(), 0o700, 10_001, 7), ("data/file".into(), 0o600, 0, 7)]);
    }

    #[test]
    fn what_was_compressed_comes_back_and_carries_no_time() {
        let packed = gzip(b"stadium").expect("memory takes it");
        assert_eq!(packed[4..8], [0; 4], "RFC 1952, 2.3: MTIME");
        let mut text = String::new();
        GzDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("it is gzip");
        assert_eq!(text, "stadium");
    }
}
