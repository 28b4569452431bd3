//! RSocket sessions of the engine: against a responder of known behaviour, and against a server of Stadium's.
//!
//! The responder is `stadium-rsocket` on blocking sockets, and counts what it sees.

use crate::users;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use stadium_rpc::{Listen, Server, ServerConfig, Service};
use stadium_rsocket::connection::{Config, Connection, Event};
use stadium_rsocket::frame::{Completes, ErrorCode, StreamId};
use stadium_rsocket::metadata::{Mime, find, mime_type, routes};
use stadium_scenario::program::{Action, Interaction, Rsocket, Scheme, Version};
use users::{Do, Users, assert_clean, errors, step, template};

/// What a responder saw.
#[derive(Debug, Default)]
struct Seen {
    connections: u32,
    mimes: Vec<String>,
    fired: Vec<String>,
    /// Payloads sent on the stream without an end.
    counted: u32,
    cancelled: u32,
    /// The most requests on the route `together` at once.
    under_way_max: u32,
    /// Those of them that are not answered yet.
    waiting: Vec<StreamId>,
}

/// A responder on a free port, until the test's end.
struct Responder {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

impl Responder {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = seen.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, seen) = (client.expect("a client"), shared.clone());
                std::thread::spawn(move || serve(client, &seen));
            }
        });
        Responder { address, seen }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().expect("no responder panicked")
    }
}

fn serve(mut client: TcpStream, seen: &Mutex<Seen>) {
    seen.lock().expect("no responder panicked").connections += 1;
    let mut connection = Connection::server(Arc::new(Config::default()), 0);
    let (mut kept, mut bytes) = (Vec::new(), vec![0; 64 * 1024]);
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        kept.extend_from_slice(&bytes[..count]);
        let mut used = 0;
        let mut out = Vec::new();
        let mut hang_up = false;
        loop {
            let received = connection.receive(0, &kept[used..], &mut out);
            used += received.used;
            match received.event {
                Some(event) => hang_up |= answer(&mut connection, event, seen, &mut out),
                None if received.used == 0 => break,
                None => {}
            }
        }
        kept.drain(..used);
        if client.write_all(&out).is_err() || hang_up {
            return;
        }
    }
}

/// Answers as the route asks. Returns whether the connection is to be closed.
fn answer(connection: &mut Connection, event: Event<'_>, seen: &Mutex<Seen>, out: &mut Vec<u8>) -> bool {
    let mut seen = seen.lock().expect("no responder panicked");
    match event {
        Event::Setup(setup) => {
            seen.mimes.push(String::from_utf8_lossy(setup.data_mime).into_owned());
            connection.accept();
        }
        Event::Credit { stream, n, .. } => send_numbers(connection, stream, n, &mut seen, out),
        Event::Cancelled { .. } => seen.cancelled += 1,
        Event::Request { stream, initial, payload, .. } => {
            let metadata = payload.metadata();
            let route = find(metadata, Mime::ROUTING)
                .and_then(|content| routes(content).next()?.ok())
                .unwrap_or_default();
            let say = |connection: &mut Connection, data: &[u8], completes, out: &mut Vec<u8>| {
                let write = |out: &mut Vec<u8>| out.extend_from_slice(data);
                connection.payload(stream, completes, None, write, out).expect("it may be sent");
            };
            match route {
                "echo" => say(connection, &payload.data, Completes::Yes, out),
                "mime" => {
                    let content = find(metadata, Mime::MIME_TYPE).expect("the request names one");
                    let mime = mime_type::mimes(content).next().expect("one").expect("whole");
                    say(connection, mime.name().expect("known").as_bytes(), Completes::Yes, out);
                }
                "fire" => seen.fired.push(String::from_utf8_lossy(&payload.data).into_owned()),
                "reject" => connection.error(stream, ErrorCode::REJECTED, "no", out).expect("it may"),
                "fail" => connection.error(stream, ErrorCode::APPLICATION_ERROR, "no", out).expect("it may"),
                "three" => {
                    say(connection, b"one", Completes::No, out);
                    say(connection, b"two", Completes::No, out);
                    say(connection, b"three", Completes::Yes, out);
                }
                "numbers" => send_numbers(connection, stream, initial, &mut seen, out),
                // Nobody is answered before all are there: they must be under way at once.
                "together" => {
                    seen.waiting.push(stream);
                    seen.under_way_max = seen.under_way_max.max(seen.waiting.len() as u32);
                    if seen.waiting.len() == 8 {
                        for stream in std::mem::take(&mut seen.waiting) {
                            connection.payload(stream, Completes::Yes, None, |_| {}, out).expect("it may");
                        }
                    }
                }
                // Two bytes are no frame.
                "garbage" => out.extend_from_slice(b"\x00\x00\x02ab"),
                "goodbye" => connection.close(ErrorCode::CONNECTION_ERROR, "bye", out),
                "hang up" => return true,
                _ => {}
            }
        }
        _ => {}
    }
    false
}

