//! A connection before it is a device: the CONNECT, the way to its home loop, authentication, the budget
//! for herds.
//!
//! Until its CONNECT is accepted a connection costs an entry in one table, a bounded number of bytes and
//! a bounded time. A connection that spends either is cut. While authentication decides elsewhere,
//! the connection is paused with its CONNECT unread, and read again when the verdict is there.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use stadium_mqtt::broker::{self, Admitted, Arrival, Close};
use stadium_mqtt::decode::{self, DecodeError};
use stadium_mqtt::describe;
use stadium_mqtt::packet::{Connect, PacketType, Version};
use stadium_mqtt::reason::ReasonCode;
use stadium_reactor::{ConnectionId, Io};

use crate::auth::{Credentials, Late, Verdict, Via};
use crate::config::CONNECT_BYTES_FREE;
use crate::device_loop::DeviceLoop;
use crate::devices::State;
use crate::message::{Arrived, Kind, Message};
use crate::refusals::shown;
use crate::trace::Direction;
use crate::turn::{Turn, Who};

/// What became of the bytes of a connection that waits to be let in.
enum Step {
    /// Not enough bytes yet, or the verdict is not there yet: nothing is used.
    Wait,
    /// It was handed to its home loop; it is not ours any more.
    Gone,
    /// It is being closed.
    Refused,
    /// It is a device now; so many bytes were its CONNECT.
    In(usize),
}

impl DeviceLoop {
    /// Bytes of a connection in [`State::Waiting`]. Returns how many were used.
    pub(crate) fn arrive(&mut self, io: &mut Io<Message>, id: ConnectionId, bytes: &[u8]) -> usize {
        match self.step(io, id, bytes) {
            Step::Wait | Step::Gone => 0,
            Step::Refused => {
                self.set_state(id, State::Ending);
                bytes.len()
            }
            Step::In(used) => {
                self.around.counts.packets_in += 1;
                used
            }
        }
    }

    fn step(&mut self, io: &mut Io<Message>, id: ConnectionId, bytes: &[u8]) -> Step {
        let frame = match decode::frame(bytes, self.config.before_authentication.bytes) {
            Ok(Some(frame)) if frame.packet_type() == PacketType::Connect => frame,
            Ok(None) => return self.wait_for_the_rest(io, id, bytes),
            Err(DecodeError::PacketTooLarge) if bytes[0] >> 4 == PacketType::Connect as u8 => {
                return self.refuse_too_large(io, id, bytes);
            }
            // This peer does not speak MQTT, or not in this order [MQTT-3.1.0-1].
            Ok(Some(_)) | Err(_) => return self.close_stranger(io, id),
        };
        let connect = match decode::connect(&frame) {
            Ok(connect) => connect,
            Err(error) => {
                self.refuse_undecodable(io, id, decode::connect_version(&frame), error);
                return Step::Refused;
            }
        };
        if !connect.client_id.is_empty() {
            let home = self.around.shared.home_of(connect.client_id);
            if home != self.around.index {
                // What follows the CONNECT already goes with it.
                if !self.hold(io, id, bytes.len()) {
                    self.say_busy(io, id, &connect);
                    return Step::Refused;
                }
                self.send_home(io, id, home);
                return Step::Gone;
            }
        }
        if self.around.tracing.is_on() && self.around.tracing.begin(id, connect.client_id, connect.version) {
            let line = || describe::connect_line(&connect);
            self.around.tracing.say(connect.client_id, Direction::In, line);
        }
        if self.lets_nobody_in() {
            self.refuse(io, id, &connect, ReasonCode::ServerShuttingDown, None);
            return Step::Refused;
        }
        if !self.hold(io, id, bytes.len()) {
            self.say_busy(io, id, &connect);
            return Step::Refused;
        }
        let who = match self.authenticate(io, id, &connect) {
            Some(Ok(who)) => who,
            Some(Err(())) => return Step::Refused,
            None => return Step::Wait,
        };
        let principal = who.as_ref().map(|identity| Arc::clone(&identity.principal));
        let principal = principal.filter(|principal| **principal != *connect.client_id);
        let was_cut = |name: &str| self.was_cut_meanwhile(id, name);
        if was_cut(connect.client_id) || principal.as_deref().is_some_and(was_cut) {
            // The code that decided did not know it yet.
            self.say_busy(io, id, &connect);
            return Step::Refused;
        }
        if !self.take_place(connect.client_id) {
            self.say_busy(io, id, &connect);
            return Step::Refused;
        }
        let mut turn = Turn { io: &mut *io, around: &mut self.around };
        let arrival = Arrival { link: id, connect: &connect, identity: who };
        match self.broker.connect(&mut turn, arrival) {
            Some(admitted) => {
                self.log_connect(id, admitted, &connect);
                self.let_in(io, id, admitted);
                if let Some(principal) = principal {
                    self.principals.begin(id, principal);
                }
                Step::In(frame.total)
            }
            None => {
                self.leave_place();
                self.around.counts.connects_refused += 1;
                let code = match self.around.endings.get(&id.index) {
                    Some(Close::Refused(code)) => *code,
                    _ => ReasonCode::UnspecifiedError,
                };
                self.log_refusal(io, id, connect.client_id, code, code.name());
                Step::Refused
            }
        }
    }

