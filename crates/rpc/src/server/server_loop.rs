//! One loop of a server: what the reactor tells it, and which part of the server that concerns.
//!
//! Each connection has its RSocket state machine here; requests go to [`Core`]. What a turn produces for a
//! connection leaves in one write at the turn's end.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use stadium_reactor::{Accepted, CloseReason, ConnectionId, Handler, Io, LoopHandle, UdpId};
use stadium_rsocket::connection::{Config as ProtocolConfig, Connection, Event, Scope, Suspended};
use stadium_rsocket::frame::{self, ErrorCode, Frame, Next, StreamId};

use super::counts::LoopCounts;
use super::dispatch::{Core, Displaced, Request};
use super::letter::Letter;
use super::peer::{Peer, Peers};
use super::sessions::{ParkedLimits, Resumption, Seat, Seats, TOKEN_BYTES_MIN};
use super::udp;
use super::work::{Kind, Work};
use crate::admission::{Asker, Capacity, LeaseSettings, Leases, Popped};
use crate::answer::Refusal;
use crate::wire;

/// Between two looks at load, leases and quiescing, in milliseconds.
const HOUSEKEEPING_MS: u64 = 250;
/// How long a peer may take to notice that the instance quiesces, before its idle connection is closed, in
/// milliseconds.
const QUIESCE_NOTICE_MS: u64 = 500;
/// A connection with more than this unsent is not read, and its streams wait, in bytes.
const UNSENT_HIGH: usize = 1024 * 1024;

/// A loop's place in its server.
pub(crate) struct Station {
    /// Its number among the loops.
    pub(crate) place: usize,
    pub(crate) protocol: Arc<ProtocolConfig>,
    /// Whether clients that ask for leases get them.
    pub(crate) leases: bool,
    /// Where sessions live.
    pub(crate) seats: Arc<Seats>,
    /// All loops, by their places.
    pub(crate) siblings: Arc<[LoopHandle<Letter>]>,
    /// What the loop keeps of lost connections.
    pub(crate) parked: ParkedLimits,
}

/// The reactor's handler on each loop of a server.
pub(crate) struct ServerLoop {
    pub(crate) core: Core,
    station: Station,
    peers: Peers,
    addresses: HashMap<u32, SocketAddr>,
    ready: Vec<u32>,
    expired: Vec<(ConnectionId, u32)>,
    /// The ticking streams of one connection that are due, while they are sent.
    due: Vec<u32>,
    next_housekeeping_ms: u64,
    quiescing_since_ms: Option<u64>,
    divider: Leases<ConnectionId>,
    datagrams: udp::Answers,
    /// Counts turns.
    turn: u64,
    /// Answers of blocking functions that wait for their connections; at most one for each call under way.
    done: VecDeque<(u32, u64, Result<Vec<u8>, Refusal>)>,
    /// Streams that have produced enough for their connections in this turn.
    crowded: Vec<(ConnectionId, u32)>,
}

/// What is to happen to a connection after its bytes were handled.
#[derive(PartialEq, Eq)]
enum Flow {
    Open,
    Close,
    /// Its client has a session already.
    Resume(Box<Resumption>),
}

impl ServerLoop {
    pub(crate) fn new(core: Core, station: Station) -> Self {
        Self {
            core,
            peers: Peers::new(station.parked),
            station,
            addresses: HashMap::new(),
            ready: Vec::new(),
            expired: Vec::new(),
            due: Vec::new(),
            next_housekeeping_ms: 0,
            quiescing_since_ms: None,
            divider: Leases::new(LeaseSettings {
                ttl_ms: (HOUSEKEEPING_MS * 4) as u32,
                ..LeaseSettings::default()
            }),
            datagrams: udp::Answers::default(),
            turn: 1,
            done: VecDeque::new(),
            crowded: Vec::new(),
        }
    }

    fn counts(&self) -> &Arc<LoopCounts> {
        &self.core.counts
    }

    fn turn_begins(&mut self, now_us: u64) {
        self.core.pace.turn_begins();
        self.core.ready.loop_is_awake();
        self.core.now_us = now_us;
    }

