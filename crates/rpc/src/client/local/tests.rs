//! Tests of calls under way while instances come and go.
//!
//! The lists of instances are given as discovery gives them.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use stadium_discovery::{Freshness, Instance, Snapshot, State};

use super::*;
use crate::server::{Listen, Server, ServerConfig};
use crate::service::{CallContext, Service};

const SOON: Duration = Duration::from_secs(20);

#[derive(Clone, PartialEq, prost::Message)]
struct Word {
    #[prost(string, tag = "1")]
    text: String,
}

const NAME: Method<Word, Word> = Method::unary("words/Name");
const HOLD: Method<Word, Word> = Method::unary("words/Hold");

/// A server that answers its name, and that holds a call until the test releases it.
fn serve(name: &'static str) -> (Server, Receiver<()>, Sender<()>) {
    let (signal, begun) = channel();
    let (let_go, released) = channel();
    let (signal, released) = (Mutex::new(signal), Arc::new(Mutex::new(released)));
    let answer = move || Word { text: name.to_owned() };
    let service = Service::new("words", "1")
        .inline(&NAME, move |_: &crate::Call<'_>, _: &Word, word: &mut Word| {
            word.text.push_str(name);
            Ok(())
        })
        .blocking(&HOLD, move |_: CallContext, _: Word| {
            signal.lock().expect("no test panics with it").send(()).expect("the test waits for it");
            let released = released.lock().expect("no test panics with it");
            released.recv_timeout(SOON).expect("the test lets go");
            Ok(answer())
        });
    let mut config =
        ServerConfig { listen: vec![Listen::tcp(([127, 0, 0, 1], 0).into())], ..ServerConfig::default() };
    config.admission.inline_wait_max = SOON;
    (Server::start(config, vec![service]).expect("there are free ports"), begun, let_go)
}

fn connections(server: &Server) -> u32 {
    server.statistics("words").expect("it serves words").connections
}

/// A client whose lists the test reports.
fn client() -> (LocalClient, LocalService) {
    let mut client = LocalClient::new(ClientConfig::at(Vec::new())).expect("a loop can be had");
    let words = client.service("words").expect("any name will do");
    (client, words)
}

fn report_list(client: &mut LocalClient, service: LocalService, revision: u64, servers: &[&Server]) {
    let instance = |address: SocketAddr| Instance {
        address,
        version: "1".to_owned(),
        load: 0.0,
        zone: None,
        weight: 100,
        state: State::Serving,
    };
    let instances = servers.iter().map(|server| instance(server.bound()[0])).collect();
    let snapshot = Snapshot { instances, freshness: Freshness::Live, revision };
    let (handler, io) = client.driven.parts();
    handler.instances(io, service.0, &snapshot);
}

fn turn_until(client: &mut LocalClient, what: &str, mut so: impl FnMut(&mut LocalClient) -> bool) {
    let deadline = Instant::now() + SOON;
    while !so(client) {
        assert!(Instant::now() < deadline, "not within {SOON:?}: {what}");
        client.turn(Duration::from_millis(5)).expect("the loop turns");
    }
}

fn name(client: &mut LocalClient, service: LocalService) -> String {
    let mut answer = Word::default();
    let options = CallOptions { deadline: Some(SOON), ..CallOptions::default() };
    let ticket = client.call(service, &NAME, &Word::default(), &options);
    client.wait(&ticket, &mut answer).expect("it is answered");
    answer.text
}

#[test]
fn instance_that_goes_finishes_its_calls_and_leaves_its_successor_alone() {
    let ((old, begun, let_go), (stays, ..), (new, ..)) = (serve("old"), serve("stays"), serve("new"));
    let (mut client, words) = client();
    report_list(&mut client, words, 1, &[&old]);
    turn_until(&mut client, "it is connected", |_| connections(&old) == 1);
    let options = CallOptions { deadline: Some(SOON), ..CallOptions::default() };
    let held = client.call(words, &HOLD, &Word::default(), &options);
    turn_until(&mut client, "the call has begun", |_| begun.try_recv().is_ok());

    // The old one's place in the tables goes to the new one.
    report_list(&mut client, words, 2, &[&stays]);
    report_list(&mut client, words, 3, &[&stays, &new]);
    turn_until(&mut client, "both are connected", |_| connections(&stays) == 1 && connections(&new) == 1);
    assert_eq!(connections(&old), 1, "it has a call under way");
    for _ in 0..50 {
        assert_ne!(name(&mut client, words), "old");
    }

    let_go.send(()).expect("the function waits");
    let mut answer = Word::default();
    client.wait(&held, &mut answer).expect("what was under way is finished");
    assert_eq!(answer.text, "old");
    turn_until(&mut client, "the old one is left", |_| connections(&old) == 0);

    let mut heard = std::collections::HashSet::new();
    turn_until(&mut client, "both are called", |client| {
        heard.insert(name(client, words));
        heard.len() == 2
    });
    assert_eq!((connections(&stays), connections(&new)), (1, 1), "and their connections are what they were");
}

