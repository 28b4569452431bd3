//! Plain connections on real sockets: echo, fan-out, slow readers, timers, ends.
//!
//! Loops run on threads of their own; what they saw is asked with a deadline, never slept for.

use crate::fixture;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, UdpSocket};
use std::sync::Arc;

use fixture::*;
use stadium_reactor::*;

fn read_exactly(stream: &mut impl Read, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).expect("the bytes come");
    bytes
}

fn number(count: usize) -> Vec<u8> {
    (0..count).map(|place| (place % 251) as u8).collect()
}

#[test]
fn what_is_sent_comes_back() {
    let server = start(Style::Echo, listener());
    let mut client = server.dial();
    let sent = number(3_000_000);
    let mut writer = client.try_clone().expect("a second handle");
    let copy = sent.clone();
    let thread = std::thread::spawn(move || writer.write_all(&copy).expect("the server reads"));
    assert!(read_exactly(&mut client, sent.len()) == sent);
    thread.join().expect("the writer is done");
    drop(client);
    assert_eq!(server.wait_closed().1, CloseReason::PeerClosed);
}

#[test]
fn messages_are_whole_however_they_are_cut() {
    let server = start(Style::Lengths, listener());
    let mut client = server.dial();
    let mut bytes = Vec::new();
    let lengths = [0usize, 1, 3, 600, 4_090, 4_100, 9_000, 65_535, 2];
    for length in lengths {
        bytes.extend_from_slice(&(length as u16).to_be_bytes());
        bytes.extend_from_slice(&number(length));
    }
    for size in [1_000, 7, bytes.len()] {
        for piece in bytes.chunks(size) {
            client.write_all(piece).expect("the server reads");
        }
        for length in lengths {
            let message = server.wait(|seen| match seen {
                Seen::Received(_, bytes) => Some(bytes.clone()),
                _ => None,
            });
            assert!(message == number(length), "{length} bytes in pieces of {size}");
        }
    }
    until("nothing is kept of whole messages", || server.handle.stats().carry_bytes.value() == 0);
}

#[test]
fn one_message_reaches_everybody_in_one_write_each() {
    let server = start(Style::Report, listener());
    let mut clients: Vec<_> = (0..200).map(|_| server.dial()).collect();
    for _ in &clients {
        server.wait_established();
    }
    let before = server.handle.stats().sends.value();
    // Eight messages in one turn: each connection gets them in one write.
    server.act(|io| {
        let ids: Vec<_> = io.connections().collect();
        for round in 0..8u8 {
            let segment = io.stage(|buffer| buffer.extend_from_slice(&[round; 100]));
            for id in &ids {
                io.deliver(*id, segment);
            }
        }
    });
    let expected: Vec<u8> = (0..8u8).flat_map(|round| [round; 100]).collect();
    for client in &mut clients {
        assert_eq!(read_exactly(client, 800), expected);
    }
    until("the turn is counted", || server.handle.stats().sends.value() - before == 200);
    assert_eq!(server.handle.stats().deliveries.value(), 1_600);
}

#[test]
fn a_patch_is_each_connections_own() {
    let server = start(Style::Report, listener());
    let mut clients: Vec<_> = (0..3).map(|_| (server.dial(), server.wait_established())).collect();
    let ids: Vec<_> = clients.iter().map(|(_, id)| *id).collect();
    server.act(move |io| {
        let head = io.stage(|buffer| buffer.extend_from_slice(b"[..]"));
        let tail = io.stage(|buffer| buffer.extend_from_slice(b"(..)"));
        for (place, id) in ids.iter().enumerate() {
            io.deliver_patched(*id, head, 1, 0x4141 + place as u16);
            io.deliver(*id, tail);
            io.deliver_patched(*id, tail, 1, 0x6161 + place as u16);
            io.deliver(*id, head);
        }
    });
    for (place, (client, _)) in clients.iter_mut().enumerate() {
        let (upper, lower) = ((b'A' + place as u8) as char, (b'a' + place as u8) as char);
        let expected = format!("[A{upper}](..)(a{lower})[..]");
        assert_eq!(String::from_utf8_lossy(&read_exactly(client, 16)), expected);
    }
}

