//! A machine whose records are only counted, so that nothing but it allocates: for the tests of memory.

use stadium_queue::{Answer, Bounds, Command, PayloadChange, Place, Queues, Record, Time};

pub const PLACE: Place = Place { shard: 0, shards: 1, hash_seed: 1 };

pub fn bounds() -> Bounds {
    Bounds { finished_max: 500, ..Bounds::default() }
}

pub struct Driver {
    pub queues: Queues,
    pub record: Record,
    pub at: u64,
    pub now: Time,
    changes: Vec<PayloadChange>,
}

impl Driver {
    pub fn new() -> Self {
        let queues = Queues::new(PLACE, bounds());
        let (record, now) = (Record::new(), Time(1_800_000_000_000));
        Self { queues, record, at: 64, now, changes: Vec::new() }
    }

    pub fn ask(&mut self, command: &Command) -> Answer {
        self.record.begin(16);
        let answer = self.queues.execute(self.at, self.now, 1, command, &mut self.record);
        self.at += self.record.bytes().len() as u64;
        self.changes.clear();
        self.queues.take_payload_changes(&mut self.changes);
        answer.unwrap()
    }
}
