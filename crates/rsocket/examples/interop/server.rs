//! The routes of the interoperability suites, one thread a connection.
//!
//! Streams send as the requester's credit allows. With `resume=MS`, a connection that was cut waits that long for its
//! client with all of its streams.

use std::collections::{HashMap, VecDeque};
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stadium_rsocket::connection::{Closed, Config, Lease, ResumeConfig};
use stadium_rsocket::frame::{Completes, Interaction, Next, WantsLease};
use stadium_rsocket::{Connection, ErrorCode, Event, StreamId, Tag};

use crate::link::{Link, Turn, now_ms};
use crate::metadata::{described, note, note_of, padded, route, route_of, text};
use crate::{Options, Result, number};

/// Payloads that a channel's requester may send ahead of the echoes.
const CHANNEL_CREDIT: u32 = 2;

/// How long a turn waits at most, in milliseconds: how late an expired session is noticed.
const TURN_MS: u64 = 100;

/// Serves until the standard input ends.
pub fn run(options: &Options) -> Result<()> {
    let server = Arc::new(Server::new(options)?);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("listening {}", listener.local_addr()?);
    std::thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            let server = Arc::clone(&server);
            std::thread::spawn(move || {
                if let Err(error) = Session::serve(&server, socket) {
                    eprintln!("{error}");
                }
            });
        }
    });
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// What all connections share.
struct Server {
    config: Arc<Config>,
    /// Time to live in milliseconds and number of requests of each lease.
    lease: Option<(u32, u32)>,
    notes: Mutex<HashMap<String, Vec<String>>>,
    connections: AtomicI64,
    resumed: AtomicI64,
    /// Sessions whose socket has ended, by token.
    suspended: Mutex<HashMap<Vec<u8>, Session>>,
}

impl Server {
    fn new(options: &Options) -> Result<Self> {
        let lease = match options.get("lease").and_then(|lease| lease.split_once(',')) {
            Some((ttl, requests)) => Some((ttl.parse()?, requests.parse()?)),
            None => None,
        };
        let session_ms = u32::try_from(number(options, "resume", 0)?)?;
        let config = Config {
            fragment_bytes: usize::try_from(number(options, "fragment", 0)?)?,
            setup_ms: u32::try_from(number(options, "setup", 10_000)?)?,
            lease: if lease.is_some() { Lease::Grant } else { Lease::Off },
            resume: (session_ms > 0).then_some(ResumeConfig { store_bytes_max: 1 << 20, session_ms }),
            ..Config::default()
        };
        Ok(Self {
            config: Arc::new(config),
            lease,
            notes: Mutex::default(),
            connections: AtomicI64::new(0),
            resumed: AtomicI64::new(0),
            suspended: Mutex::default(),
        })
    }

    fn leave(&self, key: &str, what: &str) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.entry(key.to_owned()).or_default().push(what.to_owned());
    }

    fn notes(&self, key: &str) -> String {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.get(key).map(|notes| notes.join("\n")).unwrap_or_default()
    }
}

/// What a stream still has to do.
enum Work {
    /// Numbers from `next` to `count`, then the end, which may be an error.
    Numbers { next: u64, count: u64, size: usize, end: Option<(ErrorCode, String)>, key: Option<String> },
    /// Echoes of a channel; `done` once the requester is.
    Echoes { queue: VecDeque<String>, done: bool },
    /// The sum of a channel's numbers.
    Sum { total: i64, done: bool },
    /// Never answers.
    Never { key: String },
    /// Waits for the answer of our own request on that stream.
    Asking { asked: StreamId },
    /// Our own request, for the stream that asked us.
    Asked { by: StreamId },
}

/// A connection and what its streams still have to do; a session that was cut waits in this form.
struct Session {
    connection: Connection,
    streams: Streams,
}

/// Everything of a session but the connection.
#[derive(Default)]
struct Streams {
    work: HashMap<StreamId, Work>,
    /// Under which the session may be resumed.
    token: Option<Vec<u8>>,
    /// When the next lease is due.
    lease_due_ms: Option<u64>,
    /// The session that this socket goes on with.
    resumed: Option<Box<Session>>,
    accepted: bool,
    cut: bool,
    closed: bool,
}