    /// What there is of a packet is not whole: holds it, if it begins a CONNECT and there is room.
    fn wait_for_the_rest(&mut self, io: &mut Io<Message>, id: ConnectionId, bytes: &[u8]) -> Step {
        let is_connect = bytes.first().is_none_or(|first| first >> 4 == PacketType::Connect as u8);
        let total = match decode::frame_len(bytes) {
            Ok(total) if is_connect => total.unwrap_or(0),
            _ => return self.close_stranger(io, id),
        };
        if self.hold(io, id, total) {
            return Step::Wait;
        }
        match decode::begun_connect_version(bytes) {
            Ok(None) => Step::Wait,
            Ok(Some(version)) => {
                let delay_ms = self.spread_delay_ms();
                self.around.counts.closed_busy();
                self.around.counts.connects_refused += 1;
                self.log_refusal(io, id, "", ReasonCode::ServerBusy, "no room for its CONNECT");
                let mut turn = Turn { io, around: &mut self.around };
                broker::refuse(&mut turn, id, version, ReasonCode::ServerBusy, Some(delay_ms));
                Step::Refused
            }
            Err(_) => self.close_stranger(io, id),
        }
    }

    /// A CONNECT of more bytes than are taken. MQTT 5.0 has a word for it, once enough is there to
    /// find the version.
    fn refuse_too_large(&mut self, io: &mut Io<Message>, id: ConnectionId, bytes: &[u8]) -> Step {
        match decode::begun_connect_version(bytes) {
            Ok(None) => Step::Wait,
            Ok(Some(version)) => {
                self.refuse_undecodable(io, id, Some(version), DecodeError::PacketTooLarge);
                Step::Refused
            }
            Err(_) => self.close_stranger(io, id),
        }
    }

    /// Ends a connection that does not speak MQTT, without a word.
    fn close_stranger(&mut self, io: &mut Io<Message>, id: ConnectionId) -> Step {
        let peer = self.arrivals.get(&id.index).map(|arrived| arrived.peer);
        tracing::debug!(peer = peer.map(tracing::field::display), "A connection began with no CONNECT");
        self.around.counts.closed_before_authentication();
        io.close(id);
        Step::Refused
    }

    /// Whether a connection may hold so many bytes until it is a device. More than each may hold anyway count
    /// against a bound of the node.
    fn hold(&mut self, io: &mut Io<Message>, id: ConnectionId, bytes: usize) -> bool {
        if bytes <= CONNECT_BYTES_FREE.min(self.config.before_authentication.bytes) as usize {
            return true;
        }
        let Some(arrived) = self.arrivals.get_mut(&id.index) else { return false };
        if arrived.held.as_ref().is_some_and(|held| held.bytes() >= bytes) {
            return true;
        }
        arrived.held = None;
        arrived.held = self.around.shared.held.take(bytes);
        let carry_bytes_max = u32::try_from(bytes).unwrap_or(u32::MAX);
        io.set_carry_bytes_max(id, carry_bytes_max);
        arrived.held.is_some()
    }

