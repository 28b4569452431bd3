//! The behaviours of devices that are up: radios asleep, streams forgotten, addresses changed, apps
//! away.
//!
//! One timer for each device: [`Driver::live`] does what is due and sets it for what is next. All that severs a
//! connection is in [`super::severed`].

use stadium_mqtt::encode;
use stadium_mqtt::packet::{Disconnect, Packet};

use super::behaviour::Behaviour;
use super::device::Ending;
use super::driver::Driver;
use crate::engine::order::Io;
use crate::swarm::profile::Profile;
use crate::swarm::time::{Dice, Once, Span};

/// A PINGREQ leaves so much before its time, so that the timer's grain does not make it late, in milliseconds.
const PING_AHEAD_MS: u32 = 50;
/// A look at a device whose bytes wait to be read is repeated after so long, in milliseconds.
const SOON_MS: u32 = 32;
/// What looks ahead at draws counts from here, so that it shares none with those that are made.
const AHEAD: u64 = 1 << 31;

impl Driver {
    /// Each device's behaviour; none where there are no profiles.
    pub(super) fn make_behaviours(&mut self) {
        let mixture = &self.plan.config.profiles;
        if mixture.is_empty() {
            return;
        }
        self.dice = Dice { seed: mixture.seed };
        let own = self.share.part(self.plan.config.devices);
        self.behaviours =
            (0..own).map(|slot| Behaviour::new(mixture.profile_of(self.share.nth(slot)))).collect();
    }

    pub(super) fn has_behaviour(&self, slot: u32) -> bool {
        (slot as usize) < self.behaviours.len()
    }

    pub(super) fn is_asleep(&self, slot: u32) -> bool {
        self.behaviours.get(slot as usize).is_some_and(|behaviour| behaviour.asleep)
    }

    pub(super) fn behaviour(&mut self, slot: u32) -> &mut Behaviour {
        &mut self.behaviours[slot as usize]
    }

    pub(super) fn profile(&self, slot: u32) -> &Profile {
        let place = usize::from(self.behaviours[slot as usize].profile);
        &self.plan.config.profiles.profiles[place].profile
    }

    /// The keep-alive that a device asks for.
    pub(super) fn keep_alive_wanted(&self, slot: u32) -> u16 {
        let all = self.plan.config.keep_alive_s;
        if !self.has_behaviour(slot) {
            return all;
        }
        match self.profile(slot).keep_alive {
            None => all,
            Some(span) => {
                let ms = span.at(self.dice.once(self.share.nth(slot), Once::KeepAlive));
                u16::try_from(ms.div_ceil(1_000)).unwrap_or(u16::MAX)
            }
        }
    }

    /// The device's next number from 0 up to, but not including, 1.
    fn chance(&mut self, slot: u32) -> f64 {
        let nth = self.share.nth(slot);
        let behaviour = self.behaviour(slot);
        let what = Dice::REPEATED + u64::from(behaviour.draws);
        behaviour.draws = behaviour.draws.wrapping_add(1) % AHEAD as u32;
        self.dice.draw(nth, what)
    }

    /// A time of the device's, in milliseconds. Spans end at 30 days: it fits.
    pub(super) fn draw(&mut self, slot: u32, span: Span) -> u32 {
        span.at(self.chance(slot)) as u32
    }

    /// The same every time until the next draw.
    fn draw_ahead(&self, slot: u32, span: Span) -> u32 {
        let what = AHEAD + u64::from(self.behaviours[slot as usize].draws);
        span.at(self.dice.draw(self.share.nth(slot), what)) as u32
    }

    /// A device with a profile is up: for the first time, or again.
    pub(super) fn begin_life(&mut self, io: &mut Io, slot: u32, known: bool) {
        let now = io.now() as u32;
        let (address, background) = (self.profile(slot).address, self.profile(slot).background);
        let behaviour = self.behaviour(slot);
        behaviour.wake_ms = 0;
        behaviour.up_ms = if known { now } else { 0 };
        let severed_ms = std::mem::take(&mut behaviour.severed_ms);
        let (moves_ms, leaves_ms) = (behaviour.moves_ms, behaviour.leaves_ms);
        if severed_ms != 0 {
            self.latencies.back.record(u64::from(now - severed_ms) * 1_000_000);
        }
        if let Some(address) = address.filter(|_| moves_ms == 0) {
            self.behaviour(slot).moves_ms = now + self.draw_first(slot, address.changes_every, known);
        }
        if let Some(background) = background.filter(|_| leaves_ms == 0) {
            self.behaviour(slot).leaves_ms = now + self.draw_first(slot, background.every, known);
        }
        self.live(io, slot);
    }

