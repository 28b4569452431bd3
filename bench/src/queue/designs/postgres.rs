//! PostgreSQL: a table, and SELECT FOR UPDATE SKIP LOCKED.
//!
//! Durable as ours: `fsync` and `synchronous_commit` are on (the defaults), and put, reserve and settle each commit. A reserve
//! marks the rows with the worker and the end of its lease. Statements are prepared once for each connection; a batch is one
//! statement over an array.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::service::{Service, Start};
use crate::queue::harness::{Endpoint, Event, Lane, Outcome, Request, Role, Token, payload};

/// A consumer that found nothing looks again after this.
const EMPTY_PAUSE: Duration = Duration::from_millis(2);
/// Where Debian puts the server's programs, before the version.
const PROGRAMS: &str = "/usr/lib/postgresql";
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
        let programs = programs()?;
        let service = start.service("postgresql", |folder, port| {
            let data = folder.join("data");
            // It refuses to run as root; Debian's package made this user.
            let owned = Command::new("chown").arg("postgres:").arg(folder).status()?;
            if !owned.success() {
                bail!("cannot give {} to the user postgres", folder.display());
            }
            let mut init = as_postgres(start, &format!("{programs}/initdb"));
            init.args([
                "--auth=trust",
                "--no-locale",
                "--encoding=UTF8",
                "--no-sync",
                "-U",
                "postgres",
                "-D",
            ]);
            let output = init.arg(&data).output()?;
            if !output.status.success() {
                bail!("initdb: {}", String::from_utf8_lossy(&output.stderr));
            }
            let mut command = as_postgres(start, &format!("{programs}/postgres"));
            command.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &port.to_string()]);
            for setting in [
                "unix_socket_directories=",
                "max_connections=400",
                "shared_buffers=1GB",
                "max_wal_size=8GB",
                "fsync=on",
                "synchronous_commit=on",
                "wal_sync_method=fdatasync",
                "wal_level=minimal",
                "max_wal_senders=0",
                // A plan that is made while the table is empty must be one for a full table.
                "enable_seqscan=off",
                "autovacuum_naptime=1s",
                "autovacuum_vacuum_cost_delay=0",
            ] {
                command.args(["-c", setting]);
            }
            Ok(command)
        })?;
        let service = service.ask_before_killing();
        let port = service.address().port().to_string();
        service.wait(|| {
            let mut ask = Command::new(format!("{programs}/pg_isready"));
            let answer = ask.args(["--quiet", "-h", "127.0.0.1", "-p", &port]).status();
            answer.is_ok_and(|answer| answer.success())
        })?;
        Ok(Self { service })
    }
}

/// The newest version's programs.
fn programs() -> Result<String> {
    let versions =
        std::fs::read_dir(PROGRAMS).context("PostgreSQL is missing (Debian package postgresql)")?;
    let newest = versions
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .max()
        .context("PostgreSQL is missing (Debian package postgresql)")?;
    Ok(format!("{PROGRAMS}/{newest}/bin"))
}

fn as_postgres(start: &Start<'_>, program: &str) -> Command {
    let mut command = start.command("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--", program]);
    command
}

impl Endpoint for Postgres {
    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.service.address()]
    }

    fn log(&self) -> String {
        self.service.log()
    }

    fn workers_each(&self) -> usize {
        1
    }

    fn lane(&self, _role: Role, index: usize) -> Box<dyn Lane> {
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
    rows: Vec<crate::queue::harness::Reserved>,
    /// The last command's tag, such as `DELETE 3`.
    tag: Vec<u8>,
}

