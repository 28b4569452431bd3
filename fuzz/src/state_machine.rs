//! What must hold of every state machine of a shard once it has taken some input: it works on, it can be
//! saved, and the saved state comes back as it was.
//!
//! Ordinary functions, so that the stable `fuzz` tests of the machines' crates run them as well.

use stadium_state_machine::{Corrupt, Record, Section, StateMachine, Time};

/// Bytes of a checkpoint's chunk: small, so that each machine writes several.
const CHUNK_BYTES: usize = 200;

/// A machine under test: how an empty one is made, and what it must be able to do in any state.
pub struct Subject<M> {
    pub empty: fn() -> M,
    /// Runs commands at a time. Refusals are fine, panics are not.
    pub works: fn(&mut M, Time),
}

impl<M: StateMachine> Subject<M> {
    /// A whole checkpoint, in chunks.
    pub fn saved(&self, machine: &mut M) -> Vec<Vec<u8>> {
        machine.checkpoint_begin();
        let mut chunks = Vec::new();
        loop {
            let mut chunk = Vec::new();
            let more = machine.checkpoint_next(&mut chunk, CHUNK_BYTES);
            chunks.push(chunk);
            if !more {
                return chunks;
            }
        }
    }

    /// A machine out of a checkpoint.
    pub fn restored(&self, chunks: &[Vec<u8>]) -> Result<M, Corrupt> {
        let mut machine = (self.empty)();
        chunks.iter().try_for_each(|chunk| machine.restore(chunk))?;
        machine.restore_finish()?;
        Ok(machine)
    }

    /// Applies `data` as the events of a record. Returns whether they were taken.
    pub fn events(&self, machine: &mut M, at: u64, time: Time, data: &[u8]) -> bool {
        let described = M::describe(Section { shard: 0, at, time, offset: 0, events: data }, &mut Vec::new());
        if machine.apply(at, time, 0, data).is_err() {
            return false;
        }
        described.expect("events that are taken can be described");
        let chunks = self.saved(machine);
        let mut back = self.restored(&chunks).expect("our own checkpoint");
        assert!(self.saved(&mut back) == chunks, "a restored machine is saved in another way");
        self.goes_on(machine, time);
        self.goes_on(&mut back, time);
        true
    }

    /// Restores a checkpoint in which `data` replaces a chunk: its first byte chooses which. Returns
    /// whether it was taken.
    pub fn checkpoint(&self, mut chunks: Vec<Vec<u8>>, time: Time, data: &[u8]) -> bool {
        let Some((&which, chunk)) = data.split_first() else { return false };
        let which = usize::from(which) % chunks.len();
        chunks[which] = chunk.to_vec();
        let Ok(mut machine) = self.restored(&chunks) else { return false };
        self.goes_on(&mut machine, time);
        true
    }

    fn goes_on(&self, machine: &mut M, time: Time) {
        let mut record = Record::new();
        for after in [0, 1_000, 3_600_000, 400 * 24 * 3_600_000] {
            let now = time.after(after);
            (self.works)(machine, now);
            for _ in 0..20 {
                record.begin(0);
                let events_bytes_max = machine.tick_bytes_max(4);
                let more = machine.tick(0, now, 1, &mut record, 4);
                assert!(record.events().len() <= events_bytes_max, "a tick writes more than it announced");
                if !more {
                    break;
                }
            }
            machine.next_deadline();
            machine.outgoing(machine.outgoing_first(), &mut |_, _| None, &mut |_, _, _| {});
            machine.bytes();
        }
    }
}
