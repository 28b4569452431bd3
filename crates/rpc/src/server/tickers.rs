//! Open streams whose messages are due at times: a table by connection, and one timer for each connection.
//!
//! A connection has a beat: what is due between two beats waits for the second, so that a connection's messages lie
//! side by side and leave in one write. The beats of the connections are spread evenly, so that a loop never has all
//! of them at once: a burst would be late by the time that it takes. With very many streams the cost is in fetching
//! memory, so a beat looks at one cache line for each fourteen streams of the connection and then only at those that are
//! due. A stream costs 32 bytes here.

use stadium_reactor::ConnectionId;
use stadium_reactor::wheel::{Link, Links, Wheel};
use stadium_rsocket::frame::StreamId;

/// One open stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticker {
    /// When its next message is due, in milliseconds of loop time.
    pub(crate) due_ms: u64,
    pub(crate) stream: StreamId,
    /// Its place in the function's table.
    pub(crate) place: u32,
    pub(crate) method: u16,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nobody's place.
    Free,
    /// Its message comes at its time.
    Running,
    /// Something is due, and the caller's credit or its reading must come first.
    Waiting,
}

const FREE: Ticker = Ticker { due_ms: 0, stream: StreamId(0), place: 0, method: 0, stage: Stage::Free };

/// No chunk.
const NONE: u32 = u32::MAX;
/// No time, and no tick that comes.
const NEVER: u64 = u64::MAX;
const NO_TICK: u32 = u32::MAX;
/// Streams of a chunk: its line has room for so many.
const CHUNK: usize = 14;

/// Places for some streams of one connection, and when they are due.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Chunk {
    /// The tick of the wheel at or after each stream's time; `NO_TICK` for one that is not running.
    ticks: [u32; CHUNK],
    /// The connection's place in the table of rows.
    row: u32,
    /// The connection's next chunk, or the next free one.
    next: u32,
}

impl Chunk {
    fn new(row: u32, next: u32) -> Self {
        Self { ticks: [NO_TICK; CHUNK], row, next }
    }
}

/// One connection's streams.
struct Row {
    connection: ConnectionId,
    /// Its first chunk.
    chunks: u32,
    open: u32,
    /// The first message that is due, or `NEVER`. Nothing is due before it.
    earliest_ms: u64,
    link: Link,
}

const EMPTY: Row =
    Row { connection: ConnectionId::NONE, chunks: NONE, open: 0, earliest_ms: NEVER, link: Link::IDLE };

/// By a connection's place in the loop.
struct Rows(Vec<Row>);

impl Rows {
    /// The connection's row, made where there was none.
    fn of(&mut self, connection: ConnectionId) -> &mut Row {
        let at = connection.index as usize;
        if self.0.len() <= at {
            self.0.resize_with(at + 1, || EMPTY);
        }
        &mut self.0[at]
    }
}

impl Links for Rows {
    fn link(&mut self, index: u32) -> &mut Link {
        &mut self.0[index as usize].link
    }
}

/// Ticks of the wheel between two beats of a connection.
const TICKS_A_BEAT: u64 = 16;
/// Ticks after which the wheel starts again from zero: it counts to twice that.
const TICKS_MAX: u64 = 1 << 31;

/// The streams and their wheel.
pub(crate) struct Tickers {
    /// By chunk, fourteen to each.
    tickers: Vec<Ticker>,
    chunks: Vec<Chunk>,
    /// The first free chunk.
    free: u32,
    rows: Rows,
    open: usize,
    wheel: Wheel,
    /// Milliseconds between two beats of a connection.
    beat_ms: u64,
    /// Milliseconds in a tick of the wheel.
    tick_ms: u64,
    /// Loop time at the wheel's tick zero.
    base_ms: u64,
    /// Rows whose beat has come, the last first.
    due: Vec<u32>,
}

