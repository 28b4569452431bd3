//! This product: the built binary, spoken to by RSocket and Protocol Buffers (proto/stadium/v1/queue.proto).
//!
//! Each worker has one call under way; a connection carries many workers, because that is what RSocket is for. Consumers wait in
//! Reserve. Every call shows an API key, as it would in service. An answer leaves after the journal was synced, that of a
//! reserve too.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::harness::Lane;
use crate::process::Cores;
use crate::queue::harness::{
    Endpoint, Event, Manage, NewJob, Outcome, Queues, Request, Reserved, Role, Token, caller, payload,
};
use crate::services::stadium::Stadium as Server;
use crate::services::{Service, Start};
use crate::wire::calls::{Calls, Reply};
use crate::wire::protobuf::{self, fields, fixed64, head, number, varint_bytes};
use crate::wire::rsocket;

/// The queue, where a row has only one.
pub(crate) const QUEUE: &str = "bench";
/// Workers that share a connection, unless a row sets another number.
const WORKERS_EACH: usize = 50;
/// How long a consumer waits in one call, milliseconds.
const WAIT_MS: u64 = 2_000;
/// How long it may work, milliseconds: longer than any run.
const LEASE_MS: u64 = 3_600_000;
/// Jobs that a queue may hold: more than any row puts.
const JOBS_MAX: u64 = 20_000_000;
/// Time for the queue to be declared on a server that has just started.
const DECLARE_MAX: Duration = Duration::from_secs(30);
/// Statuses of an outcome.
const DONE: u64 = 0;
const ALREADY: u64 = 1;
const BUSY: u64 = 4;

/// How Stadium is started.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    /// Where it may run.
    pub(crate) cores: Cores,
    /// Shards; `None`: as it is by default.
    pub(crate) shards: Option<u32>,
    /// Where the queue's jobs are.
    pub(crate) spread: Spread,
    /// Event loops of the services.
    pub(crate) loops: u32,
    /// Workers that share a connection.
    pub(crate) workers_each: usize,
}

impl Setup {
    /// As it is by default: all cores, as many shards as it likes, a queue on one of them.
    pub(crate) fn by_default() -> Self {
        Self { cores: Cores::Both, shards: None, spread: Spread::One, loops: 1, workers_each: WORKERS_EACH }
    }
}

/// Where a queue's jobs are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// On one shard.
    One,
    /// On all of them.
    All,
}

/// A running server with the queue.
pub(crate) struct Stadium {
    server: Server,
    setup: Setup,
}

impl Stadium {
    /// Starts it anew, empty, and declares the queue.
    pub(crate) fn start(start: &Start<'_>, setup: Setup) -> Result<Self> {
        Self::start_with(start, setup, Vec::new())
    }

    /// The same, with further settings, `NAME=VALUE`.
    pub(crate) fn start_with(start: &Start<'_>, setup: Setup, mut settings: Vec<String>) -> Result<Self> {
        settings.push(format!("rpc.loops={}", setup.loops));
        settings.extend(setup.shards.map(|shards| format!("shards.count={shards}")));
        let stadium = Self { server: Server::start(start, setup.cores, settings)?, setup };
        caller(&stadium)?.ask(Request::Manage(Manage::Declare), DECLARE_MAX)?;
        Ok(stadium)
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Bytes of disk that it takes.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.server.disk_bytes()
    }

    /// Ends it by SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.server.kill();
    }

    /// Ends it by SIGKILL and starts it again on what it left; does not wait for anything.
    pub(crate) fn kill_and_start(&mut self) -> Result<()> {
        self.server.kill_and_start()
    }
}

impl Endpoint for Stadium {
    fn service(&self) -> &Service {
        self.server.service()
    }

    fn workers_each(&self) -> usize {
        self.setup.workers_each
    }

    fn lane(&self, _role: Role, _index: usize) -> Box<dyn Lane<Queues>> {
        lane(self.server.key(), QUEUE, self.setup.spread)
    }
}

/// A lane of workers of a queue, of a server or of a node of a cluster, that show this key.
pub(crate) fn lane(key: &str, queue: &str, spread: Spread) -> Box<dyn Lane<Queues>> {
    let metadata = |method: &str| rsocket::metadata(&format!("queue/{method}"), key);
    Box::new(Connection {
        queue: queue.as_bytes().to_vec(),
        spread,
        put: metadata("Put"),
        reserve: metadata("Reserve"),
        settle: metadata("Settle"),
        delete: metadata("Delete"),
        edit: metadata("Edit"),
        declare: metadata("Declare"),
        calls: Calls::new(),
        edits: HashMap::new(),
        is_open: false,
    })
}

