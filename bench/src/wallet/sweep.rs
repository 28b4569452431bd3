//! Requests that stand by themselves, as fast as they are answered: opening all accounts, looking at all balances.

use std::collections::VecDeque;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use super::books::ANSWER_MAX;
use super::dialogue::{Endpoint, Outcome, Request, Wallets};
use crate::harness::{Dialogue as _, SLEEP_MAX, Workers};

/// Has so many workers, each on a connection of its own, make the requests that `next` gives; `heard` gets each with its outcome.
pub(super) fn run(
    endpoint: &dyn Endpoint,
    workers: usize,
    mut next: impl FnMut() -> Option<Request<'static>>,
    mut heard: impl FnMut(Request<'static>, Outcome) -> Result<()>,
) -> Result<()> {
    let mut pool: Workers<Wallets> = Workers::new()?;
    for _ in 0..workers {
        pool.add(&[endpoint.service().address()], endpoint.lane(), 1)?;
    }
    pool.wait_until_open()?;
    let mut idle: VecDeque<usize> = (0..workers).collect();
    let mut under_way: Vec<Option<Request<'static>>> = vec![None; workers];
    let mut again: VecDeque<(Instant, Request<'static>)> = VecDeque::new();
    let mut answers = Vec::new();
    let mut last_answer = Instant::now();
    let mut is_over = false;
    loop {
        while let Some(worker) = idle.pop_front() {
            let is_due = again.front().is_some_and(|(at, _)| *at <= Instant::now());
            let request = if is_due { again.pop_front().map(|(_, request)| request) } else { next() };
            let Some(request) = request else {
                is_over = true;
                idle.push_front(worker);
                break;
            };
            under_way[worker] = Some(request);
            pool.ask(worker, request);
        }
        if is_over && idle.len() == workers && again.is_empty() {
            return Ok(());
        }
        pool.turn(SLEEP_MAX, &mut answers)?;
        for (worker, outcome) in answers.drain(..) {
            last_answer = Instant::now();
            idle.push_back(worker);
            let request = under_way[worker].take().context("an answer to no request")?;
            match Wallets::again(&outcome) {
                Some(pause) => again.push_back((last_answer + pause, request)),
                None => heard(request, outcome)?,
            }
        }
        if last_answer.elapsed() > ANSWER_MAX {
            bail!("no answer within {ANSWER_MAX:?}");
        }
    }
}
