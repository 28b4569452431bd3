//! Open streams whose messages are due at times, in one wheel for the loop.
//!
//! A stream costs 48 bytes here. What is due in one tick is sent connection by connection, so that a connection's
//! messages lie side by side and leave in one write.

use slab::Slab;
use stadium_reactor::ConnectionId;
use stadium_reactor::wheel::{Link, Links, Wheel};
use stadium_rsocket::frame::StreamId;

/// One open stream.
#[derive(Debug)]
pub(crate) struct Ticker {
    pub(crate) connection: ConnectionId,
    pub(crate) stream: StreamId,
    /// Its place in the function's table.
    pub(crate) place: u32,
    /// When its next message is due, in milliseconds of loop time.
    pub(crate) due_ms: u64,
    pub(crate) method: u16,
    /// Something is due, and the caller's credit or its reading must come first.
    pub(crate) waiting: bool,
    link: Link,
}

#[derive(Default)]
struct Table(Slab<Ticker>);

impl Links for Table {
    fn link(&mut self, index: u32) -> &mut Link {
        &mut self.0[index as usize].link
    }
}

/// The streams and their wheel.
pub(crate) struct Tickers {
    table: Table,
    wheel: Wheel,
    tick_ms: u64,
    fired: Vec<u32>,
}

impl Tickers {
    pub(crate) fn new(tick_ms: u64) -> Self {
        Self { table: Table::default(), wheel: Wheel::new(), tick_ms: tick_ms.max(1), fired: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.0.len()
    }

    /// Adds a stream whose first message is due then.
    pub(crate) fn open(
        &mut self,
        connection: ConnectionId,
        stream: StreamId,
        method: u16,
        place: u32,
        due_ms: u64,
    ) -> u32 {
        let ticker = Ticker { connection, stream, place, due_ms, method, waiting: false, link: Link::IDLE };
        let index = self.table.0.insert(ticker) as u32;
        self.arm(index);
        index
    }

    pub(crate) fn at(&mut self, index: u32) -> Option<&mut Ticker> {
        self.table.0.get_mut(index as usize)
    }

    /// Removes a stream, from the wheel too.
    pub(crate) fn close(&mut self, index: u32) -> Option<Ticker> {
        self.table.0.get(index as usize)?;
        self.wheel.disarm(&mut self.table, index);
        self.table.0.try_remove(index as usize)
    }

    /// Puts a stream that is not armed into the tick at or after its time.
    pub(crate) fn arm(&mut self, index: u32) {
        let ticker = &self.table.0[index as usize];
        if !ticker.link.armed() {
            let tick = u32::try_from(ticker.due_ms.div_ceil(self.tick_ms)).unwrap_or(u32::MAX);
            self.wheel.arm(&mut self.table, index, tick);
        }
    }

    /// The caller can take messages again: what waited is sent with the next tick.
    pub(crate) fn release(&mut self, index: u32) {
        if let Some(ticker) = self.at(index)
            && ticker.waiting
        {
            ticker.waiting = false;
            self.arm(index);
        }
    }

    /// Everything that is due, connection by connection; give it back by [`Tickers::done`].
    pub(crate) fn due(&mut self, now_ms: u64) -> Vec<u32> {
        let mut fired = std::mem::take(&mut self.fired);
        fired.clear();
        let tick = u32::try_from(now_ms / self.tick_ms).unwrap_or(u32::MAX);
        self.wheel.advance(&mut self.table, tick, &mut fired);
        let table = &self.table.0;
        let by_connection = |index: &u32| table[*index as usize].connection.index;
        if !fired.is_sorted_by_key(by_connection) {
            fired.sort_unstable_by_key(by_connection);
        }
        fired
    }

    pub(crate) fn done(&mut self, fired: Vec<u32>) {
        self.fired = fired;
    }

    /// When something is due next, in milliseconds of loop time.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.wheel.next().map(|tick| u64::from(tick) * self.tick_ms)
    }
}
