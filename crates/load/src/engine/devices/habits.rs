//! What profiles do to devices that are up: radios asleep, streams forgotten, addresses changed, apps away.
//!
//! One timer for each device: [`Driver::live`] does what is due and sets it for what is next. All that severs a
//! connection is in [`super::severed`].

use stadium_mqtt::encode;
use stadium_mqtt::packet::{Disconnect, Packet};

use super::device::Ending;
use super::driver::Driver;
use super::habit::Habit;
use crate::engine::order::Io;
use crate::swarm::profile::Profile;
use crate::swarm::time::{Dice, Once, Span};

/// A PINGREQ leaves so much before its time, so that the timer's grain does not make it late, in milliseconds.
const PING_AHEAD_MS: u32 = 50;
/// A look at a device whose bytes wait to be read comes again after so long, in milliseconds.
const SOON_MS: u32 = 32;
/// What looks ahead at draws counts from here, so that it shares none with those that are made.
const AHEAD: u64 = 1 << 31;

impl Driver {
    /// Each device's habit; none where there are no profiles.
    pub(super) fn make_habits(&mut self) {
        let mixture = &self.plan.config.profiles;
        if mixture.is_empty() {
            return;
        }
        self.dice = Dice { seed: mixture.seed };
        let own = self.share.part(self.plan.config.devices);
        self.habits = (0..own).map(|slot| Habit::new(mixture.profile_of(self.share.nth(slot)))).collect();
    }

    pub(super) fn has_habit(&self, slot: u32) -> bool {
        (slot as usize) < self.habits.len()
    }

    pub(super) fn is_asleep(&self, slot: u32) -> bool {
        self.habits.get(slot as usize).is_some_and(|habit| habit.asleep)
    }

    pub(super) fn habit(&mut self, slot: u32) -> &mut Habit {
        &mut self.habits[slot as usize]
    }

    pub(super) fn profile(&self, slot: u32) -> &Profile {
        let place = usize::from(self.habits[slot as usize].profile);
        &self.plan.config.profiles.profiles[place].profile
    }

