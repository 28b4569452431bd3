//! Calls and streams over connections that are lost and taken up again.
//!
//! Between client and server stands a network that a test can cut: sockets that go through it are closed at
//! once, whatever is on its way, and new ones are let through or are not.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stadium_rpc::{
    Call, CallContext, CallError, CallOptions, Client, ClientConfig, Next, Pending, PieceReceiver,
    ResumeSettings, Server, ServerConfig, StreamSender, Ticks,
};
use stadium_rsocket::connection::{Config, ResumeConfig, SetupOptions};
use stadium_rsocket::frame::{self, ErrorCode, Frame, Resume, Version};

use crate::fixture::*;
use crate::pieces::{FETCH, OPTIONS, PUT, bytes_at, pieces, sends};
use crate::plain::{Got, Plain};

/// The network.
struct Network {
    address: SocketAddr,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
    is_down: Arc<AtomicBool>,
}

impl Network {
    /// One that leads to a server. It lasts as long as the test's process.
    fn to(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there are free ports");
        let address = listener.local_addr().expect("it is bound");
        let target = server.bound()[0];
        let (sockets, is_down) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let network = Self { address, sockets: Arc::clone(&sockets), is_down: Arc::clone(&is_down) };
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.expect("it listens");
                if is_down.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(target) else { continue };
                let mut list = sockets.lock().unwrap_or_else(PoisonError::into_inner);
                for (from, to) in [(&near, &far), (&far, &near)] {
                    list.push(from.try_clone().expect("a descriptor can be had"));
                    let (mut from, mut to) = (
                        from.try_clone().expect("a descriptor can be had"),
                        to.try_clone().expect("a descriptor can be had"),
                    );
                    std::thread::spawn(move || {
                        let mut bytes = vec![0; 16 * 1024];
                        while let Ok(count) = from.read(&mut bytes)
                            && count > 0
                            && to.write_all(&bytes[..count]).is_ok()
                        {}
                        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                    });
                }
            }
        });
        network
    }

    /// Loses every socket, and what is on its way.
    fn cut(&self) {
        for socket in self.sockets.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // It may be lost already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Loses every socket, and every new one.
    fn go_down(&self) {
        self.is_down.store(true, Ordering::SeqCst);
        self.cut();
    }

    fn come_up(&self) {
        self.is_down.store(false, Ordering::SeqCst);
    }

    fn client(&self) -> Client {
        Client::start(self.config()).expect("a thread can be had")
    }

    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::at(vec![self.address]);
        config.deadline = SOON;
        config.resume = Some(ResumeSettings { within: SOON, ..ResumeSettings::default() });
        config
    }
}

/// A network to a server, a client on it, and its call whose function has begun.
fn call_under_way(server: &Server, begun: &Tally) -> (Network, Client, Pending<Word>) {
    let network = Network::to(server);
    let client = network.client();
    let call = call_begun(&client.service("words"), begun);
    (network, client, call)
}

/// Takes the network down, and waits until the server knows.
fn lose(network: &Network, server: &Server) {
    network.go_down();
    until("the session waits", || server.sessions().waiting == 1);
}

#[test]
fn call_under_way_is_answered_over_another_socket_and_made_once() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("first", &bell, &begun));
    let (network, _client, call) = call_under_way(&server, &begun);
    network.cut();
    until("the connection is resumed", || server.sessions().resumed == 1);
    bell.ring();
    assert_eq!(answer(call), Ok(word("first")));
    assert_eq!(begun.count(), 1);
}

#[test]
fn answer_that_was_given_while_the_client_was_away_arrives() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("away", &bell, &begun));
    let (network, _client, call) = call_under_way(&server, &begun);
    lose(&network, &server);
    bell.ring();
    until("the call is answered", || counted(&server, "words/Echo").ok == 1);
    assert_eq!(server.sessions().resumed, 0);
    network.come_up();
    assert_eq!(answer(call), Ok(word("away")));
}

