//! Requests in datagrams, written by hand as docs/rpc.md describes them.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use prost::Message as _;
use stadium_example_geo::proto::{Device, GeoEvent};

use crate::fixture::{PATIENCE, Service, until};

/// RSocket 1.0: REQUEST_RESPONSE with metadata, REQUEST_FNF with metadata, PAYLOAD with next and complete, ERROR.
const REQUEST_RESPONSE: u16 = 0x04 << 10 | 0x100;
const REQUEST_FNF: u16 = 0x05 << 10 | 0x100;
const PAYLOAD: u16 = 0x0A << 10 | 0x60;
const ERROR: u16 = 0x0B << 10;

fn request(stream: u32, kind: u16, route: &str, message: &impl prost::Message) -> Vec<u8> {
    let length = |bytes: usize| u32::try_from(bytes).expect("it is short").to_be_bytes()[1..].to_vec();
    let tag = [&[u8::try_from(route.len()).expect("it is short")], route.as_bytes()].concat();
    let routing = [&[0x80 | 0x7E], length(tag.len()).as_slice(), tag.as_slice()].concat();
    let head = [&stream.to_be_bytes()[..], &kind.to_be_bytes()].concat();
    [head, length(routing.len()), routing, message.encode_to_vec()].concat()
}

/// Sends until it is answered, as datagrams may be lost; the answer's kind and content.
fn ask(socket: &UdpSocket, stream: u32, request: &[u8]) -> (u16, Vec<u8>) {
    let deadline = Instant::now() + PATIENCE;
    let mut answer = [0; 1500];
    while Instant::now() < deadline {
        socket.send(request).expect("the service's socket is there");
        // An answer that came late belongs to an earlier stream.
        while let Ok(size) = socket.recv(&mut answer) {
            let (head, content) = answer[..size].split_at(6);
            if head[..4] == stream.to_be_bytes() {
                return (u16::from_be_bytes([head[4], head[5]]), content.to_vec());
            }
        }
    }
    panic!("no answer in {PATIENCE:?}");
}

#[test]
fn requests_that_fit_a_datagram_are_answered_by_one() {
    let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port is free");
    let _service = Service::start(&["--udp", &free.to_string()]);
    let socket = UdpSocket::bind::<SocketAddr>(([127, 0, 0, 1], 0).into()).expect("a port is free");
    socket.connect(free).expect("it is on this machine");
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("it is no zero");

    let event = GeoEvent { device_id: "phone-1".to_owned(), latitude: 37.98, ..GeoEvent::default() };
    let stored = ask(&socket, 7, &request(7, REQUEST_RESPONSE, "geo/Store", &event));
    assert_eq!(stored, (PAYLOAD, Vec::new()), "an OK without a message has no bytes");

    // Fire and forget: seen by asking for it.
    let moved = GeoEvent { latitude: 38.0, timestamp_ms: 1, ..event };
    let device = Device { device_id: "phone-1".to_owned() };
    until("the event that nobody answers to be stored", || {
        socket.send(&request(9, REQUEST_FNF, "geo/Store", &moved)).expect("the service's socket is there");
        let (kind, content) = ask(&socket, 11, &request(11, REQUEST_RESPONSE, "geo/Last", &device));
        assert_eq!(kind, PAYLOAD);
        GeoEvent::decode(content.as_slice()).expect("it is an event") == moved
    });

    let wrong = GeoEvent { latitude: 95.0, ..moved };
    let (kind, content) = ask(&socket, 13, &request(13, REQUEST_RESPONSE, "geo/Store", &wrong));
    assert_eq!(kind, ERROR);
    let (code, text) = content.split_at(4);
    assert_eq!(code, 0x201_u32.to_be_bytes(), "APPLICATION_ERROR");
    assert_eq!(text, b"GEO-001: latitude 95 is not between -90 and 90");
}