    /// Calls that waited go on as far as others have left, and those that waited for nothing are told.
    fn start_held(&mut self, io: &mut Io<Letter>) {
        let (now_ms, now_us) = (io.now(), io.now_us());
        while let Some(((place, serial), how)) = self.core.displaced.pop() {
            self.turn_away(io, place, serial, how);
        }
        while self.core.gate.waiting() > 0
            && let Some(entry) = self.core.gate.try_enter(now_us)
        {
            let work = loop {
                match self.core.gate.pop(now_us) {
                    Some(Popped::Work((place, serial))) => {
                        if let Some(id) = self.core.is_current(place, serial) {
                            break Some((id, place));
                        }
                    }
                    Some(Popped::Expired((place, serial))) => {
                        self.turn_away(io, place, serial, Displaced::Expired);
                    }
                    Some(Popped::Stale((place, serial))) => {
                        self.turn_away(io, place, serial, Displaced::Stale);
                    }
                    None => break None,
                }
            };
            let core = &mut self.core;
            let Some((id, place)) = work else {
                core.gate.left(entry, crate::admission::Work::Abandoned, now_us);
                return;
            };
            let mut entry = Some(entry);
            if let Some(peer) = self.peers.at(id) {
                peer.write(io, |connection, out| {
                    if let Some(entry) = entry.take() {
                        core.start_held(connection, place, entry, now_ms, out);
                    }
                });
            }
            if let Some(entry) = entry {
                core.gate.left(entry, crate::admission::Work::Abandoned, now_us);
                core.discard(place);
            }
        }
    }

    fn turn_away(&mut self, io: &mut Io<Letter>, place: u32, serial: u64, how: Displaced) {
        let Some(id) = self.core.is_current(place, serial) else { return };
        let core = &mut self.core;
        let retry_after = core.gate.retry_after();
        if let Some(peer) = self.peers.at(id) {
            peer.write(io, |connection, out| match how {
                Displaced::Expired => core.expire(connection, place, out),
                Displaced::Stale => {
                    let busy = Refusal::busy(retry_after, "the call has waited for too long");
                    core.finish(connection, place, Err(busy), out);
                }
            });
        }
        if core.is_current(place, serial).is_some() {
            core.discard(place);
        }
    }

    /// Sends the answers of blocking functions, as far as their connections take them: several large ones at once
    /// would be more than a connection may have unsent.
    fn send_done(&mut self, io: &mut Io<Letter>) {
        for _ in 0..self.done.len() {
            let Some((place, serial, answer)) = self.done.pop_front() else { return };
            let Some(id) = self.core.is_current(place, serial) else { continue };
            let core = &mut self.core;
            if let Some(peer) = self.peers.at(id) {
                if std::mem::replace(&mut peer.produced_in, self.turn) != self.turn {
                    peer.produced = 0;
                }
                if io.unsent(id) + peer.produced > UNSENT_HIGH {
                    self.done.push_back((place, serial, answer));
                    continue;
                }
                peer.produced += answer.as_ref().map_or(0, Vec::len);
                peer.write(io, |connection, out| core.finish(connection, place, answer, out));
            }
            if core.is_current(place, serial).is_some() {
                core.discard(place);
            }
        }
    }

    /// Polls what is ready. What that makes ready is polled in the same turn, a few times over.
    fn poll_ready(&mut self, io: &mut Io<Letter>) {
        for _ in 0..ROUNDS_MAX {
            let mut ready = std::mem::take(&mut self.ready);
            self.core.ready.take(&mut ready);
            let any = !ready.is_empty();
            for place in ready.drain(..) {
                let Some(work) = self.core.works.at(place) else { continue };
                let id = work.connection;
                let Some(peer) = self.peers.at(id) else {
                    self.core.poll_alone(place);
                    continue;
                };
                if std::mem::replace(&mut peer.produced_in, self.turn) != self.turn {
                    peer.produced = 0;
                }
                if peer.parked
                    && let Kind::Future(running) = &work.kind
                    && running.is_outpouring()
                {
                    // Its caller is away: it goes on when the session does.
                    running.put_off();
                    continue;
                }
                let unsent = io.unsent(id);
                if unsent + peer.produced > UNSENT_HIGH {
                    if let Kind::Future(running) = &work.kind {
                        running.put_off();
                    }
                    if unsent == 0 {
                        // It may all leave with this turn; otherwise `drained` wakes it.
                        self.crowded.push((id, place));
                    }
                    continue;
                }
                let core = &mut self.core;
                let produced = peer.write(io, |connection, out| {
                    let start = out.len();
                    core.poll(connection, place, out);
                    out.len() - start
                });
                peer.produced += produced.unwrap_or(0);
            }
            self.ready = ready;
            if !any {
                return;
            }
        }
        // The rest has its turn after the others: knock, so that the loop does not sleep.
        let _ = self.core.handle.try_send(Letter::Woken);
    }

