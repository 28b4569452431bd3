//! After an interruption at any operation the newest manifest names complete objects only, and a
//! restore gives the files of one of the states that were stored, byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use object_store::ObjectStoreExt as _;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use proptest::prelude::*;
use stadium_archive::{Archive, Books, Error, ShardArchive};
use tempfile::TempDir;

use crate::faulty::{Fault, Faulty};
use crate::shard::{Shard, files_in, newest, no_grace, place, run, store};

async fn shard_on(inner: Arc<dyn object_store::ObjectStore>, folder: &Path) -> Result<ShardArchive, Error> {
    let place = place(folder).await.with_store(inner);
    Archive::create(place, 2, &no_grace()).await?.shard(1)
}

/// A state of the shard that is stored.
struct State {
    books: Books,
    files: BTreeMap<PathBuf, Vec<u8>>,
    _folder: TempDir,
}

/// The states of one shard, one after the other, each with the files of its time.
static STATES: LazyLock<Vec<State>> = LazyLock::new(|| {
    let mut shard = Shard::new(1);
    let mut states = Vec::new();
    for round in 0..4 {
        shard.write(12);
        // The second needs an upload in parts.
        shard.checkpoint(if round == 1 { 9 << 20 } else { 100 });
        if round == 3 {
            shard.remove_oldest();
        }
        let (folder, files) = (tempfile::tempdir().expect("a folder can be had"), shard.files());
        for (name, bytes) in &files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it is made");
            fs::write(path, bytes).expect("it is written");
        }
        let books = Books { folder: folder.path().to_owned(), ..shard.books() };
        states.push(State { books, files, _folder: folder });
    }
    states
});

/// Writes, stores and collects with a fault at one operation. Returns whether it was reached.
async fn interrupted(
    fault: Fault,
    operation: u32,
    rounds: usize,
    inner: Arc<dyn object_store::ObjectStore>,
) -> bool {
    let prefix = tempfile::tempdir().expect("a folder can be had");
    let faulty = Faulty::new(Arc::clone(&inner), fault, operation);
    let states = &STATES[..rounds];
    // The last state that was acknowledged; a later one may have been stored too.
    let mut acknowledged = None;
    for (round, State { books, .. }) in states.iter().enumerate() {
        let work = async {
            let mut archive = shard_on(Arc::new(faulty.clone()), prefix.path()).await?;
            store(&mut archive, books).await?;
            Ok::<_, Error>(archive)
        };
        let ended = tokio::select! {
            ended = work => ended,
            () = faulty.killed() => break,
        };
        if let Ok(archive) = ended {
            acknowledged = Some(round);
            let collecting = archive.collect(books.epoch);
            tokio::select! {
                _ = collecting => {}
                () = faulty.killed() => break,
            }
        }
        if faulty.has_failed() && fault != Fault::After {
            break;
        }
    }
    // Another process, with a store that works.
    let mut archive = shard_on(Arc::clone(&inner), prefix.path()).await.expect("the store works");
    match archive.newest().await.expect("a manifest is whole") {
        None => assert_eq!(acknowledged, None, "an acknowledged manifest is gone"),
        Some(manifest) => {
            for segment in manifest.segments() {
                assert!(segment.stored_bytes <= segment.bytes);
            }
            let parent = tempfile::tempdir().expect("a folder can be had");
            let folder = parent.path().join("shard-0001");
            let restored = archive.restore(&folder, &mut |_| {}).await.expect("it names complete objects");
            assert!(restored.left_out.is_empty(), "{restored:?}");
            let files = files_in(&folder);
            let state =
                states.iter().rposition(|state| state.files == files).expect("it is one of the states");
            assert!(acknowledged.is_none_or(|least| state >= least), "state {state}, {acknowledged:?}");
            assert_eq!(newest(&folder, 1), restored.checkpoint);
        }
    }
    // The next upload works, and leaves nothing but what it names.
    let last = &states[rounds - 1].books;
    let manifest = store(&mut archive, last).await.expect("the store works");
    archive.collect(last.epoch).await.expect("it is its own");
    let named = manifest.segments().len() + manifest.checkpoints().len();
    let root = place(prefix.path()).await;
    let mut objects = 0;
    for part in ["checkpoints", "segments"] {
        let listed = inner.list_with_delimiter(Some(&root.object(&format!("shard-0001/{part}")))).await;
        objects += listed.expect("the store works").objects.len();
    }
    assert_eq!(objects, named);
    let marker = inner.head(&root.object("archive")).await;
    assert!(marker.is_ok(), "the archive can be opened");
    faulty.has_failed()
}

#[test]
fn every_operation_of_two_uploads_may_be_the_last() {
    for fault in [Fault::Before, Fault::After, Fault::Kill] {
        let mut operation = 0;
        while run(interrupted(fault, operation, 2, Arc::new(InMemory::new()))) {
            operation += 1;
        }
        assert!(operation > 15, "{fault:?} was tried at {operation} operations");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_interruption_of_a_folder_leaves_an_archive(
        fault in prop::sample::select(vec![Fault::Before, Fault::After, Fault::Kill]),
        operation in 0_u32..70,
        rounds in 1_usize..5,
    ) {
        run(interrupted(fault, operation, rounds, Arc::new(LocalFileSystem::new())));
    }
}
