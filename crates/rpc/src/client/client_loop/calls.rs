//! From a call to its attempts: where each goes, when the next is due, and when there is none any more.
//!
//! A call has a place from its beginning to its end. It is sent, or waits for a connection, or waits for a time;
//! its timer in the wheel stands for the first that is due. How attempts are answered is in
//! [`super::answers`].

use std::time::Duration;

use stadium_reactor::{ConnectionId, Io};
use stadium_rsocket::connection::RequestError;
use stadium_rsocket::frame::Completes;

use super::answers::{report_end, too_large};
use super::{ClientLoop, Route, TICK_US};
use crate::answer::CallError;
use crate::balance::{self, Choice, Decision, Elsewhere, Hedge, Idempotence, InstanceId, Outcome};
use crate::client::completion::Completion;
use crate::client::item::{Item, NewCall, report_place};
use crate::client::slot::{Attempt, ChannelOut, NEVER, Slot, tag_of};
use crate::client::transfer::Transfer;
use crate::method::{Idempotency, Interaction};
use crate::server::pattern_of;
use crate::wire;

/// How long a call waits where its connection has as many streams as it may, in microseconds.
const FULL_CONNECTION_WAIT_US: u64 = 5_000;

/// How long a call whose copy the budget denied waits to ask again, in microseconds.
const HEDGE_AGAIN_US: u64 = 20_000;

impl ClientLoop {
    pub(super) fn route(&mut self, name: &str) -> u32 {
        if let Some(place) = self.route_places.get(name) {
            return *place;
        }
        let mut entry = Vec::new();
        wire::write_route(&mut entry, name);
        let place = self.routes.len() as u32;
        self.routes.push(Route { entry, hedge: self.config.hedge.map(Hedge::new) });
        self.route_places.insert(name.into(), place);
        place
    }

    /// Takes a call from another thread.
    pub(super) fn call(&mut self, io: &mut Io<Item>, new: NewCall) {
        let route = self.route(&new.route);
        let place = self.slots.take();
        let slot = self.slots.at(place);
        slot.service = new.service;
        slot.route = route;
        slot.interaction = new.interaction;
        slot.idempotency = new.idempotency;
        slot.set_key(new.key);
        slot.fill(|out| out.extend_from_slice(&new.metadata), |out| out.extend_from_slice(&new.request));
        slot.initial = new.initial;
        if new.interaction == Interaction::Channel {
            slot.channel = Some(Box::new(ChannelOut { completes: new.completes, ..ChannelOut::default() }));
        }
        slot.set_transfer(new.transfer);
        if !report_place(&new.completion, place, slot.serial) {
            // Its caller has given up already.
            return self.slots.give_back(place);
        }
        slot.completion = new.completion;
        self.begin(io, place, new.deadline);
    }

    /// A local call's place, to be filled in and begun.
    pub(crate) fn local(&mut self, service: u16, route: &str) -> (u32, &mut Slot) {
        let route = self.route(route);
        let place = self.slots.take();
        let slot = self.slots.at(place);
        slot.service = service;
        slot.route = route;
        slot.completion = Completion::Local;
        (place, slot)
    }

    /// Begins the call in a place.
    pub(crate) fn begin(&mut self, io: &mut Io<Item>, place: u32, deadline: Option<Duration>) {
        let now_us = io.now_us();
        let slot = self.slots.at(place);
        let unary = matches!(slot.interaction, Interaction::Unary | Interaction::OneWay);
        let deadline = deadline.or(unary.then_some(self.config.deadline));
        slot.deadline_us = deadline.map_or(NEVER, |deadline| now_us + deadline.as_micros() as u64);
        slot.deadline_in_wheel = false;
        let hedged = slot.interaction == Interaction::Unary
            && slot.idempotency == Idempotency::Idempotent
            && slot.key().is_none();
        if hedged
            && let Some(hedge) = &mut self.routes[slot.route as usize].hedge
            && let Some(wait_us) = hedge.called()
        {
            slot.hedge_us = now_us + wait_us;
            slot.timed = true;
        }
        let (deadline_us, serial) = (slot.deadline_us, slot.serial);
        self.services[usize::from(slot.service)].budget.called();
        if deadline_us != NEVER && !self.deadlines.push(&mut self.slots, deadline_us, place, serial) {
            let slot = self.slots.at(place);
            slot.deadline_in_wheel = true;
            slot.timed = true;
        }
        if self.slots.at(place).timed {
            self.arm(place);
        }
        self.dispatch(io, place, 0);
    }