    /// Sends what is due on ticking streams; the rest of very much has its turn after the sockets.
    fn send_due(&mut self, io: &mut Io<Letter>) {
        let now_ms = io.now();
        if self.core.tickers.next_ms().is_none_or(|at_ms| at_ms > now_ms) {
            return;
        }
        self.core.tickers.advance(now_ms);
        let mut group = std::mem::take(&mut self.due);
        let mut messages = 0;
        while messages < TICKS_A_TURN
            && let Some(id) = self.core.tickers.next_group(now_ms, &mut group)
        {
            messages += group.len();
            io.reserve_turn();
            let core = &mut self.core;
            match self.peers.at(id) {
                Some(peer) if io.unsent(id) <= UNSENT_HIGH => {
                    let sent = io.with_output(id, |out| core.tick(&mut peer.connection, &group, now_ms, out));
                    if sent.is_none() {
                        core.hold(&group);
                    }
                }
                _ => core.hold(&group),
            }
            self.core.tickers.finish(id);
        }
        self.due = group;
    }

    fn expire(&mut self, io: &mut Io<Letter>) {
        let now_ms = io.now();
        let mut expired = std::mem::take(&mut self.expired);
        while let Some(one) = self.core.next_expired(now_ms) {
            let core = &mut self.core;
            if let Some(peer) = self.peers.at(one.0) {
                peer.write(io, |connection, out| core.expire(connection, one.1, out));
            }
            // Without a connection that can be written it ends all the same.
            core.discard(one.1);
        }
        expired.clear();
        self.expired = expired;
    }

    fn keep_house(&mut self, io: &mut Io<Letter>) {
        let now_ms = io.now();
        if now_ms < self.next_housekeeping_ms {
            return;
        }
        self.next_housekeeping_ms = now_ms + HOUSEKEEPING_MS;
        let handle = io.handle();
        let stats = handle.stats();
        self.core.gate.read_load(stats.busy_ns.value(), stats.idle_ns.value(), io.now_us());
        self.counts().load.set((self.core.gate.load() * 1000.0) as u64);
        let quiescing = self.quiescing_since_ms.is_some();
        if let Some(factor) = self.core.gate.load_to_tell(io.now_us()) {
            let mut metadata = Vec::new();
            wire::write_load(&mut metadata, factor, quiescing);
            for peer in self.peers.iter_mut().filter(|peer| peer.stadium) {
                io.with_output(peer.id, |out| peer.connection.metadata_push(&metadata, out));
            }
        }
        self.grant_leases(io);
        if let Some(since_ms) = self.quiescing_since_ms
            && now_ms >= since_ms + QUIESCE_NOTICE_MS
        {
            for peer in self.peers.iter_mut().filter(|peer| peer.connection.streams().next().is_none()) {
                io.with_output(peer.id, |out| {
                    peer.connection.close(ErrorCode::CONNECTION_CLOSE, "the instance quiesces", out);
                });
                io.close(peer.id);
            }
        }
    }

    /// Grants for a little longer than until the next look, so that clients are never without.
    fn grant_leases(&mut self, io: &mut Io<Letter>) {
        let capacity = match self.quiescing_since_ms {
            Some(_) => Capacity::Quiescing,
            None => self.core.gate.capacity(),
        };
        let clients = self.peers.iter_mut().filter(|peer| peer.lease);
        let askers = clients.map(|peer| Asker { key: peer.id, used: std::mem::take(&mut peer.used) });
        for grant in self.divider.grant(capacity, askers) {
            // Zero requests are no grant: the last one runs out.
            if grant.requests > 0
                && let Some(peer) = self.peers.at(grant.key)
            {
                let now_ms = io.now();
                let ended = io.with_output(grant.key, |out| {
                    // A lease counts from the time that the connection knows, and a client that waits for one
                    // says nothing that would tell it the time.
                    let event = peer.connection.advance(now_ms, out);
                    peer.connection.grant_lease(grant.ttl_ms, grant.requests, out);
                    matches!(event, Some(Event::Closed(_)))
                });
                if ended == Some(true) {
                    io.close(grant.key);
                }
            }
        }
    }

