//! Requests of one worker, one after the other, on a connection of its own: what rows ask beside their loads.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use mio::{Events, Poll, Token};

use super::lane::{Endpoint, Event, Lane, Outcome, Request, Role};
use super::socket::{READ_BYTES, Socket};

/// Time to open.
const OPEN_MAX: Duration = Duration::from_secs(20);
/// Longest sleep.
const SLEEP_MAX: Duration = Duration::from_millis(50);

/// One worker, asked directly.
pub(crate) struct Caller {
    poll: Poll,
    lane: Box<dyn Lane>,
    sockets: Vec<Socket>,
    outs: Vec<Vec<u8>>,
}

impl Caller {
    /// Connects and opens.
    pub(crate) fn connect(endpoint: &dyn Endpoint) -> Result<Self> {
        let poll = Poll::new()?;
        let mut sockets = Vec::new();
        for (index, address) in endpoint.addresses().into_iter().enumerate() {
            sockets.push(Socket::connect(address, poll.registry(), Token(index))?);
        }
        let mut outs = vec![Vec::new(); sockets.len()];
        let mut lane = endpoint.lane(Role::Producer, usize::from(u16::MAX));
        lane.open(&mut outs);
        let mut caller = Self { poll, lane, sockets, outs };
        match caller.next(OPEN_MAX)? {
            Event::Open => Ok(caller),
            Event::Answer(..) => bail!("an answer before the lane was open"),
        }
    }

    /// Asks, and asks again after the pause where the answer says so.
    pub(crate) fn ask(&mut self, request: Request<'_>, within: Duration) -> Result<Outcome> {
        let until = Instant::now() + within;
        loop {
            self.lane.start(0, request, &mut self.outs);
            match self.next(until.saturating_duration_since(Instant::now()))? {
                Event::Answer(_, Outcome::Again(pause)) => std::thread::sleep(pause),
                Event::Answer(_, outcome) => return Ok(outcome),
                Event::Open => bail!("the lane opened twice"),
            }
        }
    }

    fn next(&mut self, within: Duration) -> Result<Event> {
        let until = Instant::now() + within;
        let mut buffer = vec![0; READ_BYTES];
        let mut polled = Events::with_capacity(8);
        let mut events = Vec::new();
        loop {
            for (index, socket) in self.sockets.iter_mut().enumerate() {
                loop {
                    let taken = self.lane.read(index, socket.input(), &mut self.outs, &mut events)?;
                    socket.take(taken);
                    if taken == 0 || !events.is_empty() {
                        break;
                    }
                }
            }
            for (socket, out) in self.sockets.iter_mut().zip(&mut self.outs) {
                socket.send(out, self.poll.registry())?;
            }
            if let Some(event) = events.pop() {
                return Ok(event);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!("no answer within {within:?}");
            }
            self.poll.poll(&mut polled, Some(left.min(SLEEP_MAX)))?;
            for event in polled.iter() {
                let socket = &mut self.sockets[event.token().0];
                socket.flush(self.poll.registry())?;
                socket.receive(&mut buffer)?;
            }
        }
    }
}
