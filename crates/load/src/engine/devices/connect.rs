//! How devices come up, and what happens when their connection ends.
//!
//! A device is up with its SUBACK; where its session was kept, or it subscribes to nothing, with its CONNACK.
//! Whatever ends its connection, it comes back by [`super::backoff`].

use std::cmp::Reverse;

use stadium_mqtt::decode::DecodeError;
use stadium_mqtt::encode;
use stadium_mqtt::packet::{Connack, Connect, Disconnect, FiltersBuffer, Packet, Suback, Subscribe};
use stadium_mqtt::property::UserProperties;
use stadium_mqtt::reason::ReasonCode;
use stadium_reactor::{CloseReason, ConnectionId};

use super::backoff::{Away, delay_ms};
use super::device::{Ending, Phase, UPLINKS_IN_FLIGHT_MAX};
use super::driver::Driver;
use super::figures::Last;
use crate::clock::monotonic_ns;
use crate::engine::order::Io;
use crate::engine::protocol::mqtt::rules;
use crate::swarm::config::Session;
use crate::swarm::storm::Back;

/// Packet id of SUBSCRIBE, above those of publishes.
const SUBSCRIBE_PACKET_ID: u16 = u16::MAX;
/// The user property by which a busy broker states when to reconnect, in seconds.
const RETRY_AFTER: &str = "retry-after";
/// The longest time that a broker is obeyed for: an hour, in milliseconds.
const NAMED_MS_MAX: u32 = 3_600_000;

impl Driver {
    /// Begins an attempt that was intended for `intended_ns`.
    pub(super) fn open(&mut self, io: &mut Io, slot: u32, intended_ns: u64) {
        self.sums.attempts += u64::from(!self.is_broadcaster(slot));
        self.enter(slot, Phase::Opening);
        self.behaviour_returns(slot);
        let nth = self.share.nth(slot);
        let moves = self.behaviours.get(slot as usize).map_or(0, |behaviour| behaviour.moves);
        let device = &mut self.devices[slot as usize];
        device.began_ns = intended_ns;
        device.ending = Ending::Theirs;
        let target = usize::from(device.target);
        let mut options = self.plan.options[target].clone();
        options.bind = self.plan.source(nth, moves);
        options.tag = u64::from(slot);
        match io.connect(self.plan.config.targets[target].address, &options) {
            Ok(id) => {
                let index = id.index as usize;
                if self.device_of.len() <= index {
                    self.device_of.resize(index + 1, u32::MAX);
                }
                self.device_of[index] = slot;
                self.device(slot).connection = id;
                self.open += 1;
            }
            Err(error) => {
                self.counts.no_socket(&error);
                self.go_away(slot, Away::Failed);
            }
        }
    }

    /// Sends CONNECT.
    pub(super) fn greet(&mut self, io: &mut Io, slot: u32) {
        self.enter(slot, Phase::Greeting);
        self.touch(io, slot);
        let number = self.share.nth(slot);
        let broadcaster = self.is_broadcaster(slot);
        let keep_alive_s = self.keep_alive_wanted(slot);
        let (config, version) = (&self.plan.config, self.plan.version);
        let (prefix, number) = (config.id_prefix.as_str(), config.first_number.wrapping_add(number));
        let texts = &mut self.text;
        texts.id.clear();
        texts.username.clear();
        texts.password.clear();
        texts.id.push_str(prefix);
        if broadcaster {
            texts.id.push_str("broadcaster");
        } else {
            texts.id.push_str(itoa(number, &mut [0; 10]));
        }
        if let Some(template) = &config.credentials.username {
            template.write(&mut texts.username, prefix, number);
        }
        if let Some(template) = &config.credentials.password {
            template.write(&mut texts.password, prefix, number);
        }
        let kept = match config.session {
            Session::Kept { expiry_s } if !broadcaster => Some(expiry_s),
            _ => None,
        };
        let connect = Packet::Connect(Connect {
            clean_start: kept.is_none(),
            keep_alive_s,
            username: config.credentials.username.is_some().then_some(texts.username.as_str()),
            password: config.credentials.password.is_some().then_some(texts.password.as_bytes()),
            session_expiry_s: kept,
            ..Connect::new(version, &texts.id)
        });
        let id = self.devices[slot as usize].connection;
        io.send(id, |buffer| connect.encode(version, buffer));
        // The rest of the attempt's time: TCP and TLS have had theirs.
        io.set_timer(id, config.connect.timeout_ms);
    }