    fn set_alarm(&mut self, io: &mut Io<Letter>) {
        let deadline = self.core.deadlines.peek().map(|one| one.0.0);
        let house = (self.peers.len() > 0).then_some(self.next_housekeeping_ms);
        let session = self.peers.parked.next_ms();
        match [self.core.tickers.next_ms(), deadline, house, session].into_iter().flatten().min() {
            Some(at_ms) => io.set_alarm(at_ms),
            None => io.clear_alarm(),
        }
    }

    /// Has the connection's keep-alive looked at in time.
    fn set_timer(io: &mut Io<Letter>, peer: &Peer) {
        if let Some(at_ms) = peer.connection.deadline_ms() {
            io.set_timer(peer.id, at_ms.saturating_sub(io.now()));
        }
    }

    /// Has a connection that is not read looked at long before either side holds the other for dead.
    fn look_soon(io: &mut Io<Letter>, peer: &Peer) {
        if let Some(at_ms) = peer.connection.deadline_ms() {
            io.set_timer(peer.id, (at_ms.saturating_sub(io.now()) / 2).max(LOOK_MS_MIN));
        }
    }

    /// Connections are read again whose uploads have caught up.
    fn read_on(&mut self, io: &mut Io<Letter>) {
        while let Some(id) = self.core.caught_up.pop() {
            if let Some(peer) = self.peers.at(id) {
                peer.behind = peer.behind.saturating_sub(1);
                if peer.behind == 0 && !peer.paused {
                    io.resume(id);
                    Self::set_timer(io, peer);
                }
            }
        }
    }

    fn end(&mut self, io: &mut Io<Letter>, id: ConnectionId) {
        self.counts().violations.add(1);
        io.close(id);
    }

    /// A client comes back for its session, with a new socket that `id` names.
    fn resumes(&mut self, io: &mut Io<Letter>, id: ConnectionId, resumption: Box<Resumption>) {
        match self.station.seats.find(&resumption.token) {
            Some(seat) if seat.owner == self.station.place => self.take_up(io, id, seat.id, &resumption),
            Some(seat) => {
                self.peers.remove(id);
                io.handoff(id, &self.station.siblings[seat.owner], Letter::Resumes(resumption));
            }
            None => refuse_resumption(io, id),
        }
        self.counts().connections.set(self.peers.len() as u64);
    }

    /// Goes on with a session that had the socket `old` on the socket `id`.
    fn take_up(&mut self, io: &mut Io<Letter>, id: ConnectionId, old: ConnectionId, resumption: &Resumption) {
        let now_ms = io.now();
        // The half that has read the RESUME.
        self.peers.remove(id);
        if let Some(mut peer) = self.peers.remove(old) {
            // The network lost the old socket, and here it has not shown yet.
            io.abort(old);
            if peer.connection.suspend(now_ms) == Suspended::Waits {
                self.peers.parked.insert(peer, now_ms);
            } else {
                self.forget(&peer);
            }
        }
        let Some(mut peer) = self.peers.parked.remove(old) else { return refuse_resumption(io, id) };
        let frame = resumption.frame();
        let connection = &mut peer.connection;
        match io.with_output(id, |out| connection.resume_server(&frame, now_ms, out)) {
            Some(Ok(())) => {}
            Some(Err(refused)) => {
                tracing::debug!(connection = ?id, error = %refused, "A session was not resumed");
                self.forget(&peer);
                return io.close(id);
            }
            // The new socket is lost already.
            None => return self.peers.parked.insert(peer, now_ms),
        }
        self.core.move_to(old, id);
        let seat = Seat { owner: self.station.place, id };
        self.station.seats.move_to(&resumption.token, seat);
        (peer.id, peer.address, peer.paused) = (id, resumption.address, false);
        if peer.lease {
            // Leases end with their socket.
            peer.write(io, |connection, out| connection.grant_lease(LEASE_MS, FIRST_LEASE, out));
        }
        let peer = self.peers.insert(peer);
        Self::set_timer(io, peer);
        for (_, tag, _) in peer.connection.streams() {
            self.core.writable(tag);
        }
        self.counts().resumed.add(1);
    }

