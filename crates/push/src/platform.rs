//! The push platform of one shard.

use stadium_machine::{Incoming, Place, Record, StateMachine};

use crate::refusal::{EARLY, busy};
use crate::{Answer, Bounds, Command, Corrupt, Letter, Refusal, Time, ToEdge};

/// Apps, their devices, and the pushes for them, on one shard.
pub struct Platform {
    place: Place,
    bounds: Bounds,
    to_edge: Vec<ToEdge>,
}

impl Platform {
    /// An empty one, which knows the app `default`.
    pub fn new(place: Place, bounds: Bounds) -> Self {
        Self { place, bounds, to_edge: Vec::new() }
    }

    /// Takes what the last execute, tick or receive decided to send to the edge. It goes when the record is durable.
    pub fn take_to_edge(&mut self, out: &mut Vec<ToEdge>) {
        out.append(&mut self.to_edge);
    }
}

impl StateMachine for Platform {
    type Command = Command;
    type Answer = Answer;
    type Letter = Letter;

    fn is_read(_command: &Command) -> bool {
        true
    }

    fn may_use_reserve(command: &Command) -> bool {
        matches!(command, Command::Presence { .. } | Command::Progress { .. })
    }

    fn record_bytes_max(&self, _command: &Command) -> usize {
        0
    }

    fn read(&mut self, _now: Time, _command: &Command) -> Result<Answer, Refusal> {
        let (place, bounds) = (self.place, &self.bounds);
        Err(busy(EARLY, 1_000, format!("shard {} learns this just now, up to {} apps", place.shard, bounds.apps_max)))
    }

    fn execute(&mut self, _: u64, now: Time, _: u64, command: &Command, _: &mut Record) -> Result<Answer, Refusal> {
        self.read(now, command)
    }

    fn tick(&mut self, _: u64, _: Time, _: u64, _: &mut Record, _: u32) -> bool {
        false
    }

    fn tick_bytes_max(&self, _events_max: u32) -> usize {
        0
    }

    fn next_deadline(&self) -> Option<Time> {
        None
    }

    fn apply(&mut self, _: u64, _: Time, _: &[u8]) -> Result<(), Corrupt> {
        Ok(())
    }

    fn checkpoint_begin(&mut self) {}

    fn checkpoint_next(&mut self, _: &mut Vec<u8>, _: usize) -> bool {
        false
    }

    fn checkpoint_abort(&mut self) {}

    fn restore(&mut self, _: &[u8]) -> Result<(), Corrupt> {
        Ok(())
    }

    fn restore_finish(&mut self) -> Result<(), Corrupt> {
        Ok(())
    }

    fn bytes(&self) -> usize {
        0
    }

    fn receive(&mut self, _: u64, _: Time, _: Incoming, _: &Letter, _: &mut Record) -> Result<(), Refusal> {
        Err(busy(EARLY, 1_000, "not yet"))
    }
}