    /// CONNACK came.
    pub(super) fn greeted(
        &mut self,
        io: &mut Io,
        slot: u32,
        connack: &Connack<'_>,
    ) -> Result<(), DecodeError> {
        if self.device(slot).phase != Phase::Greeting {
            return Err(DecodeError::WrongSender);
        }
        if connack.reason != ReasonCode::Success {
            self.refused(io, slot, connack);
            return Ok(());
        }
        let keep_alive_s = connack.server_keep_alive_s.unwrap_or_else(|| self.keep_alive_wanted(slot));
        let device = &mut self.devices[slot as usize];
        device.keep_alive_s = keep_alive_s;
        // At most 16: it fits.
        device.in_flight_max = connack.receive_maximum.unwrap_or(u16::MAX).min(UPLINKS_IN_FLIGHT_MAX) as u8;
        let (began_ns, known) = (device.began_ns, device.known);
        let lost = if connack.session_present { 0 } else { device.window.rejoin() };
        if connack.session_present {
            self.resend(io, slot);
        } else {
            self.forget_flights(slot);
            self.unreleased.remove(&slot);
        }
        if self.is_broadcaster(slot) {
            return self.up(io, slot);
        }
        self.sums.connected += 1;
        self.sums.sessions_resumed += u64::from(connack.session_present);
        self.sums.lost += u64::from(lost);
        self.latencies.connack.record(monotonic_ns().saturating_sub(began_ns));
        // A session of an earlier run may have other subscriptions: only one of this run is trusted.
        if connack.session_present && known || self.plan.config.subscriptions.is_empty() {
            self.up(io, slot)
        } else {
            self.subscribe(io, slot)
        }
    }

    fn refused(&mut self, io: &mut Io, slot: u32, connack: &Connack<'_>) {
        if !self.is_broadcaster(slot) {
            self.counts.refused(connack.reason);
        }
        let away = match connack.reason {
            ReasonCode::ServerBusy
            | ReasonCode::ServerUnavailable
            | ReasonCode::ConnectionRateExceeded
            | ReasonCode::QuotaExceeded => named_wait(connack),
            ReasonCode::UseAnotherServer | ReasonCode::ServerMoved => {
                self.move_on(slot, connack.server_reference);
                Away::Failed
            }
            _ => Away::Failed,
        };
        self.device(slot).ending = Ending::Refused(away);
        let id = self.device(slot).connection;
        io.close(id);
    }

    /// Sends SUBSCRIBE.
    fn subscribe(&mut self, io: &mut Io, slot: u32) -> Result<(), DecodeError> {
        self.enter(slot, Phase::Subscribing);
        self.touch(io, slot);
        let number = self.share.nth(slot);
        let (config, version) = (&self.plan.config, self.plan.version);
        let options = rules::subscription(config.subscription_qos.0);
        let mut filters = FiltersBuffer::new(version);
        for template in &config.subscriptions {
            let topic = &mut self.text.topic;
            topic.clear();
            template.write(topic, &config.id_prefix, config.first_number.wrapping_add(number));
            // Nothing longer than 65,535 bytes can be subscribed to; the broker then lacks a row in its answer.
            let _ = filters.push(topic, options);
        }
        let subscribe = Packet::Subscribe(Subscribe {
            packet_id: SUBSCRIBE_PACKET_ID,
            subscription_id: None,
            user_properties: UserProperties::default(),
            filters: filters.filters(),
        });
        io.send(self.devices[slot as usize].connection, |buffer| subscribe.encode(version, buffer));
        Ok(())
    }

    /// SUBACK came.
    pub(super) fn subscribed(
        &mut self,
        io: &mut Io,
        slot: u32,
        suback: &Suback<'_>,
    ) -> Result<(), DecodeError> {
        if self.device(slot).phase != Phase::Subscribing || suback.packet_id != SUBSCRIBE_PACKET_ID {
            return Err(DecodeError::WrongSender);
        }
        self.sums.subscriptions_refused +=
            suback.reasons.iter().filter(|&&reason| reason >= 0x80).count() as u64;
        self.up(io, slot)
    }