    /// A session has ended, or a connection without one: nobody waits for its calls.
    fn forget(&mut self, peer: &Peer) {
        if let Some(token) = peer.connection.resume_token() {
            self.station.seats.give_up(token, Seat { owner: self.station.place, id: peer.id });
        }
        for (_, tag, _) in peer.connection.streams() {
            self.core.cancelled(tag);
        }
    }

    /// Ends sessions whose clients did not come back, and those that are too many.
    fn end_sessions(&mut self, now_ms: u64) {
        while let Some(peer) = self.peers.parked.next_over(now_ms) {
            self.forget(&peer);
        }
    }
}

/// Tells a client that its session is not known, and closes its new socket.
fn refuse_resumption(io: &mut Io<Letter>, id: ConnectionId) {
    let text = "this session is not known here";
    let error = Frame::Error {
        stream: StreamId::CONNECTION,
        code: ErrorCode::REJECTED_RESUME,
        data: text.as_bytes(),
    };
    io.with_output(id, |out| frame::encode(&error, out));
    io.close(id);
}

/// Writes what has gathered, which is not the functions' time.
fn write_now(core: &mut Core, io: &mut Io<Letter>) {
    let began = Instant::now();
    io.write_now();
    core.pace.wrote(began.elapsed());
}

/// Parts in which the answers to one read leave at most.
const PARTS_MAX: usize = 4;

/// Messages of ticking streams that leave in one turn, or a few more: some milliseconds of work.
const TICKS_A_TURN: usize = 2_048;

/// The least time between two looks at a connection that is not read, in milliseconds.
const LOOK_MS_MIN: u64 = 250;

/// How often a turn looks for tasks that its own polls have woken.
const ROUNDS_MAX: usize = 8;

/// What an event asks of the loop.
fn handle_event(
    core: &mut Core,
    peer: &mut Peer,
    event: Event<'_>,
    now_ms: u64,
    station: &Station,
    out: &mut Vec<u8>,
) -> Flow {
    match event {
        Event::Request { stream, interaction, initial, completes, payload, more } => {
            let request = Request {
                connection: peer.id,
                peer: peer.address,
                stream,
                pattern: interaction,
                initial,
                completes,
                more,
                now_ms,
                metadata: payload.metadata(),
                composite: peer.composite,
                data: &payload.data,
            };
            peer.used = peer.used.saturating_add(1);
            core.request(&mut peer.connection, &request, out);
        }
        Event::Payload { tag, next, payload, completes, .. } => {
            core.inbound(tag, (next == Next::Value).then_some(&payload), completes);
        }
        Event::Piece { tag, data, more, .. } => {
            peer.behind += u32::from(core.piece(tag, data, more));
        }
        Event::Credit { tag, n, .. } => core.credit(tag, n),
        Event::Cancelled { tag, scope: Scope::Sending, .. } => core.unwanted(tag),
        Event::Cancelled { tag, .. } => core.cancelled(tag),
        Event::Failed { tag, .. } => core.cancelled(tag),
        Event::Setup(setup) => {
            peer.composite = setup.metadata_mime != b"message/x.rsocket.routing.v0";
            if let Some(metadata) = setup.payload.metadata {
                peer.stadium = wire::is_stadium_peer(metadata);
            }
            if let Some(token) = setup.resume_token
                && let Err(text) = begin_session(station, peer.id, token)
            {
                peer.connection.refuse(ErrorCode::REJECTED_SETUP, text, out);
                return Flow::Close;
            }
            peer.lease = station.leases && setup.lease == stadium_rsocket::frame::WantsLease::Yes;
            peer.ready = true;
            peer.connection.accept();
            if peer.lease {
                peer.connection.grant_lease(LEASE_MS, FIRST_LEASE, out);
            }
        }
        Event::Resume(resume) => return Flow::Resume(Box::new(Resumption::new(&resume, peer.address))),
        Event::Closed(_) => return Flow::Close,
        _ => {}
    }
    Flow::Open
}

/// Gives a session a seat; the reason if it gets none.
fn begin_session(station: &Station, id: ConnectionId, token: &[u8]) -> Result<(), &'static str> {
    if token.len() < TOKEN_BYTES_MIN {
        return Err("the resume token is too short to be a secret: it takes 16 bytes");
    }
    let seat = Seat { owner: station.place, id };
    if station.seats.take(token, seat) { Ok(()) } else { Err("another session has this resume token") }
}

