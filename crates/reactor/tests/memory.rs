//! Memory: nothing is allocated for a delivery once warm, and an idle connection costs what it should.
//!
//! The allocator of this test counts, so its tests run one after the other in one thread of their own.

#[path = "../../../testing/counting.rs"]
mod counting;
mod fixture;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use counting::Counting;
use fixture::DEADLINE;
use stadium_reactor::tls::*;
use stadium_reactor::*;

/// Counts what the loop allocates, and what it holds.
#[global_allocator]
static ALLOCATOR: Counting = Counting::no_thread_but();

/// Echoes messages that end in a newline; one that starts with `*` goes to everybody.
struct Quiet {
    open: Vec<ConnectionId>,
    established: Arc<AtomicU64>,
}

impl Handler for Quiet {
    type Message = ();

    fn established(&mut self, _io: &mut Io<()>, id: ConnectionId) {
        self.open.push(id);
        self.established.fetch_add(1, Ordering::Relaxed);
    }

    fn received(&mut self, io: &mut Io<()>, id: ConnectionId, bytes: &[u8]) -> usize {
        let mut used = 0;
        while let Some(end) = bytes[used..].iter().position(|byte| *byte == b'\n') {
            let message = &bytes[used..=used + end];
            used += end + 1;
            if message[0] == b'*' {
                io.reserve_turn();
                let segment = io.stage(|buffer| buffer.extend_from_slice(message));
                for (place, id) in self.open.iter().enumerate() {
                    if place % 2 == 0 {
                        io.deliver(*id, segment);
                    } else {
                        io.deliver_patched(*id, segment, 1, 0x4141);
                    }
                }
            } else {
                io.set_timer(id, 10_000);
                io.send(id, |buffer| buffer.extend_from_slice(message));
            }
        }
        used
    }

    fn closed(&mut self, _io: &mut Io<()>, id: ConnectionId, _reason: CloseReason) {
        self.open.retain(|open| *open != id);
    }
}

struct Server {
    handle: LoopHandle<()>,
    address: std::net::SocketAddr,
    established: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

fn serve(settings: ListenerSettings) -> Server {
    let mut running = Loop::new(LoopSettings::default()).expect("a loop");
    let address = running.io().listen(&settings).expect("a free port");
    let handle = running.handle();
    let established = Arc::new(AtomicU64::new(0));
    let handler = Quiet { open: Vec::new(), established: established.clone() };
    let thread = std::thread::spawn(move || {
        counting::name(true);
        running.run(handler).expect("the loop runs");
        counting::name(false);
    });
    Server { handle, address, established, thread: Some(thread) }
}

impl Server {
    fn dial(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the loop listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout can be set");
        stream.set_nodelay(true).expect("nodelay can be set");
        stream
    }

    fn wait_established(&self, wanted: u64) {
        fixture::until("all are established", || self.established.load(Ordering::Relaxed) >= wanted);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the loop ends well");
        }
    }
}

fn exchange(stream: &mut (impl Read + Write), sent: &[u8]) {
    stream.write_all(sent).expect("the loop reads");
    let mut got = vec![0; sent.len()];
    stream.read_exact(&mut got).expect("the answer comes");
}

/// Allocations of the loop in `rounds` rounds, after as many to warm up.
fn allocations(rounds: usize, mut round: impl FnMut()) -> u64 {
    for _ in 0..rounds {
        round();
    }
    let before = counting::allocations();
    for _ in 0..rounds {
        round();
    }
    counting::allocations() - before
}

fn identity() -> (Identity, rustls_pki_types::CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let key = rustls_pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let certificate = made.cert.der().clone();
    (Identity { chain: vec![certificate.clone()], key: key.into() }, certificate)
}

fn secure() -> (ListenerSettings, Arc<rustls::ClientConfig>) {
    let (identity, certificate) = identity();
    let tls = ServerTls::new(&ServerTlsSettings {
        identity,
        client_certificates: ClientCertificates::None,
        alpn: Vec::new(),
    })
    .expect("the settings are right");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("a version")
        .with_root_certificates(roots)
        .with_no_client_auth();
    (ListenerSettings { tls: Some(tls), ..fixture::listener() }, Arc::new(config))
}

fn client_on(
    stream: TcpStream,
    config: &Arc<rustls::ClientConfig>,
) -> rustls::StreamOwned<rustls::ClientConnection, TcpStream> {
    let name = "localhost".try_into().expect("a name");
    rustls::StreamOwned::new(rustls::ClientConnection::new(config.clone(), name).expect("a client"), stream)
}

/// One test, because the allocator counts for the whole process.
#[test]
fn a_warm_loop_allocates_nothing_and_an_idle_connection_costs_little() {
    echo_and_fan_out_allocate_nothing();
    tls_echo_allocates_nothing();
    websocket_messages_allocate_nothing();
    idle_connections_cost_their_entry();
    idle_tls_connections_cost_their_keys();
}

