//! RabbitMQ: a quorum queue, persistent messages, publisher confirms, consumers that acknowledge.
//!
//! A put is answered by the confirms of its messages, which a quorum queue sends after its log was synced. A reserve is a
//! message that the server pushed, as far as the prefetch count goes; handing it out is not synced, and neither is an
//! acknowledgement answered: so reserve and settle cost RabbitMQ less than ours, and nobody can know when they are durable.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use super::amqp::{self, Frame, long, long_string, method, short_string};
use crate::harness::Lane;
use crate::process::Owned;
use crate::queue::harness::{
    Endpoint, Event, Outcome, PRODUCT_ONLY, Queues, Request, Reserved, Role, Token, caller, payload,
};
use crate::server::free_address;
use crate::services::{Service, Start};

const QUEUE: &str = "jobs";
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// Batches that a consumer is handed before it acknowledges: one to work on and one behind it.
const PREFETCH_BATCHES: usize = 2;
/// The largest frame that we take; the server's default.
const FRAME_BYTES_MAX: u32 = 131_072;

/// RabbitMQ with one queue.
pub(crate) struct Rabbitmq {
    service: Service,
    /// Erlang's directory of nodes.
    _epmd: Owned,
    /// Messages that a consumer is handed before it acknowledges.
    prefetch: u16,
}

impl Rabbitmq {
    /// Starts it anew, empty, for consumers that reserve up to `batch` jobs.
    pub(crate) fn start(start: &Start<'_>, batch: usize) -> Result<Self> {
        let epmd_port = free_address()?.port().to_string();
        let mut epmd = start.command("epmd");
        epmd.args(["-port", &epmd_port, "-address", "127.0.0.1"]);
        epmd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let epmd = Owned::start(&mut epmd)?;
        let dist_port = free_address()?.port().to_string();
        let service = start.service("rabbitmq", |folder, port| {
            fs::write(folder.join("enabled_plugins"), "[].\n")?;
            // No limit on memory or disk stops producers in the middle of a run.
            let settings = format!(
                "listeners.tcp.1 = 127.0.0.1:{port}\nvm_memory_high_watermark.relative = 0.6\n\
                 disk_free_limit.absolute = 50MB\nlog.console = false\nlog.file.level = error\n"
            );
            fs::write(folder.join("rabbitmq.conf"), settings)?;
            let mut command = start.command(SERVER);
            // This makes the script become the server instead of watching over it.
            command.env("RUNNING_UNDER_SYSTEMD", "true").env("HOME", folder);
            command.env("RABBITMQ_NODENAME", format!("bench{port}@localhost"));
            command.env("RABBITMQ_CONFIG_FILE", folder.join("rabbitmq.conf"));
            command.env("RABBITMQ_ENABLED_PLUGINS_FILE", folder.join("enabled_plugins"));
            command.env("RABBITMQ_MNESIA_BASE", folder.join("mnesia"));
            command.env("RABBITMQ_LOG_BASE", folder.join("log-files"));
            command.env("RABBITMQ_CONF_ENV_FILE", folder.join("none"));
            command.env("RABBITMQ_DIST_PORT", &dist_port).env("ERL_EPMD_PORT", &epmd_port);
            command.env("ERL_EPMD_ADDRESS", "127.0.0.1");
            let loopback = "-kernel inet_dist_use_interface {127,0,0,1}";
            command.env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", loopback);
            Ok(command)
        })?;
        let prefetch = u16::try_from(PREFETCH_BATCHES * batch).context("a batch of at most 32,767")?;
        let rabbitmq = Self { service, _epmd: epmd, prefetch };
        // It listens before it can make a queue; the first that can is this one.
        rabbitmq.service.wait(|| caller(&rabbitmq).is_ok())?;
        Ok(rabbitmq)
    }
}

impl Endpoint for Rabbitmq {
    fn service(&self) -> &Service {
        &self.service
    }

    fn lane(&self, role: Role, _index: usize) -> Box<dyn Lane<Queues>> {
        Box::new(Channel {
            role,
            prefetch: self.prefetch,
            published: 0,
            unconfirmed: BTreeSet::new(),
            put: false,
            wants: 0,
            settled: false,
            delivered: VecDeque::new(),
            content: Content::default(),
        })
    }
}

/// One connection with one channel.
struct Channel {
    role: Role,
    prefetch: u16,
    /// Messages published: tags count them from 1.
    published: u64,
    /// Tags that are not confirmed yet. Confirms come in any order.
    unconfirmed: BTreeSet<u64>,
    /// Whether a put waits for its confirms.
    put: bool,
    /// How many messages a reserve wants at most; 0 when there is none.
    wants: usize,
    /// Whether a settle is to be answered.
    settled: bool,
    /// Pushed and not yet reserved.
    delivered: VecDeque<Reserved>,
    content: Content,
}

/// The message that is coming in.
#[derive(Default)]
struct Content {
    tag: u64,
    left: u64,
    body: Vec<u8>,
}