fn send_numbers(
    connection: &mut Connection,
    stream: StreamId,
    count: u32,
    seen: &mut Seen,
    out: &mut Vec<u8>,
) {
    for _ in 0..count {
        let number = seen.counted.to_string();
        let write = |out: &mut Vec<u8>| out.extend_from_slice(number.as_bytes());
        connection.payload(stream, Completes::No, None, write, out).expect("there is credit");
        seen.counted += 1;
    }
}

fn ask(interaction: Interaction, route: &str, data: &str, count: u32) -> Action {
    Action::Rsocket(Rsocket {
        interaction,
        route: template(route),
        data: template(data),
        mime: "text/plain".to_owned(),
        count,
    })
}

fn request(route: &str) -> Action {
    ask(Interaction::RequestResponse, route, "I am ${user()}", 1)
}

fn stream(route: &str, count: u32) -> Action {
    ask(Interaction::RequestStream, route, "", count)
}

fn at(responder: &Responder) -> Users {
    Users::at(Scheme::Rsocket, Version::Only, responder.address)
}

#[test]
fn requests_are_answered_and_fire_and_forget_arrives() {
    let responder = Responder::start();
    let result = at(&responder)
        .users(
            5,
            vec![
                Do::Checked("ask", request("echo"), "I am ${user()}"),
                Do::Step("fire", ask(Interaction::FireAndForget, "fire", "${user()}", 1)),
                Do::Checked("ask again", request("echo"), "I am"),
            ],
        )
        .run();
    assert_clean(&result);
    assert_eq!((result.total.started, result.total.answered), (15, 15));
    assert_eq!(step(&result, "ask").checks[0].passed, 5);
    assert!(step(&result, "ask").requests.bytes_in >= 5 * 12);
    let mut seen = responder.seen();
    seen.fired.sort();
    assert_eq!(seen.fired, ["0", "1", "2", "3", "4"]);
    assert_eq!(
        (seen.connections, seen.mimes.as_slice()),
        (5, ["text/plain"; 5].map(str::to_owned).as_slice())
    );
}

#[test]
fn data_of_another_type_is_declared() {
    let responder = Responder::start();
    let mut other = request("mime");
    let Action::Rsocket(asks) = &mut other else { unreachable!("it is a request") };
    asks.mime = "application/json".to_owned();
    let result = at(&responder)
        .users(2, vec![Do::Step("first", request("echo")), Do::Checked("other", other, "application/json")])
        .run();
    assert_clean(&result);
}

#[test]
fn streams_are_granted_credit_and_cancelled_when_they_have_enough() {
    let responder = Responder::start();
    let result = at(&responder)
        .users(3, vec![Do::Step("numbers", stream("numbers", 300)), Do::Step("after", request("echo"))])
        .run();
    assert_clean(&result);
    assert_eq!(
        (step(&result, "numbers").requests.answered, step(&result, "after").requests.answered),
        (3, 3)
    );
    let seen = responder.seen();
    assert_eq!((seen.counted, seen.cancelled), (900, 3), "no payload more than was wanted: {seen:?}");
}

