//! Redis Streams: XADD; XREADGROUP by a consumer group; XACK and XDEL.
//!
//! Durable as ours, by [`appendfsync always`](crate::services::redis); what XREADGROUP hands out is in it too (as XCLAIM). Batches are pipelined, which one sync covers. Consumers wait in
//! XREADGROUP BLOCK.

use anyhow::{Context as _, Result};

use crate::harness::Lane;
use crate::queue::harness::{
    Endpoint, Event, NewJob, Outcome, PRODUCT_ONLY, Queues, Request, Reserved, Role, Token, payload,
};
use crate::services::{Service, Start, redis};
use crate::wire::resp;

const STREAM: &[u8] = b"jobs";
const GROUP: &[u8] = b"workers";
/// How long a consumer waits in one request, milliseconds.
const BLOCK_MS: &[u8] = b"1000";

/// Redis with one stream.
pub(crate) struct RedisStreams {
    service: Service,
}

impl RedisStreams {
    /// Starts Redis anew, empty.
    pub(crate) fn start(start: &Start<'_>) -> Result<Self> {
        Ok(Self { service: redis::start(start)? })
    }
}

impl Endpoint for RedisStreams {
    fn service(&self) -> &Service {
        &self.service
    }

    fn lane(&self, _role: Role, index: usize) -> Box<dyn Lane<Queues>> {
        Box::new(Streams {
            name: format!("worker-{index}").into_bytes(),
            asked: Asked::Group,
            answers_left: 0,
            buffer: Vec::new(),
        })
    }
}

/// What the next answers are to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Group,
    Put,
    Reserve,
    Settle,
    Nothing,
}

struct Streams {
    name: Vec<u8>,
    asked: Asked,
    answers_left: usize,
    buffer: Vec<u8>,
}

impl Streams {
    fn put(&mut self, jobs: &[NewJob], out: &mut Vec<u8>) {
        for job in jobs {
            self.buffer.clear();
            payload::write(job, &mut self.buffer);
            resp::words(&[b"XADD", STREAM, b"*", b"p", &self.buffer], out);
        }
        (self.asked, self.answers_left) = (Asked::Put, jobs.len());
    }

    fn reserve(&mut self, jobs_max: usize, out: &mut Vec<u8>) {
        let count = jobs_max.to_string();
        let words: [&[u8]; 11] = [
            b"XREADGROUP",
            b"GROUP",
            GROUP,
            &self.name,
            b"COUNT",
            count.as_bytes(),
            b"BLOCK",
            BLOCK_MS,
            b"STREAMS",
            STREAM,
            b">",
        ];
        resp::words(&words, out);
        (self.asked, self.answers_left) = (Asked::Reserve, 1);
    }

    fn settle(&mut self, jobs: &[Reserved], out: &mut Vec<u8>) {
        resp::command(3 + jobs.len(), out);
        for word in [b"XACK", STREAM, GROUP] {
            resp::word(word, out);
        }
        jobs.iter().for_each(|job| resp::word(&id(job.token), out));
        resp::command(2 + jobs.len(), out);
        for word in [b"XDEL", STREAM] {
            resp::word(word, out);
        }
        jobs.iter().for_each(|job| resp::word(&id(job.token), out));
        (self.asked, self.answers_left) = (Asked::Settle, 2);
    }
}

impl Lane<Queues> for Streams {
    fn open(&mut self, outs: &mut [Vec<u8>]) {
        resp::words(&[b"XGROUP", b"CREATE", STREAM, GROUP, b"0", b"MKSTREAM"], &mut outs[0]);
        self.answers_left = 1;
    }

    fn start(&mut self, _worker: usize, request: Request<'_>, outs: &mut [Vec<u8>]) {
        match request {
            Request::Put(jobs) => self.put(jobs, &mut outs[0]),
            Request::Reserve { jobs_max } => self.reserve(jobs_max, &mut outs[0]),
            Request::Settle(jobs) => self.settle(jobs, &mut outs[0]),
            Request::Manage(_) => unreachable!("{PRODUCT_ONLY}"),
        }
    }

    fn read(
        &mut self,
        _connection: usize,
        bytes: &[u8],
        _outs: &mut [Vec<u8>],
        events: &mut Vec<Event>,
    ) -> Result<usize> {
        let mut at = 0;
        while let Some((value, length)) = resp::parse(&bytes[at..])? {
            at += length;
            self.answers_left -= 1;
            match self.asked {
                // The first lane makes the group; the others are answered that it exists.
                Asked::Group => events.push(Event::Open),
                Asked::Reserve => events.push(Event::Answer(0, Outcome::Reserved(jobs(value.good()?)?))),
                asked => {
                    value.good()?;
                    if self.answers_left > 0 {
                        continue;
                    }
                    let outcome = if asked == Asked::Put { Outcome::Put(Vec::new()) } else { Outcome::Done };
                    events.push(Event::Answer(0, outcome));
                }
            }
            self.asked = Asked::Nothing;
        }
        Ok(at)
    }
}

/// The entries of the one stream: `[[stream, [[id, [field, payload]], ..]]]`.
fn jobs(answer: resp::Value<'_>) -> Result<Vec<Reserved>> {
    let Some(stream) = answer.items()?.into_iter().next() else { return Ok(Vec::new()) };
    let entries = stream.items()?.into_iter().nth(1).context("a stream without entries")?;
    let job = |entry: resp::Value<'_>| {
        let mut entry = entry.items()?.into_iter();
        let id = entry.next().context("an entry without id")?;
        let fields = entry.next().context("an entry without fields")?.items()?;
        payload::read(token(id.bytes()?)?, fields.get(1).context("an entry without payload")?.bytes()?)
    };
    entries.items()?.into_iter().map(job).collect()
}

/// `MILLISECONDS-COUNTER`.
fn token(id: &[u8]) -> Result<Token> {
    let (time, counter) = std::str::from_utf8(id)?.split_once('-').context("not a stream's id")?;
    Ok(Token(u128::from(time.parse::<u64>()?) << 64 | u128::from(counter.parse::<u64>()?)))
}

fn id(token: Token) -> Vec<u8> {
    format!("{}-{}", token.0 >> 64, token.0 & u128::from(u64::MAX)).into_bytes()
}