impl Tickers {
    pub(crate) fn new(beat_ms: u64) -> Self {
        let beat_ms = beat_ms.max(1);
        Self {
            tickers: Vec::new(),
            chunks: Vec::new(),
            free: NONE,
            rows: Rows(Vec::new()),
            open: 0,
            wheel: Wheel::new(),
            beat_ms,
            tick_ms: (beat_ms / TICKS_A_BEAT).max(1),
            base_ms: 0,
            due: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.open
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
        let row = self.rows.of(connection);
        debug_assert!(
            row.open == 0 || row.connection == connection,
            "a connection takes its streams with it"
        );
        row.connection = connection;
        row.open += 1;
        self.open += 1;
        let index = self.free_place(connection.index);
        self.tickers[index] = Ticker { due_ms, stream, place, method, stage: Stage::Running };
        self.expect(index as u32);
        index as u32
    }

    /// A place in one of the row's first chunks, else in a new one put first.
    fn free_place(&mut self, row: u32) -> usize {
        let first = self.rows.0[row as usize].chunks;
        let mut at = first;
        // A connection whose streams come and go has its room where it looked last; nobody looks for it far back.
        for _ in 0..4 {
            let Some(chunk) = self.chunks.get(at as usize) else { break };
            let start = at as usize * CHUNK;
            let places = &self.tickers[start..][..CHUNK];
            if let Some(within) = places.iter().position(|one| one.stage == Stage::Free) {
                return start + within;
            }
            at = chunk.next;
        }
        let new = if self.free == NONE {
            self.chunks.push(Chunk::new(row, first));
            self.tickers.extend([FREE; CHUNK]);
            self.chunks.len() - 1
        } else {
            let new = self.free as usize;
            self.free = self.chunks[new].next;
            self.chunks[new] = Chunk::new(row, first);
            new
        };
        self.rows.0[row as usize].chunks = new as u32;
        new * CHUNK
    }

    pub(crate) fn at(&self, index: u32) -> Option<&Ticker> {
        self.tickers.get(index as usize).filter(|ticker| ticker.stage != Stage::Free)
    }

    /// Ends a stream: its method and its place there.
    pub(crate) fn close(&mut self, index: u32) -> Option<(u16, u32)> {
        let &Ticker { method, place, .. } = self.at(index)?;
        self.tickers[index as usize] = FREE;
        *self.tick_of(index) = NO_TICK;
        self.open -= 1;
        let chunk = index as usize / CHUNK;
        let row_index = self.chunks[chunk].row;
        let row = &mut self.rows.0[row_index as usize];
        row.open -= 1;
        if row.open == 0 {
            row.earliest_ms = NEVER;
            self.wheel.disarm(&mut self.rows, row_index);
        }
        if self.tickers[chunk * CHUNK..][..CHUNK].iter().all(|one| one.stage == Stage::Free) {
            self.unlink(row_index, chunk as u32);
        }
        Some((method, place))
    }

    /// Gives back an empty chunk.
    fn unlink(&mut self, row: u32, chunk: u32) {
        let after = self.chunks[chunk as usize].next;
        let row = &mut self.rows.0[row as usize];
        if row.chunks == chunk {
            row.chunks = after;
        } else {
            let mut before = row.chunks;
            while self.chunks[before as usize].next != chunk {
                before = self.chunks[before as usize].next;
            }
            self.chunks[before as usize].next = after;
        }
        self.chunks[chunk as usize].next = self.free;
        self.free = chunk;
    }

    fn tick_of(&mut self, index: u32) -> &mut u32 {
        &mut self.chunks[index as usize / CHUNK].ticks[index as usize % CHUNK]
    }

    /// The tick at or after a time.
    fn tick_at(&self, at_ms: u64) -> u32 {
        let tick = at_ms.saturating_sub(self.base_ms).div_ceil(self.tick_ms);
        u32::try_from(tick).unwrap_or(NO_TICK).min(NO_TICK - 1)
    }

    /// The stream runs: its connection's beat is the first one at or after its time, or an earlier one.
    fn expect(&mut self, index: u32) {
        let due_ms = self.tickers[index as usize].due_ms;
        *self.tick_of(index) = self.tick_at(due_ms);
        let row = self.chunks[index as usize / CHUNK].row;
        let one = &mut self.rows.0[row as usize];
        if due_ms < one.earliest_ms {
            one.earliest_ms = due_ms;
            self.arm(row);
        }
    }

    fn arm(&mut self, row: u32) {
        let one = &self.rows.0[row as usize];
        if one.earliest_ms == NEVER {
            return self.wheel.disarm(&mut self.rows, row);
        }
        let link = one.link;
        let tick = self.tick_at(next_beat(one.earliest_ms, self.beat_ms, row));
        if !link.armed() || link.at() != tick {
            self.wheel.disarm(&mut self.rows, row);
            self.wheel.arm(&mut self.rows, row, tick);
        }
    }

    /// The stream's next message is due then; [`Tickers::finish`] comes after all of its group.
    pub(crate) fn again(&mut self, index: u32, due_ms: u64) {
        self.tickers[index as usize].due_ms = due_ms;
        let tick = self.tick_at(due_ms);
        *self.tick_of(index) = tick;
        let row = &mut self.rows.0[self.chunks[index as usize / CHUNK].row as usize];
        row.earliest_ms = row.earliest_ms.min(due_ms);
    }

    /// What is due on the stream waits until [`Tickers::release`].
    pub(crate) fn wait(&mut self, index: u32) {
        if self.at(index).is_some() {
            self.tickers[index as usize].stage = Stage::Waiting;
            *self.tick_of(index) = NO_TICK;
        }
    }

    /// The caller can take messages again: what waited is sent with the next beat.
    pub(crate) fn release(&mut self, index: u32) {
        if self.at(index).is_some_and(|ticker| ticker.stage == Stage::Waiting) {
            self.tickers[index as usize].stage = Stage::Running;
            self.expect(index);
        }
    }

    /// A session has another socket: its streams go there.
    pub(crate) fn move_to(&mut self, old: ConnectionId, new: ConnectionId) {
        let Some(row) =
            self.rows.0.get_mut(old.index as usize).filter(|row| row.connection == old && row.open > 0)
        else {
            return;
        };
        let (chunks, open, earliest_ms) = (row.chunks, row.open, row.earliest_ms);
        (row.chunks, row.open, row.earliest_ms) = (NONE, 0, NEVER);
        self.wheel.disarm(&mut self.rows, old.index);
        *self.rows.of(new) = Row { connection: new, chunks, open, earliest_ms, link: Link::IDLE };
        let mut chunk = chunks;
        while let Some(one) = self.chunks.get_mut(chunk as usize) {
            one.row = new.index;
            chunk = one.next;
        }
        self.arm(new.index);
    }

    /// Lets the beats come that are due by now, unless some of those before still wait for their turn.
    pub(crate) fn advance(&mut self, now_ms: u64) {
        if !self.due.is_empty() {
            return;
        }
        let tick = (now_ms - self.base_ms) / self.tick_ms;
        self.wheel.advance(&mut self.rows, u32::try_from(tick).unwrap_or(u32::MAX), &mut self.due);
        self.due.sort_unstable_by(|one, other| other.cmp(one));
        if tick >= TICKS_MAX {
            self.start_again(now_ms);
        }
    }

    /// The next connection whose beat has come, and its streams that are due.
    pub(crate) fn next_group(&mut self, now_ms: u64, group: &mut Vec<u32>) -> Option<ConnectionId> {
        group.clear();
        let now_tick = u32::try_from((now_ms - self.base_ms) / self.tick_ms).unwrap_or(NO_TICK - 1);
        while let Some(row_index) = self.due.pop() {
            let row = &mut self.rows.0[row_index as usize];
            let mut earliest = NO_TICK;
            let mut at = row.chunks;
            while at != NONE {
                let chunk = &self.chunks[at as usize];
                for (within, &tick) in (0..).zip(&chunk.ticks) {
                    if tick <= now_tick {
                        group.push(at * CHUNK as u32 + within);
                    } else {
                        earliest = earliest.min(tick);
                    }
                }
                at = chunk.next;
            }
            row.earliest_ms = match earliest {
                NO_TICK => NEVER,
                tick => self.base_ms + u64::from(tick) * self.tick_ms,
            };
            if !group.is_empty() {
                return Some(row.connection);
            }
            self.arm(row_index);
        }
        None
    }

    /// The group of that connection has been dealt with.
    pub(crate) fn finish(&mut self, connection: ConnectionId) {
        self.arm(connection.index);
    }

    /// Has the wheel count from now on.
    fn start_again(&mut self, now_ms: u64) {
        let armed: Vec<u32> =
            (0..self.rows.0.len() as u32).filter(|&row| self.rows.link(row).armed()).collect();
        for &row in &armed {
            self.wheel.disarm(&mut self.rows, row);
        }
        self.wheel = Wheel::new();
        self.base_ms = now_ms;
        for index in 0..self.tickers.len() as u32 {
            if self.tickers[index as usize].stage == Stage::Running {
                *self.tick_of(index) = self.tick_at(self.tickers[index as usize].due_ms);
            }
        }
        armed.into_iter().for_each(|row| self.arm(row));
    }

    /// When something is due next, in milliseconds of loop time.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        if !self.due.is_empty() {
            return Some(self.base_ms);
        }
        self.wheel.next().map(|tick| self.base_ms + u64::from(tick) * self.tick_ms)
    }
}

