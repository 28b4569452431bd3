//! Backups of two shards whose journals go on meanwhile, and restores to moments of them and between
//! them. The time of a record is its first eight bytes.

use std::fs;
use std::path::{Path, PathBuf};

use stadium_archive::{
    Archive, Backup, Creation, Error, Inventory, Keep, Moment, Restoration, Settings, State, create_stopped,
    list, prune, restore,
};
use stadium_journal::inspect::Inspection;
use stadium_journal::{FileJournal, Journal as _, Opening, Options, Position, shards};
use stadium_objects::s3_server::S3Server;
use stadium_objects::{Access, Place};
use tempfile::TempDir;

use crate::shard::{Shard, newest, no_grace, run};

/// A server of two shards, and the place of its backups.
pub(crate) struct Server {
    pub(crate) data: TempDir,
    pub(crate) shards: Vec<Shard>,
    pub(crate) url: String,
    pub(crate) access: Access,
}

impl Server {
    fn new(url: String, environment: Vec<(String, String)>) -> Self {
        let data = tempfile::tempdir().expect("a folder can be had");
        let all = data.path().join("shards");
        fs::create_dir(&all).expect("it is made");
        shards::write(&all, 2).expect("it is written");
        fs::write(data.path().join("api-keys.toml"), "version = 2\n").expect("it is written");
        let open = |number: u32| {
            let name = format!("shard-{number:04}");
            let folder = tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir_in(&all);
            Shard::at(number, folder.expect("a folder can be had"))
        };
        let shards = (0..2).map(open).collect();
        Self { data, shards, url, access: Access { environment, ..Access::default() } }
    }

    pub(crate) fn in_folder(to: &TempDir) -> Self {
        Self::new(format!("file://{}/backups", to.path().display()), Vec::new())
    }

    /// Both shards write a record at each of these times.
    pub(crate) fn write(&mut self, times: impl IntoIterator<Item = u64> + Clone) {
        for shard in &mut self.shards {
            shard.write_at(times.clone());
        }
    }

    /// Backs it up as of a moment; `meanwhile` happens after the moment and before the upload.
    pub(crate) fn backup(
        &mut self,
        moment_ms: u64,
        meanwhile: impl FnOnce(&mut Self),
    ) -> Result<Backup, Error> {
        run(async {
            let opened = Inventory::open(&self.url, &self.access, 2, &no_grace()).await;
            let mut inventory = opened.expect("the store works");
            let data = self.data.path().to_owned();
            let creation = Creation::begin(&mut inventory, &data).await?;
            meanwhile(self);
            let state =
                State { moment_ms, seals: vec![None, None], version: "test".to_owned(), ..State::default() };
            creation.finish(state, None, &data, &mut |_| {}).await
        })
    }

    pub(crate) fn restore(&self, to: &Path, moment: Moment) -> Result<Restoration, Error> {
        restored(&self.url, &self.access, to, moment)
    }

    pub(crate) fn prune(&self, keep: Keep) {
        run(async {
            let place = Place::find(&self.url, &self.access).await.expect("it is there");
            let archive = Archive::open(place, &no_grace()).await.expect("it is there");
            prune(&archive, keep).await.expect("the store works");
        });
    }

    fn folder(&self) -> PathBuf {
        PathBuf::from(self.url.strip_prefix("file://").expect("it is a folder"))
    }
}

fn restored(url: &str, access: &Access, to: &Path, moment: Moment) -> Result<Restoration, Error> {
    restore(to, url, (access, None), moment, time_of, &mut |_| {}, &mut |_, _| Ok(()))
}

pub(crate) fn time_of(body: &[u8]) -> Option<u64> {
    body.first_chunk().map(|time| u64::from_le_bytes(*time))
}

/// The times of the records of a restored shard, as the ordinary opening finds them.
pub(crate) fn times(data: &Path, shard: u16) -> Vec<u64> {
    let folder = shards::folder(&data.join("shards"), shard);
    let checkpoint = newest(&folder, shard.into());
    let options = Options {
        shard: shard.into(),
        segment_bytes: 64 << 10,
        reserve_bytes: 64 << 10,
        record_bytes_max: 16 << 10,
        opening: Opening { checkpoint, ..Opening::default() },
        ..Options::default()
    };
    let journal = FileJournal::open(&folder.join("journal"), &options).expect("a server would start");
    let mut reader = journal.reader();
    let first = journal.segmented().expect("it has segments").segments()[0].start;
    reader.seek(first).expect("it is there");
    let mut times = Vec::new();
    while let Some(record) = reader.next().expect("it is whole") {
        times.push(time_of(record.body).expect("it has one"));
    }
    times
}

/// The last time in both shards, which must be the same.
fn last_time(data: &Path) -> u64 {
    let last = [0, 1].map(|shard| times(data, shard).last().copied().unwrap_or(0));
    assert_eq!(last[0], last[1]);
    last[0]
}