    /// A time of the device's. The first one is a part of it: the device lived before we looked, and a fleet that
    /// arrives together does not go on together.
    fn draw_first(&mut self, slot: u32, span: Span, known: bool) -> u32 {
        let ms = self.draw(slot, span);
        let part = if known { 1.0 } else { self.chance(slot) };
        ((f64::from(ms) * part) as u32).max(1)
    }

    /// Does what is due for a device that is up and has a profile, and sets its timer for what is next.
    pub(super) fn live(&mut self, io: &mut Io, slot: u32) {
        let now = io.now() as u32;
        let behaviour = self.behaviours[slot as usize];
        if behaviour.leaves_ms != 0 && now >= behaviour.leaves_ms {
            return self.go_to_background(io, slot);
        }
        if behaviour.moves_ms != 0 && now >= behaviour.moves_ms {
            return self.change_address(io, slot);
        }
        if behaviour.asleep && now >= behaviour.wake_ms {
            self.wake(io, slot);
        }
        let mut next = Next(u32::MAX);
        next.at(behaviour.leaves_ms);
        next.at(behaviour.moves_ms);
        self.mind_carrier(io, slot, now, &mut next);
        if !self.is_asleep(slot) {
            if self.mind_keep_alive(io, slot, now, &mut next) == Noticed::Dead {
                return self.notice(io, slot);
            }
            self.mind_radio(io, slot, now, &mut next);
        }
        if self.is_asleep(slot) {
            next.at(self.behaviours[slot as usize].wake_ms);
        }
        let id = self.device(slot).connection;
        match next.0 {
            u32::MAX => io.cancel_timer(id),
            at => io.set_timer(id, u64::from(at.saturating_sub(now).max(1))),
        }
    }

    /// The carrier forgets the stream once nothing went either way for long enough.
    fn mind_carrier(&mut self, io: &mut Io, slot: u32, now: u32, next: &mut Next) {
        let Some(carrier) = self.profile(slot).carrier else { return };
        if self.behaviours[slot as usize].severed {
            return;
        }
        let (id, sent_ms) = (self.device(slot).connection, self.device(slot).sent_ms);
        if io.has_unread(id) {
            // Something came while it slept: the stream was in use. When it wakes and reads, we know since when.
            return next.at(now + SOON_MS);
        }
        let drawn = self.dice.once(self.share.nth(slot), Once::CarrierForgets);
        let forgets_after = carrier.forgets_after.at(drawn) as u32;
        let forgotten_ms = sent_ms.max(io.last_received(id) as u32) + forgets_after;
        if now < forgotten_ms {
            return next.at(forgotten_ms);
        }
        self.sums.culled += 1;
        self.sever(io, slot);
    }

    fn mind_keep_alive(&mut self, io: &mut Io, slot: u32, now: u32, next: &mut Next) -> Noticed {
        let (device, behaviour) = (&self.devices[slot as usize], self.behaviours[slot as usize]);
        let (id, sent_ms) = (device.connection, device.sent_ms);
        let keep_alive_ms = u32::from(device.keep_alive_s) * 1_000;
        if keep_alive_ms == 0 {
            return Noticed::Nothing;
        }
        if behaviour.answer_by_ms != 0 {
            if now >= behaviour.answer_by_ms {
                return Noticed::Dead;
            }
            next.at(behaviour.answer_by_ms);
            return Noticed::Nothing;
        }
        // Bytes that came while it slept are read after it wakes: until then silence means nothing.
        let silent_ms = (io.last_received(id) as u32).max(behaviour.wake_ms) + keep_alive_ms / 2 * 3;
        if now > silent_ms {
            return Noticed::Dead;
        }
        let ping_ms = sent_ms + keep_alive_ms / 4 * 3;
        if now + PING_AHEAD_MS < ping_ms {
            next.at(ping_ms);
            next.at(silent_ms + 1);
            return Noticed::Nothing;
        }
        let patience = self.profile(slot).ping_timeout;
        let answer_by_ms = now + self.draw(slot, patience);
        self.behaviour(slot).answer_by_ms = answer_by_ms;
        self.sums.pings += 1;
        self.touch(io, slot);
        io.send(id, encode::pingreq);
        next.at(answer_by_ms);
        Noticed::Nothing
    }

