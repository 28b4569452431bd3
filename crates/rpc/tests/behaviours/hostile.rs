//! Bytes that are no RSocket, connections that send nothing, datagrams that are no requests: others
//! are served on.
//!
//! What is thrown is random, and after each throw another client is answered; in the end nothing is left of it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use stadium_rpc::{ServerConfig, ServiceClient};
use stadium_rsocket::connection::{Config as ProtocolConfig, Connection, SetupOptions};

use crate::fixture::*;

/// Writes the bytes, and waits until the server has read them all and closed, or answered all that it will.
fn throw(server: &stadium_rpc::Server, pieces: &[Vec<u8>]) {
    let mut socket = TcpStream::connect(server.bound()[0]).expect("the server listens");
    socket.set_read_timeout(Some(SOON)).expect("a socket takes a time-out");
    for piece in pieces {
        if socket.write_all(piece).is_err() {
            break;
        }
    }
    // Either side may have closed first.
    let _ = socket.shutdown(Shutdown::Write);
    let _ = socket.read_to_end(&mut Vec::new());
}

fn served(words: &ServiceClient) {
    assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")));
}

fn setup() -> Vec<u8> {
    let mut out = Vec::new();
    let config = std::sync::Arc::new(ProtocolConfig::default());
    drop(Connection::client(config, &SetupOptions::default(), 0, &mut out));
    out
}

/// A frame of any kind, with any flags and any content, whose length is right.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let content = proptest::collection::vec(any::<u8>(), 0..60);
    let frame = (0_u32..20, any::<u16>(), content).prop_map(|(stream, kind, content)| {
        let length = (content.len() + 6) as u32;
        let mut bytes = length.to_be_bytes()[1..].to_vec();
        bytes.extend_from_slice(&stream.to_be_bytes());
        bytes.extend_from_slice(&kind.to_be_bytes());
        bytes.extend_from_slice(&content);
        bytes
    });
    proptest::collection::vec(frame, 1..8).prop_map(|frames| frames.concat())
}

fn cases(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

#[test]
fn random_bytes_do_not_disturb_others() {
    let server = serve(echo());
    let words = client_of(&[&server]).service("words");
    let bytes = proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..4);
    let thrown = cases(100).run(&bytes, |pieces| {
        throw(&server, &pieces);
        served(&words);
        Ok(())
    });
    thrown.expect("the server stands");
    until("they are forgotten", || connections(&server) == 1);
}

#[test]
fn random_frames_behind_a_setup_do_not_disturb_others() {
    let service = echo().streaming(
        &COUNT,
        |_: stadium_rpc::CallContext, _: Word, out: stadium_rpc::StreamSender<Word>| async move {
            for next in 0..5 {
                out.send(number(next)).await?;
            }
            Ok(())
        },
    );
    let server = serve(service);
    let words = client_of(&[&server]).service("words");
    let setup = setup();
    let thrown = cases(300).run(&frames(), |frames| {
        throw(&server, &[setup.clone(), frames]);
        served(&words);
        Ok(())
    });
    thrown.expect("the server stands");
    until("they are forgotten", || connections(&server) == 1);
    until("nothing is left of them", || server.statistics("words").is_some_and(|now| now.inflight == 0));
}

#[test]
fn random_metadata_and_data_are_answered_or_refused() {
    let server = serve(echo());
    let words = client_of(&[&server]).service("words");
    let plain = std::cell::RefCell::new(crate::plain::Plain::dial(&server));
    let content = (
        proptest::collection::vec(any::<u8>(), 0..100),
        proptest::collection::vec(any::<u8>(), 0..100),
        any::<bool>(),
    );
    let asked = cases(500).run(&content, |(mut metadata, data, routed)| {
        if routed {
            let mut behind = Vec::new();
            stadium_rsocket::metadata::write_route(&mut behind, "words/Echo");
            behind.append(&mut metadata);
            metadata = behind;
        }
        let interaction = stadium_rsocket::frame::Interaction::RequestResponse;
        let mut plain = plain.borrow_mut();
        let stream = plain.ask_with(interaction, 1, Some(&metadata), &data);
        match plain.next() {
            crate::plain::Got::Message { stream: of, .. } | crate::plain::Got::Failed { stream: of, .. } => {
                prop_assert_eq!(of, stream);
            }
            other => prop_assert!(false, "{:?}", other),
        }
        Ok(())
    });
    asked.expect("the connection goes on");
    served(&words);
}

#[test]
fn random_datagrams_are_ignored_or_refused() {
    let server =
        serve_with(ServerConfig { udp: Some(([127, 0, 0, 1], 0).into()), ..server_config() }, echo());
    let words = client_of(&[&server]).service("words");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("there are free ports");
    socket.connect(server.udp().expect("it serves UDP")).expect("it is local");
    let thrown = cases(300).run(&proptest::collection::vec(any::<u8>(), 0..100), |bytes| {
        // A datagram that the kernel does not take is lost, as any may be.
        let _ = socket.send(&bytes);
        Ok(())
    });
    thrown.expect("the server stands");
    let framed = cases(300).run(&frames(), |frames| {
        let _ = socket.send(&frames[3..]);
        Ok(())
    });
    framed.expect("the server stands");
    served(&words);
}

#[test]
fn connections_that_say_nothing_do_not_keep_others_away() {
    let server = serve(echo());
    let silent: Vec<_> =
        (0..100).map(|_| TcpStream::connect(server.bound()[0]).expect("the server listens")).collect();
    let words = client_of(&[&server]).service("words");
    served(&words);
    drop(silent);
    until("they are forgotten", || connections(&server) == 1);
}
