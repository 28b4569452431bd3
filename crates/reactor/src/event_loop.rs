//! The loop itself: wait, read all, decide, write all.
//!
//! A turn handles readiness, peers that want in, the mailbox, timers and the alarm, and then writes
//! what came of it. Ends of connections are reported after the writes, and what a handler sends
//! because of them is written before the loop waits again.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Events, Poll, Token, Waker};

use std::sync::Arc;

use crate::close::CloseReason;
use crate::handler::Handler;
use crate::id::{ConnectionId, UdpId};
use crate::io::{Io, TICK_MS};
use crate::lifecycle::{TOKEN_LISTENERS, TOKEN_UDP, TOKEN_WAKER, id_of};
use crate::mailbox::{Item, LoopHandle};
use crate::moved::Moved;
use crate::settings::LoopSettings;
use crate::slab::{Slab, flag};
use crate::stats::{Counts, LoopStats};
use crate::sys;
use crate::tls::KeyCache;
use crate::turn::Turn;
use crate::udp::UdpTable;
use crate::websocket::Masks;
use crate::wheel::Wheel;

/// Datagrams read from one socket before the others get their turn.
const DATAGRAMS_MAX: usize = 256;
/// Bytes before the place that is read into, where what a handler left last time is put in front.
pub(crate) const HEADROOM: usize = 4096;
/// Bytes behind it for a part of a TLS record, an upgrade or a PROXY header that was read before.
pub(crate) const RAW_BYTES_MAX: usize = 20 * 1024;

/// Whether looking on before sleeping has paid lately.
///
/// Each time in a row that it did not doubles how often the loop sleeps at once before it tries again: where events come
/// further apart than it looks, looking costs next to nothing.
#[derive(Default)]
struct Looking {
    in_vain: u32,
    skip: u32,
}

/// Doublings of the waits that sleep at once.
const IN_VAIN_MAX: u32 = 10;

impl Looking {
    fn is_worth_it(&mut self) -> bool {
        let worth_it = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        worth_it
    }

    fn found(&mut self) {
        self.in_vain = 0;
    }

    fn found_nothing(&mut self) {
        self.in_vain = (self.in_vain + 1).min(IN_VAIN_MAX);
        self.skip = 1 << self.in_vain;
    }
}

/// An event loop. It is made anywhere and runs on one thread.
pub struct Loop<M> {
    pub(crate) io: Io<M>,
    poll: Poll,
    events: Events,
    /// Events that a turn in steps has not handled yet.
    pub(crate) left: VecDeque<Event>,
    /// The shared read buffer.
    pub(crate) buffer: Vec<u8>,
    items: Vec<Item<M>>,
    fired: Vec<u32>,
    ready: Vec<u32>,
    ended: Vec<(ConnectionId, CloseReason)>,
    leaving: Vec<(ConnectionId, LoopHandle<M>, M)>,
    looking: Looking,
}