    /// The device has everything.
    fn up(&mut self, io: &mut Io, slot: u32) -> Result<(), DecodeError> {
        self.enter(slot, Phase::Up);
        let id = self.device(slot).connection;
        let keep_alive_ms = u64::from(self.device(slot).keep_alive_s) * 1_000;
        match keep_alive_ms {
            // Its timer is set below.
            _ if self.has_behaviour(slot) => {}
            0 => io.cancel_timer(id),
            // Between half and three quarters of it, so that a fleet that came together does not ping together.
            ms => io.set_timer(id, self.random.u64(ms / 2..=ms * 3 / 4)),
        }
        let device = self.device(slot);
        device.failures = 0;
        let known = std::mem::replace(&mut device.known, true);
        if self.is_broadcaster(slot) {
            self.begin_broadcast();
            return Ok(());
        }
        let now_ns = monotonic_ns();
        let taken = now_ns.saturating_sub(self.device(slot).began_ns);
        self.sums.subscribed += 1;
        if known {
            self.latencies.reconnect.record(taken);
        } else {
            self.sums.first_ups += 1;
            self.latencies.suback.record(taken);
            self.last_up_ns = now_ns;
        }
        self.back_from_storm(slot, now_ns);
        if self.has_behaviour(slot) {
            self.begin_life(io, slot, known);
        }
        Ok(())
    }

    /// DISCONNECT came: the broker closes next.
    pub(super) fn dismissed(&mut self, io: &mut Io, slot: u32, disconnect: &Disconnect<'_>) {
        if !self.is_broadcaster(slot) {
            self.counts.dismissed(disconnect.reason);
        }
        let away = match disconnect.reason {
            ReasonCode::ServerBusy | ReasonCode::ServerShuttingDown | ReasonCode::QuotaExceeded => Away::Busy,
            _ => Away::Failed,
        };
        if matches!(disconnect.reason, ReasonCode::UseAnotherServer | ReasonCode::ServerMoved) {
            self.move_on(slot, disconnect.server_reference);
        }
        self.device(slot).ending = Ending::Dismissed(away);
        let id = self.device(slot).connection;
        io.close(id);
    }

    /// Sends the device to the target that the broker names, or else to the next one.
    fn move_on(&mut self, slot: u32, reference: Option<&str>) {
        let targets = &self.plan.config.targets;
        let named = reference.and_then(|text| {
            targets.iter().position(|target| {
                text.split_ascii_whitespace().any(|name| target.address.to_string() == name)
            })
        });
        let device = &mut self.devices[slot as usize];
        let next = (usize::from(device.target) + 1) % targets.len();
        // Targets are fewer than 65,536: the configuration's check holds that.
        device.target = named.unwrap_or(next) as u16;
    }

    /// Its connection has ended.
    pub(super) fn ended(&mut self, io: &Io, slot: u32, reason: CloseReason) {
        let device = self.device(slot);
        device.connection = ConnectionId::NONE;
        let ending = device.ending;
        self.behaviour_ended(io, slot, ending);
        if !self.is_broadcaster(slot) {
            self.counts.lost(ending, reason);
        }
        let away = match ending {
            Ending::Refused(away) | Ending::Dismissed(away) => away,
            Ending::Storm => match self.plan.config.storm.back {
                Back::AtOnce => Away::Storm,
                Back::Later => Away::Failed,
            },
            Ending::Moved => Away::Moved,
            Ending::Background { after_ms } => Away::Background { after_ms },
            Ending::Theirs
            | Ending::Silent
            | Ending::Severed
            | Ending::Timeout
            | Ending::Malformed
            | Ending::Stop => Away::Failed,
        };
        if self.plan.config.next_target && !away.is_wanted() {
            self.move_on(slot, None);
        }
        self.go_away(slot, away);
    }