/// How long a client may use its first lease, in milliseconds.
const LEASE_MS: u32 = (HOUSEKEEPING_MS * 4) as u32;

/// Requests granted to a client that has just come, before its use is known.
const FIRST_LEASE: u32 = 1_000;

impl Handler for ServerLoop {
    type Message = Letter;

    fn accepted(&mut self, _io: &mut Io<Letter>, id: ConnectionId, accepted: &Accepted) {
        self.addresses.insert(id.index, accepted.peer);
    }

    fn established(&mut self, io: &mut Io<Letter>, id: ConnectionId) {
        self.turn_begins(io.now_us());
        let address = self.addresses.remove(&id.index);
        let connection = Connection::server(Arc::clone(&self.station.protocol), io.now());
        let peer = self.peers.insert(Peer::new(id, connection, address));
        Self::set_timer(io, peer);
        self.counts().connections.set(self.peers.len() as u64);
    }

    fn received(&mut self, io: &mut Io<Letter>, id: ConnectionId, bytes: &[u8]) -> usize {
        self.turn_begins(io.now_us());
        io.reserve_turn();
        let now_ms = io.now();
        let Some(peer) = self.peers.at(id) else { return bytes.len() };
        let (core, station) = (&mut self.core, &self.station);
        let was_ready = peer.ready;
        let mut used = 0;
        let mut flow = Flow::Open;
        // A long batch leaves in parts, so that the peer works on the first while we make the next. The rest is never
        // less than a part: small batches would beget smaller ones. Where others are ready too there is work for all
        // sides anyway, and each connection is written once.
        let worth = core.gate.answers_worth_a_write();
        let alone = io.is_alone();
        let part_bytes = bytes.len() / PARTS_MAX;
        let mut events = 0;
        let mut more = true;
        let mut written = Some(());
        while more && written.is_some() {
            more = false;
            events = 0;
            let part_begins = used;
            written = io.with_output(id, |out| {
                let start = out.len();
                while flow == Flow::Open {
                    if out.len() - start > UNSENT_HIGH {
                        // Small requests may have large answers: the rest is read when these have left.
                        more = true;
                        return;
                    }
                    let part = used - part_begins;
                    if alone && events >= worth && part >= part_bytes && bytes.len() - used >= part {
                        more = true;
                        return;
                    }
                    let received = peer.connection.receive(now_ms, &bytes[used..], out);
                    used += received.used;
                    match received.event {
                        Some(event) => flow = handle_event(core, peer, event, now_ms, station, out),
                        None if received.used == 0 => return,
                        None => {}
                    }
                    events += 1;
                }
            });
            if more {
                write_now(core, io);
                if io.unsent(id) > UNSENT_HIGH {
                    break;
                }
            }
        }
        if !alone && events >= worth {
            write_now(core, io);
        }
        if let (Some(()), Flow::Resume(resumption)) = (written, &mut flow) {
            let resumption = std::mem::replace(resumption, Box::new(Resumption::default()));
            self.resumes(io, id, resumption);
            // What stands behind the RESUME is for the session.
            return if self.peers.at(id).is_some() && used < bytes.len() {
                used + self.received(io, id, &bytes[used..])
            } else {
                used
            };
        }
        if written.is_none() || flow == Flow::Close {
            self.end(io, id);
            return bytes.len();
        }
        if !was_ready && let Some(peer) = self.peers.at(id) {
            Self::set_timer(io, peer);
        }
        if io.unsent(id) > UNSENT_HIGH {
            io.pause(id);
            if let Some(peer) = self.peers.at(id) {
                peer.paused = true;
            }
        }
        if let Some(peer) = self.peers.at(id)
            && peer.behind > 0
        {
            io.pause(id);
            Self::look_soon(io, peer);
        }
        used
    }

    fn timeout(&mut self, io: &mut Io<Letter>, id: ConnectionId) {
        self.turn_begins(io.now_us());
        let now_ms = io.now();
        let Some(peer) = self.peers.at(id) else { return };
        if peer.behind > 0 {
            // Its signs of life stand behind what is not read: a little is, and it gets one of ours.
            io.with_output(id, |out| peer.connection.probe(out));
            io.resume(id);
            return Self::look_soon(io, peer);
        }
        let event = io.with_output(id, |out| peer.connection.advance(now_ms, out));
        if let Some(Some(Event::Closed(_))) = event {
            return self.end(io, id);
        }
        Self::set_timer(io, peer);
    }