#[test]
fn a_large_shared_payload_arrives_among_small_ones() {
    let server = start(Style::Report, listener());
    let mut clients: Vec<_> = (0..4).map(|_| (server.dial(), server.wait_established())).collect();
    let payload: Arc<[u8]> = number(900_000).into();
    let ids: Vec<_> = clients.iter().map(|(_, id)| *id).collect();
    let shared = payload.clone();
    server.act(move |io| {
        let head = io.stage(|buffer| buffer.extend_from_slice(b"head"));
        for (place, id) in ids.iter().enumerate() {
            io.deliver_patched(*id, head, 2, 0x3030 + place as u16);
            io.deliver_shared(*id, &shared);
            io.send(*id, |buffer| buffer.extend_from_slice(b"tail"));
        }
    });
    for (place, (client, _)) in clients.iter_mut().enumerate() {
        assert_eq!(read_exactly(client, 4), format!("he0{place}").as_bytes());
        assert!(read_exactly(client, payload.len()) == *payload);
        assert_eq!(read_exactly(client, 4), b"tail");
    }
    until("nothing waits any more", || server.handle.stats().write_queue_bytes.value() == 0);
    until("nobody keeps the payload", || Arc::strong_count(&payload) == 1);
}

#[test]
fn a_reader_that_never_reads_is_cut_at_its_bound() {
    let mut settings = listener();
    settings.limits.write_queue_bytes_max = 300_000;
    settings.socket.send_buffer_bytes = Some(16 * 1024);
    let server = start(Style::Report, settings);
    let client = server.dial();
    let id = server.wait_established();
    let mut most = 0;
    let (ended, reason) = loop {
        if let Ok(Seen::Closed(id, reason)) = server.seen.try_recv() {
            break (id, reason);
        }
        most = most.max(server.ask(move |io| {
            io.send(id, |buffer| buffer.extend_from_slice(&[0; 10_000]));
            io.unsent(id)
        }));
    };
    assert_eq!((ended, reason), (id, CloseReason::SlowReader));
    assert!((200_000..=300_000).contains(&most), "{most} bytes waited");
    until("nothing is kept for it", || server.handle.stats().write_queue_bytes.value() == 0);
    drop(client);
}

#[test]
fn a_reader_that_pauses_is_reported_as_drained_when_it_reads_again() {
    let mut settings = listener();
    settings.limits.write_queue_bytes_max = 4_000_000;
    settings.socket.send_buffer_bytes = Some(16 * 1024);
    let server = start(Style::Report, settings);
    let mut client = server.dial();
    let id = server.wait_established();
    server.act(move |io| io.send(id, |buffer| buffer.extend_from_slice(&number(3_900_000))));
    until("some of it waits", || server.ask(move |io| io.unsent(id)) > 0);
    server.act(move |io| io.send(id, |buffer| buffer.extend_from_slice(b"the end")));
    assert!(read_exactly(&mut client, 3_900_000) == number(3_900_000));
    assert_eq!(read_exactly(&mut client, 7), b"the end");
    server.wait(|seen| (*seen == Seen::Drained(id)).then_some(()));
    assert_eq!(server.ask(move |io| io.unsent(id)), 0);
}

#[test]
fn a_reader_that_stalls_is_cut_in_its_time() {
    let mut settings = listener();
    settings.limits.write_queue_bytes_max = 40_000_000;
    settings.limits.write_stall_ms = 200;
    settings.socket.send_buffer_bytes = Some(16 * 1024);
    let server = start(Style::Report, settings);
    let _client = server.dial();
    let id = server.wait_established();
    server.act(move |io| io.send(id, |buffer| buffer.resize(buffer.len() + 20_000_000, 1)));
    assert_eq!(server.wait_closed(), (id, CloseReason::WriteStall));
}

