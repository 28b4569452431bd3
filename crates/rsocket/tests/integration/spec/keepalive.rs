//! KEEPALIVE.

use stadium_rsocket::connection::Closed;
use stadium_rsocket::frame::{ErrorCode, Frame, Respond, Setup};
use stadium_rsocket::{Config, Event};

use crate::spec::support::{SETUP, Side, error, request_response};

fn keepalive(respond: Respond, data: &[u8]) -> Frame<'_> {
    Frame::KeepAlive { respond, last_received_position: 0, data }
}

/// [KEEPALIVE-1]
#[test]
fn a_client_sends_keepalives_in_its_interval() {
    let mut client =
        Side::client_with(Config { keepalive_interval_ms: 500, lifetime_ms: 2_000, ..Config::default() });
    assert_eq!(client.connection.deadline_ms(), Some(500));
    assert_eq!(client.wait(499), None);
    client.is_silent();
    for _ in 0..10 {
        let due = client.connection.deadline_ms().expect("a deadline");
        assert_eq!(client.wait(due - client.now_ms), None);
        assert_eq!(client.sent_frame(), keepalive(Respond::Yes, b""));
        assert_eq!(client.hear(keepalive(Respond::No, b"")), None);
        assert_eq!(client.connection.deadline_ms(), Some(client.now_ms + 500));
    }
}

/// [KEEPALIVE-1]
#[test]
fn other_frames_do_not_replace_keepalives() {
    let mut client = Side::client_with(Config { keepalive_interval_ms: 500, ..Config::default() });
    client.now_ms = 400;
    client.ask(stadium_rsocket::frame::Interaction::RequestStream, 5, b"");
    client.hear(crate::spec::support::next(1, b"a"));
    client.sent_frames();
    assert_eq!(client.wait(100), None);
    assert_eq!(client.sent_frame(), keepalive(Respond::Yes, b""));
}

/// [KEEPALIVE-2]
#[test]
fn a_keepalive_is_answered_with_its_data() {
    for mut side in [Side::server(), Side::client()] {
        assert_eq!(side.hear(keepalive(Respond::Yes, b"ping 17")), None);
        assert_eq!(side.sent_frame(), keepalive(Respond::No, b"ping 17"));
    }
}

/// [KEEPALIVE-3]
#[test]
fn an_answer_is_not_answered() {
    for mut side in [Side::server(), Side::client()] {
        assert_eq!(side.hear(keepalive(Respond::No, b"pong")), None);
        side.is_silent();
    }
}

/// [KEEPALIVE-4]
#[test]
fn a_server_may_ask_for_a_sign_of_life() {
    let mut server = Side::server();
    server.connection.probe(&mut server.out);
    assert_eq!(server.sent_frame(), keepalive(Respond::Yes, b""));
}

/// [KEEPALIVE-5]
#[test]
fn a_client_gives_a_silent_server_up() {
    let mut client =
        Side::client_with(Config { keepalive_interval_ms: 500, lifetime_ms: 1_200, ..Config::default() });
    assert_eq!(client.wait(500), None);
    assert_eq!(client.wait(500), None);
    client.sent_frames();
    assert_eq!(client.connection.deadline_ms(), Some(1_200));
    let event = client.wait(200);
    assert_eq!(event, Some(Event::Closed(Closed::KeepAliveTimeout { lifetime_ms: 1_200 })));
    assert_eq!(client.sent_frame(), error(0, ErrorCode::CONNECTION_ERROR, "No keep-alive acks for 1200 ms"));
    assert!(client.connection.is_closed());
}

/// [KEEPALIVE-5]
#[test]
fn a_server_gives_a_silent_client_up_in_the_clients_time() {
    let mut server = Side::server_with(Config::default(), Setup { lifetime_ms: 3_000, ..SETUP });
    assert_eq!(server.connection.deadline_ms(), Some(3_000));
    assert_eq!(server.wait(2_999), None);
    let event = server.wait(1);
    assert_eq!(event, Some(Event::Closed(Closed::KeepAliveTimeout { lifetime_ms: 3_000 })));
}

/// [KEEPALIVE-6]
#[test]
fn any_frame_is_a_sign_of_life() {
    let mut server = Side::server_with(Config::default(), Setup { lifetime_ms: 3_000, ..SETUP });
    for nth in 0..5 {
        server.now_ms += 2_000;
        server.hear(request_response(1 + 2 * nth, b""));
        assert_eq!(server.wait(0), None);
        assert_eq!(server.connection.deadline_ms(), Some(server.now_ms + 3_000));
    }
}

/// [KEEPALIVE-6]
#[test]
fn beginning_of_a_frame_is_a_sign_of_life_once() {
    let mut server = Side::server_with(Config::default(), Setup { lifetime_ms: 3_000, ..SETUP });
    // A frame of 100 bytes begins. Its first bytes are shown again by a driver that paused and goes on.
    let begun = [0, 0, 100, 0, 0, 0, 1, 0x10, 0x00];
    for (at_ms, bytes, ends_ms) in
        [(1_000, 5, 4_000), (2_000, 5, 4_000), (3_000, 9, 6_000), (4_000, 9, 6_000)]
    {
        let received = server.connection.receive(at_ms, &begun[..bytes], &mut server.out);
        assert_eq!((received.used, received.event), (0, None));
        assert_eq!(server.connection.deadline_ms(), Some(ends_ms), "{bytes} bytes at {at_ms} ms");
    }
    let event = server.connection.advance(6_000, &mut server.out);
    assert_eq!(event, Some(Event::Closed(Closed::KeepAliveTimeout { lifetime_ms: 3_000 })));
}

/// [KEEPALIVE-7]
#[test]
fn without_sessions_positions_are_zero() {
    let mut client = Side::client_with(Config { keepalive_interval_ms: 500, ..Config::default() });
    client.ask(stadium_rsocket::frame::Interaction::RequestStream, 5, b"");
    client.hear(crate::spec::support::next(1, b"a"));
    client.sent_frames();
    client.wait(500);
    let Frame::KeepAlive { last_received_position, .. } = client.sent_frame() else { panic!("a keep-alive") };
    assert_eq!(last_received_position, 0);
}
