//! Whether anybody of a service can be reached, and the end of calls that wait in vain.
//!
//! A service is out of reach where every instance failed when it was last tried, or leaves, or where none is known.
//! Calls then wait for a grace, because servers restart and discovery may be slow, and end with what was tried. New
//! ones end at once from then on, until a connection is there; connections go on being tried meanwhile.

use std::cmp::Reverse;

use super::broken::CALLS_A_TURN;
use super::{ClientLoop, Service};
use crate::answer::{Attempted, CallError, Unavailable};
use crate::client::slot::NEVER;

/// Instances that an error names.
const TRIED_MAX: usize = 8;

impl Service {
    /// Whether nobody is connected, and nobody is left who was not tried.
    fn is_out_of_reach(&self) -> bool {
        self.balancer.ids().all(|id| {
            let pool = self.pools.get(id.slot()).filter(|pool| pool.instance == Some(id));
            self.balancer.is_leaving(id)
                || pool.is_some_and(|pool| pool.open.is_empty() && pool.trouble.is_some())
        })
    }

    /// Why a call ends that reached nobody, and was sent `made` times before.
    pub(super) fn unreachable(&self, made: u8) -> CallError {
        let unavailable = self.unavailable();
        if made > 0 {
            return CallError::Broken(format!("it was sent, and then {unavailable}"));
        }
        CallError::Unavailable(Box::new(unavailable))
    }

    fn unavailable(&self) -> Unavailable {
        let tried = self.balancer.ids().take(TRIED_MAX).map(|id| {
            let pool = self.pools.get(id.slot()).filter(|pool| pool.instance == Some(id));
            let why = match pool {
                _ if self.balancer.is_leaving(id) => "it is leaving",
                Some(pool) if !pool.open.is_empty() => "it is connected, and takes no calls for now",
                Some(pool) => pool.trouble.as_deref().unwrap_or("the connection is not through yet"),
                None => "it was not tried",
            };
            let address = self.balancer.address(id).unwrap_or_default().to_owned();
            Attempted { address, why: why.to_owned() }
        });
        let tried: Vec<Attempted> = tried.collect();
        let reason = match (self.known, self.balancer.len()) {
            (false, _) => {
                format!("it is not known yet who serves `{}`, discovery: {}", self.name, self.freshness)
            }
            (true, 0) => format!("no instance of `{}` is known, discovery: {}", self.name, self.freshness),
            (true, known) => format!(
                "no instance of `{}` can be reached, of {known} known, discovery: {}",
                self.name, self.freshness
            ),
        };
        Unavailable { reason, tried }
    }
}

impl ClientLoop {
    /// Looks whether anybody of a service may be reached. When calls end that wait for it in vain.
    pub(in crate::client) fn look_for_hope(&mut self, service: u16) -> Option<u64> {
        // A lost connection may be taken up again for a while.
        let is_resumed = self.links.lost.values().any(|lost| lost.service == service);
        let one = &mut self.services[usize::from(service)];
        if one.known && (is_resumed || !one.is_out_of_reach()) {
            one.hopeless_us = None;
            return None;
        }
        if let Some(at_us) = one.hopeless_us {
            return Some(at_us);
        }
        let grace = match one.known {
            // A list of nobody does not change.
            true if one.balancer.is_empty() && one.freshness == "static" => std::time::Duration::ZERO,
            true => self.config.unreachable_grace,
            false => self.config.discovery_grace,
        };
        let at_us = self.now_us.saturating_add(u64::try_from(grace.as_micros()).unwrap_or(u64::MAX));
        one.hopeless_us = Some(at_us);
        self.hopeless.push(Reverse((at_us, service)));
        Some(at_us)
    }

    /// Ends the calls that have waited for long enough, so many in a turn.
    pub(super) fn end_hopeless(&mut self, now_us: u64) {
        let mut left = CALLS_A_TURN;
        while let Some(&Reverse((at_us, service))) = self.hopeless.peek()
            && at_us <= now_us
        {
            self.hopeless.pop();
            if self.services[usize::from(service)].hopeless_us != Some(at_us) {
                // Somebody was reached meanwhile.
                continue;
            }
            while let Some((place, serial)) = self.services[usize::from(service)].waiting.pop_front() {
                if left == 0 {
                    // The rest has the next turn.
                    self.services[usize::from(service)].waiting.push_front((place, serial));
                    return self.hopeless.push(Reverse((at_us, service)));
                }
                left -= 1;
                let Some(slot) = self.slots.find(place, serial) else { continue };
                slot.waiting = false;
                let waits_anyway = slot.again_us != NEVER && slot.deadline_us != NEVER;
                if !waits_anyway && !slot.in_flight() {
                    let error = self.services[usize::from(service)].unreachable(slot.made);
                    self.end(place, Err(error), &[]);
                }
            }
        }
    }
}