impl Session {
    fn serve(server: &Server, socket: TcpStream) -> Result<()> {
        let mut link = Link::new(socket)?;
        let connection = Connection::server(Arc::clone(&server.config), now_ms());
        let mut session = Self { connection, streams: Streams::default() };
        loop {
            let Self { connection, streams } = &mut session;
            let turn = link.turn(connection, now_ms() + TURN_MS, |connection, event, out| {
                streams.handle(server, connection, event, out)
            })?;
            if let Some(resumed) = streams.resumed.take() {
                session = *resumed;
            }
            session.grant(server, &mut link);
            let streams = &session.streams;
            if streams.cut || streams.closed || turn == Turn::Ended {
                break;
            }
        }
        if !session.streams.cut {
            link.flush()?;
        }
        link.cut();
        session.end(server);
        Ok(())
    }

    fn grant(&mut self, server: &Server, link: &mut Link) {
        let Some((ttl_ms, requests)) = server.lease else { return };
        if self.streams.lease_due_ms.is_some_and(|due| due <= now_ms()) {
            // A lease counts from the connection's clock, which stands still while nothing comes.
            if let Some(event) = self.connection.advance(now_ms(), &mut link.out) {
                self.streams.closed |= matches!(event, Event::Closed(_));
            }
            self.connection.grant_lease(ttl_ms, requests, &mut link.out);
            self.streams.lease_due_ms = Some(now_ms() + u64::from(ttl_ms));
        }
    }

    fn end(mut self, server: &Server) {
        if self.streams.accepted {
            server.connections.fetch_sub(1, Ordering::SeqCst);
        }
        match self.streams.token.clone() {
            Some(token) if !self.streams.closed => {
                self.connection.suspend(now_ms());
                self.streams.cut = false;
                server.suspended.lock().unwrap_or_else(PoisonError::into_inner).insert(token, self);
            }
            _ => self.streams.work.values().for_each(|work| cancelled(server, work)),
        }
    }
}