/// One connection with the workers that share it.
struct Connection {
    queue: Vec<u8>,
    spread: Spread,
    // Metadata by method.
    put: Vec<u8>,
    reserve: Vec<u8>,
    settle: Vec<u8>,
    delete: Vec<u8>,
    edit: Vec<u8>,
    declare: Vec<u8>,
    calls: Calls<Call>,
    /// Calls of an edit that are not answered yet, by worker.
    edits: HashMap<usize, usize>,
    is_open: bool,
}

#[derive(Clone, Copy)]
struct Call {
    worker: usize,
    asked: Asked,
}

#[derive(Clone, Copy)]
enum Asked {
    Put {
        jobs: usize,
        ids: Ids,
    },
    Reserve,
    /// Settle or delete.
    Outcomes {
        jobs: usize,
    },
    Edit,
    Declare,
}

/// Whether the ids of put jobs are of any use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ids {
    Kept,
    Counted,
}

impl Connection {
    fn reserve(&mut self, worker: usize, jobs_max: usize, out: &mut Vec<u8>) {
        let queue = &self.queue;
        self.calls.ask(Call { worker, asked: Asked::Reserve }, &self.reserve, out, |out| {
            protobuf::bytes(1, queue, out);
            for (field, value) in [(2, jobs_max as u64), (3, LEASE_MS), (4, WAIT_MS)] {
                number(field, value, out);
            }
        });
    }

    fn manage(&mut self, worker: usize, manage: Manage<'_>, out: &mut Vec<u8>) {
        match manage {
            Manage::Cancel(jobs) => {
                let asked = Asked::Outcomes { jobs: jobs.len() };
                self.calls.ask(Call { worker, asked }, &self.delete, out, |out| {
                    head(1, 8 * jobs.len(), out);
                    jobs.iter().for_each(|job| out.extend_from_slice(&id(*job).to_le_bytes()));
                });
            }
            Manage::Edit(jobs) => {
                self.edits.insert(worker, jobs.len());
                for (job, run_at_ms) in jobs {
                    self.calls.ask(Call { worker, asked: Asked::Edit }, &self.edit, out, |out| {
                        fixed64(1, id(*job), out);
                        number(4, *run_at_ms, out);
                    });
                }
            }
            Manage::Declare => {
                let (queue, spread) = (&self.queue, u64::from(self.spread == Spread::All));
                self.calls.ask(Call { worker, asked: Asked::Declare }, &self.declare, out, |out| {
                    protobuf::bytes(1, queue, out);
                    let mut settings = Vec::new();
                    number(11, JOBS_MAX, &mut settings);
                    number(14, spread, &mut settings);
                    protobuf::bytes(2, &settings, out);
                });
            }
        }
    }
}

impl Lane<Queues> for Connection {
    fn open(&mut self, outs: &mut [Vec<u8>]) {
        rsocket::setup(&mut outs[0]);
    }

    fn start(&mut self, worker: usize, request: Request<'_>, outs: &mut [Vec<u8>]) {
        let out = &mut outs[0];
        match request {
            Request::Put(jobs) => {
                let ids = if jobs.iter().any(|job| job.run_at_ms > 0) { Ids::Kept } else { Ids::Counted };
                let (queue, asked) = (&self.queue, Asked::Put { jobs: jobs.len(), ids });
                self.calls.ask(Call { worker, asked }, &self.put, out, |out| {
                    protobuf::bytes(1, queue, out);
                    jobs.iter().for_each(|job| new_job(job, out));
                });
            }
            Request::Reserve { jobs_max } => self.reserve(worker, jobs_max, out),
            Request::Settle(jobs) => {
                let asked = Asked::Outcomes { jobs: jobs.len() };
                self.calls.ask(Call { worker, asked }, &self.settle, out, |out| {
                    jobs.iter().for_each(|job| lease(job.token, out));
                });
            }
            Request::Manage(manage) => self.manage(worker, manage, out),
        }
    }

    fn read(
        &mut self,
        _connection: usize,
        bytes: &[u8],
        outs: &mut [Vec<u8>],
        events: &mut Vec<Event>,
    ) -> Result<usize> {
        if !self.is_open {
            // A SETUP is not answered, unless it is refused.
            self.is_open = true;
            events.push(Event::Open);
        }
        let edits = &mut self.edits;
        self.calls.read(bytes, &mut outs[0], |call, reply| {
            let outcome = match reply {
                Reply::Answer(data) => answer(call, data, edits)?,
                Reply::Busy(_) if matches!(call.asked, Asked::Edit) => bail!("an edit was answered busy"),
                Reply::Busy(after_ms) => Some(Outcome::Again(Duration::from_millis(after_ms))),
            };
            events.extend(outcome.map(|outcome| Event::Answer(call.worker, outcome)));
            Ok(())
        })
    }
}

