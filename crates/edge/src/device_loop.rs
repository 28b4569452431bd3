//! One loop of the edge: the calls of the reactor, and which part of the edge they concern.
//!
//! The loop owns a broker, the table of its connections and its [`Surroundings`]. Everything here runs
//! on the loop's thread; nothing here blocks or, once warm, allocates for a packet.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use stadium_mqtt::broker::{Broker, Close, Flow, GroupMessage, Interest, Persisted, SessionKey, Then};
use stadium_mqtt::decode;
use stadium_mqtt::packet::PacketType;
use stadium_reactor::{Accepted, Admission, CloseReason, ConnectionId, Handler, Io, ListenerTag};

use crate::auth::Verdict;
use crate::config::Config;
use crate::counts::Counts;
use crate::devices::{Devices, State};
use crate::drain::Draining;
use crate::limits::TokenBucket;
use crate::listing::Listings;
use crate::message::{Arrived, Forward, Kind, Message};
use crate::principals::Principals;
use crate::push::PushRecord;
use crate::push::transport::QueuedItem;
use crate::rates::Rates;
use crate::refusals::{Refusals, shown};
use crate::requests::RequestGate;
use crate::sessions::SessionWriter;
use crate::turn::{Surroundings, Turn, Who, filter_of_group};
use crate::uplinks::Uplinks;

/// How often a full mailbox of another loop is tried again while nothing else happens.
const FORWARD_RETRY_MS: u64 = 1;

/// The reactor's handler on each loop of the edge.
pub(crate) struct DeviceLoop {
    pub(crate) config: Arc<Config>,
    pub(crate) broker: Broker<ConnectionId, Who>,
    pub(crate) around: Surroundings,
    pub(crate) devices: Devices,
    /// Connections that have not identified themselves, by their place.
    pub(crate) arrivals: HashMap<u32, Arrived>,
    /// Verdicts for connections that are about to be read again.
    pub(crate) verdicts: HashMap<u32, Verdict>,
    /// When the proof of a device's identity ends, for those whose proof does.
    pub(crate) proofs_end: HashMap<u32, u64>,
    /// Connections whose principal is not their client id.
    pub(crate) principals: Principals,
    /// Peers' addresses, where they are watched.
    pub(crate) addresses: HashMap<u32, IpAddr>,
    pub(crate) connect_tokens: TokenBucket,
    /// Lines about clients that were not let in.
    pub(crate) refusals: Refusals,
    /// What each connection may still send, where that is bounded.
    pub(crate) rates: HashMap<u32, Rates>,
    /// Publishers that wait until other loops have caught up.
    held_back: Vec<ConnectionId>,
    pub(crate) draining: Option<Draining>,
    /// Lists of sessions under way.
    pub(crate) listings: Listings,
    /// Pushes of this turn, whose records hear of it when everything was written.
    pub(crate) pushed: Vec<Arc<PushRecord>>,
    /// Names that shards had cut, and when: no client id and no principal of that name comes in by
    /// a verdict of before.
    pub(crate) cut_lately: HashMap<String, u64>,
    /// Scratch for what shards put down for this loop.
    pub(crate) queued: Vec<QueuedItem>,
    /// Scratch for what shards have answered.
    answered: Vec<(Then, Persisted)>,
    /// The last interval in which figures of the server were published; 0 without a subscriber.
    pub(crate) sys_tick: u64,
    /// When this turn's first bytes or word came in, and the deliveries counted before.
    turn_began: Option<(Instant, u64)>,
}

impl DeviceLoop {
    pub(crate) fn new(config: Arc<Config>, broker: Broker<ConnectionId, Who>, around: Surroundings) -> Self {
        let loops = u32::try_from(config.loops).unwrap_or(1);
        let connect_tokens = TokenBucket::full((config.connect_budget.per_second / loops).max(1), 0);
        Self {
            config,
            broker,
            around,
            devices: Devices::default(),
            arrivals: HashMap::new(),
            verdicts: HashMap::new(),
            proofs_end: HashMap::new(),
            principals: Principals::default(),
            addresses: HashMap::new(),
            connect_tokens,
            refusals: Refusals::default(),
            rates: HashMap::new(),
            held_back: Vec::new(),
            draining: None,
            listings: Listings::default(),
            pushed: Vec::new(),
            cut_lately: HashMap::new(),
            queued: Vec::new(),
            answered: Vec::new(),
            sys_tick: 0,
            turn_began: None,
        }
    }

    pub(crate) fn set_state(&mut self, id: ConnectionId, state: State) {
        self.devices.set_state(id, state);
    }

