//! The first two published designs: jobs in a table with `worker_id` and `process_at`; in the second, GET_LOCK around the batch
//! update.
//!
//! A worker reserves by writing its id and the end of its lease into the rows that are due first, then reads the rows that
//! carry its id; it settles by deleting them. Update and read travel in one packet. A deadlock is answered by trying again.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::mysql_wire::{Connection, Reply, Row};
use super::{database, mariadb};
use crate::harness::Lane;
use crate::queue::harness::{
    Endpoint, Event, Outcome, PRODUCT_ONLY, Queues, Request, Reserved, Role, Token, payload,
};
use crate::services::{Service, Start};

/// A consumer that found nothing looks again after this.
const EMPTY_PAUSE: Duration = Duration::from_millis(2);
/// A statement that lost against others is made again after this.
const CONFLICT_PAUSE: Duration = Duration::from_millis(1);

/// Whether the batch update is made under a lock of the server's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locking {
    /// Rows only.
    Rows,
    /// GET_LOCK, one worker at a time.
    Named,
}

/// MariaDB with the table.
pub(crate) struct Table {
    service: Service,
    locking: Locking,
}

impl Table {
    /// Starts MariaDB anew with an empty table.
    pub(crate) fn start(start: &Start<'_>, locking: Locking) -> Result<Self> {
        let table = Self { service: mariadb::start(start)?, locking };
        database::prepare(
            table.service.address(),
            "CREATE DATABASE queue; CREATE TABLE queue.jobs (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, \
             worker_id INT UNSIGNED NOT NULL DEFAULT 0, process_at BIGINT UNSIGNED NOT NULL, \
             payload VARBINARY(4200) NOT NULL, KEY due (worker_id, process_at)) ENGINE=InnoDB",
        )?;
        Ok(table)
    }
}

impl Endpoint for Table {
    fn service(&self) -> &Service {
        &self.service
    }

    fn lane(&self, _role: Role, index: usize) -> Box<dyn Lane<Queues>> {
        // 0 in `worker_id` is nobody.
        Box::new(Worker { id: index + 1, locking: self.locking, asked: Asked::Put, wire: Connection::new() })
    }

    fn empty_pause(&self) -> Duration {
        EMPTY_PAUSE
    }
}

#[derive(Clone, Copy)]
enum Asked {
    Put,
    Reserve,
    Settle(usize),
}

struct Worker {
    id: usize,
    locking: Locking,
    asked: Asked,
    wire: Connection,
}

impl Worker {
    fn reserve(&self, jobs_max: usize) -> String {
        // Times are the server's own, so that no clock has to agree with another.
        let id = self.id;
        let update = format!(
            "UPDATE queue.jobs SET worker_id={id}, process_at=UNIX_TIMESTAMP()+600 \
             WHERE worker_id=0 AND process_at<=UNIX_TIMESTAMP() ORDER BY process_at LIMIT {jobs_max};"
        );
        let read = format!("SELECT id, payload FROM queue.jobs WHERE worker_id={id}");
        match self.locking {
            Locking::Rows => update + &read,
            Locking::Named => {
                format!("DO GET_LOCK('queue.jobs', 60);{update}DO RELEASE_LOCK('queue.jobs');{read}")
            }
        }
    }
}

impl Lane<Queues> for Worker {
    fn open(&mut self, _outs: &mut [Vec<u8>]) {}

    fn start(&mut self, _worker: usize, request: Request<'_>, outs: &mut [Vec<u8>]) {
        let sql = match request {
            Request::Put(jobs) => {
                self.asked = Asked::Put;
                let mut sql = "INSERT INTO queue.jobs (process_at, payload) VALUES ".to_owned().into_bytes();
                for (index, job) in jobs.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    sql.extend_from_slice(comma.as_bytes());
                    sql.extend_from_slice(b"(UNIX_TIMESTAMP(),'");
                    payload::write(job, &mut sql);
                    sql.extend_from_slice(b"')");
                }
                String::from_utf8(sql).expect("payloads are letters and digits")
            }
            Request::Reserve { jobs_max } => {
                self.asked = Asked::Reserve;
                self.reserve(jobs_max)
            }
            Request::Settle(jobs) => {
                self.asked = Asked::Settle(jobs.len());
                format!("DELETE FROM queue.jobs WHERE id IN ({})", ids(jobs))
            }
            Request::Manage(_) => unreachable!("{PRODUCT_ONLY}"),
        };
        self.wire.query(&sql, &mut outs[0]);
    }

    fn read(
        &mut self,
        _connection: usize,
        bytes: &[u8],
        outs: &mut [Vec<u8>],
        events: &mut Vec<Event>,
    ) -> Result<usize> {
        let mut at = 0;
        while let Some((length, reply)) = self.wire.read(&bytes[at..], &mut outs[0])? {
            at += length;
            let outcome = match (reply, self.asked) {
                (None, _) => continue,
                (Some(Reply::Ready), _) => {
                    events.push(Event::Open);
                    continue;
                }
                (Some(Reply::Conflict), _) => Outcome::Again(CONFLICT_PAUSE),
                (Some(Reply::Done { .. }), Asked::Put) => Outcome::Put(Vec::new()),
                (Some(Reply::Done { rows, .. }), Asked::Reserve) => {
                    Outcome::Reserved(rows.iter().map(job).collect::<Result<_>>()?)
                }
                (Some(Reply::Done { changed, .. }), Asked::Settle(jobs)) => {
                    if changed != jobs as u64 {
                        bail!("{changed} of {jobs} rows were there to delete");
                    }
                    Outcome::Done
                }
            };
            events.push(Event::Answer(0, outcome));
        }
        Ok(at)
    }
}

/// A job from a row of id and payload.
pub(super) fn job(row: &Row) -> Result<Reserved> {
    let [id, body] = row.as_slice() else { bail!("a row of {} columns", row.len()) };
    let id: u64 = std::str::from_utf8(id)?.parse().context("an id that is no number")?;
    payload::read(Token(id.into()), body)
}

/// Ids for an IN list.
pub(super) fn ids(jobs: &[Reserved]) -> String {
    let mut list = String::new();
    for (index, job) in jobs.iter().enumerate() {
        let _ = write!(list, "{}{}", if index == 0 { "" } else { "," }, job.token.0);
    }
    list
}