    fn drained(&mut self, io: &mut Io<Letter>, id: ConnectionId) {
        self.turn_begins(io.now_us());
        let Some(peer) = self.peers.at(id) else { return };
        if std::mem::take(&mut peer.paused) {
            io.resume(id);
        }
        for (_, tag, _) in peer.connection.streams() {
            self.core.writable(tag);
        }
    }

    /// A socket from another loop: its client resumes a session that is here.
    fn adopted(&mut self, io: &mut Io<Letter>, id: ConnectionId, attachment: Letter) {
        self.turn_begins(io.now_us());
        match attachment {
            Letter::Resumes(resumption) => match self.station.seats.find(&resumption.token) {
                Some(seat) if seat.owner == self.station.place => self.take_up(io, id, seat.id, &resumption),
                _ => refuse_resumption(io, id),
            },
            _ => io.close(id),
        }
        self.counts().connections.set(self.peers.len() as u64);
    }

    fn closed(&mut self, io: &mut Io<Letter>, id: ConnectionId, reason: CloseReason) {
        self.addresses.remove(&id.index);
        let Some(mut peer) = self.peers.remove(id) else { return };
        tracing::trace!(connection = ?id, reason = reason.name(), "Client gone");
        let stays = self.quiescing_since_ms.is_none() && reason != CloseReason::Stopped;
        if stays && peer.connection.suspend(io.now()) == Suspended::Waits {
            self.peers.parked.insert(peer, io.now());
            self.end_sessions(io.now());
        } else {
            self.forget(&peer);
        }
        self.counts().connections.set(self.peers.len() as u64);
    }

    fn message(&mut self, io: &mut Io<Letter>, message: Letter) {
        self.turn_begins(io.now_us());
        match message {
            // A resumption comes with its socket, see `adopted`.
            Letter::Woken | Letter::Resumes(_) => {}
            Letter::Done { place, serial, answer } => self.done.push_back((place, serial, answer)),
            Letter::Quiesce => {
                if self.quiescing_since_ms.is_none() {
                    self.quiescing_since_ms = Some(io.now());
                    io.stop_listening();
                    // Nobody can come back for them.
                    while let Some(peer) = self.peers.parked.next() {
                        self.forget(&peer);
                    }
                    self.core.gate.tell_again();
                    self.next_housekeeping_ms = 0;
                }
            }
        }
    }

    fn alarm(&mut self, io: &mut Io<Letter>) {
        self.turn_begins(io.now_us());
    }

    fn datagram(&mut self, io: &mut Io<Letter>, socket: UdpId, peer: SocketAddr, bytes: &[u8]) {
        self.turn_begins(io.now_us());
        self.datagrams.answer(&mut self.core, io, socket, peer, bytes);
    }

    fn turn_ended(&mut self, io: &mut Io<Letter>) {
        self.send_done(io);
        self.end_sessions(io.now());
        self.expire(io);
        self.send_due(io);
        self.start_held(io);
        self.poll_ready(io);
        self.read_on(io);
        self.keep_house(io);
        if let Some(look) = self.core.pace.turn_ends() {
            self.core.gate.looked(look);
        }
    }

    fn turn_flushed(&mut self, io: &mut Io<Letter>) {
        self.turn += 1;
        while let Some((id, place)) = self.crowded.pop() {
            if io.unsent(id) == 0
                && let Some(Work { kind: Kind::Future(running), connection, .. }) = self.core.works.at(place)
                && *connection == id
            {
                running.wake();
            }
        }
        let core = &mut self.core;
        let free = |id| io.unsent(id) == 0;
        if self.done.iter().any(|(place, serial, _)| core.is_current(*place, *serial).is_none_or(free)) {
            // Its connection has taken what was before it; for others `drained` comes.
            let _ = self.core.handle.try_send(Letter::Woken);
        }
        self.set_alarm(io);
        let counts = &self.core.counts;
        counts.inflight.set(self.core.works.len() as u64);
        counts.queued.set(self.core.gate.waiting() as u64);
        counts.limit.set(u64::from(self.core.gate.limit()));
        counts.streams.set(self.core.tickers.len() as u64);
        counts.sessions.set(self.peers.parked.len() as u64);
    }
}
