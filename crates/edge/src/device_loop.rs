//! One loop of the edge: what the reactor tells it, and which part of the edge that concerns.
//!
//! The loop owns a broker, the table of its connections and its [`Surroundings`]. Everything here runs
//! on the loop's thread; nothing here blocks or, once warm, allocates for a packet.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use stadium_mqtt::broker::{Broker, Flow, SessionKey};
use stadium_mqtt::decode;
use stadium_mqtt::packet::PacketType;
use stadium_reactor::{Accepted, Admission, CloseReason, ConnectionId, Handler, Io, ListenerTag};

use crate::auth::Verdict;
use crate::config::{Config, ConnectionRates};
use crate::limits::TokenBucket;
use crate::message::{Arrived, Forward, Kind, Message};
use crate::push::PushRecord;
use crate::turn::{Surroundings, Turn, Who};

/// How often a drain moves the next few devices away.
const DRAIN_TICK_MS: u64 = 20;

/// How often a full mailbox of another loop is tried again while nothing else happens.
const FORWARD_RETRY_MS: u64 = 1;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody has this place.
    Vacant,
    /// Connected; its CONNECT has not been read whole.
    Waiting,
    /// Its CONNECT was read; authentication decides elsewhere.
    Authenticating,
    /// It is a device.
    Live,
    /// The same, and it sends faster than it may: it is not read for a while.
    Throttled,
    /// It is being closed; what it sends is not looked at.
    Ending,
}

/// A connection, as the edge sees it. Sixteen bytes a connection.
#[derive(Clone, Copy, Debug)]
struct Device {
    session: SessionKey,
    /// Seconds of the node's clock when it became a device.
    since_s: u32,
    listener: u8,
    state: State,
}

/// The loop's connections, by their place in the reactor's slab.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    places: Vec<Device>,
}

impl Devices {
    pub(crate) fn state(&self, id: ConnectionId) -> State {
        self.places.get(id.index as usize).map_or(State::Vacant, |device| device.state)
    }

    pub(crate) fn wait(&mut self, id: ConnectionId, listener: ListenerTag) {
        let at = id.index as usize;
        if self.places.len() <= at {
            let vacant = Device { session: SessionKey::NONE, since_s: 0, listener: 0, state: State::Vacant };
            self.places.resize(at + 1, vacant);
        }
        let listener = u8::try_from(listener.0).unwrap_or(u8::MAX);
        self.places[at] = Device { session: SessionKey::NONE, since_s: 0, listener, state: State::Waiting };
    }

    pub(crate) fn begin(&mut self, id: ConnectionId, session: SessionKey, now_ms: u64) {
        let device = &mut self.places[id.index as usize];
        device.session = session;
        device.since_s = u32::try_from(now_ms / 1000).unwrap_or(u32::MAX);
        device.state = State::Live;
    }

    pub(crate) fn session(&self, id: ConnectionId) -> SessionKey {
        self.places.get(id.index as usize).map_or(SessionKey::NONE, |device| device.session)
    }

    /// Since when it is a device, in seconds of the node's clock, and the listener it came by.
    pub(crate) fn origin(&self, id: ConnectionId) -> Option<(u32, usize)> {
        self.places.get(id.index as usize).map(|device| (device.since_s, usize::from(device.listener)))
    }
}

/// A drain that goes on.
#[derive(Debug)]
struct Draining {
    until_ms: u64,
    next_ms: u64,
    left: Vec<ConnectionId>,
    server_reference: Option<Arc<str>>,
}

/// What a connection may still send.
#[derive(Clone, Copy, Debug)]
struct Rates {
    messages: TokenBucket,
    bytes: TokenBucket,
}

impl Rates {
    fn full(rates: &ConnectionRates, now_ms: u64) -> Self {
        Self {
            messages: TokenBucket::full(rates.messages_per_second, now_ms),
            bytes: TokenBucket::full(rates.bytes_per_second, now_ms),
        }
    }
}

