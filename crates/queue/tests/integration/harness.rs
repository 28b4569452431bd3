//! A harness for behaviours: one shard's queues, a clock that stands until it is moved, and a
//! journal that is a list of records.
//!
//! Everything that is executed is kept, so that a test can end with a replay and compare.

use bytes::Bytes;
use stadium_queue::{
    Answer, Bounds, Command, Given, HistoryEntry, JobId, JobView, Key, Lease, NewJob, Outcome, PayloadAt,
    Place, Placed, PrincipalId, QueueName, QueueSettings, QueueStats, Queues, Record, Refusal, Reserved,
    Time, When,
};
use stadium_state_machine::Checkpointed as _;

/// Bytes in front of each record's events.
const HEADER: usize = 16;

pub struct Harness {
    pub queues: Queues,
    pub now: Time,
    pub place: Place,
    pub bounds: Bounds,
    /// The principal that puts jobs from now on.
    pub principal: Option<PrincipalId>,
    end: u64,
    random: u64,
    pub records: Vec<(u64, Time, Vec<u8>)>,
}

pub fn queue(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

pub fn key(name: &str) -> Key {
    Key::new(name).unwrap()
}

pub fn job(payload: &str) -> NewJob {
    NewJob { payload: Bytes::copy_from_slice(payload.as_bytes()), ..NewJob::default() }
}

pub fn after(payload: &str, delay: u64) -> NewJob {
    NewJob { when: When::After(delay), ..job(payload) }
}

pub fn keyed(payload: &str, name: &str) -> NewJob {
    NewJob { key: Some(key(name)), ..job(payload) }
}

impl Harness {
    pub fn new() -> Self {
        Self::with(Bounds::default(), Place { shard: 0, shards: 1, hash_seed: 7 })
    }

    pub fn with(bounds: Bounds, place: Place) -> Self {
        let queues = Queues::new(place, bounds.clone());
        let now = Time(1_800_000_000_000);
        Self { queues, now, place, bounds, principal: None, end: 64, random: 1, records: Vec::new() }
    }

    /// Runs something that may write a record, and keeps the record.
    pub fn record<T>(&mut self, run: impl FnOnce(&mut Queues, u64, Time, u64, &mut Record) -> T) -> T {
        let mut record = Record::new();
        record.begin(HEADER);
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (at, now) = (self.end, self.now);
        let result = run(&mut self.queues, at, now, self.random, &mut record);
        if !record.is_empty() {
            self.end += record.bytes().len() as u64;
            self.records.push((at, now, record.bytes().to_vec()));
        }
        result
    }

    pub fn ask(&mut self, command: Command) -> Result<Answer, Refusal> {
        self.record(|queues, at, now, random, record| {
            let answer = queues.execute(at, now, random, &command, record);
            assert!(answer.is_ok() || record.is_empty(), "a refusal leaves no event: {command:?}");
            answer
        })
    }

    /// Time goes on, and everything that it brings happens.
    pub fn pass(&mut self, milliseconds: u64) {
        self.now = self.now.after(milliseconds);
        self.tick();
    }

    pub fn tick(&mut self) {
        while self.record(|queues, at, now, random, record| queues.tick(at, now, random, record, 100)).more {}
    }

    pub fn try_put(&mut self, name: &str, jobs: Vec<NewJob>) -> Result<Vec<Placed>, Refusal> {
        match self.ask(Command::Put { queue: queue(name), jobs, principal: self.principal.clone() })? {
            Answer::Placed(placed) => Ok(placed),
            other => panic!("a put is answered by {other:?}"),
        }
    }

    pub fn put(&mut self, name: &str, new: NewJob) -> JobId {
        self.try_put(name, vec![new]).unwrap()[0].job
    }

    pub fn try_reserve(&mut self, name: &str, jobs_max: u32) -> Result<Vec<Reserved<PayloadAt>>, Refusal> {
        let command = Command::Reserve { queue: queue(name), jobs_max, lease: None, wait: 0, worker: None };
        match self.ask(command)? {
            Answer::Reserved(reserved) => Ok(reserved),
            other => panic!("a reserve is answered by {other:?}"),
        }
    }

    /// Reserves up to so many, and answers their leases.
    pub fn reserve(&mut self, name: &str, jobs_max: u32) -> Vec<Lease> {
        self.try_reserve(name, jobs_max).unwrap().into_iter().map(|reserved| reserved.lease).collect()
    }

    /// Reserves up to so many, and returns the text of their payloads.
    pub fn work(&mut self, name: &str, jobs_max: u32) -> Vec<String> {
        let reserved = self.try_reserve(name, jobs_max).unwrap();
        reserved.into_iter().map(|reserved| self.read(reserved.payload)).collect()
    }

    /// A payload, as the shard would read it: its checksum stands in front of it.
    pub fn bytes(&self, payload: PayloadAt) -> Vec<u8> {
        let (_, _, record) =
            self.records.iter().find(|(at, ..)| *at == payload.record).expect("the record is there");
        let at = payload.offset as usize;
        let bytes = &record[at..at + payload.length as usize];
        let checksum = u32::from_le_bytes(record[at - 4..at].try_into().unwrap());
        assert_eq!(checksum, crc32c::crc32c(bytes), "the checksum stands before the payload");
        bytes.to_vec()
    }

    pub fn read(&self, payload: PayloadAt) -> String {
        String::from_utf8(self.bytes(payload)).unwrap()
    }

    pub fn given(&mut self, command: Command) -> Vec<Outcome> {
        match self.ask(command).unwrap() {
            Answer::Given(given) => given,
            other => panic!("answered by {other:?}"),
        }
    }

    pub fn settle(&mut self, lease: Lease) -> Outcome {
        self.given(Command::Settle { leases: vec![lease] }).remove(0)
    }

    pub fn settle_all(&mut self, leases: Vec<Lease>) {
        for outcome in self.given(Command::Settle { leases }) {
            assert_eq!(outcome, Ok(Given::Done));
        }
    }

    pub fn release(&mut self, lease: Lease, retry: stadium_queue::Retry) -> Outcome {
        let error = Some("it did not work".to_owned());
        self.given(Command::Release { leases: vec![lease], retry, error }).remove(0)
    }

    pub fn count(&mut self, command: Command) -> u64 {
        match self.ask(command).unwrap() {
            Answer::Count(count) => count,
            other => panic!("answered by {other:?}"),
        }
    }

    pub fn done(&mut self, command: Command) {
        assert_eq!(self.ask(command), Ok(Answer::Done));
    }

    pub fn declare(&mut self, name: &str, settings: QueueSettings) {
        self.done(Command::Declare { queue: queue(name), settings });
    }

    pub fn jobs(&mut self, command: Command) -> Vec<JobView<PayloadAt>> {
        match self.ask(command).unwrap() {
            Answer::Jobs(jobs) => jobs,
            other => panic!("answered by {other:?}"),
        }
    }

    pub fn find(&mut self, job: JobId) -> JobView<PayloadAt> {
        self.jobs(Command::Find { job }).remove(0)
    }

    pub fn stats(&mut self, name: &str) -> QueueStats {
        match self.ask(Command::Stats { queue: queue(name) }).unwrap() {
            Answer::Queues(mut queues) => queues.remove(0),
            other => panic!("answered by {other:?}"),
        }
    }

    /// Everything that happened to a job, newest first, as the shard would read it.
    pub fn history(&self, job: JobId) -> Vec<HistoryEntry> {
        let mut entries = Vec::new();
        let mut next = self.queues.history_start(job);
        while let Some(at) = next {
            let (_, time, bytes) =
                self.records.iter().find(|(of, ..)| *of == at).expect("the record is there");
            let events = &bytes[HEADER..];
            next = self.queues.history(job, at, *time, HEADER as u32, events, &mut entries).unwrap();
        }
        entries
    }

    /// The queues that a replay of all records makes.
    pub fn replayed(&self) -> Queues {
        let mut queues = Queues::new(self.place, self.bounds.clone());
        self.replay_into(&mut queues, 0);
        queues
    }

    pub fn replay_into(&self, queues: &mut Queues, from: usize) {
        for (at, time, bytes) in &self.records[from..] {
            queues.apply(*at, *time, HEADER as u32, &bytes[HEADER..]).unwrap();
        }
    }

    /// The server crashes and comes back.
    pub fn crash(&mut self) {
        self.queues = self.replayed();
        self.tick();
    }
}

/// A whole checkpoint, in chunks.
pub fn checkpoint(queues: &mut Queues, bytes_max: usize) -> Vec<Vec<u8>> {
    queues.checkpoint_begin();
    let mut chunks = Vec::new();
    loop {
        let mut chunk = Vec::new();
        let more = queues.checkpoint_next(&mut chunk, bytes_max);
        chunks.push(chunk);
        if !more {
            return chunks;
        }
    }
}

pub fn restored(place: Place, bounds: &Bounds, chunks: &[Vec<u8>]) -> Queues {
    let mut queues = Queues::new(place, bounds.clone());
    chunks.iter().for_each(|chunk| queues.restore(chunk).unwrap());
    queues.restore_finish().unwrap();
    queues
}