    /// One line for a client that was let in.
    fn log_connect(&self, id: ConnectionId, admitted: Admitted, connect: &Connect<'_>) {
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return;
        }
        let arrived = self.arrivals.get(&id.index);
        let listener = arrived.and_then(|arrived| self.config.listener(usize::from(arrived.listener.0)));
        tracing::debug!(
            client_id = self.broker.client_id(admitted.session).map(shown),
            peer = arrived.map(|arrived| tracing::field::display(arrived.peer)),
            transport = listener.map(|listener| listener.transport.name()),
            version = admitted.version.name(),
            clean_start = connect.clean_start,
            keep_alive_s = admitted.keep_alive_s,
            "Client connected"
        );
    }

    /// One line for a client that was not let in, of a few a second. `reason` holds more than its
    /// code.
    fn log_refusal(
        &mut self,
        io: &Io<Message>,
        id: ConnectionId,
        client_id: &str,
        code: ReasonCode,
        reason: &str,
    ) {
        self.around.tracing.say(client_id, Direction::None, || format!("refused: {reason}"));
        let now_ms = self.around.now_ms(io);
        if !self.refusals.count(now_ms) {
            return;
        }
        let peer = self.arrivals.get(&id.index).map(|arrived| tracing::field::display(arrived.peer));
        let client_id = (!client_id.is_empty()).then(|| shown(client_id));
        let code = format!("{:#04X}", code as u8);
        tracing::warn!(client_id, peer, reason, code, "Client refused");
    }

    fn let_in(&mut self, io: &mut Io<Message>, id: ConnectionId, admitted: Admitted) {
        self.around.counts.connects += 1;
        self.around.counts.connected += 1;
        let packet_bytes_max = self.config.broker.packet_bytes_max;
        // One packet; and for a device that may be kept waiting, also what one read brought before that.
        let unread = if self.config.rates.is_off() { 0 } else { self.config.loop_settings.read_bytes_max };
        let unread = u32::try_from(unread).unwrap_or(u32::MAX);
        io.set_carry_bytes_max(id, packet_bytes_max.saturating_add(5).saturating_add(unread));
        self.arrivals.remove(&id.index);
        let state = if admitted.waits { State::Entering } else { State::Live };
        self.devices.begin(id, admitted.session, state, self.around.now_ms(io));
        if admitted.waits {
            io.pause(id);
        } else {
            self.look_at_inbox(io, id);
        }
        self.watch_keep_alive(io, id, admitted.keep_alive_s);
    }

    fn send_home(&mut self, io: &mut Io<Message>, id: ConnectionId, home: usize) {
        let Some(arrived) = self.arrivals.remove(&id.index) else { return };
        self.set_state(id, State::Vacant);
        // Its address stays counted, for the other loop; the entry here is for the case that the other
        // loop has no room, and is written over by the next connection in this place.
        let handle = self.around.shared.handle(home).clone();
        io.handoff(id, &handle, Message(Kind::Arrived(arrived)));
    }

    /// `None` while authentication decides; `Some(Err(()))` when the connection was refused.
    fn authenticate(
        &mut self,
        io: &mut Io<Message>,
        id: ConnectionId,
        connect: &Connect<'_>,
    ) -> Option<Result<Who, ()>> {
        let verdict = match self.verdicts.remove(&id.index) {
            Some(verdict) => verdict,
            None => {
                if !self.take_connect_token(io) {
                    self.say_busy(io, id, connect);
                    return Some(Err(()));
                }
                if self.config.authenticator.lets_anyone_in() {
                    return Some(Ok(None));
                }
                match self.ask(io, id, connect) {
                    Some(verdict) => verdict,
                    None => {
                        self.set_state(id, State::Authenticating);
                        io.pause(id);
                        return None;
                    }
                }
            }
        };
        match verdict {
            Verdict::Allow(identity) if identity.via == Via::Anonymous => Some(Ok(None)),
            Verdict::Allow(identity) => {
                if let Some(expires_at) = identity.expires_at {
                    let left = expires_at.duration_since(std::time::SystemTime::now()).unwrap_or_default();
                    let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
                    self.proofs_end.insert(id.index, self.around.now_ms(io).saturating_add(left_ms));
                }
                Some(Ok(Some(Arc::new(identity))))
            }
            Verdict::Deny(reason) => {
                let code = ReasonCode::from_byte(reason.answer().reason_code());
                self.around.counts.closed_not_authorised();
                let code = code.unwrap_or(ReasonCode::NotAuthorized);
                self.refuse_because(io, id, connect, code, None, &reason.to_string());
                Some(Err(()))
            }
            Verdict::Busy { retry_after } => {
                let delay_ms = u64::try_from(retry_after.as_millis()).unwrap_or(10_000);
                self.around.counts.closed_busy();
                let reason = "authentication is busy";
                self.refuse_because(io, id, connect, ReasonCode::ServerBusy, Some(delay_ms), reason);
                Some(Err(()))
            }
        }
    }

    fn ask(&mut self, io: &mut Io<Message>, id: ConnectionId, connect: &Connect<'_>) -> Option<Verdict> {
        let peer = self.arrivals.get(&id.index).map(|arrived| arrived.peer)?;
        let credentials = Credentials {
            client_id: connect.client_id.to_owned(),
            username: connect.username.map(str::to_owned),
            password: connect.password.map(<[u8]>::to_vec),
            certificate: io.take_peer_certificate(id).map(|der| der.to_vec()),
            peer,
            method: connect.authentication_method.map(str::to_owned),
        };
        self.config.authenticator.check(credentials, self.hear_verdict(id))
    }

    /// Where word about a connection comes in that is not decided at once.
    fn hear_verdict(&self, id: ConnectionId) -> impl FnOnce(Late) + Send + use<> {
        let handle = self.around.shared.handle(self.around.index).clone();
        move |late| {
            // A mailbox that stays full leaves the connection to its time limit.
            let _ = handle.try_send(Message(Kind::Decided { connection: id, late }));
        }
    }

    /// The word that a paused connection waits for.
    pub(crate) fn decided(&mut self, io: &mut Io<Message>, id: ConnectionId, late: Late) {
        if self.devices.state(id) != State::Authenticating {
            return;
        }
        let verdict = match late {
            Late::Verdict(verdict) => Some(verdict),
            Late::GoOn(asked) => self.config.authenticator.go_on(*asked, self.hear_verdict(id)),
        };
        if let Some(verdict) = verdict {
            self.verdicts.insert(id.index, verdict);
            self.set_state(id, State::Waiting);
            io.resume(id);
        }
    }

    /// A shard had this device cut; a connection of it may just be on its way in.
    pub(crate) fn note_cut(&mut self, io: &Io<Message>, name: String) {
        if self.arrivals.is_empty() {
            return;
        }
        let now_ms = self.around.now_ms(io);
        if self.cut_lately.len() == self.cut_lately.capacity() {
            // No connection is on its way for longer than that.
            let kept_ms = self.config.before_authentication.ms;
            self.cut_lately.retain(|_, at_ms| at_ms.saturating_add(kept_ms) >= now_ms);
        }
        self.cut_lately.insert(name, now_ms);
    }

    fn was_cut_meanwhile(&self, id: ConnectionId, name: &str) -> bool {
        let (Some(arrived), Some(cut_ms)) = (self.arrivals.get(&id.index), self.cut_lately.get(name)) else {
            return false;
        };
        *cut_ms >= arrived.until_ms.saturating_sub(self.config.before_authentication.ms)
    }

    /// A connection's time before authentication is over.
    pub(crate) fn too_slow(&mut self, io: &mut Io<Message>, id: ConnectionId) {
        let peer = self.arrivals.get(&id.index).map(|arrived| tracing::field::display(arrived.peer));
        tracing::debug!(peer, "A connection was not authenticated in time");
        self.around.counts.closed_before_authentication();
        self.set_state(id, State::Ending);
        io.abort(id);
    }

    /// Remembers a connection that has not identified itself yet.
    pub(crate) fn expect(&mut self, io: &mut Io<Message>, id: ConnectionId, arrived: Arrived) {
        self.devices.wait(id, arrived.listener);
        let left_ms = arrived.until_ms.saturating_sub(self.around.now_ms(io));
        self.arrivals.insert(id.index, arrived);
        io.set_timer(id, left_ms.max(1));
    }

    /// One of the places that the node has for devices. A device that is connected already gives its own
    /// back as soon as its old connection is gone.
    fn take_place(&mut self, client_id: &str) -> bool {
        let taken = self.around.shared.devices.fetch_add(1, Ordering::AcqRel);
        if taken < self.config.devices_max || self.broker.is_connected(client_id) {
            return true;
        }
        self.leave_place();
        false
    }

    pub(crate) fn leave_place(&self) {
        self.around.shared.devices.fetch_sub(1, Ordering::AcqRel);
    }

    /// Asks a device to reconnect later, each at another time.
    fn say_busy(&mut self, io: &mut Io<Message>, id: ConnectionId, connect: &Connect<'_>) {
        let delay_ms = self.spread_delay_ms();
        self.around.counts.closed_busy();
        self.refuse(io, id, connect, ReasonCode::ServerBusy, Some(delay_ms));
    }

    /// The delay after which a device that found the server busy may reconnect.
    fn spread_delay_ms(&mut self) -> u64 {
        let most_ms = self.config.connect_budget.retry_after_ms.max(2);
        most_ms / 2 + self.around.random() % (most_ms / 2)
    }

    fn take_connect_token(&mut self, io: &Io<Message>) -> bool {
        let rate = self.config.connect_budget.per_second;
        if rate == 0 {
            return true;
        }
        let loops = u32::try_from(self.config.loops).unwrap_or(1);
        let now_ms = self.around.now_ms(io);
        self.connect_tokens.take((rate / loops).max(1), now_ms)
    }

    fn refuse(
        &mut self,
        io: &mut Io<Message>,
        id: ConnectionId,
        connect: &Connect<'_>,
        reason: ReasonCode,
        retry_after_ms: Option<u64>,
    ) {
        self.refuse_because(io, id, connect, reason, retry_after_ms, reason.name());
    }

    /// The same, with a reason for the log that holds more than the code.
    fn refuse_because(
        &mut self,
        io: &mut Io<Message>,
        id: ConnectionId,
        connect: &Connect<'_>,
        reason: ReasonCode,
        retry_after_ms: Option<u64>,
        because: &str,
    ) {
        self.log_refusal(io, id, connect.client_id, reason, because);
        self.around.counts.connects_refused += 1;
        let limit = connect.maximum_packet_size.unwrap_or(u32::MAX);
        let mut turn = Turn { io, around: &mut self.around };
        broker::refuse_within(&mut turn, id, connect.version, limit, reason, retry_after_ms);
    }

    fn refuse_undecodable(
        &mut self,
        io: &mut Io<Message>,
        id: ConnectionId,
        version: Option<Version>,
        error: DecodeError,
    ) {
        self.log_refusal(io, id, "", error.reason_code(), &error.to_string());
        // A level that we do not speak is answered in the oldest form that has an answer for it.
        self.around.counts.connects_refused += 1;
        let mut turn = Turn { io, around: &mut self.around };
        broker::refuse(&mut turn, id, version.unwrap_or(Version::V311), error.reason_code(), None);
    }
}