#[test]
fn answer_of_a_blocking_function_arrives_after_a_cut() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let (ring, count) = (bell.clone(), begun.clone());
    let server = serve(words().blocking(&ECHO, move |_: CallContext, _: Word| {
        count.add();
        ring.wait();
        Ok(word("slow"))
    }));
    let (network, _client, call) = call_under_way(&server, &begun);
    lose(&network, &server);
    bell.ring();
    until("the call is answered", || counted(&server, "words/Echo").ok == 1);
    network.come_up();
    assert_eq!(answer(call), Ok(word("slow")));
}

fn counts_up_to(last: u64) -> stadium_rpc::Service {
    words().streaming(&COUNT, move |_: CallContext, _: Word, out: StreamSender<Word>| async move {
        for next in 0..last {
            out.send(number(next)).await?;
        }
        Ok(())
    })
}

/// Counts in a stream while the network is cut again and again.
fn count_over_cuts(config: ServerConfig) -> Server {
    const LAST: u64 = 20_000;
    let server = serve_with(config, counts_up_to(LAST));
    let network = Network::to(&server);
    let client = network.client();
    let mut stream = client.service("words").stream(&COUNT, &word(""), 100, &CallOptions::default());
    for next in 0..LAST {
        assert_eq!(stream.next_within(SOON), Ok(Some(number(next))));
        if next % 1_000 == 500 {
            let before = server.sessions().resumed;
            network.cut();
            until("it is resumed", || server.sessions().resumed > before);
        }
    }
    assert_eq!(stream.next_within(SOON), Ok(None));
    server
}

#[test]
fn stream_goes_on_over_many_cuts_with_nothing_lost_or_twice() {
    let server = count_over_cuts(server_config());
    assert!(server.sessions().resumed >= 20, "{:?}", server.sessions());
}

#[test]
fn session_is_found_from_whichever_loop_its_client_comes_back_to() {
    // Of twenty new sockets hardly all go to the loop that has the session.
    count_over_cuts(ServerConfig { loops: 4, ..server_config() });
}

/// A stream that ticks and counts.
struct Counter(u64);

impl Ticks<Word> for Counter {
    fn tick(&mut self, message: &mut Word) -> Next {
        message.number = self.0;
        self.0 += 1;
        if self.0 == 300 { Next::Last } else { Next::After(Duration::from_millis(1)) }
    }
}

#[test]
fn ticking_stream_goes_on_over_cuts() {
    let server = serve_with(
        ServerConfig { tick_ms: 1, loops: 2, ..server_config() },
        words().ticking(&COUNT, |_: &Call<'_>, _: &Word| Ok((Duration::ZERO, Counter(0)))),
    );
    let network = Network::to(&server);
    let client = network.client();
    let mut stream = client.service("words").stream(&COUNT, &word(""), 10_000, &CallOptions::default());
    for next in 0..300 {
        assert_eq!(stream.next_within(SOON), Ok(Some(number(next))));
        if next % 100 == 50 {
            network.cut();
        }
    }
    assert_eq!(stream.next_within(SOON), Ok(None));
    assert!(server.sessions().resumed >= 1);
}

#[test]
fn cancellation_while_the_network_is_down_reaches_the_function() {
    let (dropped, begun) = (Tally::default(), Tally::default());
    let server = serve(never_answering(&begun, &dropped));
    let (network, _client, call) = call_under_way(&server, &begun);
    lose(&network, &server);
    drop(call);
    network.come_up();
    until("the function's future is dropped", || dropped.count() == 1);
    assert_eq!(server.sessions().resumed, 1);
}

#[test]
fn calls_of_a_client_that_does_not_come_back_in_time_end() {
    let (dropped, begun) = (Tally::default(), Tally::default());
    let config = ServerConfig { resume_within: Duration::from_millis(100), ..server_config() };
    let server = serve_with(config, never_answering(&begun, &dropped));
    let (network, _client, call) = call_under_way(&server, &begun);
    network.go_down();
    until("the function's future is dropped", || dropped.count() == 1);
    until("the session is forgotten", || server.sessions().waiting == 0);
    network.come_up();
    // Its session is refused: the call fails as on any broken connection.
    assert!(matches!(answer(call), Err(CallError::Broken(_))));
    assert_eq!(counted(&server, "words/Echo").cancelled, 1);
}

#[test]
fn sessions_that_are_too_many_end_beginning_with_the_oldest() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve_with(
        ServerConfig { resume_sessions_max: 2, ..server_config() },
        named_waiting("kept", &bell, &begun),
    );
    let networks: Vec<_> = (0..4).map(|_| Network::to(&server)).collect();
    let clients: Vec<_> = networks.iter().map(Network::client).collect();
    let mut calls = Vec::new();
    for (place, client) in clients.iter().enumerate() {
        calls.push(client.service("words").call(&ECHO, &word("")));
        until("the call is under way", || begun.count() == place as u64 + 1);
    }
    for (place, network) in networks.iter().enumerate() {
        network.go_down();
        until("the server has lost it", || connections(&server) == 3 - place as u32);
    }
    assert_eq!(server.sessions().waiting, 2);
    bell.ring();
    networks.iter().for_each(Network::come_up);
    let ends: Vec<_> = calls.into_iter().map(|call| answer(call).is_ok()).collect();
    assert_eq!(ends, [false, false, true, true]);
}