/// Backups at 100, 200 and 300; records at each multiple of ten up to 350; checkpoints, and segments
/// that go once they are stored.
fn three_backups(server: &mut Server) {
    server.write((10..=100).step_by(10));
    server.backup(100, |server| server.write([110])).expect("it is stored");
    server.write((120..=200).step_by(10));
    for shard in &mut server.shards {
        shard.checkpoint(100);
    }
    server.backup(200, |server| server.write([210])).expect("it is stored");
    server.write((220..=300).step_by(10));
    for shard in &mut server.shards {
        shard.checkpoint(100);
        // Stored in the first backup, and behind the older checkpoint.
        shard.remove_oldest();
    }
    server.backup(300, |server| server.write((310..=350).step_by(10))).expect("it is stored");
}

#[test]
fn every_moment_between_the_first_and_the_last_backup_can_be_restored() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let mut server = Server::in_folder(&to);
    three_backups(&mut server);
    for (moment, last) in [
        (Moment::Newest, 300),
        (Moment::Backup(1), 100),
        (Moment::Backup(2), 200),
        (Moment::At(100), 100),
        (Moment::At(109), 100),
        (Moment::At(110), 110),
        (Moment::At(200), 200),
        (Moment::At(255), 250),
        (Moment::At(299), 290),
    ] {
        let back = to.path().join("back");
        let restored = server.restore(&back, moment).unwrap_or_else(|error| panic!("{moment:?}: {error}"));
        assert!(restored.moment_ms >= last && restored.moment_ms < last + 10, "{moment:?}");
        assert_eq!(last_time(&back), last, "{moment:?}");
        assert_eq!(fs::read(back.join("api-keys.toml")).expect("it is there"), b"version = 2\n");
        fs::remove_dir_all(&back).expect("it is removed");
    }
    for time in [99, 301] {
        let error = server.restore(&to.path().join("back"), Moment::At(time)).expect_err("it is outside");
        assert!(matches!(error, Error::NotCovered(_)), "{error}");
    }
    let (listed, all) = list(&server.url, &server.access, 2).expect("they are listed");
    assert_eq!((listed.iter().map(|backup| backup.number).collect::<Vec<_>>(), all), (vec![2, 3], 3));
}

#[test]
fn a_record_is_a_moment_too() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let mut server = Server::in_folder(&to);
    three_backups(&mut server);
    let folder = shards::folder(&server.data.path().join("shards"), 1);
    let mut reader =
        Inspection::open(&folder.join("journal")).and_then(|all| all.reader()).expect("it reads");
    reader.seek(Position::START).expect("it is there");
    let mut position = None;
    while let Some(record) = reader.next().expect("it is whole") {
        if time_of(record.body) == Some(230) {
            position = Some(record.position.0);
        }
    }
    let position = position.expect("it was written");
    let back = to.path().join("back");
    let moment = Moment::Record { shard: 1, position };
    assert_eq!(server.restore(&back, moment).expect("it is restored").moment_ms, 230);
    assert_eq!(last_time(&back), 230);
    let none = Moment::Record { shard: 1, position: position + 8 };
    let error = server.restore(&to.path().join("other"), none).expect_err("no record stands there");
    assert!(matches!(error, Error::NotCovered(_)), "{error}");
}

#[test]
fn a_restored_directory_begins_another_history() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let mut server = Server::in_folder(&to);
    three_backups(&mut server);
    let back = to.path().join("back");
    server.restore(&back, Moment::Backup(2)).expect("it is restored");
    let error = server.restore(&back, Moment::Newest).expect_err("it is not empty");
    assert!(matches!(error, Error::NotEmpty(_)), "{error}");
    let stopped = |url: &str| {
        let settings = Settings::default();
        create_stopped(&back, url, (&server.access, &settings), (None, Vec::new()), "test", &mut |_| {})
    };
    let error = stopped(&server.url).expect_err("it would mix both");
    assert!(matches!(error, Error::OtherHistory(_)), "{error}");
    let other = format!("file://{}/other", to.path().display());
    assert_eq!(stopped(&other).expect("another place has room").number, 1);
    let again = to.path().join("again");
    restored(&other, &server.access, &again, Moment::Newest).expect("it is restored");
    assert_eq!(last_time(&again), 200);
}

#[test]
fn the_oldest_backups_go_and_the_rest_can_be_restored() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let mut server = Server::in_folder(&to);
    three_backups(&mut server);
    let objects = || {
        let all = fs::read_dir(server.folder().join("shard-0000/segments")).expect("it is there");
        all.count()
    };
    let before = objects();
    server.prune(Keep { count: Some(2), age_ms: None });
    assert!(objects() < before, "the end of the first backup was stored again by the second");
    for (moment, last) in [(Moment::Backup(2), 200), (Moment::At(250), 250), (Moment::Newest, 300)] {
        let back = to.path().join("back");
        server.restore(&back, moment).unwrap_or_else(|error| panic!("{moment:?}: {error}"));
        assert_eq!(last_time(&back), last);
        fs::remove_dir_all(&back).expect("it is removed");
    }
    let error = server.restore(&to.path().join("back"), Moment::At(150)).expect_err("it went");
    assert!(matches!(error, Error::NotCovered(_)), "{error}");
    server.prune(Keep { count: Some(1), age_ms: None });
    server.restore(&to.path().join("back"), Moment::Newest).expect("the newest always stays");
}