    /// The radio falls asleep when nothing went either way for long enough and no answer is awaited.
    fn mind_radio(&mut self, io: &mut Io, slot: u32, now: u32, next: &mut Next) {
        let Some(radio) = self.profile(slot).radio else { return };
        let (id, sent_ms) = (self.device(slot).connection, self.device(slot).sent_ms);
        let behaviour = self.behaviours[slot as usize];
        if behaviour.answer_by_ms != 0 {
            return;
        }
        if io.has_unread(id) {
            return next.at(now + SOON_MS);
        }
        let quiet_from = sent_ms.max(io.last_received(id) as u32).max(behaviour.wake_ms);
        let sleeps_ms = quiet_from + self.draw_ahead(slot, radio.sleeps_after);
        if now < sleeps_ms {
            return next.at(sleeps_ms);
        }
        let wake_ms = now + self.draw(slot, radio.lasts).max(1);
        let behaviour = self.behaviour(slot);
        (behaviour.asleep, behaviour.wake_ms) = (true, wake_ms);
        self.now.asleep += 1;
        self.sums.slept += 1;
        io.pause(id);
    }

    /// The radio is on again: what waited is read in the next turn, and what was to be sent is sent now.
    pub(super) fn wake(&mut self, io: &mut Io, slot: u32) {
        let now = io.now() as u32;
        let id = self.device(slot).connection;
        let behaviour = self.behaviour(slot);
        if !std::mem::take(&mut behaviour.asleep) {
            return;
        }
        behaviour.wake_ms = now;
        let uplink_ms = std::mem::take(&mut behaviour.uplink_ms);
        self.now.asleep -= 1;
        io.resume(id);
        if uplink_ms != 0 {
            let intended_ns = self.loop_began_ns + u64::from(uplink_ms) * 1_000_000;
            self.sums.uplinks_deferred += 1;
            self.publish_uplink(io, slot, intended_ns);
        }
    }

    /// Keeps an uplink until a sleeping device wakes. One of them: what comes on top is skipped.
    pub(super) fn defer_uplink(&mut self, slot: u32, intended_ns: u64) {
        let due_ms = (intended_ns.saturating_sub(self.loop_began_ns) / 1_000_000) as u32;
        let behaviour = self.behaviour(slot);
        if behaviour.uplink_ms == 0 {
            behaviour.uplink_ms = due_ms.max(1);
        } else {
            self.sums.uplinks_skipped += 1;
        }
    }

    fn go_to_background(&mut self, io: &mut Io, slot: u32) {
        let Some(background) = self.profile(slot).background else { return };
        let ending = Ending::Background { after_ms: self.draw(slot, background.lasts) };
        let silent = self.chance(slot) < background.silent;
        self.behaviour(slot).leaves_ms = 0;
        self.sums.backgrounded += 1;
        if silent || self.behaviour(slot).severed {
            self.sums.backgrounded_silently += u64::from(silent);
            return self.leave(io, slot, ending);
        }
        let version = self.plan.version;
        let device = self.device(slot);
        device.ending = ending;
        let id = device.connection;
        io.send(id, |buffer| Packet::Disconnect(Disconnect::default()).encode(version, buffer));
        io.close(id);
    }

    fn change_address(&mut self, io: &mut Io, slot: u32) {
        let behaviour = self.behaviour(slot);
        behaviour.moves_ms = 0;
        behaviour.moves = behaviour.moves.wrapping_add(1);
        self.sums.addresses_changed += 1;
        self.leave(io, slot, Ending::Moved);
    }

    /// PINGRESP came.
    pub(super) fn ping_answered(&mut self, io: &mut Io, slot: u32) {
        if self.has_behaviour(slot) {
            self.behaviour(slot).answer_by_ms = 0;
            self.live(io, slot);
        }
    }

    /// The histogram of a message: one that waited for its device does not measure the broker.
    pub(super) fn record_delivery(&mut self, slot: u32, sent_ns: u64, now_ns: u64) {
        let latency = now_ns.saturating_sub(sent_ns);
        let began_ns = self.loop_began_ns;
        let before = |ms: u32| ms != 0 && sent_ns < began_ns + u64::from(ms) * 1_000_000;
        let histogram = match self.behaviours.get(slot as usize) {
            Some(behaviour) if before(behaviour.up_ms) => &mut self.latencies.delivery_away,
            Some(behaviour) if before(behaviour.wake_ms) => &mut self.latencies.delivery_asleep,
            _ => &mut self.latencies.delivery,
        };
        histogram.record(latency);
    }
}

/// The next time at which a device has something to do.
pub(super) struct Next(u32);

impl Next {
    /// Not later than then; zero is never.
    fn at(&mut self, ms: u32) {
        if ms != 0 {
            self.0 = self.0.min(ms);
        }
    }
}

/// The result of a look at the keep-alive.
#[derive(PartialEq, Eq)]
enum Noticed {
    Nothing,
    /// No answer came: the connection is dead.
    Dead,
}
