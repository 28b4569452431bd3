//! Lanes with their workers and sockets, on one poll.
//!
//! A turn lets lanes answer what they can answer by themselves, writes once for each connection,
//! sleeps until something comes or the time is over, and reads each ready socket. The driver acts
//! on the answers between turns.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use mio::{Events, Poll, Token};

use super::socket::READ_BYTES;
use super::timer::Timer;
use super::{Dialogue, Event, Lane, Socket};

/// Time for all lanes to open.
const OPEN_MAX: Duration = Duration::from_secs(20);
/// Longest sleep, so that deadlines are noticed.
pub(crate) const SLEEP_MAX: Duration = Duration::from_millis(50);
/// The timer's events; sockets count from 0.
const TIMER: Token = Token(usize::MAX - 1);
/// Events taken at once.
const EVENTS: usize = 1024;

/// All workers of a load, and the lanes that they use.
pub(crate) struct Workers<D: Dialogue> {
    poll: Poll,
    timer: Timer,
    lanes: Vec<LaneState<D>>,
    lanes_open: usize,
    sockets: Vec<Socket>,
    /// Lane and connection of each socket.
    places: Vec<(usize, usize)>,
    /// Lane of each worker.
    workers: Vec<usize>,
    /// Lanes that were asked something since they last read.
    asked: Vec<usize>,
    polled: Events,
    buffer: Vec<u8>,
    events: Vec<Event<D::Outcome>>,
}

/// A lane with its buffers and the numbers of its workers.
struct LaneState<D: Dialogue> {
    lane: Box<dyn Lane<D>>,
    outs: Vec<Vec<u8>>,
    /// Its sockets, from this one on.
    first_socket: usize,
    /// Its workers, from this one on.
    first_worker: usize,
    /// It stands in [`Workers::asked`].
    is_asked: bool,
    /// It may have written.
    dirty: bool,
}

impl<D: Dialogue> Workers<D> {
    /// No workers yet.
    pub(crate) fn new() -> Result<Self> {
        let poll = Poll::new()?;
        Ok(Self {
            timer: Timer::new(poll.registry(), TIMER)?,
            poll,
            lanes: Vec::new(),
            lanes_open: 0,
            sockets: Vec::new(),
            places: Vec::new(),
            workers: Vec::new(),
            asked: Vec::new(),
            polled: Events::with_capacity(EVENTS),
            buffer: vec![0; READ_BYTES],
            events: Vec::new(),
        })
    }

    /// Connects a lane of so many workers; they are numbered on from those before.
    pub(crate) fn add(
        &mut self,
        addresses: &[SocketAddr],
        mut lane: Box<dyn Lane<D>>,
        workers: usize,
    ) -> Result<()> {
        let index = self.lanes.len();
        let (first_socket, first_worker) = (self.sockets.len(), self.workers.len());
        for (connection, address) in addresses.iter().enumerate() {
            let token = Token(self.sockets.len());
            self.sockets.push(Socket::connect(*address, self.poll.registry(), token)?);
            self.places.push((index, connection));
        }
        self.workers.extend(std::iter::repeat_n(index, workers));
        let mut outs = vec![Vec::new(); addresses.len()];
        lane.open(&mut outs);
        self.lanes.push(LaneState { lane, outs, first_socket, first_worker, is_asked: true, dirty: true });
        self.asked.push(index);
        Ok(())
    }

    /// Until every lane is ready for requests.
    pub(crate) fn wait_until_open(&mut self) -> Result<()> {
        let until = Instant::now() + OPEN_MAX;
        let mut answers = Vec::new();
        while self.lanes_open < self.lanes.len() {
            if Instant::now() > until {
                bail!("{} of {} lanes opened within {OPEN_MAX:?}", self.lanes_open, self.lanes.len());
            }
            self.turn(SLEEP_MAX, &mut answers)?;
            if !answers.is_empty() {
                bail!("an answer before anything was asked");
            }
        }
        Ok(())
    }

    /// Gives a worker its request; the next turn sends it.
    pub(crate) fn ask(&mut self, worker: usize, request: D::Request<'_>) {
        let index = self.workers[worker];
        let state = &mut self.lanes[index];
        state.lane.start(worker - state.first_worker, request, &mut state.outs);
        if !state.is_asked {
            state.is_asked = true;
            self.asked.push(index);
        }
    }

    /// Sends what was asked and hears what comes within `sleep`: outcomes by worker.
    pub(crate) fn turn(&mut self, sleep: Duration, answers: &mut Vec<(usize, D::Outcome)>) -> Result<()> {
        while let Some(lane) = self.asked.pop() {
            self.lanes[lane].is_asked = false;
            self.understand(self.lanes[lane].first_socket, answers)?;
        }
        self.write()?;
        let sleep = self.timer.set(if answers.is_empty() { sleep } else { Duration::ZERO })?;
        match self.poll.poll(&mut self.polled, Some(sleep)) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        let polled = std::mem::replace(&mut self.polled, Events::with_capacity(0));
        let heard = self.hear(&polled, answers);
        self.polled = polled;
        heard
    }

    fn hear(&mut self, polled: &Events, answers: &mut Vec<(usize, D::Outcome)>) -> Result<()> {
        for event in polled.iter().filter(|event| event.token() != TIMER) {
            let socket = event.token().0;
            if event.is_writable() {
                self.sockets[socket].flush(self.poll.registry())?;
            }
            if event.is_readable() || event.is_read_closed() {
                self.sockets[socket].receive(&mut self.buffer)?;
                self.understand(socket, answers)?;
            }
        }
        Ok(())
    }

    /// Has the lane of a socket read its input, as long as that brings anything.
    fn understand(&mut self, socket: usize, answers: &mut Vec<(usize, D::Outcome)>) -> Result<()> {
        let (lane, connection) = self.places[socket];
        let state = &mut self.lanes[lane];
        state.dirty = true;
        loop {
            let input = self.sockets[socket].input();
            let taken = state.lane.read(connection, input, &mut state.outs, &mut self.events)?;
            let nothing = taken == 0 && self.events.is_empty();
            self.sockets[socket].take(taken);
            for event in self.events.drain(..) {
                match event {
                    Event::Open => self.lanes_open += 1,
                    Event::Answer(place, outcome) => answers.push((state.first_worker + place, outcome)),
                }
            }
            if nothing {
                return Ok(());
            }
        }
    }

    /// Sends what lanes have written.
    fn write(&mut self) -> Result<()> {
        for state in &mut self.lanes {
            if !state.dirty {
                continue;
            }
            state.dirty = false;
            for (index, out) in state.outs.iter_mut().enumerate() {
                self.sockets[state.first_socket + index].send(out, self.poll.registry())?;
            }
        }
        Ok(())
    }
}