impl Worker {
    /// `Bind` of a prepared statement with text arguments, `Execute`, `Sync`.
    fn execute(&mut self, name: &str, arguments: &[Vec<u8>], out: &mut Vec<u8>) {
        message(b'B', out, |out| {
            // The unnamed portal; all arguments as text; all results as text.
            out.push(0);
            text(name, out);
            out.extend_from_slice(&[0, 0]);
            out.extend_from_slice(&u16::try_from(arguments.len()).expect("two at most").to_be_bytes());
            for argument in arguments {
                out.extend_from_slice(&u32::try_from(argument.len()).expect("a batch").to_be_bytes());
                out.extend_from_slice(argument);
            }
            out.extend_from_slice(&[0, 0]);
        });
        message(b'E', out, |out| out.extend_from_slice(&[0; 5]));
        message(b'S', out, |_| {});
    }

    /// One message of the server's; what it means when the request has ended.
    fn message(&mut self, kind: u8, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Event>> {
        match kind {
            b'E' => bail!("postgresql: {}", String::from_utf8_lossy(body).replace('\0', " ")),
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
                message(b'Q', out, |out| {
                    text(&format!("SELECT pg_advisory_xact_lock(1); {TABLE}"), out);
                });
                self.asked = Asked::Statements;
                return Ok(None);
            }
            Asked::Statements if self.tag.starts_with(b"CREATE") => {
                for (name, sql) in STATEMENTS {
                    message(b'P', out, |out| {
                        text(name, out);
                        text(sql, out);
                        out.extend_from_slice(&[0, 0]);
                    });
                }
                message(b'S', out, |_| {});
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

impl Lane for Worker {
    fn open(&mut self, outs: &mut [Vec<u8>]) {
        // The start message has no kind. Protocol 3.0.
        let start = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
        outs[0].extend_from_slice(&u32::try_from(start.len() + 4).expect("short").to_be_bytes());
        outs[0].extend_from_slice(start);
    }

    fn start(&mut self, _worker: usize, request: Request<'_>, outs: &mut [Vec<u8>]) {
        let out = &mut outs[0];
        match request {
            Request::Put(jobs) => {
                self.asked = Asked::Put;
                let array = array(jobs, payload::write);
                self.execute("put", &[array], out);
            }
            Request::Reserve { jobs_max } => {
                self.asked = Asked::Reserve;
                let arguments = [self.id.to_string().into_bytes(), jobs_max.to_string().into_bytes()];
                self.execute("reserve", &arguments, out);
            }
            Request::Settle(jobs) => {
                self.asked = Asked::Settle(jobs.len());
                let array = array(jobs, |job, out| out.extend_from_slice(job.token.0.to_string().as_bytes()));
                self.execute("settle", &[array], out);
            }
            Request::Cancel(_) | Request::Edit(_) | Request::Declare => {
                unreachable!("only asked of the product")
            }
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
        while let Some(head) = bytes[at..].first_chunk::<5>() {
            let length = usize::try_from(u32::from_be_bytes([head[1], head[2], head[3], head[4]]))?;
            let Some(body) = bytes.get(at + 5..at + 1 + length) else { break };
            events.extend(self.message(head[0], body, &mut outs[0])?);
            at += 1 + length;
        }
        Ok(at)
    }
}

/// A message: its kind, its length with these four bytes, its content.
fn message(kind: u8, out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    content(out);
    let length = u32::try_from(out.len() - start).expect("a batch");
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// An array as text; its elements need no quotes.
fn array<T>(items: &[T], mut write: impl FnMut(&T, &mut Vec<u8>)) -> Vec<u8> {
    let mut text = vec![b'{'];
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        write(item, &mut text);
    }
    text.push(b'}');
    text
}

/// A row of id and payload.
fn row(body: &[u8]) -> Result<crate::queue::harness::Reserved> {
    let mut at = 2;
    let mut column = || -> Result<&[u8]> {
        let length =
            body.get(at..at + 4).and_then(|bytes| bytes.first_chunk::<4>()).context("a short row")?;
        let length = usize::try_from(u32::from_be_bytes(*length))?;
        let content = body.get(at + 4..at + 4 + length).context("a short row")?;
        at += 4 + length;
        Ok(content)
    };
    let id: u64 = std::str::from_utf8(column()?)?.parse()?;
    payload::read(Token(id.into()), column()?)
}
