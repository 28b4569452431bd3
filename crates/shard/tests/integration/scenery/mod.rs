//! What the stories lean on: a data directory, and commands with the usual fields.

#![allow(dead_code, reason = "each story uses its part")]

pub mod machine;
pub mod town;

use std::time::{Duration, Instant};

use bytes::Bytes;
use stadium_queue::{
    Answer, Attempt, Command, JobId, Key, NewJob, Place, QueueName, QueueStats, Refusal, Reserved,
};
use stadium_shard::{Settings, Shards};

/// Far more than anything takes, so that a machine under load fails no story.
pub const LONG: Duration = Duration::from_secs(60);

/// A data directory for one story.
pub struct Data {
    directory: tempfile::TempDir,
    settings: Settings,
}

impl Data {
    pub fn new(count: u16) -> Self {
        Self::with(count, |_| ())
    }

    pub fn with(count: u16, change: impl FnOnce(&mut Settings)) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut settings = Settings::in_directory(directory.path().join("data"), count);
        settings.journal.segment_bytes = 4 << 20;
        settings.journal.reserve_bytes = 1 << 20;
        settings.journal.record_bytes_max = 2 << 20;
        change(&mut settings);
        Self { directory, settings }
    }

    pub fn settings(&self) -> Settings {
        self.settings.clone()
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("data")
    }

    pub fn open(&self) -> Shards {
        Shards::open(self.settings(), |_, _| ()).expect("the shards start")
    }

    pub fn stop(&self, shards: Shards) {
        assert!(shards.stop(LONG), "the shards stop");
    }
}

pub fn queue(name: &str) -> QueueName {
    QueueName::new(name).expect("a story's queue")
}

pub fn key(name: &str) -> Key {
    Key::new(name).expect("a story's key")
}

pub fn named(payload: &str) -> NewJob {
    NewJob { payload: Bytes::copy_from_slice(payload.as_bytes()), ..NewJob::default() }
}

pub fn put(name: &str, payload: &str) -> Command {
    Command::Put { queue: queue(name), jobs: vec![named(payload)] }
}

pub fn reserve(name: &str, jobs_max: u32) -> Command {
    wait_for(name, jobs_max, 0)
}

pub fn wait_for(name: &str, jobs_max: u32, wait: u64) -> Command {
    Command::Reserve { queue: queue(name), jobs_max, lease: Some(60_000), wait, worker: None }
}

pub fn of_text(payload: &Bytes) -> String {
    String::from_utf8(payload.to_vec()).expect("a story's payload is text")
}

/// The answer to a command.
pub fn soon(shards: &Shards, command: Command) -> Result<Answer<Bytes>, Refusal> {
    shards.submit(command).wait(LONG).expect("an answer within a minute")
}

pub fn placed(shards: &Shards, command: Command) -> Vec<JobId> {
    match soon(shards, command) {
        Ok(Answer::Placed(placed)) => placed.iter().map(|placed| placed.job).collect(),
        other => panic!("not placed: {other:?}"),
    }
}

pub fn reserved(shards: &Shards, command: Command) -> Vec<Reserved<Bytes>> {
    match soon(shards, command) {
        Ok(Answer::Reserved(jobs)) => jobs,
        other => panic!("not reserved: {other:?}"),
    }
}

pub fn stats(shards: &Shards, name: &str) -> QueueStats {
    match soon(shards, Command::Stats { queue: queue(name) }) {
        Ok(Answer::Queues(stats)) => stats.into_iter().next().expect("of one queue"),
        other => panic!("no figures: {other:?}"),
    }
}

/// Waits for a condition.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        std::thread::yield_now();
    }
}

/// Two queues that live on different shards.
pub fn two_homes(shards: u16) -> (String, String) {
    let home = |number: u32| Place::home(&queue(&format!("q{number}")), shards);
    let other = (1..).find(|&number| home(number) != home(0)).expect("names spread over shards");
    ("q0".into(), format!("q{other}"))
}

pub fn word(what: &Attempt) -> String {
    match what {
        Attempt::Put { .. } => "put",
        Attempt::Reserved { .. } => "reserved",
        Attempt::Released { error, .. } => {
            assert_eq!(error.as_deref(), Some("no answer"));
            "released"
        }
        Attempt::Settled => "settled",
        Attempt::Trimmed => "trimmed",
        other => panic!("not expected: {other:?}"),
    }
    .into()
}
