//! One loop of a server: the calls of the reactor, and which part of the server they concern.
//!
//! Each connection has its RSocket state machine here; requests go to [`Core`]. What a turn produces for a
//! connection leaves in one write at the turn's end.

mod bounds;
mod house;
mod resumption;
mod turn;

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use stadium_reactor::tls::CertificateNames;
use stadium_reactor::{
    Accepted, Admission, CloseReason, ConnectionId, Handler, Io, ListenerTag, LoopHandle, UdpId,
};
use stadium_rsocket::connection::{Config as ProtocolConfig, Connection, Event, Scope, Suspended};
use stadium_rsocket::frame::{ErrorCode, Next};

use super::budget::Budget;
use super::counts::LoopCounts;
use super::dispatch::{Core, Request};
use super::item::Item;
use super::peer::{Peer, Peers};
use super::sessions::{ParkedLimits, Resumption, SessionPlaces};
use super::timers::Timers;
use super::udp;
use super::work::{Kind, Work};
use crate::admission::{LeaseSettings, Leases};
use crate::answer::Refusal;
use crate::wire;
use bounds::{Chore, What, for_each_stream};
use house::{FIRST_LEASE, HOUSEKEEPING_MS, LEASE_MS, LOOKS_MS};
use resumption::{begin_session, refuse_resumption};

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
    pub(crate) session_places: Arc<SessionPlaces>,
    /// All loops, by their places.
    pub(crate) siblings: Arc<[LoopHandle<Item>]>,
    /// What the loop keeps of lost connections.
    pub(crate) parked: ParkedLimits,
    /// What all connections may cost together.
    pub(crate) budget: Arc<Budget>,
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
    outpaced: Vec<(ConnectionId, u32)>,
    /// Those of the functions that are futures.
    timers: Timers,
    /// What is to be done for the streams of connections.
    chores: VecDeque<Chore>,
    /// Bytes that connections hold of payloads in fragments, those included that wait for their clients.
    fragments: usize,
    /// What was last reported to the budget, in bytes.
    reported: usize,
    /// Another loop reports that this one holds most of what is too much.
    is_suspected: bool,
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
            outpaced: Vec::new(),
            timers: Timers::install(),
            chores: VecDeque::new(),
            fragments: 0,
            reported: 0,
            is_suspected: false,
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

    fn end(&mut self, io: &mut Io<Item>, id: ConnectionId) {
        self.counts().violations.add(1);
        io.close(id);
    }
}

/// Writes what is staged, which is not the functions' time.
fn write_now(core: &mut Core, io: &mut Io<Item>) {
    let began = Instant::now();
    io.write_now();
    core.pace.wrote(began.elapsed());
}

/// Parts in which the answers to one read leave at most.
const PARTS_MAX: usize = 4;