    fn arm(&mut self, place: u32) {
        self.wheel.disarm(&mut self.slots, place);
        let slot = self.slots.at(place);
        let next_us = slot.next_us();
        slot.timed = next_us != NEVER;
        if slot.timed {
            let tick = u32::try_from(next_us.div_ceil(TICK_US)).unwrap_or(u32::MAX - 1);
            self.wheel.arm(&mut self.slots, place, tick);
        }
    }

    /// Has the call go out again then.
    fn wait_until(&mut self, place: u32, at_us: u64) {
        self.slots.at(place).again_us = at_us;
        self.arm(place);
    }

    /// Sends a call's attempt to the instance that is best now, or has it wait for a connection.
    fn dispatch(&mut self, io: &mut Io<Item>, place: u32, which: usize) {
        let now_us = io.now_us();
        self.now_us = now_us;
        let slot = self.slots.at(place);
        let service = slot.service;
        let one = &mut self.services[usize::from(service)];
        let key = slot.key();
        // A key stays with its instance: the balancer moves it when that one is ejected or lost.
        let chosen = if slot.is_fresh() || key.is_some() {
            one.balancer.choose(now_us, Choice { key, exclude: &[] })
        } else {
            let exclude = slot.avoided(&mut self.avoided);
            let elsewhere = one.balancer.choose(now_us, Choice { key, exclude });
            // A copy only makes sense elsewhere; another attempt is better than none.
            if elsewhere.is_some() || which == 1 {
                elsewhere
            } else {
                one.balancer.choose(now_us, Choice { key, exclude: &[] })
            }
        };
        let Some(chosen) = chosen else {
            if which == 0 {
                self.wait_for_connection(place);
            }
            return;
        };
        match one.pool(chosen.id).pick() {
            Some(link) => self.send(io, place, which, link, chosen.id),
            None if which == 0 => {
                self.connect(io, service, chosen.id);
                self.wait_for_connection(place);
            }
            None => {}
        }
    }

    fn wait_for_connection(&mut self, place: u32) {
        let slot = self.slots.at(place);
        if slot.waiting {
            return;
        }
        let service = slot.service;
        let one = &self.services[usize::from(service)];
        let hopeless_us = match one.known && !one.balancer.is_empty() {
            // It is looked at when a connection fails.
            true => one.hopeless_us,
            false => self.look_for_hope(service),
        };
        let slot = self.slots.at(place);
        let one = &mut self.services[usize::from(service)];
        if hopeless_us.is_some_and(|at_us| at_us <= self.now_us) {
            let error = one.unreachable(slot.made);
            return self.end(place, Err(error), &[]);
        }
        if one.waiting.len() >= self.config.waiting_max {
            let why = format!("{} calls of `{}` wait for a connection already", one.waiting.len(), one.name);
            return self.end(place, Err(CallError::unavailable(why)), &[]);
        }
        slot.waiting = true;
        one.waiting.push_back((place, slot.serial));
        if slot.deadline_us == NEVER && slot.again_us == NEVER {
            // A stream may last for ever; that nobody serves it should be known in time.
            let until_us = self.now_us + self.config.deadline.as_micros() as u64;
            self.wait_until(place, until_us);
        }
    }

