//! The third published design: MariaDB keeps the payloads, Redis the order: a sorted set of due times and a list for each.
//!
//! A put inserts the rows, then adds their ids to the list of their second and that second to the set. A reserve takes ids off
//! the list of the earliest second and notes them with the worker and the end of its lease, in one script; then it reads the
//! rows. A settle deletes the rows, then the notes. Both are durable: MariaDB as in the other designs, Redis with
//! `appendfsync always`.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, bail};

use super::mysql_wire::{Connection, Reply};
use super::{database, mariadb, mysql};
use crate::harness::Lane;
use crate::queue::harness::{
    Endpoint, Event, Outcome, PRODUCT_ONLY, Queues, Request, Reserved, Role, payload,
};
use crate::services::{Service, Start, redis};
use crate::wire::resp;

/// A consumer that found nothing looks again after this.
const EMPTY_PAUSE: Duration = Duration::from_millis(2);
/// The two connections of a worker.
const MARIADB: usize = 0;
const REDIS: usize = 1;
/// The scripts, in the order in which they are loaded.
const PUT_SCRIPT: usize = 0;
const RESERVE_SCRIPT: usize = 1;

/// Adds ids to the list of this second.
const PUT: &str = "local due=redis.call('TIME')[1] local list='due:'..due \
    for i=1,#ARGV do redis.call('RPUSH',list,ARGV[i]) end redis.call('ZADD','due',due,due) return 1";
/// Takes ids that are due, earliest first, and notes who has them: ARGV is how many at most, and the worker.
const RESERVE: &str = "local now=tonumber(redis.call('TIME')[1]) local left=tonumber(ARGV[1]) local ids={} \
    while left>0 do local due=redis.call('ZRANGEBYSCORE','due','-inf',now,'LIMIT',0,1)[1] if not due then break end \
    local taken=redis.call('LPOP','due:'..due,left) or {} \
    for _,id in ipairs(taken) do ids[#ids+1]=id redis.call('HSET','held',id,ARGV[2]..':'..(now+600)) end \
    left=left-#taken if redis.call('LLEN','due:'..due)==0 then redis.call('ZREM','due',due) end end return ids";

/// MariaDB and Redis side by side.
pub(crate) struct TableAndLists {
    mariadb: Service,
    redis: Service,
}

impl TableAndLists {
    /// Starts both anew, empty.
    pub(crate) fn start(start: &Start<'_>) -> Result<Self> {
        let both = Self { mariadb: mariadb::start(start)?, redis: redis::start(start)? };
        database::prepare(
            both.mariadb.address(),
            "CREATE DATABASE queue; CREATE TABLE queue.jobs (id BIGINT UNSIGNED NOT NULL PRIMARY KEY, \
             payload VARBINARY(4200) NOT NULL) ENGINE=InnoDB",
        )?;
        Ok(both)
    }
}

impl Endpoint for TableAndLists {
    fn addresses(&self, _lane: usize) -> Vec<SocketAddr> {
        vec![self.mariadb.address(), self.redis.address()]
    }

    fn service(&self) -> &Service {
        &self.mariadb
    }

    fn lane(&self, _role: Role, index: usize) -> Box<dyn Lane<Queues>> {
        Box::new(Worker {
            id: index.to_string(),
            step: Step::Opening,
            wire: Connection::new(),
            batch: Vec::new(),
            scripts: Vec::new(),
            logged_in: false,
        })
    }

    fn empty_pause(&self) -> Duration {
        EMPTY_PAUSE
    }
}

/// What the worker waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Opening,
    /// The rows are being inserted.
    PutRows,
    /// Their ids are being added to the lists.
    PutIds,
    /// Ids are being taken off the lists.
    ReserveIds,
    /// Their rows are being read.
    ReserveRows,
    /// The rows are being deleted.
    SettleRows,
    /// The notes are being deleted.
    SettleIds,
    Nothing,
}

struct Worker {
    id: String,
    step: Step,
    wire: Connection,
    /// Ids of the batch that is under way.
    batch: Vec<String>,
    /// Redis' names of the scripts.
    scripts: Vec<Vec<u8>>,
    /// Whether MariaDB has let us in.
    logged_in: bool,
}

impl Worker {
    fn script(&self, script: usize, arguments: &[String], out: &mut Vec<u8>) {
        resp::command(3 + arguments.len(), out);
        for word in [&b"EVALSHA"[..], &self.scripts[script], b"0"] {
            resp::word(word, out);
        }
        arguments.iter().for_each(|argument| resp::word(argument.as_bytes(), out));
    }

    /// One of the two is ready: when both are, the lane is.
    fn opened(&mut self, events: &mut Vec<Event>) {
        if self.logged_in && self.scripts.len() == 2 {
            self.step = Step::Nothing;
            events.push(Event::Open);
        }
    }