    /// The keep-alive that a device asks for.
    pub(super) fn keep_alive_wanted(&self, slot: u32) -> u16 {
        let all = self.plan.config.keep_alive_s;
        if !self.has_habit(slot) {
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
        let habit = self.habit(slot);
        let what = Dice::REPEATED + u64::from(habit.draws);
        habit.draws = habit.draws.wrapping_add(1) % AHEAD as u32;
        self.dice.draw(nth, what)
    }

    /// A time of the device's, in milliseconds. Spans end at 30 days: it fits.
    pub(super) fn draw(&mut self, slot: u32, span: Span) -> u32 {
        span.at(self.chance(slot)) as u32
    }

    /// The same every time until the next draw.
    fn draw_ahead(&self, slot: u32, span: Span) -> u32 {
        let what = AHEAD + u64::from(self.habits[slot as usize].draws);
        span.at(self.dice.draw(self.share.nth(slot), what)) as u32
    }

    /// A device with a profile is up: for the first time, or again.
    pub(super) fn begin_life(&mut self, io: &mut Io, slot: u32, known: bool) {
        let now = io.now() as u32;
        let (address, background) = (self.profile(slot).address, self.profile(slot).background);
        let habit = self.habit(slot);
        habit.wake_ms = 0;
        habit.up_ms = if known { now } else { 0 };
        let severed_ms = std::mem::take(&mut habit.severed_ms);
        let (moves_ms, leaves_ms) = (habit.moves_ms, habit.leaves_ms);
        if severed_ms != 0 {
            self.latencies.back.record(u64::from(now - severed_ms) * 1_000_000);
        }
        if let Some(address) = address.filter(|_| moves_ms == 0) {
            self.habit(slot).moves_ms = now + self.draw_first(slot, address.changes_every, known);
        }
        if let Some(background) = background.filter(|_| leaves_ms == 0) {
            self.habit(slot).leaves_ms = now + self.draw_first(slot, background.every, known);
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
        let habit = self.habits[slot as usize];
        if habit.leaves_ms != 0 && now >= habit.leaves_ms {
            return self.go_to_background(io, slot);
        }
        if habit.moves_ms != 0 && now >= habit.moves_ms {
            return self.change_address(io, slot);
        }
        if habit.asleep && now >= habit.wake_ms {
            self.wake(io, slot);
        }
        let mut next = Next(u32::MAX);
        next.at(habit.leaves_ms);
        next.at(habit.moves_ms);
        self.mind_carrier(io, slot, now, &mut next);
        if !self.is_asleep(slot) {
            if self.mind_keep_alive(io, slot, now, &mut next) == Noticed::Dead {
                return self.notice(io, slot);
            }
            self.mind_radio(io, slot, now, &mut next);
        }
        if self.is_asleep(slot) {
            next.at(self.habits[slot as usize].wake_ms);
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
        if self.habits[slot as usize].severed {
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
        let (device, habit) = (&self.devices[slot as usize], self.habits[slot as usize]);
        let (id, sent_ms) = (device.connection, device.sent_ms);
        let keep_alive_ms = u32::from(device.keep_alive_s) * 1_000;
        if keep_alive_ms == 0 {
            return Noticed::Nothing;
        }
        if habit.answer_by_ms != 0 {
            if now >= habit.answer_by_ms {
                return Noticed::Dead;
            }
            next.at(habit.answer_by_ms);
            return Noticed::Nothing;
        }
        // What came while it slept is read after it wakes: until then its silence says nothing.
        let silent_ms = (io.last_received(id) as u32).max(habit.wake_ms) + keep_alive_ms / 2 * 3;
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
        self.habit(slot).answer_by_ms = answer_by_ms;
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
        let habit = self.habits[slot as usize];
        if habit.answer_by_ms != 0 {
            return;
        }
        if io.has_unread(id) {
            return next.at(now + SOON_MS);
        }
        let quiet_from = sent_ms.max(io.last_received(id) as u32).max(habit.wake_ms);
        let sleeps_ms = quiet_from + self.draw_ahead(slot, radio.sleeps_after);
        if now < sleeps_ms {
            return next.at(sleeps_ms);
        }
        let wake_ms = now + self.draw(slot, radio.lasts).max(1);
        let habit = self.habit(slot);
        (habit.asleep, habit.wake_ms) = (true, wake_ms);
        self.now.asleep += 1;
        self.sums.slept += 1;
        io.pause(id);
    }

    /// The radio is on again: what waited is read in the next turn, and what was to be sent is sent now.
    pub(super) fn wake(&mut self, io: &mut Io, slot: u32) {
        let now = io.now() as u32;
        let id = self.device(slot).connection;
        let habit = self.habit(slot);
        if !std::mem::take(&mut habit.asleep) {
            return;
        }
        habit.wake_ms = now;
        let uplink_ms = std::mem::take(&mut habit.uplink_ms);
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
        let habit = self.habit(slot);
        if habit.uplink_ms == 0 {
            habit.uplink_ms = due_ms.max(1);
        } else {
            self.sums.uplinks_skipped += 1;
        }
    }

    fn go_to_background(&mut self, io: &mut Io, slot: u32) {
        let Some(background) = self.profile(slot).background else { return };
        let ending = Ending::Background { after_ms: self.draw(slot, background.lasts) };
        let silent = self.chance(slot) < background.silent;
        self.habit(slot).leaves_ms = 0;
        self.sums.backgrounded += 1;
        if silent || self.habit(slot).severed {
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
        let habit = self.habit(slot);
        habit.moves_ms = 0;
        habit.moves = habit.moves.wrapping_add(1);
        self.sums.addresses_changed += 1;
        self.leave(io, slot, Ending::Moved);
    }

    /// PINGRESP came.
    pub(super) fn ping_answered(&mut self, io: &mut Io, slot: u32) {
        if self.has_habit(slot) {
            self.habit(slot).answer_by_ms = 0;
            self.live(io, slot);
        }
    }

    /// Which histogram a message belongs to: one that waited for its device tells nothing of the broker.
    pub(super) fn record_delivery(&mut self, slot: u32, sent_ns: u64, now_ns: u64) {
        let latency = now_ns.saturating_sub(sent_ns);
        let began_ns = self.loop_began_ns;
        let before = |ms: u32| ms != 0 && sent_ns < began_ns + u64::from(ms) * 1_000_000;
        let histogram = match self.habits.get(slot as usize) {
            Some(habit) if before(habit.up_ms) => &mut self.latencies.delivery_away,
            Some(habit) if before(habit.wake_ms) => &mut self.latencies.delivery_asleep,
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

/// What a look at the keep-alive says.
#[derive(PartialEq, Eq)]
enum Noticed {
    Nothing,
    /// No answer came: the connection is dead.
    Dead,
}