    /// A connection is there: calls that waited for one go out.
    pub(in crate::client) fn send_waiting(&mut self, io: &mut Io<Item>, service: u16) {
        let hopeless_us = self.services[usize::from(service)].hopeless_us;
        if hopeless_us.is_some_and(|at_us| at_us <= self.now_us) {
            // Nobody can be reached, and the calls are being ended, some in each turn.
            return;
        }
        for _ in 0..self.services[usize::from(service)].waiting.len() {
            let Some((place, serial)) = self.services[usize::from(service)].waiting.pop_front() else {
                return;
            };
            let Some(slot) = self.slots.find(place, serial) else { continue };
            slot.waiting = false;
            let waits_anyway = slot.again_us != NEVER && slot.deadline_us != NEVER;
            if !waits_anyway && !slot.in_flight() {
                self.dispatch(io, place, 0);
            }
        }
    }

    fn send(&mut self, io: &mut Io<Item>, place: u32, which: usize, id: ConnectionId, instance: InstanceId) {
        let now_us = io.now_us();
        let slot = self.slots.at(place);
        let Some(connection) = self.links.at(id).and_then(|link| link.connection.as_mut()) else { return };
        let metadata = &mut self.metadata;
        metadata.clear();
        metadata.extend_from_slice(&self.routes[slot.route as usize].entry);
        if slot.deadline_us != u64::MAX {
            let left_us = slot.deadline_us.saturating_sub(now_us);
            wire::write_deadline(metadata, u32::try_from(left_us.div_ceil(1_000)).unwrap_or(u32::MAX));
        }
        metadata.extend_from_slice(&self.config.metadata);
        let (own_metadata, request) = slot.sent();
        metadata.extend_from_slice(own_metadata);
        let completes = match &slot.channel {
            Some(channel) if !(channel.completes && channel.messages.is_empty()) => Completes::No,
            _ => Completes::Yes,
        };
        let pattern = pattern_of(slot.interaction);
        let initial = slot.initial;
        let encode = |out: &mut Vec<u8>| out.extend_from_slice(request);
        let transfer = slot.transfer();
        let sent = io.with_output(id, |out| {
            let tag = tag_of(place, which);
            if let Some(Transfer::Upload(_)) = transfer {
                return connection.request_pieces(tag, Some(metadata), out);
            }
            let stream = connection.request(pattern, initial, completes, tag, Some(metadata), encode, out)?;
            if transfer.is_some() {
                connection.pieces(stream);
            }
            Ok(stream)
        });
        if let (Some(Ok(_)), Some(Transfer::Upload(_))) = (&sent, transfer) {
            self.uploads.push((place, slot.serial));
        }
        match sent {
            Some(Ok(stream)) => {
                slot.made = slot.made.saturating_add(1);
                if slot.interaction == Interaction::OneWay {
                    return self.end(place, Ok(()), &[]);
                }
                *slot.attempt(which) = Some(Attempt { connection: id, stream, instance, sent_us: now_us });
                if slot.deadline_us == NEVER {
                    // It has been sent: no longer does it wait for a connection.
                    slot.again_us = NEVER;
                }
                self.services[usize::from(slot.service)].balancer.began(instance, now_us);
            }
            Some(Err(RequestError::TooLarge)) => self.end(place, Err(too_large()), &[]),
            Some(Err(RequestError::NoLease { retry_after_ms })) => {
                if which == 0 {
                    let wait_us = u64::from(retry_after_ms.clamp(5, 1_000)) * 1_000;
                    self.wait_until(place, now_us + wait_us);
                }
            }
            Some(Err(RequestError::StreamsMax)) => {
                if which == 0 {
                    self.wait_until(place, now_us + FULL_CONNECTION_WAIT_US);
                }
            }
            Some(Err(RequestError::IdsExhausted | RequestError::Closed)) | None => {
                self.retire(id);
                if which == 0 {
                    self.dispatch(io, place, 0);
                }
            }
        }
    }