/// What an event asks of the loop.
fn handle_event(
    core: &mut Core,
    peer: &mut Peer,
    event: &Event<'_>,
    now_ms: u64,
    station: &Station,
    out: &mut Vec<u8>,
) -> Flow {
    match *event {
        Event::Request { stream, interaction, initial, completes, ref payload, more } => {
            let request = Request {
                connection: peer.id,
                peer: peer.address,
                certificate: peer.certificate.as_ref(),
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
        Event::Payload { tag, next, ref payload, completes, .. } => {
            core.inbound(tag, (next == Next::Value).then_some(payload), completes);
        }
        Event::Piece { tag, data, more, .. } => {
            peer.behind += u32::from(core.piece(tag, data, more));
        }
        Event::Credit { tag, n, .. } => core.credit(tag, n),
        Event::Cancelled { tag, scope: Scope::Sending, .. } => core.unwanted(tag),
        Event::Cancelled { tag, .. } => core.cancelled(tag),
        Event::Failed { tag, .. } => core.cancelled(tag),
        Event::Setup(ref setup) => {
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
        Event::Resume(ref resume) => {
            let (address, certificate) = (peer.address, peer.certificate.clone());
            return Flow::Resume(Box::new(Resumption::new(resume, address, certificate)));
        }
        Event::Closed(_) => return Flow::Close,
        _ => {}
    }
    Flow::Open
}

impl Handler for ServerLoop {
    type Message = Item;

    fn accepting(&mut self, _peer: SocketAddr, _listener: ListenerTag) -> Admission {
        if self.station.budget.has_room() {
            return Admission::Accept;
        }
        self.counts().refused.add(1);
        Admission::Refuse
    }

    fn accepted(&mut self, _io: &mut Io<Item>, id: ConnectionId, accepted: &Accepted) {
        self.station.budget.connected();
        self.addresses.insert(id.index, accepted.peer);
    }

    fn established(&mut self, io: &mut Io<Item>, id: ConnectionId) {
        self.turn_begins(io.now_us());
        let address = self.addresses.remove(&id.index);
        let connection = Connection::server(Arc::clone(&self.station.protocol), io.now());
        // Read once for a connection; its calls borrow the names.
        let certificate = io.take_peer_certificate(id);
        let certificate = certificate.and_then(|der| CertificateNames::read(&der)).map(Arc::new);
        let peer = self.peers.insert(Peer::new(id, connection, address, certificate));
        Self::set_timer(io, peer);
        self.counts().connections.set(self.peers.len() as u64);
    }

    fn received(&mut self, io: &mut Io<Item>, id: ConnectionId, bytes: &[u8]) -> usize {
        self.turn_begins(io.now_us());
        io.reserve_turn();
        let now_ms = io.now();
        let Some(peer) = self.peers.at(id) else { return bytes.len() };
        let (core, station) = (&mut self.core, &self.station);
        let was_ready = peer.ready;
        let mut used = 0;
        let mut flow = Flow::Open;
        // A long batch leaves in parts, so that the peer works on the first while we make the next. The rest is never
        // less than a part: small batches would beget smaller ones. Where others are ready too, each connection is
        // written once, before the next one is read.
        let worth = core.gate.answers_worth_a_write();
        let alone = io.is_alone();
        let part_bytes = bytes.len() / PARTS_MAX;
        let mut more = true;
        let mut written = Some(());
        while more && written.is_some() {
            more = false;
            let mut events = 0;
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
                    match &received.event {
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
        if !alone && used > 0 {
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
        Self::note_partial(&mut self.fragments, peer);
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
            && used > 0
        {
            // The beginning of a frame, shown again, is not what was to be read: the rest of the frame is.
            io.pause(id);
            Self::look_soon(io, peer);
        }
        used
    }

    fn timeout(&mut self, io: &mut Io<Item>, id: ConnectionId) {
        self.turn_begins(io.now_us());
        let now_ms = io.now();
        let Some(peer) = self.peers.at(id) else { return };
        let ends_ms = peer.connection.deadline_ms().unwrap_or(now_ms);
        if peer.behind > 0 && now_ms < ends_ms.saturating_add(LOOKS_MS) {
            // Its signs of life stand behind what is not read: a little is, and it gets one of ours. Where nothing was
            // there to be read at the last looks, it is held to its lifetime as any other.
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

    fn drained(&mut self, io: &mut Io<Item>, id: ConnectionId) {
        self.turn_begins(io.now_us());
        let Some(peer) = self.peers.at(id) else { return };
        if std::mem::take(&mut peer.paused) {
            io.resume(id);
        }
        for_each_stream(&mut self.chores, peer, What::Wake);
    }

    /// A socket from another loop: its client resumes a session that is here.
    fn adopted(&mut self, io: &mut Io<Item>, id: ConnectionId, attachment: Item) {
        self.turn_begins(io.now_us());
        match attachment {
            Item::Resumes(resumption) => match self.station.session_places.find(&resumption.token) {
                Some(place) if place.owner == self.station.place => {
                    self.take_up(io, id, place.id, &resumption)
                }
                _ => refuse_resumption(io, id),
            },
            _ => io.close(id),
        }
        self.counts().connections.set(self.peers.len() as u64);
    }

    fn closed(&mut self, io: &mut Io<Item>, id: ConnectionId, reason: CloseReason) {
        self.addresses.remove(&id.index);
        self.station.budget.disconnected();
        if matches!(reason, CloseReason::SlowReader | CloseReason::WriteStall) {
            self.counts().cut_slow.add(1);
        }
        let Some(mut peer) = self.peers.remove(id) else { return };
        tracing::trace!(connection = ?id, reason = reason.name(), "Client gone");
        let stays = self.quiescing_since_ms.is_none() && reason != CloseReason::Stopped;
        if stays && peer.connection.suspend(io.now()) == Suspended::Waits {
            self.peers.parked.insert(peer, io.now());
            self.end_sessions(io.now());
        } else {
            self.forget(&peer);
        }
        if reason == CloseReason::Stopped {
            // There is no later turn.
            self.do_some_chores(usize::MAX);
        } else {
            self.do_chores();
        }
        self.counts().connections.set(self.peers.len() as u64);
    }

    fn message(&mut self, io: &mut Io<Item>, message: Item) {
        self.turn_begins(io.now_us());
        match message {
            // A resumption comes with its socket, see `adopted`.
            Item::Woken | Item::Resumes(_) => {}
            Item::OverBudget => self.is_suspected = true,
            Item::Done { place, serial, answer } => self.done.push_back((place, serial, answer)),
            Item::Quiesce => {
                if self.quiescing_since_ms.is_none() {
                    self.quiescing_since_ms = Some(io.now());
                    io.stop_listening();
                    // Nobody can come back for them.
                    while let Some(peer) = self.peers.parked.next() {
                        self.forget(&peer);
                    }
                    self.core.gate.report_again();
                    self.next_housekeeping_ms = 0;
                }
            }
        }
    }

    fn alarm(&mut self, io: &mut Io<Item>) {
        self.turn_begins(io.now_us());
    }

    fn datagram(&mut self, io: &mut Io<Item>, socket: UdpId, peer: SocketAddr, bytes: &[u8]) {
        self.turn_begins(io.now_us());
        self.datagrams.answer(&mut self.core, io, socket, peer, bytes);
    }

    fn turn_ended(&mut self, io: &mut Io<Item>) {
        self.send_done(io);
        self.end_sessions(io.now());
        self.do_chores();
        self.expire(io);
        self.send_due(io);
        self.start_held(io);
        self.timers.advance();
        self.poll_ready(io);
        self.read_on(io);
        self.keep_house(io);
        self.keep_within_budget(io);
        if let Some(look) = self.core.pace.turn_ends() {
            self.core.gate.looked(look);
        }
    }

    fn turn_flushed(&mut self, io: &mut Io<Item>) {
        self.turn += 1;
        while let Some((id, place)) = self.outpaced.pop() {
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
            let _ = self.core.handle.try_send(Item::Woken);
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