#[test]
fn close_sends_what_was_sent_before_and_ends_once() {
    let server = start(Style::Report, listener());
    let mut client = server.dial();
    let id = server.wait_established();
    client.write_all(b"bytes that nobody answers").expect("the server reads");
    server.act(move |io| {
        io.send(id, |buffer| buffer.extend_from_slice(&number(600_000)));
        io.close(id);
        io.close(id);
        io.send(id, |buffer| buffer.extend_from_slice(b"too late"));
        assert!(!io.contains(id));
    });
    assert_eq!(server.wait_closed(), (id, CloseReason::Asked));
    let mut got = Vec::new();
    client.read_to_end(&mut got).expect("the end comes in order");
    assert!(got == number(600_000));
    drop(client);
    until("its place is free", || server.handle.stats().connections.value() == 0);
    assert!(server.seen.try_iter().all(|seen| !matches!(seen, Seen::Closed(..))));
}

#[test]
fn a_peer_that_ignores_a_close_is_let_go_after_the_linger() {
    let settings = LoopSettings { linger_ms: 100, ..LoopSettings::default() };
    let server = start_with(Style::Report, listener(), settings);
    let client = server.dial();
    let id = server.wait_established();
    server.act(move |io| io.close(id));
    assert_eq!(server.wait_closed().1, CloseReason::Asked);
    until("its place is free although the peer holds on", || server.handle.stats().connections.value() == 0);
    drop(client);
}

