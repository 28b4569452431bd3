//! A folder whose checksums are right and whose events are wrong: a start refuses it, and a replay
//! reports the same, without a start.

use crate::fixture;

use fixture::{Data, placed, put, queue, soon};
use stadium_journal::conformance::{append, make_durable};
use stadium_journal::inspect::Inspection;
use stadium_journal::{FileJournal, Opening, Options, Position};
use stadium_queue::Command;
use stadium_shard::{Error, Shards, replay};

/// Bytes in front of a record's first section, and of the header of that.
const HEADER_BYTES: usize = 24;

/// The folder of the shard's journal, and how it is opened.
fn journal(data: &Data) -> (std::path::PathBuf, Options) {
    let folder = data.path().join("shard-0000/journal");
    (folder, Options { opening: Opening::default(), ..data.settings().journal })
}

/// The body of the last record with events of the queues.
fn last_record(data: &Data) -> Vec<u8> {
    let (folder, _) = journal(data);
    let mut reader = Inspection::open(&folder).expect("it is a journal").reader().expect("it is whole");
    reader.seek(Position::START).expect("it begins there");
    let mut last = Vec::new();
    while let Some(record) = reader.next().expect("it is whole") {
        if record.body.len() > HEADER_BYTES {
            last = record.body.to_vec();
        }
    }
    last
}

#[test]
fn a_replay_names_the_damage_that_a_start_refuses_and_changes_nothing() {
    let data = Data::new(1);
    let shards = data.open();
    placed(&shards, put("mail", "one"));
    data.stop(shards);
    // There is a checkpoint now, and there are records behind it.
    let shards = data.open();
    placed(&shards, put("mail", "two"));
    soon(&shards, Command::Pause { queue: queue("mail") }).expect("it is paused");
    data.stop(shards);
    let sound = replay(&data.path(), 0).expect("it is sound");
    assert!(sound.checkpoint > Position::START, "{sound:?}");

    let mut body = last_record(&data);
    assert!(body.len() > HEADER_BYTES, "there is a record with events");
    body[HEADER_BYTES..].fill(0xff);
    let (folder, options) = journal(&data);
    let mut written = FileJournal::open(&folder, &options).expect("nobody has it open");
    let wrong_at = append(&mut written, &body);
    append(&mut written, &body);
    make_durable(&mut written);
    drop(written);

    let files = || -> Vec<_> {
        let list = std::fs::read_dir(&folder).expect("a folder");
        let mut all: Vec<_> = list
            .map(|entry| entry.expect("an entry").path())
            .map(|path| (path.clone(), std::fs::read(path).expect("a file")))
            .collect();
        all.sort();
        all
    };
    let before = files();
    let report = Inspection::open(&folder).and_then(|journal| journal.verify(sound.checkpoint));
    assert_eq!(report.expect("it can be read").damages, [], "all checksums are right");
    let Err(Error::Corrupt { position, what }) = replay(&data.path(), 0) else { panic!("it is wrong") };
    assert_eq!(position, wrong_at);
    assert!(before == files(), "a replay changes nothing");
    match Shards::open(data.settings(), |_, _| ()).map(drop) {
        Err(Error::Corrupt { position: refused_at, what: reason }) => {
            assert_eq!((refused_at, reason), (position, what), "a start reports the same");
        }
        other => panic!("{other:?}"),
    }
}
