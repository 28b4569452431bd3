//! Garbage goes, and nothing that a kept manifest or cut names.

use std::fs;
use std::path::Path;
use std::time::Duration;

use stadium_archive::{Manifest, Settings};

use crate::shard::{Shard, archive, no_grace, run, shard_archive, store};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = ["checkpoints", "segments"]
        .iter()
        .flat_map(|part| fs::read_dir(folder.join("shard-0001").join(part)).expect("it is there").flatten())
        .map(|entry| entry.file_name().into_string().expect("it is text"))
        .collect();
    names.sort();
    names
}

/// A shard that was stored three times; a segment of the first manifest is gone since.
async fn stored_thrice(to: &Path, settings: &Settings) -> (Shard, Vec<Manifest>) {
    let mut shard = Shard::new(1);
    let mut archive = shard_archive(to, settings).await;
    let mut manifests = Vec::new();
    for round in 0..3 {
        shard.write(20);
        shard.checkpoint(100);
        if round == 2 {
            shard.remove_oldest();
        }
        manifests.push(store(&mut archive, &shard.books()).await.expect("it is stored"));
    }
    (shard, manifests)
}

#[test]
fn objects_that_nothing_names_go_and_two_checkpoints_stay() {
    let to = tempfile::tempdir().expect("a folder can be had");
    run(async {
        let (shard, manifests) = stored_thrice(to.path(), &no_grace()).await;
        let archive = shard_archive(to.path(), &no_grace()).await;
        let before = names(to.path()).len();
        let collected = archive.collect(shard.books().epoch).await.expect("it is its own");
        assert_eq!(collected.manifests, 2);
        assert_eq!(collected.objects, 2, "the first checkpoint and the first segment");
        let left = names(to.path());
        assert_eq!(left.len(), before - 2);
        let newest = &manifests[2];
        assert_eq!(newest.checkpoints().len(), 2);
        assert_eq!(left.len(), newest.checkpoints().len() + newest.segments().len());
        let parent = tempfile::tempdir().expect("a folder can be had");
        archive.restore(&parent.path().join("shard"), &mut |_| {}).await.expect("nothing is missing");
    });
}

#[test]
fn within_the_grace_nothing_goes() {
    let to = tempfile::tempdir().expect("a folder can be had");
    run(async {
        let settings = Settings { grace: Duration::from_secs(600), ..Settings::default() };
        let (shard, _) = stored_thrice(to.path(), &settings).await;
        let archive = shard_archive(to.path(), &settings).await;
        let collected = archive.collect(shard.books().epoch).await.expect("it is its own");
        assert_eq!(collected, stadium_archive::Collected::default());
    });
}

#[test]
fn a_manifest_in_a_cut_keeps_its_objects() {
    let to = tempfile::tempdir().expect("a folder can be had");
    run(async {
        let (shard, manifests) = stored_thrice(to.path(), &no_grace()).await;
        let all = archive(to.path(), &no_grace()).await;
        let cut = all.cut(vec![1, manifests[0].number()]).await.expect("it is the first");
        let one = all.shard(1).expect("there are two");
        let collected = one.collect(shard.books().epoch).await.expect("it is its own");
        assert_eq!((collected.manifests, collected.objects), (1, 0), "all that the first names stays");
        assert_eq!(one.read(cut.manifests()[1]).await.expect("it is kept"), manifests[0]);
        // The next cut makes it garbage.
        all.cut(vec![1, manifests[2].number()]).await.expect("it is the next");
        assert_eq!(all.collect_cuts().await.expect("it works"), 1);
        let collected = one.collect(shard.books().epoch).await.expect("it is its own");
        assert_eq!((collected.manifests, collected.objects), (1, 2));
    });
}

#[test]
fn uploads_of_a_newer_epoch_and_foreign_files_stay() {
    let to = tempfile::tempdir().expect("a folder can be had");
    run(async {
        let (shard, _) = stored_thrice(to.path(), &no_grace()).await;
        let epoch = shard.books().epoch.0;
        let folder = to.path().join("shard-0001/segments");
        // Times of files are those of the kernel's last tick, and count whole milliseconds: some ticks later they
        // are newer than the manifest.
        std::thread::sleep(Duration::from_millis(30));
        let of = |epoch: u64| format!("{:012}.{epoch:016x}.{:016x}.segment", 9, 1);
        for name in [of(epoch), of(epoch + 1), format!("{}#3", of(epoch)), "notes.txt".to_owned()] {
            fs::write(folder.join(name), "x").expect("it is written");
        }
        let mut archive = shard_archive(to.path(), &no_grace()).await;
        archive.collect(shard.books().epoch).await.expect("it is its own");
        assert!(names(to.path()).contains(&of(epoch)), "it may be of an upload that goes on");
        std::thread::sleep(Duration::from_millis(30));
        store(&mut archive, &shard.books()).await.expect("it is stored");
        archive.collect(shard.books().epoch).await.expect("it is its own");
        let left = names(to.path());
        assert!(!left.contains(&of(epoch)), "an upload of ours that was interrupted: {left:?}");
        assert!(!left.contains(&format!("{}#3", of(epoch))), "and one in the middle: {left:?}");
        assert!(left.contains(&of(epoch + 1)) && left.contains(&"notes.txt".to_owned()), "{left:?}");
    });
}