#[test]
fn a_segment_that_went_unstored_leaves_only_the_moments_of_backups() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let mut server = Server::in_folder(&to);
    server.write((10..=50).step_by(10));
    server.backup(50, |_| {}).expect("it is stored");
    // Three segments are written; one of them is in no backup when it goes.
    server.write((60..=400).step_by(10));
    for shard in &mut server.shards {
        shard.checkpoint(100);
        shard.remove_oldest();
        shard.remove_oldest();
    }
    server.write([410]);
    server.backup(410, |_| {}).expect("it is stored");
    let back = to.path().join("back");
    let error = server.restore(&back, Moment::At(200)).expect_err("records of it are nowhere");
    assert!(matches!(error, Error::NotCovered(_)), "{error}");
    server.restore(&back, Moment::Newest).expect("it needs none of them");
    assert_eq!(last_time(&back), 410);
}

#[test]
fn a_clock_that_was_set_back_is_no_moment() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let mut server = Server::in_folder(&to);
    server.write([10, 20, 30]);
    server.backup(30, |_| {}).expect("it is stored");
    server.write([40, 50, 35, 45, 60]);
    server.backup(60, |_| {}).expect("it is stored");
    let back = to.path().join("back");
    let error = server.restore(&back, Moment::At(42)).expect_err("two records say otherwise");
    assert!(matches!(error, Error::ClockSetBack(_)), "{error}");
    server.restore(&back, Moment::At(39)).expect_err("35 comes after 40");
    server.restore(&back, Moment::Newest).expect("it is after all of them");
    let error = server.backup(55, |_| {}).expect_err("the newest moment is later");
    assert!(matches!(error, Error::ClockSetBack(_)), "{error}");
}

#[test]
fn damage_and_a_wrong_place_are_named() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let mut server = Server::in_folder(&to);
    three_backups(&mut server);
    let back = to.path().join("back");
    let wrong = format!("file://{}/nothing", to.path().display());
    let error = restored(&wrong, &server.access, &back, Moment::Newest).expect_err("nothing is there");
    assert!(matches!(error, Error::Incomplete(_)), "{error}");
    let segments = server.folder().join("shard-0001/segments");
    let names = fs::read_dir(&segments).expect("it is there").map(|entry| entry.expect("it is read").path());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    let last = names.last().expect("there are some");
    let bytes = fs::read(last).expect("it is read");
    let mut damaged = bytes.clone();
    damaged[5_000] ^= 1;
    for broken in [Some(&damaged[..]), Some(&bytes[..6_000]), None] {
        match broken {
            Some(broken) => fs::write(last, broken).expect("it is written"),
            None => fs::remove_file(last).expect("it is removed"),
        }
        let error = server.restore(&back, Moment::Newest).expect_err("it is damaged");
        assert_eq!(error.code(), "ARC-009", "{error}");
        assert!(!back.exists(), "half a restore has no name");
    }
    fs::write(last, &bytes).expect("it is written");
    server.restore(&back, Moment::Newest).expect("a restore that failed begins again");
}

#[test]
fn a_backup_that_was_interrupted_leaves_the_one_before_it() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let mut server = Server::in_folder(&to);
    three_backups(&mut server);
    server.write([360]);
    // The first shard is stored, the second one is not.
    let journal = shards::folder(&server.data.path().join("shards"), 1).join("journal");
    let away = journal.with_file_name("away");
    let failed = server.backup(360, |_| fs::rename(&journal, &away).expect("it is moved"));
    assert!(failed.is_err());
    let back = to.path().join("back");
    server.restore(&back, Moment::Newest).expect("the one before it is whole");
    assert_eq!(last_time(&back), 300);
    fs::remove_dir_all(&back).expect("it is removed");
    fs::rename(&away, &journal).expect("it is moved");
    assert_eq!(server.backup(365, |_| {}).expect("the next one goes on").number, 4);
    server.restore(&back, Moment::Newest).expect("it is restored");
    assert_eq!(last_time(&back), 360);
}

#[test]
fn backups_in_s3_send_what_is_new() {
    let store = S3Server::start("backups");
    let mut server = Server::new("s3://backups/spring".to_owned(), store.environment());
    three_backups(&mut server);
    let segments = || store.names("backups/spring/shard-0000/segments");
    let before = segments();
    // The last segment grew after the third moment. Then nothing changes.
    server.backup(400, |_| {}).expect("it is stored");
    let after = segments();
    assert!(after.len() <= before.len() + 1 && before.iter().all(|name| after.contains(name)));
    server.backup(410, |_| {}).expect("it is stored");
    assert_eq!(segments(), after, "nothing was sent again");
    let to = tempfile::tempdir().expect("a folder can be had");
    let back = to.path().join("back");
    server.restore(&back, Moment::At(245)).expect("it is restored");
    assert_eq!(last_time(&back), 240);
    store.slow_down(3);
    server.restore(&to.path().join("again"), Moment::Newest).expect("a busy store is asked again");
}