#[test]
fn call_fails_at_once_where_the_instance_has_gone() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("gone", &bell, &begun));
    let mut config = client_config(&[&server]);
    config.resume = Some(ResumeSettings { within: SOON * 10, ..ResumeSettings::default() });
    config.deadline = SOON * 10;
    let client = Client::start(config).expect("a thread can be had");
    let call = call_begun(&client.service("words"), &begun);
    server.stop();
    assert!(matches!(answer(call), Err(CallError::Broken(_))));
}

#[test]
fn client_that_ends_leaves_no_session_behind() {
    let server = serve(echo());
    let network = Network::to(&server);
    let client = network.client();
    assert_eq!(client.service("words").call(&ECHO, &word("once")).wait(), Ok(word("once")));
    drop(client);
    until("the connection is closed", || connections(&server) == 0);
    assert_eq!(server.sessions().waiting, 0);
}

#[test]
fn client_without_a_session_leaves_none_behind() {
    let server = serve(echo());
    let network = Network::to(&server);
    let mut config = network.config();
    config.resume = None;
    let client = Client::start(config).expect("a thread can be had");
    assert_eq!(client.service("words").call(&ECHO, &word("once")).wait(), Ok(word("once")));
    network.go_down();
    until("the connection is lost", || connections(&server) == 0);
    assert_eq!(server.sessions().waiting, 0);
}

/// A client's first frame that takes up a session, and what comes back.
fn resume_with(server: &Server, token: &[u8]) -> (ErrorCode, String) {
    let mut out = Vec::new();
    let resume = Resume {
        version: Version::V1_0,
        token,
        last_received_server_position: 0,
        first_available_client_position: 0,
    };
    frame::encode(&Frame::Resume(resume), &mut out);
    let mut socket = TcpStream::connect(server.bound()[0]).expect("the server listens");
    socket.set_read_timeout(Some(SOON)).expect("a socket takes a time-out");
    socket.write_all(&out).expect("the server reads");
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).expect("the server closes");
    let (frame, _) = frame::split(&bytes, 1 << 20).expect("it is a frame").expect("it is whole");
    match frame::decode(frame) {
        Ok(Frame::Error { code, data, .. }) => (code, String::from_utf8_lossy(data).into_owned()),
        other => panic!("no error: {other:?}"),
    }
}

#[test]
fn session_that_nobody_has_is_refused() {
    let server = serve(echo());
    let (code, text) = resume_with(&server, b"a token of nobody");
    assert_eq!((code, text.as_str()), (ErrorCode::REJECTED_RESUME, "this session is not known here"));
}

