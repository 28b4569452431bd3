//! PostgreSQL: a table, and SELECT FOR UPDATE SKIP LOCKED.
//!
//! Durable as ours: `fsync` and `synchronous_commit` are on (the defaults), and put, reserve and settle each commit. A reserve
//! marks the rows with the worker and the end of its lease. Statements are prepared once for each connection; a batch is one
//! statement over an array.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::harness::Lane;
use crate::queue::harness::{
    Endpoint, Event, Outcome, PRODUCT_ONLY, Queues, Request, Reserved, Role, Token, payload,
};
use crate::services::{Service, Start, postgresql};
use crate::wire::postgres::{self, array, execute};

/// A consumer that found nothing looks again after this.
const EMPTY_PAUSE: Duration = Duration::from_millis(2);
const TABLE: &str = "CREATE TABLE IF NOT EXISTS jobs (id bigserial PRIMARY KEY, worker integer NOT NULL DEFAULT 0, \
    lease timestamptz, due timestamptz NOT NULL DEFAULT now(), payload text NOT NULL) WITH (fillfactor = 70);\
    CREATE INDEX IF NOT EXISTS due ON jobs (due, id) WHERE worker = 0";
/// The statements, by the name that they are prepared under.
const STATEMENTS: [(&str, &str); 3] = [
    ("put", "INSERT INTO jobs (payload) SELECT unnest($1::text[])"),
    (
        "reserve",
        "UPDATE jobs SET worker = $1::integer, lease = now() + interval '10 minutes' WHERE id = ANY (ARRAY (\
         SELECT id FROM jobs WHERE worker = 0 AND due <= now() ORDER BY due, id LIMIT $2::integer \
         FOR UPDATE SKIP LOCKED)) RETURNING id, payload",
    ),
    ("settle", "DELETE FROM jobs WHERE id = ANY($1::bigint[])"),
];

/// PostgreSQL with one table.
pub(crate) struct Postgres {
    service: Service,
}

impl Postgres {
    /// Starts it anew, empty.
    pub(crate) fn start(start: &Start<'_>) -> Result<Self> {
        Ok(Self { service: postgresql::start(start)? })
    }
}

impl Endpoint for Postgres {
    fn service(&self) -> &Service {
        &self.service
    }

    fn lane(&self, _role: Role, index: usize) -> Box<dyn Lane<Queues>> {
        Box::new(Worker { id: index + 1, asked: Asked::LogIn, rows: Vec::new(), tag: Vec::new() })
    }

    fn empty_pause(&self) -> Duration {
        EMPTY_PAUSE
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    LogIn,
    Statements,
    Put,
    Reserve,
    Settle(usize),
}

struct Worker {
    id: usize,
    asked: Asked,
    rows: Vec<Reserved>,
    /// The last command's tag, such as `DELETE 3`.
    tag: Vec<u8>,
}

impl Worker {
    /// One message of the server's; what it means when the request has ended.
    fn message(&mut self, kind: u8, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Event>> {
        match kind {
            b'E' => bail!("postgresql: {}", postgres::error(body)),
            b'R' if body != [0, 0, 0, 0] => bail!("postgresql wants a password"),
            b'D' if self.asked == Asked::Reserve => self.rows.push(row(body)?),
            b'C' => self.tag = body.to_vec(),
            b'Z' => return self.ended(out),
            _ => {}
        }
        Ok(None)
    }

    fn ended(&mut self, out: &mut Vec<u8>) -> Result<Option<Event>> {
        let outcome = match self.asked {
            Asked::LogIn => {
                // Two lanes that make the table at once would collide, so one does it at a time.
                postgres::query(&format!("SELECT pg_advisory_xact_lock(1); {TABLE}"), out);
                self.asked = Asked::Statements;
                return Ok(None);
            }
            Asked::Statements if self.tag.starts_with(b"CREATE") => {
                STATEMENTS.iter().for_each(|(name, sql)| postgres::prepare(name, sql, out));
                postgres::sync(out);
                self.tag.clear();
                return Ok(None);
            }
            Asked::Statements => return Ok(Some(Event::Open)),
            Asked::Put => Outcome::Put(Vec::new()),
            Asked::Reserve => Outcome::Reserved(std::mem::take(&mut self.rows)),
            Asked::Settle(jobs) => {
                let expected = format!("DELETE {jobs}\0");
                if self.tag != expected.as_bytes() {
                    bail!("{} instead of {expected}", String::from_utf8_lossy(&self.tag));
                }
                Outcome::Done
            }
        };
        Ok(Some(Event::Answer(0, outcome)))
    }
}

impl Lane<Queues> for Worker {
    fn open(&mut self, outs: &mut [Vec<u8>]) {
        postgres::start(&mut outs[0]);
    }

    fn start(&mut self, _worker: usize, request: Request<'_>, outs: &mut [Vec<u8>]) {
        let out = &mut outs[0];
        match request {
            Request::Put(jobs) => {
                self.asked = Asked::Put;
                let array = array(jobs, payload::write);
                execute("put", &[array], out);
            }
            Request::Reserve { jobs_max } => {
                self.asked = Asked::Reserve;
                let arguments = [self.id.to_string().into_bytes(), jobs_max.to_string().into_bytes()];
                execute("reserve", &arguments, out);
            }
            Request::Settle(jobs) => {
                self.asked = Asked::Settle(jobs.len());
                let array = array(jobs, |job, out| out.extend_from_slice(job.token.0.to_string().as_bytes()));
                execute("settle", &[array], out);
            }
            Request::Manage(_) => unreachable!("{PRODUCT_ONLY}"),
        }
    }

    fn read(
        &mut self,
        _connection: usize,
        bytes: &[u8],
        outs: &mut [Vec<u8>],
        events: &mut Vec<Event>,
    ) -> Result<usize> {
        let mut at = 0;
        while let Some((kind, body, length)) = postgres::parse(&bytes[at..])? {
            events.extend(self.message(kind, body, &mut outs[0])?);
            at += length;
        }
        Ok(at)
    }
}

/// A row of id and payload.
fn row(body: &[u8]) -> Result<Reserved> {
    let [id, body] = postgres::columns(body)?;
    let id: u64 = std::str::from_utf8(id)?.parse()?;
    payload::read(Token(id.into()), body)
}