fn echo_and_fan_out_allocate_nothing() {
    let server = serve(fixture::listener());
    let mut clients: Vec<_> = (0..100).map(|_| server.dial()).collect();
    server.wait_established(100);
    let message = [b"x".repeat(99), b"\n".to_vec()].concat();
    let echo = allocations(500, || exchange(&mut clients[0], &message));
    assert_eq!(echo, 0, "for 500 echoes");
    // Cut in two: what is kept in between comes from the loop's spare buffers.
    let (first, second) = message.split_at(40);
    let mut halves = || {
        let reads = server.handle.stats().reads.value();
        clients[0].write_all(first).expect("the loop reads");
        fixture::until("the first half is read", || server.handle.stats().reads.value() > reads);
        clients[0].write_all(second).expect("the loop reads");
        clients[0].read_exact(&mut [0; 100]).expect("the answer comes");
    };
    assert_eq!(allocations(100, &mut halves), 0, "for 100 messages in halves");
    let call = [b"*".to_vec(), b"x".repeat(98), b"\n".to_vec()].concat();
    let mut buffer = [0; 800];
    let fan_out = allocations(50, || {
        for _ in 0..8 {
            clients[0].write_all(&call).expect("the loop reads");
        }
        for client in &mut clients {
            client.read_exact(&mut buffer).expect("everybody gets them");
        }
    });
    assert_eq!(fan_out, 0, "for 50 times 8 messages to 100");
}

fn tls_echo_allocates_nothing() {
    let (settings, config) = secure();
    let server = serve(settings);
    let mut client = client_on(server.dial(), &config);
    let message = [b"x".repeat(99), b"\n".to_vec()].concat();
    assert_eq!(allocations(200, || exchange(&mut client, &message)), 0, "for 200 echoes over TLS");
}

fn websocket_messages_allocate_nothing() {
    let websocket = WebSocketSettings {
        path: "/".to_owned(),
        subprotocols: Vec::new(),
        messages: Messages::LengthPrefixed24,
        ..WebSocketSettings::default()
    };
    let settings = ListenerSettings { websocket: Some(Arc::new(websocket)), ..fixture::listener() };
    let server = serve(settings);
    let mut client = server.dial();
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    client.write_all(request).expect("the loop reads");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).expect("the answer comes");
        head.push(byte[0]);
    }
    let text = [b"x".repeat(99), b"\n".to_vec()].concat();
    // A mask of zeros leaves the payload as it is.
    let sent = [&[0x82, 0x80 | 100, 0, 0, 0, 0][..], &text].concat();
    let wanted = [&[0x82, 100][..], &text].concat();
    let echoes = allocations(200, || {
        client.write_all(&sent).expect("the loop reads");
        let mut got = [0; 102];
        client.read_exact(&mut got).expect("the answer comes");
        assert_eq!(got, wanted[..]);
    });
    assert_eq!(echoes, 0, "for 200 echoes of a WebSocket message");
}

/// Bytes that the loop came to hold for each of `count` connections, after the first chunk of them.
fn slope<T>(server: &Server, count: u64, mut dial: impl FnMut() -> T) -> (f64, f64) {
    let first: Vec<_> = (0..512).map(|_| dial()).collect();
    server.wait_established(512);
    settle(server);
    let (held, counted) = (counting::held(), counted(server));
    let more: Vec<_> = (0..count).map(|_| dial()).collect();
    server.wait_established(512 + count);
    settle(server);
    let slope = (counting::held() - held) as f64 / count as f64;
    let counted = (self::counted(server) - counted) as f64 / count as f64;
    drop((first, more));
    (slope, counted)
}

/// Waits until the loop has ended the turn in which it established the last one.
fn settle(server: &Server) {
    let turns = server.handle.stats().turns.value();
    server.handle.try_send(()).expect("the mailbox has room");
    fixture::until("a turn has ended", || server.handle.stats().turns.value() > turns);
}

fn counted(server: &Server) -> i64 {
    (server.handle.stats().connection_bytes.value() + server.handle.stats().carry_bytes.value()) as i64
}

fn idle_connections_cost_their_entry() {
    let server = serve(fixture::listener());
    let (held, counted) = slope(&server, 2_048, || server.dial());
    println!("An idle TCP connection: {held:.0} bytes held by the loop, {counted:.0} counted");
    // The handler's own list of ids is 8 bytes of it, doubled at worst.
    assert!(held <= 64.0 + 17.0, "{held} bytes");
    assert_eq!(counted, 64.0);
}

fn idle_tls_connections_cost_their_keys() {
    let (settings, config) = secure();
    let server = serve(settings);
    let (held, counted) = slope(&server, 1_024, || {
        let mut client = client_on(server.dial(), &config);
        exchange(&mut client, b"hello\n");
        client
    });
    println!("An idle TLS 1.3 connection: {held:.0} bytes held by the loop, {counted:.0} counted");
    assert!(held <= 1_400.0, "{held} bytes");
    assert!((counted - held).abs() <= 300.0, "counted {counted}, held {held}");
}
