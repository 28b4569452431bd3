//! Requests over many kept connections, one under way on each: as fast as answers come.
//!
//! A request that is answered with a retry is sent again as it was, after the pause that the answer
//! names.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hdrhistogram::Histogram;
use rustls::ClientConfig;

use super::requests::{Answer, Kept, Requests};
use crate::harness::{Dialogue as _, Lane, SLEEP_MAX, Secured, Workers};
use crate::wire::http;

/// A server that takes longer for one request has failed.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Whom a load is for.
pub(super) struct Target<'a> {
    pub(super) address: SocketAddr,
    /// Shown in each request.
    pub(super) key: &'a str,
    /// How it is encrypted, if it is.
    pub(super) tls: Option<Arc<ClientConfig>>,
}

impl Target<'_> {
    fn lane(&self) -> Result<Box<dyn Lane<Requests>>> {
        match &self.tls {
            None => Ok(Kept::lane()),
            Some(config) => Secured::lane(Kept::lane(), config),
        }
    }
}

/// Connections, and what each has asked.
pub(super) struct Load {
    pool: Workers<Requests>,
    key: String,
    slots: Vec<Slot>,
    /// Connections that ask again at a time.
    alarms: BinaryHeap<Reverse<(Instant, usize)>>,
    /// From the request to the answer, pauses included.
    pub(super) answer_us: Histogram<u64>,
    /// Requests that were sent again.
    pub(super) again: u64,
}

struct Slot {
    request: Vec<u8>,
    asked: Instant,
}

impl Load {
    /// Connects so many.
    pub(super) fn connect(target: &Target<'_>, connections: usize) -> Result<Self> {
        let mut pool = Workers::new()?;
        for _ in 0..connections {
            pool.add(&[target.address], target.lane()?, 1)?;
        }
        pool.wait_until_open()?;
        let slot = || Slot { request: Vec::new(), asked: Instant::now() };
        Ok(Self {
            pool,
            key: target.key.to_owned(),
            slots: std::iter::repeat_with(slot).take(connections).collect(),
            alarms: BinaryHeap::new(),
            answer_us: Histogram::new_with_bounds(1, 600_000_000, 3)?,
            again: 0,
        })
    }

    /// Posts the bodies that `next` gives to `path` until it gives none, and hands each answer to `hear`.
    pub(super) fn post(
        &mut self,
        path: &str,
        next: impl FnMut() -> Option<String>,
        hear: impl FnMut(&Answer) -> Result<()>,
    ) -> Result<()> {
        self.ask("POST", path, next, hear)
    }

    /// The same with another method.
    pub(super) fn ask(
        &mut self,
        method: &str,
        path: &str,
        mut next: impl FnMut() -> Option<String>,
        mut hear: impl FnMut(&Answer) -> Result<()>,
    ) -> Result<()> {
        let mut answers = Vec::new();
        let mut busy = 0;
        for slot in 0..self.slots.len() {
            busy += usize::from(self.go_on(slot, (method, path), &mut next));
        }
        let mut last_answer = Instant::now();
        while busy > 0 {
            let sleep = self.wake();
            self.pool.turn(sleep, &mut answers)?;
            for (slot, answer) in answers.drain(..) {
                last_answer = Instant::now();
                if let Some(pause) = Requests::again(&answer) {
                    self.again += 1;
                    self.alarms.push(Reverse((last_answer + pause, slot)));
                    continue;
                }
                let asked_us = (last_answer - self.slots[slot].asked).as_micros();
                self.answer_us.saturating_record(u64::try_from(asked_us)?);
                hear(&answer)?;
                if !self.go_on(slot, (method, path), &mut next) {
                    busy -= 1;
                }
            }
            if last_answer.elapsed() > ANSWER_MAX {
                bail!("no answer within {ANSWER_MAX:?}");
            }
        }
        Ok(())
    }

    /// Has those ask again whose time has come; how long to sleep at most.
    fn wake(&mut self) -> Duration {
        let now = Instant::now();
        while let Some(&Reverse((at, slot))) = self.alarms.peek() {
            if at > now {
                return SLEEP_MAX.min(at - now);
            }
            self.alarms.pop();
            self.pool.ask(slot, &self.slots[slot].request);
        }
        SLEEP_MAX
    }

    fn go_on(
        &mut self,
        slot: usize,
        (method, path): (&str, &str),
        next: &mut impl FnMut() -> Option<String>,
    ) -> bool {
        let Some(body) = next() else { return false };
        let Slot { request, asked } = &mut self.slots[slot];
        request.clear();
        http::request(method, path, Some(&self.key), body.as_bytes(), request);
        *asked = Instant::now();
        self.pool.ask(slot, request);
        true
    }
}