/// The reactor's handler on each loop of the edge.
pub(crate) struct DeviceLoop {
    pub(crate) config: Arc<Config>,
    pub(crate) broker: Broker<ConnectionId, Who>,
    pub(crate) around: Surroundings,
    pub(crate) devices: Devices,
    /// Connections that have not said who they are, by their place.
    pub(crate) arrivals: HashMap<u32, Arrived>,
    /// Verdicts for connections that are about to be read again.
    pub(crate) verdicts: HashMap<u32, Verdict>,
    /// When the proof of a device's identity ends, for those whose proof does.
    pub(crate) proofs_end: HashMap<u32, u64>,
    /// Peers' addresses, where they are watched.
    pub(crate) addresses: HashMap<u32, IpAddr>,
    pub(crate) connect_tokens: TokenBucket,
    rates: HashMap<u32, Rates>,
    /// Publishers that wait until other loops have caught up.
    held_back: Vec<ConnectionId>,
    draining: Option<Draining>,
    /// Pushes of this turn, whose records hear of it when everything was written.
    pub(crate) pushed: Vec<Arc<PushRecord>>,
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
            addresses: HashMap::new(),
            connect_tokens,
            rates: HashMap::new(),
            held_back: Vec::new(),
            draining: None,
            pushed: Vec::new(),
            turn_began: None,
        }
    }

    pub(crate) fn set_state(&mut self, id: ConnectionId, state: State) {
        if let Some(device) = self.devices.places.get_mut(id.index as usize) {
            device.state = state;
        }
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.is_some()
    }

    /// Sets the timer that finds a silent device, see [`DeviceLoop::timer_went_off`].
    pub(crate) fn watch_keep_alive(&mut self, io: &mut Io<Message>, id: ConnectionId, keep_alive_s: u16) {
        let silence_ms = (keep_alive_s > 0).then(|| u64::from(keep_alive_s) * 1500);
        let now_ms = self.around.now_ms(io);
        let proof_ms = self.proofs_end.get(&id.index).map(|end| end.saturating_sub(now_ms).max(1));
        match silence_ms.into_iter().chain(proof_ms).min() {
            Some(after_ms) => io.set_timer(id, after_ms),
            None => io.cancel_timer(id),
        }
    }

    /// Packets of a device. Returns the bytes used.
    fn serve(&mut self, io: &mut Io<Message>, id: ConnectionId, bytes: &[u8]) -> usize {
        let key = self.devices.session(id);
        let packet_bytes_max = self.config.broker.packet_bytes_max;
        let publishes_max = self.publishes_allowed(io, id);
        let mut used = 0;
        let mut publishes = 0;
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
        if !self.config.rates.is_off() {
            self.charge(io, id, publishes, used as u64);
        }
        if self.around.forwards_waiting > self.config.forwards_waiting_max {
            io.pause(id);
            self.held_back.push(id);
        }
        used
    }

    /// How many messages a connection may send now.
    fn publishes_allowed(&mut self, io: &Io<Message>, id: ConnectionId) -> u64 {
        let rates = self.config.rates;
        if rates.messages_per_second == 0 {
            return u64::MAX;
        }
        let now_ms = self.around.now_ms(io);
        let full = Rates::full(&rates, now_ms);
        let buckets = self.rates.entry(id.index).or_insert(full);
        buckets.messages.tokens(rates.messages_per_second, now_ms)
    }

    /// A connection pays for what it sent; one without a message left, or in debt for its bytes, is not
    /// read until that is over. What it sent meanwhile waits unread.
    fn charge(&mut self, io: &mut Io<Message>, id: ConnectionId, publishes: u64, bytes: u64) {
        let rates = self.config.rates;
        let now_ms = self.around.now_ms(io);
        let full = Rates::full(&rates, now_ms);
        let buckets = self.rates.entry(id.index).or_insert(full);
        let mut wait_ms = 0;
        if rates.messages_per_second > 0 {
            let _ = buckets.messages.spend(publishes, rates.messages_per_second, now_ms);
            if buckets.messages.tokens(rates.messages_per_second, now_ms) == 0 {
                wait_ms = u64::from(1000 / rates.messages_per_second).max(1);
            }
        }
        if rates.bytes_per_second > 0 {
            wait_ms = wait_ms.max(buckets.bytes.spend(bytes, rates.bytes_per_second, now_ms).unwrap_or(0));
        }
        if wait_ms > 0 {
            io.pause(id);
            io.set_timer(id, wait_ms);
            self.set_state(id, State::Throttled);
        }
    }

    fn timer_went_off(&mut self, io: &mut Io<Message>, id: ConnectionId) {
        match self.devices.state(id) {
            State::Vacant | State::Ending => {}
            State::Waiting | State::Authenticating => self.too_slow(io, id),
            State::Throttled => {
                self.set_state(id, State::Live);
                self.watch_again(io, id);
                io.resume(id);
            }
            State::Live => self.watch_again(io, id),
        }
    }

    /// A live device's timer: cuts it if it was silent too long or its proof has ended, and otherwise
    /// sets the timer for what is left.
    fn watch_again(&mut self, io: &mut Io<Message>, id: ConnectionId) {
        let key = self.devices.session(id);
        let now_ms = self.around.now_ms(io);
        if self.proofs_end.get(&id.index).is_some_and(|&end| end <= now_ms) {
            let reason = stadium_mqtt::reason::ReasonCode::NotAuthorized;
            let mut turn = Turn { io, around: &mut self.around };
            self.broker.violated(&mut turn, key, id, reason);
            self.set_state(id, State::Ending);
            return;
        }
        let keep_alive_s = self.broker.keep_alive_s(key);
        if keep_alive_s == 0 {
            self.watch_keep_alive(io, id, 0);
            return;
        }
        let allowed_ms = u64::from(keep_alive_s) * 1500;
        let silent_ms = io.now().saturating_sub(io.last_received(id));
        if silent_ms >= allowed_ms {
            let mut turn = Turn { io, around: &mut self.around };
            self.broker.keep_alive_over(&mut turn, key);
            self.set_state(id, State::Ending);
            return;
        }
        let mut left_ms = allowed_ms - silent_ms;
        if let Some(end) = self.proofs_end.get(&id.index) {
            left_ms = left_ms.min(end.saturating_sub(now_ms).max(1));
        }
        io.set_timer(id, left_ms);
    }

    fn forwarded(&mut self, io: &mut Io<Message>, forwards: Vec<Forward>) {
        for forward in forwards {
            let mut turn = Turn { io: &mut *io, around: &mut self.around };
            match forward {
                Forward::Publish(publication) => self.broker.forwarded(&mut turn, &publication),
                Forward::Group(message) => self.broker.group_message(&mut turn, message),
                Forward::Push(part) => self.push(io, part),
            }
        }
    }

    fn begin_drain(&mut self, io: &mut Io<Message>, within_ms: u64, server_reference: Option<Arc<str>>) {
        io.stop_listening();
        let now_ms = self.around.now_ms(io);
        // The last ones leave at three quarters of the time, so that their goodbyes are sent in it.
        let until_ms = now_ms + within_ms * 3 / 4;
        let left = io.connections().collect();
        self.draining = Some(Draining { until_ms, next_ms: now_ms, left, server_reference });
        self.drain_some(io);
    }

    /// Moves away as many devices as keep the drain on time.
    fn drain_some(&mut self, io: &mut Io<Message>) {
        let now_ms = self.around.now_ms(io);
        let Some(draining) = &mut self.draining else { return };
        if now_ms < draining.next_ms {
            return;
        }
        draining.next_ms = now_ms + DRAIN_TICK_MS;
        let ticks_left = draining.until_ms.saturating_sub(now_ms) / DRAIN_TICK_MS + 1;
        let ticks_left = usize::try_from(ticks_left).unwrap_or(usize::MAX);
        let keep = draining.left.len() - draining.left.len().div_ceil(ticks_left);
        let leaving = draining.left.split_off(keep);
        let server_reference = draining.server_reference.clone();
        for id in leaving {
            match self.devices.state(id) {
                State::Live | State::Throttled => {
                    let key = self.devices.session(id);
                    let mut turn = Turn { io, around: &mut self.around };
                    self.broker.move_away(&mut turn, key, server_reference.as_deref());
                    self.set_state(id, State::Ending);
                }
                State::Waiting | State::Authenticating => io.close(id),
                State::Vacant | State::Ending => {}
            }
        }
    }

    /// Sets the loop's alarm for whatever is due next.
    fn set_alarm(&mut self, io: &mut Io<Message>) {
        let offset_ms = self.around.clock_offset_ms;
        let broker = self.broker.next_deadline_ms();
        let drain = self.draining.as_ref().filter(|one| !one.left.is_empty()).map(|one| one.next_ms);
        let retry = (self.around.forwards_waiting > 0).then(|| self.around.now_ms(io) + FORWARD_RETRY_MS);
        match broker.into_iter().chain(drain).chain(retry).min() {
            Some(at_ms) => io.set_alarm(at_ms.saturating_sub(offset_ms)),
            None => io.clear_alarm(),
        }
    }

    fn turn_begins(&mut self) {
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
        counts.letters = totals.letters as u64;
        counts.session_bytes = totals.bytes as u64;
        counts.forwards_waiting = self.around.forwards_waiting as u64;
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
        self.expect(io, id, Arrived { peer: accepted.peer, listener: accepted.listener, until_ms });
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
            // Waiting for more bytes or a verdict; or it is throttled, and was read before it was paused.
            _ => used,
        }
    }

    fn timeout(&mut self, io: &mut Io<Message>, id: ConnectionId) {
        self.timer_went_off(io, id);
    }

    fn closed(&mut self, io: &mut Io<Message>, id: ConnectionId, reason: CloseReason) {
        let state = self.devices.state(id);
        let key = self.devices.session(id);
        self.set_state(id, State::Vacant);
        self.arrivals.remove(&id.index);
        self.verdicts.remove(&id.index);
        self.proofs_end.remove(&id.index);
        self.rates.remove(&id.index);
        if let Some(address) = self.addresses.remove(&id.index) {
            self.around.shared.addresses.leave(address);
        }
        if key != SessionKey::NONE && state != State::Vacant {
            self.around.counts.connected -= 1;
            self.leave_place();
            tracing::trace!(connection = ?id, reason = reason.name(), "Device gone");
            let mut turn = Turn { io, around: &mut self.around };
            self.broker.disconnected(&mut turn, key, id);
        }
    }

    fn message(&mut self, io: &mut Io<Message>, message: Message) {
        self.turn_begins();
        match message.0 {
            Kind::Arrived(_) => {}
            Kind::Decided { connection, verdict } => self.decided(io, connection, verdict),
            Kind::Forwards(forwards) => self.forwarded(io, forwards),
            Kind::Push(parts) => {
                for (index, part) in parts {
                    if index == self.around.index {
                        self.push(io, part);
                    } else {
                        self.around.tell(index, Forward::Push(part));
                    }
                }
            }
            Kind::Query(query) => self.answer(io, query),
            Kind::Drain { within_ms, server_reference } => self.begin_drain(io, within_ms, server_reference),
            Kind::RulesChanged => {
                let mut turn = Turn { io, around: &mut self.around };
                let lost = self.broker.reauthorise(&mut turn);
                if lost > 0 {
                    tracing::info!(subscriptions = lost, "Subscriptions ended by the new rules");
                }
            }
        }
    }

    fn alarm(&mut self, io: &mut Io<Message>) {
        let mut turn = Turn { io: &mut *io, around: &mut self.around };
        self.broker.advance(&mut turn);
        self.drain_some(io);
    }

    fn turn_ended(&mut self, io: &mut Io<Message>) {
        // Before this loop spends its time in writes, so that the others begin with theirs.
        self.around.send_forwards();
        if self.around.forwards_waiting == 0 {
            for id in self.held_back.drain(..) {
                io.resume(id);
            }
        }
    }

    fn turn_flushed(&mut self, io: &mut Io<Message>) {
        self.around.receipts.settle(&self.around.shared.pushes);
        for record in self.pushed.drain(..) {
            record.handled_by_a_loop();
        }
        // What the ends of connections brought about: wills, deadlines of sessions.
        self.around.send_forwards();
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
