//! The state saved while it goes on changing, and taken back in.
//!
//! A chunk is a byte that names a table, then a slice of that table's own format; the first chunk holds what stands in no table.
//! docs/formats/session-events.md.

use std::sync::Arc;

use stadium_state_machine::Checkpointed;
use stadium_state_machine::encoding::{Reader, corrupt, number};
use stadium_table::{Restored, Table};

use crate::entries::{NOTHING, Retained, RetainedBefore, Taken, TakenBefore};
use crate::{Corrupt, Sessions};

/// What the first chunk begins with, behind its byte: the version of what follows.
const VERSION: u8 = 4;

const META: u8 = 0;
/// The table of publishes as version 1 has it, which is only read.
const TAKEN_BEFORE: u8 = 5;
/// The table of retained messages as versions up to 3 have it, which is only read.
const RETAINED_BEFORE: u8 = 4;
/// The tables that are written, in their order.
const TABLES: [u8; 5] = [1, 2, 3, 6, 7];
/// Behind the last table.
const END: u8 = 8;

/// How far a checkpoint got.
#[derive(Default)]
pub(crate) struct Progress {
    /// The order of the next delivery when it began.
    next_order: u64,
    /// The table that comes next; [`END`] where none is left.
    table: u8,
    /// Parts that a restore has whole: bit n is table n.
    restored: u8,
    /// The version that is being restored.
    version: u8,
    /// The publishes of a checkpoint of version 1.
    taken_before: Table<TakenBefore>,
    /// The retained messages of a checkpoint up to version 3.
    retained_before: Table<RetainedBefore>,
}

/// The part behind this one.
fn behind(part: u8) -> u8 {
    TABLES.into_iter().find(|&table| table > part).unwrap_or(END)
}

macro_rules! with_table {
    ($state:expr, $number:expr, |$table:ident| $body:expr) => {
        match $number {
            1 => Some({
                let $table = &mut $state.sessions;
                $body
            }),
            2 => Some({
                let $table = &mut $state.messages;
                $body
            }),
            3 => Some({
                let $table = &mut $state.deliveries;
                $body
            }),
            4 => Some({
                let $table = &mut $state.checkpoint.retained_before;
                $body
            }),
            5 => Some({
                let $table = &mut $state.checkpoint.taken_before;
                $body
            }),
            6 => Some({
                let $table = &mut $state.taken;
                $body
            }),
            7 => Some({
                let $table = &mut $state.retained;
                $body
            }),
            _ => None,
        }
    };
}

impl Checkpointed for Sessions {
    fn checkpoint_begin(&mut self) {
        for number in TABLES {
            with_table!(self, number, |table| table.checkpoint_begin());
        }
        self.checkpoint = Progress { next_order: self.next_order, table: META, ..Progress::default() };
    }

    fn checkpoint_next(&mut self, out: &mut Vec<u8>, bytes_max: usize) -> bool {
        let table = self.checkpoint.table;
        if table >= END {
            return false;
        }
        out.push(table);
        if table == META {
            out.push(VERSION);
            number(out, self.checkpoint.next_order);
            self.checkpoint.table = behind(META);
            return true;
        }
        let more = with_table!(self, table, |table| table.checkpoint_next(out, bytes_max));
        if more == Some(false) {
            self.checkpoint.table = behind(table);
        }
        self.checkpoint.table < END
    }

    fn checkpoint_abort(&mut self) {
        for number in TABLES {
            with_table!(self, number, |table| table.checkpoint_abort());
        }
        self.checkpoint.table = END;
    }

    fn restore(&mut self, chunk: &[u8]) -> Result<(), Corrupt> {
        let (&table, slice) = chunk.split_first().ok_or_else(|| corrupt("an empty chunk of sessions"))?;
        if table == META {
            let mut input = Reader::new(slice);
            let version = input.byte()?;
            if !(1..=VERSION).contains(&version) {
                return Err(corrupt(format!("sessions of version {version}; known are those to {VERSION}")));
            }
            self.checkpoint.version = version;
            self.next_order = input.number()?;
            self.checkpoint.restored |= 1;
            return Ok(());
        }
        let restored = with_table!(self, table, |table| table.restore(slice))
            .ok_or_else(|| corrupt(format!("there is no table {table} of sessions")))?
            .map_err(|damaged| corrupt(damaged.0))?;
        if restored == Restored::Complete {
            self.checkpoint.restored |= 1 << table;
        }
        Ok(())
    }

    fn restore_finish(&mut self) -> Result<(), Corrupt> {
        let publishes = if self.checkpoint.version == 1 { TAKEN_BEFORE } else { 6 };
        let retained = if self.checkpoint.version <= 3 { RETAINED_BEFORE } else { 7 };
        if self.checkpoint.restored != 0b1111 | 1 << publishes | 1 << retained {
            return Err(corrupt("a part of the sessions is missing"));
        }
        self.checkpoint.table = END;
        let taken_before = std::mem::take(&mut self.checkpoint.taken_before);
        for (_, &TakenBefore { origin, order }) in taken_before.iter() {
            self.taken.insert(Taken { origin, order, receivers: None, of_before: true, by_copy: false });
        }
        let retained_before = std::mem::take(&mut self.checkpoint.retained_before);
        for (_, RetainedBefore { number, message }) in retained_before.iter() {
            let message = Arc::clone(message);
            self.retained.insert(Retained { number: *number, owner: None, set_at: None, message });
        }
        let sessions: Vec<u32> = self.sessions.iter().map(|(at, _)| at).collect();
        sessions.into_iter().for_each(|at| self.session_is_at(at));
        let messages: Vec<u32> = self.messages.iter().map(|(at, _)| at).collect();
        messages.into_iter().for_each(|at| self.message_is_at(at));
        let retained: Vec<u32> = self.retained.iter().map(|(at, _)| at).collect();
        retained.into_iter().for_each(|at| self.retained_is_at(at));
        let taken: Vec<u32> = self.taken.iter().map(|(at, _)| at).collect();
        taken.into_iter().for_each(|at| self.taken_is_at(at));
        let mut deliveries = Vec::with_capacity(self.deliveries.len());
        for (at, delivery) in self.deliveries.iter() {
            if !self.sessions.contains(delivery.session) {
                return Err(corrupt("a delivery of no session"));
            }
            if delivery.message != NOTHING {
                if !self.messages.contains(delivery.message) {
                    return Err(corrupt("a delivery without its message"));
                }
                self.holders[delivery.message] += 1;
            }
            deliveries.push((delivery.order, at, delivery.session));
        }
        deliveries.sort_unstable();
        for (_, at, session) in deliveries {
            self.lists[session].push_back(at);
        }
        if self.messages.iter().any(|(at, _)| self.holders[at] == 0) {
            return Err(corrupt("a message that nobody is owed"));
        }
        Ok(())
    }
}