    /// Packets of a device. Returns the bytes used.
    fn serve(&mut self, io: &mut Io<Message>, id: ConnectionId, bytes: &[u8]) -> usize {
        let key = self.devices.session(id);
        let packet_bytes_max = self.config.broker.packet_bytes_max;
        let publishes_max = self.publishes_allowed(io, id);
        let mut used = 0;
        let mut publishes = 0;
        let mut has_resubscribed = false;
        let mut turn = Turn { io: &mut *io, around: &mut self.around };
        loop {
            let flow = match decode::frame(&bytes[used..], packet_bytes_max) {
                Ok(Some(frame)) => {
                    if frame.packet_type() == PacketType::Publish {
                        if publishes == publishes_max {
                            break;
                        }
                        publishes += 1;
                    }
                    has_resubscribed |=
                        matches!(frame.packet_type(), PacketType::Subscribe | PacketType::Unsubscribe);
                    if turn.around.tracing.is_on() {
                        turn.around.tracing.received(id, &bytes[used..used + frame.total]);
                    }
                    turn.around.counts.packets_in += 1;
                    used += frame.total;
                    self.broker.received(&mut turn, key, id, &frame)
                }
                Ok(None) => break,
                Err(error) => self.broker.violated(&mut turn, key, id, error.reason_code()),
            };
            if flow == Flow::Closed {
                self.set_state(id, State::Ending);
                return bytes.len();
            }
        }
        if has_resubscribed {
            self.look_at_inbox(io, id);
        }
        if !self.config.rates.is_off() {
            self.charge(io, id, publishes, used as u64);
        }
        if self.around.forwards_waiting > self.config.forwards_waiting_max || !self.around.keeps_up() {
            io.pause(id);
            self.held_back.push(id);
        }
        used
    }

    fn forwarded(&mut self, io: &mut Io<Message>, forwards: Vec<Forward>) {
        for forward in forwards {
            let mut turn = Turn { io: &mut *io, around: &mut self.around };
            match forward {
                Forward::Publish(publication) => self.broker.forwarded(&mut turn, &publication),
                Forward::Keep(publication, origin, to) => {
                    self.broker.forwarded_to_keep(&mut turn, &publication, origin, to);
                }
                Forward::Kept(then, part) => self.broker.kept_elsewhere(&mut turn, then, &part),
                Forward::Verdict(held, verdict) => self.broker.decided(&mut turn, held, verdict),
                Forward::Group(GroupMessage::Join(join)) => {
                    let shared = Arc::clone(&turn.around.shared);
                    let (index, filter) = (turn.around.index, join.filter.clone());
                    self.broker.group_message(&mut turn, GroupMessage::Join(join));
                    shared.interests.change(index, filter_of_group(&filter), Interest::Lost);
                }
                Forward::Group(message) => self.broker.group_message(&mut turn, message),
                Forward::Push(part) => self.push(io, part),
            }
        }
    }

    /// Lets go on what waited for shards that have answered, and hands them what there is to keep.
    pub(crate) fn keep_sessions(&mut self, io: &mut Io<Message>) {
        let mut answered = std::mem::take(&mut self.answered);
        loop {
            self.settle_own_requests(io);
            let now_ms = self.around.now_ms(io);
            let Some(session_writer) = &mut self.around.session_writer else { break };
            session_writer.collect(now_ms, &mut answered);
            for (then, receivers) in session_writer.partly.drain(..) {
                self.broker.known_to(then, &receivers);
            }
            if let Some(uplinks) = &mut self.around.uplinks {
                uplinks.collect(now_ms, &mut answered);
            }
            for (then, persisted) in answered.drain(..) {
                let mut turn = Turn { io: &mut *io, around: &mut self.around };
                self.broker.persisted(&mut turn, then, persisted);
            }
            self.let_entered_in(io);
            let Some(session_writer) = &mut self.around.session_writer else { break };
            let mut at_once = session_writer.submit(now_ms);
            at_once |= self.around.uplinks.as_mut().is_some_and(|uplinks| uplinks.submit(now_ms));
            if !at_once {
                break;
            }
        }
        self.answered = answered;
    }

    /// Reads on those whose sessions are durable now.
    fn let_entered_in(&mut self, io: &mut Io<Message>) {
        while let Some(id) =
            self.around.session_writer.as_mut().and_then(|session_writer| session_writer.entered.pop())
        {
            if self.devices.state(id) == State::Entering {
                self.set_state(id, State::Live);
                self.look_at_inbox(io, id);
                io.resume(id);
            }
        }
    }

