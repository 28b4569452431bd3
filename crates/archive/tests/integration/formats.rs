//! Fixtures of the format: they are read for ever, and written the same.

use std::fs;
use std::path::{Path, PathBuf};

use stadium_archive::{Archive, SegmentState, Settings};
use stadium_journal::{Epoch, JournalId, Position, SegmentNumber};

use crate::shard::{files_in, place, run};

/// An archive of two shards, of which shard 1 has a manifest, and a cut.
fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1")
}

#[test]
fn version_1_is_read() {
    run(async {
        let archive = Archive::open(place(&fixture()).await, &Settings::default()).await.expect("it is one");
        assert_eq!(archive.shards(), 2);
        let shard = archive.shard(1).expect("there are two");
        let manifest = shard.newest().await.expect("it is whole").expect("there is one");
        assert_eq!((manifest.shard(), manifest.number()), (1, 1));
        assert_eq!(manifest.epoch(), Epoch(1));
        assert_ne!(manifest.journal(), JournalId(0));
        let [checkpoint] = manifest.checkpoints() else { panic!("it has one: {manifest:?}") };
        assert_eq!(checkpoint.mark, b"a mark of the log");
        let [sealed, open, prepared] = manifest.segments() else { panic!("it has three: {manifest:?}") };
        assert_eq!((sealed.number, sealed.base), (SegmentNumber(1), Position(0)));
        assert_eq!((sealed.state, open.state), (SegmentState::Sealed, SegmentState::Open));
        assert_eq!((prepared.state, prepared.stored_bytes), (SegmentState::Open, 64));
        assert!(open.stored_bytes < open.bytes, "zeros at the end are not stored");
        let cut = archive.newest_cut().await.expect("it is whole").expect("there is one");
        assert_eq!((cut.number(), cut.manifests()), (1, &[1, 1][..]));

        let parent = tempfile::tempdir().expect("a folder can be had");
        let folder = parent.path().join("shard");
        let restored = shard.restore(&folder, &mut |_| {}).await.expect("it is whole");
        assert_eq!(restored.checkpoint, checkpoint.position);
        assert_eq!(files_in(&folder).len(), 4);
    });
}

#[test]
fn a_newer_version_is_not_taken_for_damage() {
    let folder = tempfile::tempdir().expect("a folder can be had");
    let mut object = fs::read(fixture().join("archive")).expect("it is there");
    object[8] = 2;
    let body = object.len() - 4;
    let sum = crc32c(&object[..body]);
    object[body..].copy_from_slice(&sum.to_le_bytes());
    fs::write(folder.path().join("archive"), &object).expect("it is written");
    run(async {
        let opened = Archive::open(place(folder.path()).await, &Settings::default()).await;
        assert_eq!(opened.expect_err("it is newer").code(), "ARC-007");
    });
    object[12] ^= 1;
    fs::write(folder.path().join("archive"), &object).expect("it is written");
    run(async {
        let opened = Archive::open(place(folder.path()).await, &Settings::default()).await;
        assert_eq!(opened.expect_err("it is damaged").code(), "ARC-009");
    });
}

/// CRC-32C bit by bit, as the standard defines it.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0x82F6_3B78 & (sum & 1).wrapping_neg()))
    })
}