impl Streams {
    fn handle(
        &mut self,
        server: &Server,
        connection: &mut Connection,
        event: Event<'_>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match event {
            Event::Setup(setup) => {
                if setup.payload.data == b"refuse me" {
                    connection.refuse(ErrorCode::REJECTED_SETUP, "refused as asked", out);
                    self.closed = true;
                    return Ok(());
                }
                connection.accept();
                self.accepted = true;
                server.connections.fetch_add(1, Ordering::SeqCst);
                self.token =
                    setup.resume_token.filter(|_| server.config.resume.is_some()).map(<[u8]>::to_vec);
                self.lease_due_ms = (setup.lease == WantsLease::Yes).then(now_ms);
            }
            Event::Resume(resume) => {
                let mut suspended = server.suspended.lock().unwrap_or_else(PoisonError::into_inner);
                match suspended.remove(resume.token) {
                    Some(mut session) => {
                        if let Err(refused) = session.connection.resume_server(&resume, now_ms(), out) {
                            eprintln!("{refused}");
                            self.closed = true;
                            return Ok(());
                        }
                        server.connections.fetch_add(1, Ordering::SeqCst);
                        server.resumed.fetch_add(1, Ordering::SeqCst);
                        self.resumed = Some(Box::new(session));
                    }
                    None => {
                        connection.refuse(ErrorCode::REJECTED_RESUME, "no such session", out);
                        self.closed = true;
                    }
                }
            }
            Event::Request { stream, interaction, completes, payload, .. } => {
                let metadata = payload.metadata.as_deref().unwrap_or_default();
                let name = route_of(metadata);
                match interaction {
                    Interaction::FireAndForget => self.forget(server, name, &text(&payload.data)),
                    Interaction::RequestResponse => {
                        self.respond(server, connection, stream, name, metadata, &payload.data, out)?;
                    }
                    Interaction::RequestStream => {
                        self.stream(connection, stream, name, &text(&payload.data), out)?
                    }
                    Interaction::RequestChannel => {
                        self.channel(connection, stream, name, &text(&payload.data), completes, out)?;
                    }
                }
            }
            Event::Payload { stream, completes, next, payload, .. } => {
                self.payload(connection, stream, next, completes, &text(&payload.data), out)?;
            }
            Event::Credit { stream, .. } => self.go_on(connection, stream, out)?,
            Event::Cancelled { stream, .. } => {
                if let Some(work) = self.work.remove(&stream) {
                    cancelled(server, &work);
                    if let Work::Asking { asked } = work {
                        connection.cancel(asked, out)?;
                        self.work.remove(&asked);
                    }
                }
            }
            Event::Failed { stream, text, .. } => {
                if let Some(Work::Asked { by }) = self.work.remove(&stream) {
                    self.work.remove(&by);
                    connection.error(
                        by,
                        ErrorCode::APPLICATION_ERROR,
                        &String::from_utf8_lossy(text),
                        out,
                    )?;
                }
            }
            Event::MetadataPush(metadata) => self.forget(server, "note", &note_of(metadata)),
            // The session waits for its client, as after a cut.
            Event::Closed(Closed::KeepAliveTimeout { .. }) if self.token.is_some() => self.cut = true,
            Event::Closed(_) => self.closed = true,
            _ => {}
        }
        Ok(())
    }

    /// Fire-and-forget and metadata push.
    fn forget(&mut self, server: &Server, name: &str, data: &str) {
        match name {
            "note" => {
                let (key, what) = data.split_once(' ').unwrap_or((data, ""));
                server.leave(key, what);
            }
            "cut" => self.cut = true,
            _ => {}
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one request's parts")]
    fn respond(
        &mut self,
        server: &Server,
        connection: &mut Connection,
        stream: StreamId,
        name: &str,
        metadata: &[u8],
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let answer = match name {
            "echo" => data.to_vec(),
            "metadata" => described(metadata).into_bytes(),
            "empty" => return Ok(connection.complete(stream, out)?),
            "notes" => server.notes(&text(data)).into_bytes(),
            "connections" => server.connections.load(Ordering::SeqCst).to_string().into_bytes(),
            "resumed" => server.resumed.load(Ordering::SeqCst).to_string().into_bytes(),
            "never" => {
                self.work.insert(stream, Work::Never { key: text(data) });
                return Ok(());
            }
            "ask-me" => {
                let asked = connection.request(
                    Interaction::RequestResponse,
                    0,
                    Completes::Yes,
                    Tag(0),
                    Some(&route("echo")),
                    |out| out.extend_from_slice(data),
                    out,
                )?;
                self.work.insert(asked, Work::Asked { by: stream });
                self.work.insert(stream, Work::Asking { asked });
                return Ok(());
            }
            "push-me" => {
                connection.metadata_push(&note(&text(data)), out);
                return Ok(connection.complete(stream, out)?);
            }
            "fail" => {
                let (code, why) = failure(&text(data))?;
                return Ok(connection.error(stream, code, &why, out)?);
            }
            _ => return Ok(connection.error(stream, ErrorCode::INVALID, "no such route", out)?),
        };
        Ok(connection.payload(stream, Completes::Yes, None, |out| out.extend_from_slice(&answer), out)?)
    }

    fn stream(
        &mut self,
        connection: &mut Connection,
        stream: StreamId,
        name: &str,
        data: &str,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut words = data.splitn(2, ' ');
        let (first, rest) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let work = match name {
            "range" => {
                Work::Numbers { next: 0, count: first.parse()?, size: rest.parse()?, end: None, key: None }
            }
            "endless" => {
                Work::Numbers { next: 0, count: u64::MAX, size: 0, end: None, key: Some(data.to_owned()) }
            }
            "fail-after" => Work::Numbers {
                next: 0,
                count: first.parse()?,
                size: 0,
                end: Some(failure(rest)?),
                key: None,
            },
            _ => return Ok(connection.error(stream, ErrorCode::INVALID, "no such route", out)?),
        };
        self.work.insert(stream, work);
        self.go_on(connection, stream, out)
    }

    fn channel(
        &mut self,
        connection: &mut Connection,
        stream: StreamId,
        name: &str,
        data: &str,
        completes: Completes,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let work = match name {
            "channel" => Work::Echoes { queue: VecDeque::new(), done: false },
            "sum" => Work::Sum { total: 0, done: false },
            _ => return Ok(connection.error(stream, ErrorCode::INVALID, "no such route", out)?),
        };
        self.work.insert(stream, work);
        if !completes.is_yes() {
            connection.request_n(stream, CHANNEL_CREDIT, out)?;
        }
        self.take(connection, stream, Some(data), completes, out)
    }

    /// A payload on a stream that is open: of a channel that we serve, or the answer to our own request.
    fn payload(
        &mut self,
        connection: &mut Connection,
        stream: StreamId,
        next: Next,
        completes: Completes,
        data: &str,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if let Some(&Work::Asked { by }) = self.work.get(&stream) {
            self.work.remove(&stream);
            self.work.remove(&by);
            let answer = format!("you said {data}");
            return Ok(connection.payload(
                by,
                Completes::Yes,
                None,
                |out| out.extend_from_slice(answer.as_bytes()),
                out,
            )?);
        }
        let value = (next == Next::Value).then_some(data);
        if value.is_some() && !completes.is_yes() {
            connection.request_n(stream, 1, out)?;
        }
        self.take(connection, stream, value, completes, out)
    }

    /// Takes a channel's payload in.
    fn take(
        &mut self,
        connection: &mut Connection,
        stream: StreamId,
        data: Option<&str>,
        completes: Completes,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self.work.get_mut(&stream) {
            Some(Work::Echoes { queue, done }) => {
                queue.extend(data.map(|data| format!("echo {data}")));
                *done |= completes.is_yes();
            }
            Some(Work::Sum { total, done }) => {
                *total += data.map_or(Ok(0), str::parse::<i64>)?;
                *done |= completes.is_yes();
            }
            _ => {}
        }
        self.go_on(connection, stream, out)
    }

    /// Sends what the stream has and the requester's credit allows.
    fn go_on(&mut self, connection: &mut Connection, stream: StreamId, out: &mut Vec<u8>) -> Result<()> {
        loop {
            let credit = connection.credit(stream);
            let ended = match self.work.get_mut(&stream) {
                Some(Work::Numbers { next, count, end, .. }) if *next == *count => {
                    match end.take() {
                        Some((code, why)) => connection.error(stream, code, &why, out)?,
                        None => connection.complete(stream, out)?,
                    }
                    true
                }
                Some(Work::Numbers { next, size, .. }) if credit > 0 => {
                    let data = padded(*next, *size);
                    *next += 1;
                    connection.payload(
                        stream,
                        Completes::No,
                        None,
                        |out| out.extend_from_slice(data.as_bytes()),
                        out,
                    )?;
                    false
                }
                Some(Work::Echoes { queue, done: true }) if queue.is_empty() => {
                    connection.complete(stream, out)?;
                    true
                }
                Some(Work::Echoes { queue, .. }) if credit > 0 && !queue.is_empty() => {
                    let data = queue.pop_front().unwrap_or_default();
                    connection.payload(
                        stream,
                        Completes::No,
                        None,
                        |out| out.extend_from_slice(data.as_bytes()),
                        out,
                    )?;
                    false
                }
                Some(Work::Sum { total, done: true }) if credit > 0 => {
                    let data = total.to_string();
                    connection.payload(
                        stream,
                        Completes::Yes,
                        None,
                        |out| out.extend_from_slice(data.as_bytes()),
                        out,
                    )?;
                    true
                }
                _ => return Ok(()),
            };
            if ended {
                self.work.remove(&stream);
                return Ok(());
            }
        }
    }
}

fn cancelled(server: &Server, work: &Work) {
    if let Work::Never { key } | Work::Numbers { key: Some(key), .. } = work {
        server.leave(key, "cancelled");
    }
}

/// "CODE TEXT" with a decimal code.
fn failure(code_and_text: &str) -> Result<(ErrorCode, String)> {
    let (code, why) = code_and_text.split_once(' ').ok_or("an error is a code and a text")?;
    Ok((ErrorCode(code.parse()?), why.to_owned()))
}