    /// Sets the loop's alarm for the next thing that is due.
    pub(crate) fn set_alarm(&mut self, io: &mut Io<Message>) {
        let offset_ms = self.around.clock_offset_ms;
        let broker = self.broker.next_deadline_ms();
        let drain = self.draining.as_ref().and_then(Draining::next_ms);
        let retry = (self.around.forwards_waiting > 0).then(|| self.around.now_ms(io) + FORWARD_RETRY_MS);
        let session_writer = self.around.session_writer.as_ref().and_then(SessionWriter::retry_at_ms);
        let uplinks = self.around.uplinks.as_ref().and_then(Uplinks::retry_at_ms);
        // The next turn goes on with them, after all that came meanwhile.
        let has_more = self.broker.has_replays() || self.listings.are_under_way();
        let more = has_more.then(|| self.around.now_ms(io));
        let refusals = self.refusals.due_ms();
        let sys_topics = self.sys_due_ms(self.around.now_ms(io));
        let due =
            broker.into_iter().chain(more).chain(drain).chain(retry).chain(session_writer).chain(uplinks);
        match due.chain(refusals).chain(sys_topics).min() {
            Some(at_ms) => io.set_alarm(at_ms.saturating_sub(offset_ms)),
            None => io.clear_alarm(),
        }
    }

    /// One line for a client that was connected and is no more.
    fn log_close(&self, key: SessionKey, ending: Option<Close>, reason: CloseReason) {
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return;
        }
        let code = match ending {
            Some(Close::Refused(code)) => Some(format!("{:#04X} {}", code as u8, code.name())),
            _ => None,
        };
        // What the broker decided, or else what became of the socket.
        tracing::debug!(
            client_id = self.broker.client_id(key).map(shown),
            reason = ending.map_or(reason.name(), Counts::close_name),
            code,
            "Client disconnected"
        );
    }

    fn turn_begins(&mut self) {
        self.look_at_traces();
        if self.turn_began.is_none() {
            self.turn_began = Some((Instant::now(), self.around.counts.deliveries_total()));
        }
    }

    fn publish_counts(&mut self) {
        let totals = self.broker.totals();
        let counts = &mut self.around.counts;
        counts.sessions = totals.sessions as u64;
        counts.subscriptions = totals.subscriptions as u64;
        counts.deliveries_pending = totals.deliveries as u64;
        counts.queued_messages = totals.queued_messages as u64;
        counts.session_bytes = totals.bytes as u64;
        counts.requests_in_flight =
            self.around.request_gate.as_ref().map_or(0, RequestGate::in_flight) as u64;
        counts.application_messages = self.around.publishes.accepted;
        counts.application_messages_refused = self.around.publishes.refused;
        counts.forwards_waiting = self.around.forwards_waiting as u64;
        if let Some(uplinks) = &self.around.uplinks {
            (counts.uplinks, counts.uplinks_dropped) = (uplinks.taken, uplinks.dropped);
        }
        self.around.shared.published[self.around.index].publish(counts);
    }
}

impl Handler for DeviceLoop {
    type Message = Message;

    fn accepting(&mut self, peer: SocketAddr, _listener: ListenerTag) -> Admission {
        let shared = &self.around.shared;
        if shared.addresses.is_off() {
            return Admission::Accept;
        }
        let now_ms = u64::try_from(shared.epoch.elapsed().as_millis()).unwrap_or(u64::MAX);
        if shared.addresses.enter(peer.ip(), now_ms) { Admission::Accept } else { Admission::Refuse }
    }

    fn accepted(&mut self, io: &mut Io<Message>, id: ConnectionId, accepted: &Accepted) {
        if !self.around.shared.addresses.is_off() {
            self.addresses.insert(id.index, accepted.peer.ip());
        }
        let until_ms = self.around.now_ms(io) + self.config.before_authentication.ms;
        let (peer, listener) = (accepted.peer, accepted.listener);
        self.expect(io, id, Arrived { peer, listener, until_ms, held: None });
    }

    fn adopted(&mut self, io: &mut Io<Message>, id: ConnectionId, attachment: Message) {
        if let Kind::Arrived(arrived) = attachment.0 {
            if !self.around.shared.addresses.is_off() {
                self.addresses.insert(id.index, arrived.peer.ip());
            }
            self.expect(io, id, arrived);
        }
    }

    fn received(&mut self, io: &mut Io<Message>, id: ConnectionId, bytes: &[u8]) -> usize {
        self.turn_begins();
        let mut used = 0;
        if self.devices.state(id) == State::Waiting {
            used = self.arrive(io, id, bytes);
        }
        match self.devices.state(id) {
            State::Live if used < bytes.len() => used + self.serve(io, id, &bytes[used..]),
            State::Ending => bytes.len(),
            // Waiting for more bytes or a verdict; or it is throttled, and was read before it was
            // paused.
            _ => used,
        }
    }