/// What a whole answer means.
fn answer(call: Call, data: &[u8], edits: &mut HashMap<usize, usize>) -> Result<Option<Outcome>> {
    Ok(match call.asked {
        Asked::Put { jobs, ids } => Some(Outcome::Put(placed(data, jobs, ids)?)),
        Asked::Reserve => Some(Outcome::Reserved(reserved(data)?)),
        Asked::Outcomes { jobs } => Some(outcomes(data, jobs)?),
        Asked::Declare => Some(Outcome::Done),
        Asked::Edit => {
            let left = edits.get_mut(&call.worker).context("an edit that nobody made")?;
            *left -= 1;
            (*left == 0).then_some(Outcome::Done)
        }
    })
}

fn new_job(job: &NewJob, out: &mut Vec<u8>) {
    let payload_bytes = job.bytes.clamp(payload::BYTES_MIN, payload::BYTES_MAX);
    let mut size = 1 + varint_bytes(payload_bytes as u64) + payload_bytes;
    if job.run_at_ms > 0 {
        size += 1 + varint_bytes(job.run_at_ms);
    }
    head(2, size, out);
    head(1, payload_bytes, out);
    payload::write(job, out);
    if job.run_at_ms > 0 {
        number(3, job.run_at_ms, out);
    }
}

fn lease(token: Token, out: &mut Vec<u8>) {
    let reservation = reservation(token);
    head(1, 9 + 1 + varint_bytes(reservation), out);
    fixed64(1, id(token), out);
    number(2, reservation, out);
}

/// A token is a job's id and, below it, 32 bits of reservation.
fn token(job: u64, reservation: u64) -> Token {
    Token(u128::from(job) << 32 | u128::from(reservation))
}

fn id(token: Token) -> u64 {
    (token.0 >> 32) as u64
}

fn reservation(token: Token) -> u64 {
    token.0 as u64 & u64::from(u32::MAX)
}

/// The ids of a put.
fn placed(data: &[u8], jobs: usize, ids: Ids) -> Result<Vec<Token>> {
    let mut count = 0;
    let mut tokens = Vec::new();
    fields(data, |field, value| {
        if field != 1 {
            bail!("a job was taken for a duplicate");
        }
        let packed = value.bytes()?;
        count += packed.len() / 8;
        if ids == Ids::Kept {
            let each = packed.chunks_exact(8).filter_map(|id| id.first_chunk::<8>());
            tokens.extend(each.map(|id| token(u64::from_le_bytes(*id), 0)));
        }
        Ok(())
    })?;
    if count != jobs {
        bail!("{count} of {jobs} jobs were put");
    }
    Ok(tokens)
}

/// The jobs of a reserve.
fn reserved(data: &[u8]) -> Result<Vec<Reserved>> {
    let mut jobs = Vec::new();
    fields(data, |_, value| {
        let (mut id, mut reservation, mut body) = (0, 0, &[][..]);
        fields(value.bytes()?, |field, value| {
            match field {
                1 => id = value.number()?,
                2 => reservation = value.number()?,
                3 => body = value.bytes()?,
                _ => {}
            }
            Ok(())
        })?;
        jobs.push(payload::read(token(id, reservation), body)?);
        Ok(())
    })?;
    Ok(jobs)
}

/// What became of each job.
fn outcomes(data: &[u8], jobs: usize) -> Result<Outcome> {
    let (mut count, mut busy_ms) = (0, None);
    fields(data, |_, value| {
        count += 1;
        let (mut status, mut after_ms, mut code) = (DONE, 0, String::new());
        fields(value.bytes()?, |field, value| {
            match field {
                1 => status = value.number()?,
                2 | 3 => code = format!("{code} {}", String::from_utf8_lossy(value.bytes()?)),
                4 => after_ms = value.number()?,
                _ => {}
            }
            Ok(())
        })?;
        match status {
            DONE | ALREADY => {}
            BUSY => busy_ms = Some(after_ms),
            _ => bail!("a lease was refused:{code}"),
        }
        Ok(())
    })?;
    if count != jobs {
        bail!("{count} outcomes for {jobs} jobs");
    }
    Ok(busy_ms.map_or(Outcome::Done, |after| Outcome::Again(Duration::from_millis(after))))
}

#[cfg(test)]
mod tests {
    use super::{id, lease, reservation, token};

    #[test]
    fn a_token_holds_a_whole_lease() {
        let token = token(u64::MAX - 5, 7);
        assert_eq!((id(token), reservation(token)), (u64::MAX - 5, 7));
    }

    #[test]
    fn a_lease_has_the_size_that_it_states() {
        for number in [0, 300, u64::from(u32::MAX)] {
            let mut out = Vec::new();
            lease(token(9, number), &mut out);
            assert_eq!(usize::from(out[1]), out.len() - 2);
        }
    }
}