#[test]
fn instance_that_goes_while_it_is_connected_to_is_let_go() {
    let ((old, ..), (stays, ..)) = (serve("old"), serve("stays"));
    let (mut client, words) = client();
    report_list(&mut client, words, 1, &[&old, &stays]);
    report_list(&mut client, words, 2, &[&stays]);
    turn_until(&mut client, "the other one is called", |client| name(client, words) == "stays");
    turn_until(&mut client, "nothing is left at the old one", |_| {
        connections(&old) == 0 && connections(&stays) == 1
    });
}

#[test]
fn last_known_instances_stay_while_discovery_is_away() {
    let (server, ..) = serve("known");
    let (mut client, words) = client();
    report_list(&mut client, words, 1, &[&server]);
    assert_eq!(name(&mut client, words), "known");
    let (handler, io) = client.driven.parts();
    let why = "the test says so".to_owned();
    let freshness = Freshness::Stale { since: std::time::Instant::now(), why };
    let unheard = Snapshot { instances: Arc::new([]), freshness, revision: 0 };
    handler.instances(io, words.0, &unheard);
    assert_eq!(name(&mut client, words), "known", "a list that was never received changes nothing");
}

/// A peer that takes so many bytes or more, and then goes.
fn takes_and_goes(bytes: usize) -> SocketAddr {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("there are free ports");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("the client comes");
        let (mut buffer, mut taken) = (vec![0; 1 << 20], 0);
        while taken < bytes {
            taken += std::io::Read::read(&mut socket, &mut buffer).expect("the client writes");
        }
    });
    address
}

#[test]
fn calls_of_a_lost_connection_fail_over_several_turns() {
    const CALLS: usize = 100_000;
    // Each request is more than the 16 bytes of its frame.
    let mut config = ClientConfig::at(vec![takes_and_goes(CALLS * 16)]);
    (config.deadline, config.unreachable_grace) = (SOON * 10, SOON);
    let mut client = LocalClient::new(config).expect("a loop can be had");
    let words = client.service("words").expect("any name will do");
    turn_until(&mut client, "it is connected", |client| client.connections() == 1);
    for _ in 0..CALLS {
        client.call(words, &NAME, &Word::default(), &CallOptions::default());
    }
    assert_eq!(client.calls(), CALLS);

    let (mut most, mut turns) = (0, 0);
    turn_until(&mut client, "all calls have failed", |client| {
        let ended: Vec<Done> = std::iter::from_fn(|| client.done()).collect();
        assert!(ended.iter().all(|one| matches!(one.done.how, Err(CallError::Broken(_)))));
        most = most.max(ended.len());
        turns += usize::from(!ended.is_empty());
        client.calls() == 0
    });

    assert_eq!(most, crate::client::client_loop::CALLS_A_TURN, "the calls that failed in one turn");
    assert_eq!(turns, CALLS / most);
}

#[test]
fn calls_that_wait_for_a_service_out_of_reach_end_over_several_turns() {
    const CALLS: usize = 5_000;
    // A port that is taken by an end of a connection, so that nobody else listens there meanwhile.
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("there are free ports");
    let address = listener.local_addr().expect("it is bound");
    let taken = std::net::TcpStream::connect(address).expect("it listens");
    let mut config = ClientConfig::at(vec![taken.local_addr().expect("it is bound")]);
    (config.deadline, config.unreachable_grace) = (SOON, Duration::from_millis(50));
    let mut client = LocalClient::new(config).expect("a loop can be had");
    let words = client.service("words").expect("any name will do");
    for _ in 0..CALLS {
        client.call(words, &NAME, &Word::default(), &CallOptions::default());
    }

    let mut most = 0;
    turn_until(&mut client, "all calls have ended", |client| {
        most = most.max(std::iter::from_fn(|| client.done()).count());
        client.calls() == 0
    });

    assert_eq!(most, crate::client::client_loop::CALLS_A_TURN, "the calls that ended in one turn");
}