    /// Schedules the next attempt, or gives up.
    fn go_away(&mut self, slot: u32, away: Away) {
        let policy = self.plan.config.reconnect;
        let device = &mut self.devices[slot as usize];
        device.failures = device.failures.saturating_add(u16::from(!away.is_wanted()));
        match delay_ms(&policy, away, device.failures, &mut self.random) {
            Some(delay) if !self.stopping => {
                let due_ns = match away {
                    Away::Storm => self.storm_ns,
                    _ => monotonic_ns() + delay * 1_000_000,
                };
                self.enter(slot, Phase::Away);
                self.away.push(Reverse((due_ns, slot)));
            }
            _ => self.enter(slot, Phase::GivenUp),
        }
    }

    /// The time to see whether a device that is up has to send something.
    pub(super) fn keep_alive(&mut self, io: &mut Io, slot: u32) {
        let device = &self.devices[slot as usize];
        let (id, keep_alive_ms) = (device.connection, u64::from(device.keep_alive_s) * 1_000);
        if io.now().saturating_sub(io.last_received(id)) > keep_alive_ms * 3 / 2 {
            return self.abort(io, slot, Ending::Silent);
        }
        let quiet_ms = u64::from((io.now() as u32).wrapping_sub(device.sent_ms));
        let patience_ms = keep_alive_ms * 3 / 4;
        let wait_ms = if quiet_ms + 50 >= patience_ms {
            self.sums.pings += 1;
            self.touch(io, slot);
            io.send(id, encode::pingreq);
            patience_ms
        } else {
            patience_ms - quiet_ms
        };
        io.set_timer(id, wait_ms);
    }

    /// Ends: DISCONNECT to all that are up, and no tally after this one.
    pub(super) fn disconnect_all(&mut self, io: &mut Io) {
        if self.stopping {
            return;
        }
        for device in &mut self.devices {
            self.sums.lost += u64::from(device.window.rejoin());
        }
        self.send_tally(io, Last::Yes);
        self.stopping = true;
        let version = self.plan.version;
        let goodbye = Packet::Disconnect(Disconnect::default());
        self.reset_left(io);
        for (slot, device) in self.devices.iter_mut().enumerate() {
            if device.connection == ConnectionId::NONE {
                continue;
            }
            device.ending = Ending::Stop;
            let severed = self.behaviours.get(slot).is_some_and(|behaviour| behaviour.severed);
            if device.phase == Phase::Up && !severed {
                io.send(device.connection, |buffer| goodbye.encode(version, buffer));
                io.close(device.connection);
            } else {
                io.abort(device.connection);
            }
        }
    }
}

/// The wait that a busy broker asks for: a user property of ours, or its keep-alive, which a
/// refused device has no other use for.
fn named_wait(connack: &Connack<'_>) -> Away {
    let seconds = connack
        .user_properties
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(RETRY_AFTER))
        .and_then(|(_, value)| value.parse::<f64>().ok())
        .filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
        .or(connack.server_keep_alive_s.map(f64::from));
    match seconds {
        Some(seconds) => Away::Named { after_ms: ((seconds * 1_000.0) as u32).min(NAMED_MS_MAX) },
        None => Away::Busy,
    }
}

/// A number's digits, without an allocation.
fn itoa(mut number: u32, digits: &mut [u8; 10]) -> &str {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    std::str::from_utf8(&digits[at..]).expect("decimal digits are ASCII")
}

#[cfg(test)]
mod tests {
    use stadium_mqtt::property::UserPropertiesBuffer;

    use super::*;

    #[test]
    fn numbers_become_their_digits() {
        for number in [0, 7, 10, 1_234_567_890, u32::MAX] {
            assert_eq!(itoa(number, &mut [0; 10]), number.to_string());
        }
    }

    #[test]
    fn a_busy_brokers_time_is_heard() {
        let mut properties = UserPropertiesBuffer::default();
        properties.push("Retry-After", "1.5");
        let table = [
            (Connack::default(), Away::Busy),
            (Connack { server_keep_alive_s: Some(7), ..Connack::default() }, Away::Named { after_ms: 7_000 }),
            (
                Connack {
                    server_keep_alive_s: Some(7),
                    user_properties: properties.properties(),
                    ..Connack::default()
                },
                Away::Named { after_ms: 1_500 },
            ),
        ];
        for (connack, expected) in table {
            assert_eq!(named_wait(&connack), expected);
        }
    }
}