impl<M: Send + 'static> Loop<M> {
    /// Makes a loop. Fails where the system gives no descriptor for it.
    pub fn new(settings: LoopSettings) -> io::Result<Loop<M>> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), Token(TOKEN_WAKER))?;
        let stats = Arc::new(LoopStats::default());
        let handle = LoopHandle::new(settings.mailbox_messages_max, waker, stats, settings.name.clone());
        let settings = LoopSettings {
            connections_max: settings.connections_max.min(TOKEN_UDP / 2),
            read_bytes_max: settings.read_bytes_max.max(16 * 1024),
            ..settings
        };
        let io = Io {
            registry: poll.registry().try_clone()?,
            handle,
            slab: Slab::new(),
            wheel: Wheel::new(),
            turn: Turn::default(),
            profiles: Vec::new(),
            listeners: Vec::new(),
            udp: UdpTable::default(),
            counts: Counts::default(),
            keys: KeyCache::new(),
            masks: Masks::new(),
            dirty: Vec::new(),
            ready: Vec::new(),
            ended: Vec::new(),
            leaving: Vec::new(),
            scratch: Vec::new(),
            sealed: Vec::new(),
            reply: Vec::new(),
            messages: Vec::new(),
            spare_extras: Vec::new(),
            spare_buffers: Vec::new(),
            layers_bytes: 0,
            serial: 0,
            started: Instant::now(),
            alone: false,
            now_us: 0,
            now_ms: 0,
            alarm_ms: None,
            stopping: false,
            settings,
        };
        Ok(Loop {
            buffer: vec![0; HEADROOM + RAW_BYTES_MAX + io.settings.read_bytes_max],
            poll,
            events: Events::with_capacity(io.settings.events_max.max(1)),
            left: VecDeque::new(),
            io,
            items: Vec::new(),
            fired: Vec::new(),
            ready: Vec::new(),
            ended: Vec::new(),
            leaving: Vec::new(),
            looking: Looking::default(),
        })
    }

    /// For listening and connecting before the loop runs.
    pub fn io(&mut self) -> &mut Io<M> {
        &mut self.io
    }

    /// The way for other threads to reach this loop.
    pub fn handle(&self) -> LoopHandle<M> {
        self.io.handle()
    }

    /// Runs on the calling thread until [`Io::stop`] or [`LoopHandle::stop`], and returns the
    /// handler. Pins the thread where the settings ask; fails where that or waiting fails.
    pub fn run<H: Handler<Message = M>>(self, handler: H) -> io::Result<H> {
        if let Some(cpu) = self.io.settings.cpu {
            sys::pin_to(cpu)?;
        }
        let mut driven = self.drive(handler);
        while !driven.is_stopping() {
            driven.turn(None)?;
        }
        Ok(driven.finish())
    }

    /// Waits for events, at most for so long, after a turn that worked for so long.
    pub(crate) fn wait(&mut self, mut timeout: Option<Duration>, worked: Duration) -> io::Result<()> {
        let busy_poll = Duration::from_micros(self.io.settings.busy_poll_us);
        // The events are those of the last wait: a loop that found nothing then goes to sleep now. After a long turn
        // it does too: there is much to do, and what arrives meanwhile is handled as one batch.
        let short = worked < busy_poll / 2;
        if short && !self.events.is_empty() && self.looking.is_worth_it() {
            let longest = timeout.map_or(busy_poll, |timeout| timeout.min(busy_poll));
            let begun = Instant::now();
            let mut spent = Duration::ZERO;
            while spent < longest {
                self.look(Some(Duration::ZERO))?;
                if !self.events.is_empty() {
                    self.looking.found();
                    return Ok(());
                }
                spent = begun.elapsed();
            }
            self.looking.found_nothing();
            timeout = timeout.map(|timeout| timeout.saturating_sub(spent));
        }
        self.look(timeout)
    }

    fn look(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.io.counts.looks += 1;
        match self.poll.poll(&mut self.events, timeout) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                self.events.clear();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// How long the loop may wait.
    pub(crate) fn timeout(&self, now: Instant) -> Option<Duration> {
        if !self.io.ready.is_empty() || !self.io.udp.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        let wheel = self.io.wheel.next().map(|tick| u64::from(tick) * TICK_MS);
        let at = [wheel, self.io.alarm_ms, self.io.next_accept()].into_iter().flatten().min()?;
        Some(Duration::from_millis(at).saturating_sub(now - self.io.started))
    }

    /// Handles all that the wait found, and what is due.
    pub(crate) fn turn<H: Handler<Message = M>>(&mut self, handler: &mut H) {
        self.begin_turn(handler);
        let events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        for event in &events {
            self.handle_event(handler, event);
        }
        self.events = events;
        self.rest_of_turn(handler);
    }

    /// Begins a turn whose events [`Loop::step`] handles.
    pub(crate) fn begin_steps<H: Handler<Message = M>>(&mut self, handler: &mut H) {
        self.begin_turn(handler);
        self.left.extend(self.events.iter().cloned());
    }

    /// Handles one of the events that are left, and ends the turn after the last one.
    pub(crate) fn step<H: Handler<Message = M>>(&mut self, handler: &mut H) {
        if let Some(event) = self.left.pop_front() {
            self.handle_event(handler, &event);
        }
        if self.left.is_empty() {
            self.rest_of_turn(handler);
        }
    }

    fn begin_turn<H: Handler<Message = M>>(&mut self, handler: &mut H) {
        self.io.counts.turns += 1;
        // First the messages of other threads, which may be older than what peers sent because of
        // it.
        self.read_items(handler);
        self.io.alone = self.events.iter().nth(1).is_none();
    }

    /// After a turn's events: what was not read to its end, what is due, and all writes.
    fn rest_of_turn<H: Handler<Message = M>>(&mut self, handler: &mut H) {
        self.read_ready(handler);
        if self.io.next_accept().is_some_and(|at| at <= self.io.now_ms) {
            self.accept_all(handler);
        }
        self.fire_timers(handler);
        if self.io.alarm_ms.is_some_and(|at| at <= self.io.now_ms) {
            self.io.alarm_ms = None;
            handler.alarm(&mut self.io);
        }
        self.end_turn(handler);
    }

    /// Writes what was sent, and reports what ended.
    pub(crate) fn end_turn<H: Handler<Message = M>>(&mut self, handler: &mut H) {
        handler.turn_ended(&mut self.io);
        self.settle(handler);
        handler.turn_flushed(&mut self.io);
        self.publish();
    }

    fn handle_event<H: Handler<Message = M>>(&mut self, handler: &mut H, event: &Event) {
        self.io.counts.events += 1;
        let id = id_of(event.token());
        match id.index as usize {
            TOKEN_WAKER => {}
            place if place >= TOKEN_LISTENERS => {
                if let Some(listener) = self.io.listeners.get_mut(place - TOKEN_LISTENERS) {
                    listener.pending = true;
                }
            }
            place if place >= TOKEN_UDP => self.read_datagrams(handler, UdpId((place - TOKEN_UDP) as u32)),
            _ => {
                let Some(entry) = self.io.slab.find(id) else { return };
                if event.is_read_closed() || event.is_error() {
                    entry.flags |= flag::PEER_DONE;
                }
                if entry.flags & flag::CONNECTING != 0 {
                    if event.is_writable() || event.is_error() {
                        self.connecting(handler, id);
                    }
                    // What the peer sent at once is read in the same turn.
                    if self.io.slab.find(id).is_some() && event.is_readable() {
                        self.readable(handler, id);
                    }
                    return;
                }
                if event.is_writable() && self.io.write_queued(id.index) && self.io.contains(id) {
                    handler.drained(&mut self.io, id);
                }
                if event.is_readable() || event.is_read_closed() || event.is_error() {
                    self.readable(handler, id);
                }
            }
        }
    }

    /// Reads on where the last turn stopped.
    fn read_ready<H: Handler<Message = M>>(&mut self, handler: &mut H) {
        std::mem::swap(&mut self.ready, &mut self.io.ready);
        let mut ready = std::mem::take(&mut self.ready);
        for index in ready.drain(..) {
            let entry = self.io.slab.at(index);
            if entry.flags & (flag::READY | flag::DEAD) != flag::READY {
                continue;
            }
            entry.flags &= !flag::READY;
            let id = ConnectionId { index, generation: entry.generation };
            if entry.flags & (flag::UNREAD | flag::PAUSED | flag::CLOSING) == flag::UNREAD {
                entry.flags &= !flag::UNREAD;
                self.present_carry(handler, id);
            }
            if self.io.slab.find(id).is_some() {
                self.readable(handler, id);
            }
        }
        self.ready = ready;
        for socket in std::mem::take(&mut self.io.udp.ready) {
            self.read_datagrams(handler, socket);
        }
    }

    fn read_datagrams<H: Handler<Message = M>>(&mut self, handler: &mut H, socket: UdpId) {
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..DATAGRAMS_MAX {
            let Some((length, peer)) = self.io.udp.receive(socket, &mut buffer) else {
                self.buffer = buffer;
                return;
            };
            self.io.counts.datagrams_in += 1;
            handler.datagram(&mut self.io, socket, peer, &buffer[..length]);
        }
        self.buffer = buffer;
        self.io.udp.ready.push(socket);
    }

    fn read_items<H: Handler<Message = M>>(&mut self, handler: &mut H) {
        let mut items = std::mem::take(&mut self.items);
        self.io.handle.take(&mut items);
        for item in items.drain(..) {
            match item {
                Item::Message(message) => {
                    self.io.counts.messages += 1;
                    handler.message(&mut self.io, message);
                }
                Item::Moved(moved, attachment) => self.adopt_moved(handler, *moved, attachment),
                Item::Adopt(stream, adopt) => self.adopt_foreign(handler, stream, *adopt),
                Item::Stop => self.io.stopping = true,
            }
        }
        self.items = items;
    }

    fn fire_timers<H: Handler<Message = M>>(&mut self, handler: &mut H) {
        let now = self.io.tick();
        let mut fired = std::mem::take(&mut self.fired);
        self.io.wheel.advance(&mut self.io.slab, now, &mut fired);
        for index in fired.drain(..) {
            let generation = self.io.slab.peek(index).generation;
            if self.io.timer_fired(index) {
                handler.timeout(&mut self.io, ConnectionId { index, generation });
            }
        }
        self.fired = fired;
    }

    /// Writes, moves and reports ends, until nothing of it is left.
    pub(crate) fn settle<H: Handler<Message = M>>(&mut self, handler: &mut H) {
        loop {
            self.io.flush();
            std::mem::swap(&mut self.leaving, &mut self.io.leaving);
            while let Some((id, to, attachment)) = self.leaving.pop() {
                self.depart(id, &to, attachment);
            }
            if self.io.ended.is_empty() && self.io.dirty.is_empty() {
                return;
            }
            std::mem::swap(&mut self.ended, &mut self.io.ended);
            let mut ended = std::mem::take(&mut self.ended);
            for (id, reason) in ended.drain(..) {
                self.report_end(handler, id, reason);
            }
            self.ended = ended;
        }
    }

    fn report_end<H: Handler<Message = M>>(
        &mut self,
        handler: &mut H,
        id: ConnectionId,
        reason: CloseReason,
    ) {
        let entry = self.io.slab.at(id.index);
        entry.flags |= flag::REPORTED;
        let dead = entry.flags & flag::DEAD != 0;
        if entry.flags & flag::ANNOUNCED != 0 {
            self.io.counts.closes[reason.index()] += 1;
            handler.closed(&mut self.io, id, reason);
        }
        if dead {
            self.io.slab.remove(id.index);
        }
    }

    /// Moves a connection to another loop.
    fn depart(&mut self, id: ConnectionId, to: &LoopHandle<M>, attachment: M) {
        let io = &mut self.io;
        let (now, tick) = (io.now_ms, io.tick());
        let Some(entry) = io.slab.find(id) else { return };
        if entry.flags & flag::CLOSING != 0 {
            return;
        }
        let fd = entry.fd;
        let mut moved = Box::new(Moved::new(fd, io.profiles[usize::from(entry.profile)].clone()));
        moved.carry_bytes_max = entry.carry_bytes_max;
        moved.write_queue_bytes_max = entry.write_queue_bytes_max;
        moved.age_ms = now.saturating_sub(u64::from(entry.born.min(tick)) * TICK_MS);
        moved.flags = entry.flags & (flag::OUTGOING | flag::PEER_DONE);
        moved.extra = entry.extra.take();
        if let Some(extra) = &moved.extra {
            io.counts.write_queue_bytes -= extra.queue.len() as u64;
            io.counts.carry_bytes -= extra.held() as u64;
            io.layers_bytes -= extra.layers_bytes();
        }
        // A descriptor that the poll does not know is what we want anyway.
        let _ = io.registry.deregister(&mut mio::unix::SourceFd(&fd));
        io.release(id.index);
        match to.post(Item::Moved(moved, attachment)) {
            Ok(()) => {
                io.counts.handoffs += 1;
                io.slab.remove(id.index);
            }
            Err(_) => io.ended.push((id, CloseReason::Overloaded)),
        }
    }

    fn publish(&mut self) {
        let io = &mut self.io;
        io.counts.connections = io.slab.live() as u64;
        io.counts.connection_bytes = (io.slab.bytes() + io.layers_bytes) as u64;
        io.counts.buffer_bytes = (self.buffer.len()
            + io.turn.bytes()
            + io.scratch.capacity()
            + io.messages.capacity()
            + io.sealed.capacity()
            + io.keys.bytes()) as u64;
        io.counts.publish(io.handle.stats());
    }

    /// The last turn: every connection ends.
    pub(crate) fn finish<H: Handler<Message = M>>(&mut self, handler: &mut H) {
        self.io.stop_listening();
        for index in 0..self.io.slab.capacity() {
            self.io.fail(index, CloseReason::Stopped);
        }
        self.settle(handler);
        // A handler that connected while an end was reported to it gets a report of that too.
        while self.io.slab.live() > 0 {
            let before = self.io.slab.live();
            for index in 0..self.io.slab.capacity() {
                self.io.fail(index, CloseReason::Stopped);
            }
            self.settle(handler);
            if self.io.slab.live() >= before {
                break;
            }
        }
        self.publish();
    }
}
