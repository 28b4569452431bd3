//! A restore: the refusals, and the checkpoints that it leaves out.

use std::fs;
use std::path::{Path, PathBuf};

use stadium_archive::Error;
use stadium_journal::Journal as _;
use stadium_journal::inspect::Inspection;

use crate::shard::{Shard, files_in, mark, newest, no_grace, run, shard_archive, store};

/// A shard with two checkpoints and segments, stored in a folder.
async fn stored(to: &Path) -> Shard {
    let mut shard = Shard::new(1);
    for _ in 0..2 {
        shard.write(20);
        shard.checkpoint(5000);
    }
    store(&mut shard_archive(to, &no_grace()).await, &shard.books()).await.expect("it is stored");
    shard
}

/// The objects of a shard in a folder that is an archive, sorted by name.
fn objects(to: &Path, part: &str) -> Vec<PathBuf> {
    let listed = fs::read_dir(to.join("shard-0001").join(part)).expect("it is there");
    let mut paths: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("it is there");
    bytes[at] ^= 1;
    fs::write(path, bytes).expect("it is written");
}

#[test]
fn the_ordinary_opening_goes_on_from_a_restored_folder() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let parent = tempfile::tempdir().expect("a folder can be had");
    let folder = parent.path().join("shard-0001");
    run(async {
        let shard = stored(to.path()).await;
        let files = shard.files();
        shard_archive(to.path(), &no_grace()).await.restore(&folder, &mut |_| {}).await.expect("it is whole");
        assert_eq!(files_in(&folder), files);
    });
    let report = Inspection::open(&folder.join("journal")).expect("it is a journal");
    let report = report.verify(newest(&folder, 1)).expect("it can be read");
    // The last segment is full, and the log has what follows it.
    assert!(report.damages.iter().all(|damage| damage.what.contains("missing")), "{report:?}");
    assert!(!parent.path().join("shard-0001.unfinished").exists());
}

#[test]
fn a_folder_that_holds_something_is_refused() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let folder = tempfile::tempdir().expect("a folder can be had");
    fs::write(folder.path().join("file"), "mine").expect("it is written");
    run(async {
        stored(to.path()).await;
        let archive = shard_archive(to.path(), &no_grace()).await;
        let error = archive.restore(folder.path(), &mut |_| {}).await.expect_err("it is not empty");
        assert!(matches!(error, Error::NotEmpty(_)), "{error}");
        assert_eq!(fs::read(folder.path().join("file")).expect("it stays"), b"mine");
        // An empty one is taken, and so are remains of a restore that was interrupted.
        fs::remove_file(folder.path().join("file")).expect("it is removed");
        let remains = PathBuf::from(format!("{}.unfinished", folder.path().display()));
        fs::create_dir_all(remains.join("journal")).expect("it is made");
        archive.restore(folder.path(), &mut |_| {}).await.expect("it is empty");
        assert!(!remains.exists());
    });
}

#[test]
fn damage_in_the_newest_checkpoint_leaves_the_older_one_and_its_mark() {
    for damage in ["flipped", "cut", "missing"] {
        let to = tempfile::tempdir().expect("a folder can be had");
        let parent = tempfile::tempdir().expect("a folder can be had");
        let folder = parent.path().join("shard");
        run(async {
            let shard = stored(to.path()).await;
            let object = objects(to.path(), "checkpoints").pop().expect("two are there");
            match damage {
                "flipped" => flip(&object, 3000),
                "cut" => {
                    fs::write(&object, &fs::read(&object).expect("it is read")[..3000]).expect("written")
                }
                _ => fs::remove_file(&object).expect("it is removed"),
            }
            let archive = shard_archive(to.path(), &no_grace()).await;
            let restored = archive.restore(&folder, &mut |_| {}).await.expect("the older one is whole");
            let older = shard.books().checkpoints[1].position;
            assert_eq!((restored.checkpoint, &restored.mark), (older, &mark(older)), "{damage}");
            assert_eq!(restored.left_out.len(), 1, "{restored:?}");
            assert_eq!(newest(&folder, 1), older);
        });
    }
}

#[test]
fn other_damage_is_named_and_nothing_gets_the_folder_s_name() {
    for (part, name) in [("segments", ".segment"), ("checkpoints", ".checkpoint"), ("manifests", ".manifest")]
    {
        let to = tempfile::tempdir().expect("a folder can be had");
        let parent = tempfile::tempdir().expect("a folder can be had");
        let folder = parent.path().join("shard");
        run(async {
            stored(to.path()).await;
            for object in objects(to.path(), part) {
                flip(&object, 70);
            }
            let archive = shard_archive(to.path(), &no_grace()).await;
            let error = archive.restore(&folder, &mut |_| {}).await.expect_err("it is damaged");
            assert!(matches!(&error, Error::Damaged(what) if what.contains(name)), "{part}: {error}");
            assert!(!folder.exists());
        });
    }
}

#[test]
fn a_restored_journal_has_a_greater_epoch_when_it_is_opened() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let mut shard = Shard::new(1);
    shard.write(3);
    let epoch = shard.books().epoch;
    let folder = shard.stop();
    let parent = tempfile::tempdir().expect("a folder can be had");
    run(async {
        // All of a journal that is closed, its open segment too.
        let books = stadium_archive::Books::of_stopped(folder.path()).expect("it is whole");
        let mut archive = shard_archive(to.path(), &no_grace()).await;
        store(&mut archive, &books).await.expect("it is stored");
        let restored = archive.restore(&parent.path().join("shard"), &mut |_| {}).await.expect("it is whole");
        assert_eq!((restored.epoch, restored.mark), (epoch, Vec::new()));
    });
    assert_eq!(files_in(&parent.path().join("shard")), files_in(folder.path()));
    let options = stadium_journal::Options { shard: 1, ..stadium_journal::Options::default() };
    let journal = stadium_journal::FileJournal::open(&parent.path().join("shard/journal"), &options);
    assert!(journal.expect("it opens").epoch() > epoch);
}