#[test]
fn server_that_offers_no_resumption_refuses_it() {
    let server = serve_with(ServerConfig { resume_bytes_max: 0, ..server_config() }, echo());
    assert_eq!(resume_with(&server, b"a token of nobody").0, ErrorCode::REJECTED_RESUME);
}

fn dial_with_token(server: &Server, token: &[u8]) -> Plain {
    let resume = ResumeConfig { store_bytes_max: 10_000, session_ms: 10_000 };
    let config = Config { resume: Some(resume), ..Config::default() };
    let setup = SetupOptions { resume_token: Some(token), ..SetupOptions::default() };
    Plain::dial_with(server.bound()[0], config, &setup)
}

#[test]
fn token_that_could_be_guessed_is_refused() {
    let server = serve(echo());
    assert_eq!(dial_with_token(&server, b"guess").next(), Got::Closed);
    until("it is gone", || connections(&server) == 0);
    assert_eq!(server.sessions().waiting, 0);
}

#[test]
fn token_of_another_session_begins_no_session() {
    let server = serve(echo());
    let mut first = dial_with_token(&server, b"sixteen bytes ok");
    first.ask("words/Echo", 0, &word("first"));
    assert!(matches!(first.next(), Got::Message { .. }));
    assert_eq!(dial_with_token(&server, b"sixteen bytes ok").next(), Got::Closed);
    first.ask("words/Echo", 0, &word("still"));
    assert!(matches!(first.next(), Got::Message { .. }));
}

/// More than a network holds; what is on its way is stored for so long.
const STORED: usize = 64 * 1024 * 1024;
const LARGE: u64 = 16 * 1024 * 1024;
fn storing(network: &Network) -> Client {
    let mut config = network.config();
    config.resume = Some(ResumeSettings { bytes_max: STORED, within: SOON });
    Client::start(config).expect("a thread can be had")
}

#[test]
fn upload_goes_on_over_cuts() {
    let (seen, cut) = (Tally::default(), Bell::default());
    let (sees, is_cut) = (seen.clone(), cut.clone());
    let service = words().upload(&PUT, move |_: CallContext, pieces: PieceReceiver| {
        let (sees, is_cut) = (sees.clone(), is_cut.clone());
        async move {
            let mut count = 0;
            while let Some(piece) = pieces.next().await {
                if piece != bytes_at(count, piece.len()) {
                    return Err(no());
                }
                count += piece.len() as u64;
                sees.add();
                if count > LARGE / 2 {
                    is_cut.rung().await;
                }
            }
            Ok(number(count))
        }
    });
    let server = serve(service);
    let network = Network::to(&server);
    let client = storing(&network);
    let call = client.service("words").upload(&PUT, pieces(LARGE, &Arc::default()), &OPTIONS);
    until("a good part has come", || seen.count() > 50);
    network.cut();
    until("it is resumed", || server.sessions().resumed == 1);
    cut.ring();
    assert_eq!(answer(call), Ok(number(LARGE)));
}

#[test]
fn download_goes_on_over_cuts() {
    let config = ServerConfig { resume_bytes_max: STORED, loops: 2, ..server_config() };
    let server = serve_with(config, sends(&Arc::default()));
    let network = Network::to(&server);
    let client = storing(&network);
    let mut stream = client.service("words").download(&FETCH, &number(LARGE), &OPTIONS);
    let (mut at, mut cuts) = (0, 0);
    while let Some(piece) = stream.next_within(SOON).expect("it goes on") {
        assert!(piece == bytes_at(at, piece.len()), "the piece at {at} is another");
        at += piece.len() as u64;
        if at / (LARGE / 4) > cuts && cuts < 3 {
            cuts += 1;
            network.cut();
        }
    }
    assert_eq!(at, LARGE);
    assert!(server.sessions().resumed >= 1);
}
