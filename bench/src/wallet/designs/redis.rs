//! Redis: a script that checks and books, as durable as Redis can be (`appendfsync always`).
//!
//! An account is a number, a booked transfer a key with its content, a history a list: with them Redis books each id at most once,
//! never overdraws, and knows who moved what when. A batch is one call of the script. Requests are pipelined.

use std::collections::VecDeque;

use anyhow::{Context as _, Result, bail};

use crate::harness::Lane;
use crate::services::{Service, Start, redis};
use crate::wallet::dialogue::{Debit, Endpoint, Event, Outcome, Request, Verdict, Wallets};
use crate::wire::resp::{self, Value};

/// ARGV is id, account and amount of each debit; the answer a digit for each: see [`Verdict::from_digit`].
const DEBIT: &str = "local time=redis.call('TIME') local now=time[1]..'.'..time[2] local answer={} \
    for i=1,#ARGV,3 do local id,account,amount=ARGV[i],ARGV[i+1],ARGV[i+2] local content=account..':'..amount \
    local done=redis.call('GET','t:'..id) local verdict='0' \
    if done then verdict=(done==content) and '1' or '3' else \
    local balance=redis.call('GET','a:'..account) \
    if not balance then verdict='4' elseif tonumber(balance)<tonumber(amount) then verdict='2' else \
    local left=redis.call('DECRBY','a:'..account,amount) redis.call('SET','t:'..id,content) \
    redis.call('RPUSH','h:'..account,id..':'..amount..':'..left..':'..now) end end \
    answer[#answer+1]=verdict end return table.concat(answer)";

/// Redis with accounts.
pub(crate) struct Redis {
    service: Service,
}

impl Redis {
    /// Starts it anew, empty.
    pub(crate) fn start(start: &Start<'_>) -> Result<Self> {
        Ok(Self { service: redis::start(start)? })
    }
}

impl Endpoint for Redis {
    fn service(&self) -> &Service {
        &self.service
    }

    fn lane(&self) -> Box<dyn Lane<Wallets>> {
        Box::new(Pipeline { script: Vec::new(), asked: VecDeque::new(), at_once: Vec::new() })
    }
}

struct Pipeline {
    /// The script's name, once it is loaded.
    script: Vec<u8>,
    /// Workers and what they wait for, in the order of the answers.
    asked: VecDeque<(usize, Asked)>,
    /// Workers whose request needs no answer of Redis'.
    at_once: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Asked {
    Open,
    Debit(usize),
    Look(u32),
    Entries,
}

impl Pipeline {
    fn debit(&mut self, debits: &[Debit], out: &mut Vec<u8>) {
        resp::command(3 + 3 * debits.len(), out);
        for word in [&b"EVALSHA"[..], &self.script, b"0"] {
            resp::word(word, out);
        }
        for debit in debits {
            resp::word(&debit.id.to_be_bytes(), out);
            resp::word(debit.account.to_string().as_bytes(), out);
            resp::word(debit.amount.to_string().as_bytes(), out);
        }
    }
}

impl Lane<Wallets> for Pipeline {
    fn open(&mut self, outs: &mut [Vec<u8>]) {
        resp::words(&[b"SCRIPT", b"LOAD", DEBIT.as_bytes()], &mut outs[0]);
    }

    fn start(&mut self, worker: usize, request: Request<'_>, outs: &mut [Vec<u8>]) {
        let out = &mut outs[0];
        let asked = match request {
            Request::Open { first, count, credit } => {
                resp::command(1 + 2 * count as usize, out);
                resp::word(b"MSET", out);
                for account in first..first + count {
                    resp::word(format!("a:{account}").as_bytes(), out);
                    resp::word(credit.to_string().as_bytes(), out);
                }
                Asked::Open
            }
            Request::Loaded => {
                self.at_once.push(worker);
                return;
            }
            Request::Debit(debits) => {
                self.debit(debits, out);
                Asked::Debit(debits.len())
            }
            Request::Look { first, count } => {
                resp::command(1 + count as usize, out);
                resp::word(b"MGET", out);
                (first..first + count).for_each(|account| resp::word(format!("a:{account}").as_bytes(), out));
                Asked::Look(count)
            }
            Request::Entries { account } => {
                resp::words(&[b"LLEN", format!("h:{account}").as_bytes()], out);
                Asked::Entries
            }
            Request::Totals => unreachable!("only asked of the product"),
        };
        self.asked.push_back((worker, asked));
    }

    fn read(
        &mut self,
        _connection: usize,
        bytes: &[u8],
        _outs: &mut [Vec<u8>],
        events: &mut Vec<Event>,
    ) -> Result<usize> {
        events.extend(self.at_once.drain(..).map(|worker| Event::Answer(worker, Outcome::Done)));
        let mut at = 0;
        while let Some((value, length)) = resp::parse(&bytes[at..])? {
            at += length;
            let value = value.good()?;
            if self.script.is_empty() {
                self.script = value.bytes()?.to_vec();
                events.push(Event::Open);
                continue;
            }
            let (worker, asked) = self.asked.pop_front().context("an answer to no request")?;
            events.push(Event::Answer(worker, outcome(asked, value)?));
        }
        Ok(at)
    }
}

fn outcome(asked: Asked, value: Value<'_>) -> Result<Outcome> {
    Ok(match (asked, value) {
        (Asked::Open, _) => Outcome::Done,
        (Asked::Debit(debits), value) => {
            let digits = value.bytes()?;
            if digits.len() != debits {
                bail!("{} verdicts for {debits} debits", digits.len());
            }
            Outcome::Debited(digits.iter().map(|digit| Verdict::from_digit(*digit)).collect::<Result<_>>()?)
        }
        (Asked::Look(count), value) => {
            let balance = |value: Value<'_>| Ok(std::str::from_utf8(value.bytes()?)?.parse()?);
            let balances: Vec<i64> = value.items()?.into_iter().map(balance).collect::<Result<_>>()?;
            if balances.len() != count as usize {
                bail!("{} balances of {count} accounts", balances.len());
            }
            Outcome::Balances(balances)
        }
        (Asked::Entries, Value::Integer(entries)) => Outcome::Entries(u64::try_from(entries)?),
        (Asked::Entries, other) => bail!("redis answered {other:?} instead of a number"),
    })
}