#[test]
fn abort_resets() {
    let server = start(Style::Report, listener());
    let mut client = server.dial();
    let id = server.wait_established();
    server.act(move |io| io.abort(id));
    assert_eq!(server.wait_closed(), (id, CloseReason::Aborted));
    let error = client.read(&mut [0; 10]).expect_err("a reset is no end");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_peer_that_resets_is_distinguished_from_one_that_leaves() {
    let server = start(Style::Report, listener());
    let client = socket2::Socket::from(server.dial());
    let id = server.wait_established();
    client.set_linger(Some(std::time::Duration::ZERO)).expect("linger can be set");
    drop(client);
    assert_eq!(server.wait_closed(), (id, CloseReason::Reset));
    let client = server.dial();
    let id = server.wait_established();
    client.shutdown(Shutdown::Write).expect("a half is closed");
    assert_eq!(server.wait_closed(), (id, CloseReason::PeerClosed));
}

#[test]
fn a_handler_that_uses_nothing_meets_the_bound_of_its_carry() {
    let mut settings = listener();
    settings.limits.carry_bytes_max = 4_096;
    let server = start(Style::Leave, settings);
    let mut client = server.dial();
    let id = server.wait_established();
    client.write_all(&[1; 4_096]).expect("the server reads");
    until("it is kept", || server.handle.stats().carry_bytes.value() >= 4_096);
    client.write_all(&[1]).expect("the server reads");
    assert_eq!(server.wait_closed(), (id, CloseReason::CarryFull));
    until("nothing is kept", || server.handle.stats().carry_bytes.value() == 0);
}

#[test]
fn a_pause_stops_reading_until_the_resume() {
    let server = start(Style::Report, listener());
    let mut client = server.dial();
    let id = server.wait_established();
    server.ask(move |io| io.pause(id));
    let turns = server.handle.stats().turns.value();
    client.write_all(b"hello").expect("the kernel takes it");
    until("the loop saw it", || server.handle.stats().turns.value() > turns);
    assert_eq!(server.ask(|_| 0), 0);
    assert!(server.seen.try_iter().all(|seen| !matches!(seen, Seen::Received(..))));
    server.act(move |io| io.resume(id));
    assert_eq!(server.wait_received(5), b"hello");
}

#[test]
fn timers_and_the_alarm_go_off_in_their_time() {
    let server = start(Style::Report, listener());
    let _client = server.dial();
    let id = server.wait_established();
    let asked = server.ask(move |io| {
        io.set_timer(id, 50_000);
        io.set_timer(id, 100);
        io.set_alarm(io.now() + 60);
        io.now()
    });
    let alarm = server.wait(|seen| if let Seen::Alarm(at) = seen { Some(*at) } else { None });
    assert!((60..5_000).contains(&(alarm - asked)), "the alarm came after {} ms", alarm - asked);
    let fired = server.wait(|seen| if let Seen::Timeout(_, at) = seen { Some(*at) } else { None });
    assert!((100..5_000).contains(&(fired - asked)), "the timer came after {} ms", fired - asked);
    server.ask(move |io| {
        io.set_timer(id, 40);
        io.cancel_timer(id);
        io.set_alarm(io.now() + 300);
    });
    let next = server.wait(|seen| matches!(seen, Seen::Alarm(_) | Seen::Timeout(..)).then(|| seen.clone()));
    assert!(matches!(next, Seen::Alarm(_)), "a cancelled timer stays silent");
}

#[test]
fn the_idle_and_the_old_are_closed() {
    let mut settings = listener();
    settings.socket.maximum_idle_ms = Some(150);
    let server = start(Style::Report, settings);
    let _client = server.dial();
    assert_eq!(server.wait_closed().1, CloseReason::Idle);

    let mut settings = listener();
    settings.socket.maximum_age_ms = Some(300);
    let server = start(Style::Echo, settings);
    let mut client = server.dial();
    let mut rounds = 0;
    let mut buffer = [0; 4];
    while client.write_all(b"ping").is_ok() && client.read(&mut buffer).is_ok_and(|count| count > 0) {
        rounds += 1;
    }
    assert!(rounds > 0);
    assert_eq!(server.wait_closed().1, CloseReason::MaximumAge);
}

#[test]
fn a_refused_peer_is_closed_and_counted() {
    let server = start(Style::Report, listener());
    *server.refuse.lock().expect("nobody panicked") = true;
    let mut client = server.dial();
    assert_eq!(client.read(&mut [0; 1]).unwrap_or(0), 0);
    until("it is counted", || server.handle.stats().accepts_refused.value() == 1);
    assert_eq!(server.handle.stats().accepts.value(), 0);
}

#[test]
fn an_accept_budget_paces_and_loses_nobody() {
    let mut settings = listener();
    settings.budget.accepts_per_second = 200;
    let server = start(Style::Report, settings);
    let began = std::time::Instant::now();
    let clients: Vec<_> = (0..100).map(|_| server.dial()).collect();
    for _ in &clients {
        server.wait_established();
    }
    // A burst of 20 leaves 80 to wait, at 200 a second.
    assert!(began.elapsed().as_millis() >= 300, "after {:?}", began.elapsed());
    assert!(server.handle.stats().accepts_paced.value() > 0);
}

#[test]
fn a_full_mailbox_gives_the_message_back() {
    let settings = LoopSettings { mailbox_messages_max: 4, ..LoopSettings::default() };
    let server = start_with(Style::Report, listener(), settings);
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let (signal, began) = std::sync::mpsc::channel();
    server.act(move |_| {
        let _ = signal.send(());
        let _ = gone.recv();
    });
    began.recv_timeout(DEADLINE).expect("the loop is held");
    for number in 0..4 {
        assert!(server.handle.try_send(Order::Number(number)).is_ok());
    }
    assert!(matches!(server.handle.try_send(Order::Number(9)), Err(Full(Order::Number(9)))));
    assert_eq!(server.handle.stats().mailbox_refused.value(), 1);
    go.send(()).expect("the loop waits for it");
    until("the four are read", || server.handle.stats().messages.value() == 5);
    assert_eq!(server.ask(|_| 1), 1);
}

#[test]
fn loops_connect_to_each_other_and_report_failures() {
    let server = start(Style::Echo, listener());
    let client = start(Style::Report, listener());
    let address = server.address;
    let id = client.ask(move |io| {
        let options = ConnectOptions {
            tag: 77,
            bind: Some("127.0.0.1:0".parse().expect("an address")),
            ..ConnectOptions::default()
        };
        io.connect(address, &options).expect("a socket")
    });
    assert_eq!(
        client.wait(|seen| matches!(seen, Seen::Connected(..)).then(|| seen.clone())),
        Seen::Connected(id, 77)
    );
    client.act(move |io| io.send(id, |buffer| buffer.extend_from_slice(b"hello")));
    assert_eq!(client.wait_received(5), b"hello");
    client.act(move |io| io.close(id));
    assert_eq!(client.wait_closed(), (id, CloseReason::Asked));
    assert_eq!(server.wait_closed().1, CloseReason::PeerClosed);

    let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port");
    let id = client.ask(move |io| io.connect(free, &ConnectOptions::default()).expect("a socket"));
    assert_eq!(client.wait_closed(), (id, CloseReason::ConnectRefused));

    // A listener whose queue is full leaves the peer without an answer.
    let deaf = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    deaf.bind(&"127.0.0.1:0".parse::<std::net::SocketAddr>().expect("an address").into()).expect("a port");
    deaf.listen(0).expect("it listens");
    let address = deaf.local_addr().expect("bound").as_socket().expect("an internet address");
    let mut options = ConnectOptions::default();
    options.socket.connect_timeout_ms = 200;
    client.act(move |io| {
        for _ in 0..8 {
            io.connect(address, &options).expect("a socket");
        }
    });
    assert_eq!(client.wait_closed().1, CloseReason::ConnectTimeout);
}

#[test]
fn a_connection_moves_to_another_loop_with_what_is_unread_and_unsent() {
    let first = start(Style::Leave, listener());
    let second = start(Style::Report, listener());
    let mut client = first.dial();
    let id = first.wait_established();
    client.write_all(b"not yet used").expect("the loop reads");
    until("it is kept", || first.handle.stats().carry_bytes.value() > 0);
    let to = second.handle.clone();
    first.act(move |io| {
        io.set_write_queue_bytes_max(id, 10_000_000);
        io.send(id, |buffer| buffer.extend_from_slice(&number(7_000_000)));
        io.handoff(id, &to, Order::Number(42));
    });
    let moved = second.wait(|seen| if let Seen::Adopted(id, 42) = seen { Some(*id) } else { None });
    assert_eq!(second.wait_received(12), b"not yet used");
    assert!(!first.ask(move |io| io.contains(id)));
    assert!(read_exactly(&mut client, 7_000_000) == number(7_000_000));
    second.act(move |io| io.send(moved, |buffer| buffer.extend_from_slice(b"from the second")));
    assert_eq!(read_exactly(&mut client, 15), b"from the second");
    client.write_all(b"to the second").expect("the loop reads");
    assert_eq!(second.wait_received(13), b"to the second");
    assert_eq!(first.handle.stats().connections.value(), 0);
    drop(client);
    assert_eq!(second.wait_closed(), (moved, CloseReason::PeerClosed));
    assert!(first.seen.try_iter().all(|seen| !matches!(seen, Seen::Closed(..))));
    for running in [&first, &second] {
        assert_eq!(running.ask(|_| 0), 0);
        assert_eq!(running.handle.stats().carry_bytes.value(), 0);
        assert_eq!(running.handle.stats().write_queue_bytes.value(), 0);
    }
}

#[test]
fn a_move_to_a_full_loop_is_reported_as_overloaded() {
    let first = start(Style::Report, listener());
    let settings = LoopSettings { mailbox_messages_max: 0, ..LoopSettings::default() };
    let second = start_with(Style::Report, listener(), settings);
    let mut client = first.dial();
    let id = first.wait_established();
    let to = second.handle.clone();
    first.act(move |io| io.handoff(id, &to, Order::Number(1)));
    assert_eq!(first.wait_closed(), (id, CloseReason::Overloaded));
    assert_eq!(client.read(&mut [0; 1]).unwrap_or(0), 0);
}

#[test]
fn a_connection_from_outside_is_taken_in() {
    let server = start(Style::Report, listener());
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut client = std::net::TcpStream::connect(other.local_addr().expect("bound")).expect("it listens");
    let (stream, peer) = other.accept().expect("the client");
    let adopt = Adopt { listener: ListenerTag(3), leftover: b"left over ".to_vec(), ..Adopt::default() };
    assert!(server.handle.adopt(stream, adopt).is_ok());
    server.wait(|seen| matches!(seen, Seen::Accepted(_, from) if *from == peer).then_some(()));
    let id = server.wait_established();
    client.write_all(b"and more").expect("the loop reads");
    assert_eq!(server.wait_received(18), b"left over and more");
    server.act(move |io| io.send(id, |buffer| buffer.extend_from_slice(b"hello")));
    assert_eq!(read_exactly(&mut client, 5), b"hello");
}

#[test]
fn datagrams_go_both_ways() {
    let server = start(Style::Report, listener());
    let (_, address) = server.ask(|io| {
        io.bind_udp("127.0.0.1:0".parse().expect("an address"), &UdpSettings::default()).expect("a port")
    });
    let client = UdpSocket::bind("127.0.0.1:0").expect("a port");
    client.set_read_timeout(Some(DEADLINE)).expect("a timeout can be set");
    let mut buffer = [0; 100];
    for text in ["one", "two", ""] {
        client.send_to(text.as_bytes(), address).expect("the loopback takes it");
        let (count, from) = client.recv_from(&mut buffer).expect("the echo comes");
        assert_eq!((&buffer[..count], from), (text.as_bytes(), address));
    }
}

#[test]
fn stopping_to_listen_leaves_open_connections_alone_and_stopping_ends_them() {
    let server = start(Style::Echo, listener());
    let mut client = server.dial();
    let id = server.wait_established();
    server.ask(|io| io.stop_listening());
    assert!(std::net::TcpStream::connect(server.address).is_err());
    client.write_all(b"still here").expect("the loop reads");
    assert_eq!(read_exactly(&mut client, 10), b"still here");
    server.handle.stop();
    assert_eq!(server.wait_closed(), (id, CloseReason::Stopped));
}

fn proxied(body: &[u8]) -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n\x21\x11".to_vec();
    bytes.extend_from_slice(&(body.len() as u16).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

#[test]
fn a_proxy_header_says_who_the_peer_is() {
    let settings = ListenerSettings { proxy: ProxyProtocol::Required, ..listener() };
    let server = start(Style::Report, settings);
    let mut client = server.dial();
    let mut bytes = proxied(&[192, 0, 2, 7, 198, 51, 100, 9, 0x30, 0x39, 0x07, 0x5b]);
    bytes.extend_from_slice(b"hello");
    for byte in bytes {
        client.write_all(&[byte]).expect("the loop reads");
    }
    let peer = server.wait(|seen| if let Seen::Accepted(_, peer) = seen { Some(*peer) } else { None });
    assert_eq!(peer, "192.0.2.7:12345".parse().expect("an address"));
    server.wait_established();
    assert_eq!(server.wait_received(5), b"hello");

    let mut liar = server.dial();
    liar.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("the loop reads");
    assert_eq!(liar.read(&mut [0; 1]).unwrap_or(0), 0);
    assert!(
        server.seen.try_iter().all(|seen| !matches!(seen, Seen::Accepted(..))),
        "a liar is nobody's peer"
    );
}

#[test]
fn a_proxy_header_from_no_network_of_a_proxy_is_not_read() {
    let settings = ListenerSettings {
        proxy: ProxyProtocol::Required,
        proxy_networks: "10.0.0.0/8".parse().expect("a network"),
        ..listener()
    };
    let server = start(Style::Report, settings);
    let mut liar = server.dial();
    let header = proxied(&[192, 0, 2, 7, 198, 51, 100, 9, 0x30, 0x39, 0x07, 0x5b]);
    // It may be closed before all of it is sent.
    let _ = liar.write_all(&[&header[..], b"hello"].concat());
    assert_eq!(liar.read(&mut [0; 1]).unwrap_or(0), 0, "it is closed");
    assert!(server.seen.try_iter().all(|seen| !matches!(seen, Seen::Accepted(..))), "and nobody's peer");
}