impl Channel {
    fn method(
        &mut self,
        class: u16,
        id: u16,
        arguments: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<()> {
        match (class, id) {
            // connection.start: log in.
            (10, 10) => {
                let mut answer = vec![0, 0, 0, 0];
                short_string("PLAIN", &mut answer);
                long_string(b"\0guest\0guest", &mut answer);
                short_string("en_US", &mut answer);
                method(0, 10, 11, &answer, out);
            }
            // connection.tune: no heartbeats; then connection.open of the virtual host /.
            (10, 30) => {
                let mut answer = 2_u16.to_be_bytes().to_vec();
                answer.extend_from_slice(&FRAME_BYTES_MAX.to_be_bytes());
                answer.extend_from_slice(&[0, 0]);
                method(0, 10, 31, &answer, out);
                method(0, 10, 40, b"\x01/\0\0", out);
            }
            // connection.open-ok: channel.open.
            (10, 41) => method(1, 20, 10, &[0], out),
            // channel.open-ok: queue.declare, durable, of type quorum.
            (20, 11) => method(1, 50, 10, &declare(), out),
            // queue.declare-ok.
            (50, 11) => match self.role {
                // confirm.select.
                Role::Producer => method(1, 85, 10, &[0], out),
                // basic.qos.
                Role::Consumer => {
                    let mut qos = vec![0, 0, 0, 0];
                    qos.extend_from_slice(&self.prefetch.to_be_bytes());
                    qos.push(0);
                    method(1, 60, 10, &qos, out);
                }
            },
            // basic.qos-ok: basic.consume.
            (60, 11) => {
                let mut consume = vec![0, 0];
                short_string(QUEUE, &mut consume);
                consume.extend_from_slice(&[0, 0, 0, 0, 0, 0]);
                method(1, 60, 20, &consume, out);
            }
            // confirm.select-ok, basic.consume-ok.
            (85, 11) | (60, 21) => events.push(Event::Open),
            // basic.deliver: after the consumer's name.
            (60, 60) => {
                let name = usize::from(*arguments.first().context("a short basic.deliver")?);
                self.content.tag = long(arguments, 1 + name)?;
            }
            // basic.ack of what was published.
            (60, 80) => {
                let (tag, multiple) = (long(arguments, 0)?, arguments.get(8) == Some(&1));
                if multiple {
                    self.unconfirmed = self.unconfirmed.split_off(&(tag + 1));
                } else {
                    self.unconfirmed.remove(&tag);
                }
            }
            (10, 50) | (20, 40) => bail!("rabbitmq: {}", String::from_utf8_lossy(&arguments[2..]).trim()),
            (60, 120) => bail!("rabbitmq did not take a message"),
            _ => bail!("rabbitmq sent method {class}.{id}"),
        }
        Ok(())
    }

    /// The content of a message is whole.
    fn content(&mut self) -> Result<()> {
        if self.content.left == 0 {
            let tag = Token(self.content.tag.into());
            self.delivered.push_back(payload::read(tag, &self.content.body)?);
            self.content.body.clear();
        }
        Ok(())
    }

    fn answers(&mut self, events: &mut Vec<Event>) {
        if self.put && self.unconfirmed.is_empty() {
            self.put = false;
            events.push(Event::Answer(0, Outcome::Put(Vec::new())));
        }
        if self.wants > 0 && !self.delivered.is_empty() {
            let jobs = self.delivered.drain(..self.wants.min(self.delivered.len())).collect();
            self.wants = 0;
            events.push(Event::Answer(0, Outcome::Reserved(jobs)));
        }
        if self.settled {
            self.settled = false;
            events.push(Event::Answer(0, Outcome::Done));
        }
    }
}

/// queue.declare: not passive, durable, not exclusive, not deleted by itself; one argument.
fn declare() -> Vec<u8> {
    let mut declare = vec![0, 0];
    short_string(QUEUE, &mut declare);
    declare.push(0b10);
    let mut table = Vec::new();
    short_string("x-queue-type", &mut table);
    table.push(b'S');
    long_string(b"quorum", &mut table);
    long_string(&table, &mut declare);
    declare
}

impl Lane<Queues> for Channel {
    fn open(&mut self, outs: &mut [Vec<u8>]) {
        outs[0].extend_from_slice(amqp::GREETING);
    }

    fn start(&mut self, _worker: usize, request: Request<'_>, outs: &mut [Vec<u8>]) {
        match request {
            Request::Put(jobs) => {
                let mut body = Vec::new();
                for job in jobs {
                    body.clear();
                    payload::write(job, &mut body);
                    amqp::publish(QUEUE, &body, &mut outs[0]);
                    self.published += 1;
                    self.unconfirmed.insert(self.published);
                }
                self.put = true;
            }
            Request::Reserve { jobs_max } => self.wants = jobs_max,
            Request::Settle(jobs) => {
                // Deliveries come in order, and all before were settled: the last tag stands for the batch.
                if let Some(last) = jobs.last() {
                    let tag = u64::try_from(last.token.0).expect("tags are 64 bits");
                    let mut ack = tag.to_be_bytes().to_vec();
                    ack.push(1);
                    method(1, 60, 80, &ack, &mut outs[0]);
                }
                self.settled = true;
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
        while let Some((frame, length)) = amqp::parse(&bytes[at..])? {
            at += length;
            match frame {
                Frame::Method(class, id, arguments) => {
                    self.method(class, id, arguments, &mut outs[0], events)?;
                }
                Frame::Header(size) => {
                    self.content.left = size;
                    self.content()?;
                }
                Frame::Body(part) => {
                    self.content.body.extend_from_slice(part);
                    self.content.left = self.content.left.saturating_sub(part.len() as u64);
                    self.content()?;
                }
                Frame::Heartbeat => {}
            }
        }
        self.answers(events);
        Ok(at)
    }
}