    fn timeout(&mut self, io: &mut Io<Message>, id: ConnectionId) {
        self.timer_went_off(io, id);
    }

    fn drained(&mut self, _io: &mut Io<Message>, id: ConnectionId) {
        self.broker.drained(self.devices.session(id));
    }

    fn closed(&mut self, io: &mut Io<Message>, id: ConnectionId, reason: CloseReason) {
        let state = self.devices.state(id);
        let key = self.devices.session(id);
        self.set_state(id, State::Vacant);
        self.arrivals.remove(&id.index);
        self.verdicts.remove(&id.index);
        self.proofs_end.remove(&id.index);
        self.principals.end(id);
        self.rates.remove(&id.index);
        self.around.traced.disconnected(id);
        let ending = self.around.endings.remove(&id.index);
        self.end_trace(id, ending.map_or(reason.name(), Counts::close_name));
        if let Some(address) = self.addresses.remove(&id.index) {
            self.around.shared.addresses.leave(address);
        }
        if self.around.inboxes.reads(id)
            && let Some(client_id) = self.broker.client_id(key)
        {
            self.around.inboxes.end(id, client_id);
        }
        if key != SessionKey::NONE && state != State::Vacant {
            self.around.counts.connected -= 1;
            self.leave_place();
            self.log_close(key, ending, reason);
            let mut turn = Turn { io, around: &mut self.around };
            self.broker.disconnected(&mut turn, key, id);
        }
    }

    fn message(&mut self, io: &mut Io<Message>, message: Message) {
        self.turn_begins();
        match message.0 {
            Kind::Arrived(_) => {}
            Kind::Decided { connection, late } => self.decided(io, connection, late),
            Kind::Forwards(forwards) => self.forwarded(io, forwards),
            Kind::Push(parts) => {
                for (index, part) in parts {
                    if index == self.around.index {
                        self.push(io, part);
                    } else {
                        self.around.send_to_loop(index, Forward::Push(part));
                    }
                }
            }
            Kind::Publish(batch) => self.publish_batch(io, batch),
            Kind::Query(query) => self.answer(io, query),
            Kind::Drain { within_ms, server_reference } => self.begin_drain(io, within_ms, server_reference),
            Kind::Platform => self.take_transport_commands(io),
            // The end of the turn looks.
            Kind::Kept | Kind::TracesChanged => {}
            Kind::Answers => self.deliver_answers(io),
            Kind::RulesChanged => {
                let mut turn = Turn { io: &mut *io, around: &mut self.around };
                let lost = self.broker.reauthorise(&mut turn);
                if lost > 0 {
                    tracing::info!(subscriptions = lost, "Subscriptions ended by the new rules");
                }
                self.look_at_all_inboxes(io);
            }
        }
    }

    fn alarm(&mut self, io: &mut Io<Message>) {
        let mut turn = Turn { io: &mut *io, around: &mut self.around };
        self.broker.advance(&mut turn);
        self.publish_sys_topics(io);
        self.drain_some(io);
        self.refusals.settle(self.around.now_ms(io));
    }

    fn turn_ended(&mut self, io: &mut Io<Message>) {
        // Those whose word found the mailbox full, and refusals of this turn.
        self.deliver_answers(io);
        self.take_transport_commands(io);
        self.broker.replay(&mut Turn { io: &mut *io, around: &mut self.around });
        self.list(io);
        self.keep_sessions(io);
        // Before this loop spends its time in writes, so that the others begin with theirs.
        self.around.send_forwards();
        if self.around.forwards_waiting == 0 && self.around.keeps_up() {
            for id in self.held_back.drain(..) {
                io.resume(id);
            }
        }
    }

    fn turn_flushed(&mut self, io: &mut Io<Message>) {
        self.around.receipts.settle(&self.around.shared.pushes);
        self.hand_traces_over();
        for record in self.pushed.drain(..) {
            record.handled_by_a_loop();
        }
        // What the ends of connections brought about: wills, deadlines of sessions.
        self.keep_sessions(io);
        self.around.send_forwards();
        self.around.inboxes.notify_shards();
        self.set_alarm(io);
        if let Some((began, before)) = self.turn_began.take() {
            let delivered = self.around.counts.deliveries_total() - before;
            if delivered > 0 {
                self.around.counts.record_latency(began.elapsed(), delivered);
            }
        }
        self.publish_counts();
    }
}