/// Connections with a common beat.
const NEIGHBOURS: u32 = 64;

/// The first beat at or after that time of the connection in that row.
fn next_beat(due_ms: u64, beat_ms: u64, row: u32) -> u64 {
    // Fibonacci hashing: any number of connections is spread evenly. Neighbours keep together, because their sockets
    // lie side by side in the kernel too.
    let spread = u64::from((row / NEIGHBOURS).wrapping_mul(0x9E37_79B9));
    let phase_ms = (spread * beat_ms) >> 32;
    (due_ms + beat_ms - phase_ms - 1) / beat_ms * beat_ms + phase_ms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(index: u32) -> ConnectionId {
        ConnectionId { index, generation: 1 }
    }

    /// All that is due by then, each with its next message a second later.
    fn tick(tickers: &mut Tickers, now_ms: u64) -> Vec<u32> {
        let (mut group, mut all) = (Vec::new(), Vec::new());
        tickers.advance(now_ms);
        while let Some(id) = tickers.next_group(now_ms, &mut group) {
            for &index in &group {
                let due_ms = tickers.at(index).expect("it is open").due_ms;
                tickers.again(index, due_ms + 1_000);
            }
            tickers.finish(id);
            all.append(&mut group);
        }
        all
    }

    #[test]
    fn what_is_due_waits_for_its_connections_next_beat_and_never_longer() {
        for row in 0..200 {
            let beats: Vec<u64> = (1_000..1_064).map(|due_ms| next_beat(due_ms, 64, row)).collect();
            assert!(
                (1_000..).zip(&beats).all(|(due_ms, &beat)| (due_ms..due_ms + 64).contains(&beat)),
                "{beats:?}"
            );
            assert!(
                beats.iter().all(|beat| beat % 64 == beats[0] % 64),
                "a connection has one beat: {beats:?}"
            );
        }
    }

    #[test]
    fn connections_are_spread_over_the_beat() {
        let mut eighths = [0; 8];
        (0..10_000).for_each(|row| eighths[(next_beat(0, 64, row) % 64 / 8) as usize] += 1);
        assert!(eighths.iter().all(|&connections| (1_000..=1_500).contains(&connections)), "{eighths:?}");
    }

    #[test]
    fn each_message_comes_once_and_within_a_beat_of_its_time() {
        let mut tickers = Tickers::new(16);
        let opened: Vec<(u32, u64)> = (0..300)
            .map(|n| (tickers.open(connection(n % 7), StreamId(n), 0, n, u64::from(n * 3)), u64::from(n * 3)))
            .collect();
        let mut came = vec![Vec::new(); tickers.tickers.len()];
        for now_ms in 0..3_000 {
            tick(&mut tickers, now_ms).into_iter().for_each(|index| came[index as usize].push(now_ms));
        }
        for (index, first_ms) in opened {
            let times = &came[index as usize];
            assert!((3..=4).contains(&times.len()) || first_ms > 900, "{index}: {times:?}");
            for (nth, &at_ms) in (0..).zip(times) {
                let due_ms = first_ms + nth * 1_000;
                assert!((due_ms..due_ms + 17).contains(&at_ms), "{index}: due {due_ms}, came {at_ms}");
            }
        }
    }

    #[test]
    fn a_wheel_that_has_counted_for_months_starts_again_and_loses_nothing() {
        let mut tickers = Tickers::new(16);
        let late_ms = TICKS_MAX + 5;
        let first = tickers.open(connection(1), StreamId(1), 0, 0, 10);
        let second = tickers.open(connection(2), StreamId(1), 0, 0, late_ms + 1_500);
        let mut group = Vec::new();
        tickers.advance(late_ms);
        assert_eq!(tickers.next_group(late_ms, &mut group), Some(connection(1)));
        tickers.again(first, late_ms + 2_000);
        tickers.finish(connection(1));
        assert_eq!(tick(&mut tickers, late_ms + 1_499), Vec::<u32>::new(), "neither before its time");
        assert_eq!(tick(&mut tickers, late_ms + 1_516), [second]);
        assert_eq!(tick(&mut tickers, late_ms + 2_016), [first]);
    }

    #[test]
    fn a_stream_that_closes_when_its_beat_has_come_is_skipped_and_its_place_used_again() {
        let mut tickers = Tickers::new(1);
        let first = tickers.open(connection(1), StreamId(1), 0, 7, 10);
        let second = tickers.open(connection(1), StreamId(3), 0, 8, 10);
        tickers.advance(20);
        assert_eq!(tickers.close(first), Some((0, 7)));
        assert_eq!((tickers.close(first), tickers.len()), (None, 1));
        let third = tickers.open(connection(1), StreamId(5), 0, 9, 30);
        assert_eq!(third, first);
        let mut group = Vec::new();
        assert_eq!(tickers.next_group(20, &mut group), Some(connection(1)));
        assert_eq!(group, [second], "the third's time has not come");
    }

    #[test]
    fn chunks_of_a_connection_that_went_serve_the_next() {
        let mut tickers = Tickers::new(8);
        for round in 0..10 {
            let opened: Vec<u32> =
                (0..100).map(|n| tickers.open(connection(round), StreamId(n), 0, n, 50)).collect();
            assert_eq!(tickers.len(), 100);
            opened.iter().for_each(|&index| assert!(tickers.close(index).is_some()));
        }
        assert_eq!((tickers.len(), tickers.tickers.len(), tickers.wheel.armed()), (0, 8 * CHUNK, 0));
    }

    #[test]
    fn streams_go_with_their_session_and_wait_for_their_caller() {
        let mut tickers = Tickers::new(4);
        let opened: Vec<u32> = (0..40).map(|n| tickers.open(connection(3), StreamId(n), 0, n, 100)).collect();
        tickers.wait(opened[5]);
        tickers.move_to(connection(3), connection(9));
        let mut group = Vec::new();
        tickers.advance(104);
        assert_eq!(tickers.next_group(104, &mut group), Some(connection(9)));
        assert_eq!(group.len(), 39);
        group.iter().for_each(|&index| tickers.again(index, 500));
        tickers.finish(connection(9));
        tickers.release(opened[5]);
        assert_eq!(tick(&mut tickers, 120), [opened[5]]);
        opened.iter().for_each(|&index| assert!(tickers.close(index).is_some()));
        assert_eq!((tickers.len(), tickers.next_ms()), (0, None));
    }
}