    /// MariaDB has answered.
    fn rows(&mut self, reply: Reply, outs: &mut [Vec<u8>]) -> Result<Option<Outcome>> {
        let Reply::Done { rows, changed } = reply else { bail!("mariadb: a conflict without need") };
        match self.step {
            Step::PutRows => {
                self.step = Step::PutIds;
                self.script(PUT_SCRIPT, &self.batch, &mut outs[REDIS]);
                Ok(None)
            }
            Step::ReserveRows => {
                let jobs: Vec<Reserved> = rows.iter().map(mysql::job).collect::<Result<_>>()?;
                if jobs.len() != self.batch.len() {
                    bail!("{} of {} rows were there to read", jobs.len(), self.batch.len());
                }
                self.step = Step::Nothing;
                Ok(Some(Outcome::Reserved(jobs)))
            }
            Step::SettleRows => {
                if changed != self.batch.len() as u64 {
                    bail!("{changed} of {} rows were there to delete", self.batch.len());
                }
                self.step = Step::SettleIds;
                resp::command(2 + self.batch.len(), &mut outs[REDIS]);
                for word in [b"HDEL", b"held"] {
                    resp::word(word, &mut outs[REDIS]);
                }
                self.batch.iter().for_each(|id| resp::word(id.as_bytes(), &mut outs[REDIS]));
                Ok(None)
            }
            _ => bail!("mariadb answered what nobody asked"),
        }
    }

    /// Redis has answered.
    fn lists(&mut self, value: resp::Value<'_>, outs: &mut [Vec<u8>]) -> Result<Option<Outcome>> {
        let value = value.good()?;
        match self.step {
            Step::PutIds => {
                self.step = Step::Nothing;
                Ok(Some(Outcome::Put(Vec::new())))
            }
            Step::ReserveIds => {
                self.batch.clear();
                for id in value.items()? {
                    self.batch.push(std::str::from_utf8(id.bytes()?)?.to_owned());
                }
                if self.batch.is_empty() {
                    self.step = Step::Nothing;
                    return Ok(Some(Outcome::Reserved(Vec::new())));
                }
                self.step = Step::ReserveRows;
                let sql =
                    format!("SELECT id, payload FROM queue.jobs WHERE id IN ({})", self.batch.join(","));
                self.wire.query(&sql, &mut outs[MARIADB]);
                Ok(None)
            }
            Step::SettleIds => {
                self.step = Step::Nothing;
                Ok(Some(Outcome::Done))
            }
            _ => bail!("redis answered what nobody asked"),
        }
    }
}

impl Lane<Queues> for Worker {
    fn open(&mut self, outs: &mut [Vec<u8>]) {
        for script in [PUT, RESERVE] {
            resp::words(&[b"SCRIPT", b"LOAD", script.as_bytes()], &mut outs[REDIS]);
        }
    }

    fn start(&mut self, _worker: usize, request: Request<'_>, outs: &mut [Vec<u8>]) {
        match request {
            Request::Put(jobs) => {
                self.step = Step::PutRows;
                self.batch = jobs.iter().map(|job| (job.serial + 1).to_string()).collect();
                let mut sql = b"INSERT INTO queue.jobs (id, payload) VALUES ".to_vec();
                for (index, (job, id)) in jobs.iter().zip(&self.batch).enumerate() {
                    sql.extend_from_slice(if index == 0 { b"(" } else { b",(" });
                    sql.extend_from_slice(id.as_bytes());
                    sql.extend_from_slice(b",'");
                    payload::write(job, &mut sql);
                    sql.extend_from_slice(b"')");
                }
                let sql = String::from_utf8(sql).expect("payloads are letters and digits");
                self.wire.query(&sql, &mut outs[MARIADB]);
            }
            Request::Reserve { jobs_max } => {
                self.step = Step::ReserveIds;
                self.script(RESERVE_SCRIPT, &[jobs_max.to_string(), self.id.clone()], &mut outs[REDIS]);
            }
            Request::Settle(jobs) => {
                self.step = Step::SettleRows;
                self.batch = jobs.iter().map(|job| job.token.0.to_string()).collect();
                let sql = format!("DELETE FROM queue.jobs WHERE id IN ({})", mysql::ids(jobs));
                self.wire.query(&sql, &mut outs[MARIADB]);
            }
            Request::Manage(_) => unreachable!("{PRODUCT_ONLY}"),
        }
    }

    fn read(
        &mut self,
        connection: usize,
        bytes: &[u8],
        outs: &mut [Vec<u8>],
        events: &mut Vec<Event>,
    ) -> Result<usize> {
        let mut at = 0;
        loop {
            let outcome = if connection == MARIADB {
                let Some((length, reply)) = self.wire.read(&bytes[at..], &mut outs[MARIADB])? else { break };
                at += length;
                match reply {
                    None => None,
                    Some(Reply::Ready) => {
                        self.logged_in = true;
                        self.opened(events);
                        None
                    }
                    Some(reply) => self.rows(reply, outs)?,
                }
            } else {
                let Some((value, length)) = resp::parse(&bytes[at..])? else { break };
                at += length;
                if self.step == Step::Opening {
                    self.scripts.push(value.good()?.bytes()?.to_vec());
                    self.opened(events);
                    continue;
                }
                self.lists(value, outs)?
            };
            events.extend(outcome.map(|outcome| Event::Answer(0, outcome)));
        }
        Ok(at)
    }
}
