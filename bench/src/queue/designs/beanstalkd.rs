//! beanstalkd: put, reserve, delete on one tube.
//!
//! Durable as it can be: a binary log (`-b`), synced after each write (`-f 0`). It logs puts and deletes; a reservation is not
//! logged, so a job that was reserved is ready again after a crash, which costs it less than ours. A batch is pipelined: the
//! first reserve of a batch waits, the others take what is there.

use anyhow::{Context as _, Result, bail};

use crate::harness::Lane;
use crate::queue::harness::{
    Endpoint, Event, Outcome, PRODUCT_ONLY, Queues, Request, Reserved, Role, Token, payload,
};
use crate::services::{Service, Start};

/// Seconds that a worker may hold a job.
const TTR_S: &str = "600";

/// beanstalkd with one tube.
pub(crate) struct Beanstalkd {
    service: Service,
}

impl Beanstalkd {
    /// Starts it anew, empty.
    pub(crate) fn start(start: &Start<'_>) -> Result<Self> {
        let service = start.service("beanstalkd", |folder, port| {
            let mut command = start.command("beanstalkd");
            command.args(["-l", "127.0.0.1", "-p", &port.to_string(), "-f", "0", "-b"]).arg(folder);
            Ok(command)
        })?;
        service.await_port()?;
        Ok(Self { service })
    }
}

impl Endpoint for Beanstalkd {
    fn service(&self) -> &Service {
        &self.service
    }

    fn lane(&self, _role: Role, _index: usize) -> Box<dyn Lane<Queues>> {
        Box::new(Tube { is_open: false, left: 0, reserved: None, buffer: Vec::new() })
    }
}

struct Tube {
    is_open: bool,
    /// Answers still to come.
    left: usize,
    /// What a batch of reserves has brought so far; `None` for other requests.
    reserved: Option<Vec<Reserved>>,
    buffer: Vec<u8>,
}

impl Lane<Queues> for Tube {
    fn open(&mut self, _outs: &mut [Vec<u8>]) {}

    fn start(&mut self, _worker: usize, request: Request<'_>, outs: &mut [Vec<u8>]) {
        let out = &mut outs[0];
        match request {
            Request::Put(jobs) => {
                for job in jobs {
                    self.buffer.clear();
                    payload::write(job, &mut self.buffer);
                    out.extend_from_slice(format!("put 1024 0 {TTR_S} {}\r\n", self.buffer.len()).as_bytes());
                    out.extend_from_slice(&self.buffer);
                    out.extend_from_slice(b"\r\n");
                }
                self.left = jobs.len();
            }
            Request::Reserve { jobs_max } => {
                out.extend_from_slice(b"reserve\r\n");
                (1..jobs_max).for_each(|_| out.extend_from_slice(b"reserve-with-timeout 0\r\n"));
                self.left = jobs_max;
                self.reserved = Some(Vec::new());
            }
            Request::Settle(jobs) => {
                for job in jobs {
                    out.extend_from_slice(format!("delete {}\r\n", job.token.0).as_bytes());
                }
                self.left = jobs.len();
            }
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
        if !self.is_open {
            self.is_open = true;
            events.push(Event::Open);
        }
        let mut at = 0;
        while let Some(end) = bytes[at..].windows(2).position(|pair| pair == b"\r\n") {
            let line = std::str::from_utf8(&bytes[at..at + end])?;
            let mut length = end + 2;
            let mut words = line.split(' ');
            let outcome = match (words.next(), &mut self.reserved) {
                (Some("INSERTED"), None) => Outcome::Put(Vec::new()),
                (Some("DELETED"), None) => Outcome::Done,
                (Some("RESERVED"), Some(reserved)) => {
                    let mut number = || -> Result<u64> { Ok(words.next().context("a short line")?.parse()?) };
                    let (id, size) = (number()?, usize::try_from(number()?)?);
                    let Some(body) = bytes.get(at + length..at + length + size) else { break };
                    if bytes.len() < at + length + size + 2 {
                        break;
                    }
                    reserved.push(payload::read(Token(id.into()), body)?);
                    length += size + 2;
                    Outcome::Reserved(Vec::new())
                }
                (Some("TIMED_OUT"), Some(_)) => Outcome::Reserved(Vec::new()),
                _ => bail!("beanstalkd answered {line}"),
            };
            at += length;
            self.left -= 1;
            if self.left == 0 {
                let outcome = self.reserved.take().map_or(outcome, Outcome::Reserved);
                events.push(Event::Answer(0, outcome));
            }
        }
        Ok(at)
    }
}
