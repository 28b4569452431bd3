//! Requests of one worker, one after the other, on a lane of its own: what rows ask beside their loads.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::{Dialogue, Lane, SLEEP_MAX, Workers};

/// One worker, asked directly.
pub(crate) struct Caller<D: Dialogue>(Workers<D>);

impl<D: Dialogue> Caller<D> {
    /// Connects and opens.
    pub(crate) fn connect(addresses: &[SocketAddr], lane: Box<dyn Lane<D>>) -> Result<Self> {
        let mut pool = Workers::new()?;
        pool.add(addresses, lane, 1)?;
        pool.wait_until_open()?;
        Ok(Self(pool))
    }

    /// Asks, and asks again after the pause where the answer states one.
    pub(crate) fn ask(&mut self, request: D::Request<'_>, within: Duration) -> Result<D::Outcome> {
        let until = Instant::now() + within;
        self.0.ask(0, request);
        let mut answers = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!("no answer within {within:?}");
            }
            self.0.turn(left.min(SLEEP_MAX), &mut answers)?;
            if let Some((_, outcome)) = answers.pop() {
                let Some(pause) = D::again(&outcome) else { return Ok(outcome) };
                std::thread::sleep(pause);
                self.0.ask(0, request);
            }
        }
    }
}
