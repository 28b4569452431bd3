//! Bounds of documents.
//!
//! A node reads all keys of its cluster in pages of a thousand, of which it takes 8 MiB, and etcd takes
//! requests of 1.5 MiB. Documents stay so far below both that no node is kept from its cluster by them.

use super::known::Texts;

/// Bytes of one document. A key with all the roles, apps and grants that it may have is smaller.
const DOCUMENT_BYTES_MAX: usize = 64 * 1024;

/// Bytes of all documents with their names. 1,024 keys of a usual size have 400 KB.
const DOCUMENTS_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Documents of a cluster.
pub(super) const DOCUMENTS_MAX: usize = 2048;

/// Documents that one change writes or deletes: etcd takes 128 operations in one transaction.
const WRITTEN_MAX: usize = 100;

/// Bytes that one change writes.
const WRITTEN_BYTES_MAX: usize = 1024 * 1024;

/// Whether the documents may be changed in this way.
pub(super) fn check(before: &Texts, after: &Texts) -> Result<(), String> {
    let bytes = |(name, text): (&String, &String)| name.len() + text.len();
    let written = || after.iter().filter(|(name, text)| before.get(*name) != Some(*text));
    if let Some((name, text)) = written().find(|(_, text)| text.len() > DOCUMENT_BYTES_MAX) {
        return Err(format!(
            "{name} has {} bytes, and a document of the cluster has {DOCUMENT_BYTES_MAX} at most",
            text.len()
        ));
    }
    let gone = before.keys().filter(|name| !after.contains_key(*name)).count();
    for (what, count, most) in [
        ("documents", after.len(), DOCUMENTS_MAX),
        ("bytes of documents", after.iter().map(bytes).sum(), DOCUMENTS_BYTES_MAX),
        ("documents to write at once", written().count() + gone, WRITTEN_MAX),
        ("bytes to write at once", written().map(bytes).sum(), WRITTEN_BYTES_MAX),
    ] {
        if count > most {
            return Err(format!("{count} {what}; a cluster has {most} at most"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(count: usize, bytes: usize) -> Texts {
        (0..count).map(|number| (format!("keys/{number}"), "x".repeat(bytes))).collect()
    }

    #[test]
    fn each_bound_is_told_and_what_was_there_before_does_not_count_as_written() {
        let none = Texts::new();
        assert_eq!(check(&none, &texts(WRITTEN_MAX, 400)), Ok(()));
        assert_eq!(check(&texts(1000, 400), &texts(1001, 400)), Ok(()));
        for (before, after, words) in [
            (&none, texts(1, DOCUMENT_BYTES_MAX + 1), "has 65537 bytes"),
            (&none, texts(WRITTEN_MAX + 1, 1), "101 documents to write at once"),
            (&texts(WRITTEN_MAX + 1, 1), none.clone(), "101 documents to write at once"),
            (&none, texts(20, DOCUMENT_BYTES_MAX), "bytes to write at once"),
            (&texts(DOCUMENTS_MAX, 1), texts(DOCUMENTS_MAX + 1, 1), "2049 documents"),
            (&texts(40, 60_000), texts(41, 60_000), "bytes of documents"),
        ] {
            let refused = check(before, &after).expect_err(words);
            assert!(refused.contains(words), "{refused}");
        }
    }
}