    /// An attempt did not end well: the call goes again, or ends.
    pub(super) fn attempt_failed(
        &mut self,
        io: &mut Io<Item>,
        place: u32,
        which: usize,
        outcome: Outcome,
        error: CallError,
    ) {
        let now_us = io.now_us();
        let slot = self.slots.at(place);
        let Some(attempt) = slot.attempt(which).take() else { return };
        slot.has_failed_at(attempt.instance);
        let one = &mut self.services[usize::from(slot.service)];
        report_end(&mut one.balancer, slot.interaction, &attempt, outcome, now_us);
        if slot.in_flight() {
            // The other attempt may still be answered.
            return;
        }
        if matches!(slot.transfer(), Some(Transfer::Upload(_))) {
            return self.end(place, Err(error), &[]);
        }
        // What the receiver has cannot be unsaid, and what a channel's caller sent is gone.
        let begun = matches!(&slot.completion, Completion::Stream(items) if items.0.has_begun());
        if begun || slot.interaction == Interaction::Channel {
            return self.end(place, Err(error), &[]);
        }
        let exclude = slot.avoided(&mut self.avoided);
        let elsewhere = slot.key().is_none()
            && one
                .balancer
                .choose(now_us, Choice { key: None, exclude })
                .is_some_and(|chosen| chosen.connected);
        let decision = self.config.retry.decide(
            balance::Attempt {
                outcome,
                made: u32::from(slot.made),
                idempotence: match slot.idempotency {
                    Idempotency::Idempotent => Idempotence::Idempotent,
                    Idempotency::Unknown => Idempotence::Once,
                },
                elsewhere: if elsewhere { Elsewhere::Possible } else { Elsewhere::Impossible },
                deadline_us: slot.deadline_us,
            },
            now_us,
            &mut one.budget,
            &mut self.random,
        );
        match decision {
            Decision::Now => self.dispatch(io, place, 0),
            Decision::At { at_us } => self.wait_until(place, at_us),
            Decision::Stop(_) => self.end(place, Err(error), &[]),
        }
    }

    pub(super) fn fire(&mut self, io: &mut Io<Item>, place: u32) {
        let now_us = io.now_us();
        let slot = self.slots.at(place);
        if !slot.busy {
            return;
        }
        if now_us >= slot.deadline_us {
            return self.expire(io, place);
        }
        if slot.hedge_us <= now_us {
            slot.hedge_us = NEVER;
            let once = slot.first.is_some() && slot.second.is_none();
            if once && let Some(hedge) = &mut self.routes[slot.route as usize].hedge {
                if hedge.take(now_us) {
                    self.dispatch(io, place, 1);
                } else {
                    // The budget is spent now; it may not be when the call has taken still longer.
                    slot.hedge_us = now_us + HEDGE_AGAIN_US;
                }
            }
        }
        let slot = self.slots.at(place);
        let serial = slot.serial;
        if slot.again_us <= now_us {
            if slot.waiting && slot.deadline_us == NEVER {
                return self.expire(io, place);
            }
            slot.again_us = NEVER;
            self.dispatch(io, place, 0);
        }
        if self.slots.find(place, serial).is_some() {
            self.arm(place);
        }
    }

    pub(super) fn expire(&mut self, io: &mut Io<Item>, place: u32) {
        let now_us = io.now_us();
        let slot = self.slots.at(place);
        let one = &mut self.services[usize::from(slot.service)];
        for attempt in [slot.first.take(), slot.second.take()].into_iter().flatten() {
            report_end(&mut one.balancer, slot.interaction, &attempt, Outcome::Deadline, now_us);
            self.cancels.push((attempt.connection, attempt.stream));
        }
        let error = if slot.made > 0 { CallError::Deadline } else { one.unreachable(0) };
        self.end(place, Err(error), &[]);
        self.follow_up(io);
    }
}