#[test]
fn streams_that_end_are_whole_or_too_short() {
    let responder = Responder::start();
    let all = at(&responder).users(2, vec![Do::Checked("all", stream("three", u32::MAX), "three")]).run();
    assert_clean(&all);
    let exact = at(&responder).users(2, vec![Do::Checked("exact", stream("three", 3), "three")]).run();
    assert_clean(&exact);
    assert_eq!(responder.seen().cancelled, 0);
    let short = at(&responder).users(2, vec![Do::Step("short", stream("three", 5))]).run();
    assert_eq!(errors(&short, "short"), [("rsocket: completed early".to_owned(), 2)]);
}

#[test]
fn errors_are_reported_by_their_codes() {
    let responder = Responder::start();
    for (route, kind) in [
        ("reject", "rsocket: rejected"),
        ("fail", "rsocket: application error"),
        ("goodbye", "rsocket: connection error"),
        ("garbage", "malformed: no RSocket"),
        ("hang up", "closed by the target"),
    ] {
        let result = at(&responder).users(3, vec![Do::Step("ask", request(route))]).run();
        assert_eq!(errors(&result, "ask"), [(kind.to_owned(), 3)], "{route}");
        assert_eq!((result.total.answered, result.sessions[0].failed), (0, 3), "{route}");
    }
    let long = at(&responder).users(1, vec![Do::Step("ask", request(&"x".repeat(256)))]).run();
    assert_eq!(errors(&long, "ask"), [("not sent: the route has more than 255 bytes".to_owned(), 1)]);
}

#[test]
fn users_share_a_connection_with_their_requests_under_way_at_once() {
    let responder = Responder::start();
    let result = at(&responder)
        .sharing(1)
        .users(
            8,
            vec![
                Do::Step("together", request("together")),
                Do::Checked("ask", request("echo"), "I am ${user()}"),
            ],
        )
        .run();
    assert_clean(&result);
    let seen = responder.seen();
    assert_eq!((seen.connections, seen.under_way_max), (1, 8));
}

#[test]
fn what_takes_too_long_is_cancelled_alone() {
    let responder = Responder::start();
    let result = at(&responder)
        .sharing(1)
        .users(4, vec![Do::Step("silent", request("silent"))])
        .users(4, vec![Do::Think(300), Do::Checked("ask", request("echo"), "I am ${user()}")])
        .within("silent", 300)
        .run();
    assert_eq!(errors(&result, "silent"), [("timeout".to_owned(), 4)]);
    assert_eq!(step(&result, "ask").checks[0].passed, 4);
    let late = Instant::now() + Duration::from_secs(10);
    while responder.seen().cancelled < 4 {
        assert!(Instant::now() < late, "{:?}", responder.seen());
        std::thread::yield_now();
    }
    assert_eq!(responder.seen().connections, 1, "others go on with it");
}

#[test]
fn a_responder_that_is_not_there_refuses() {
    let address = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    let result = Users::at(Scheme::Rsocket, Version::Only, address)
        .users(2, vec![Do::Step("ask", request("echo"))])
        .run();
    assert_eq!(errors(&result, "ask"), [("connect: refused".to_owned(), 2)]);
}

#[test]
fn stadiums_services_answer() {
    let config =
        ServerConfig { listen: vec![Listen::tcp(([127, 0, 0, 1], 0).into())], ..ServerConfig::default() };
    let server = Server::start(config, vec![Service::new("words", "1")]).expect("there are free ports");
    let users = || Users::at(Scheme::Rsocket, Version::Only, server.bound()[0]);
    let healthy = users()
        .users(5, vec![Do::Step("health", ask(Interaction::RequestResponse, "words/health", "", 1))])
        .run();
    assert_clean(&healthy);
    assert_eq!(step(&healthy, "health").requests.answered, 5);
    let unknown = users().users(2, vec![Do::Step("ask", request("words/Nothing"))]).run();
    assert_eq!(errors(&unknown, "ask"), [("rsocket: invalid".to_owned(), 2)]);
}
