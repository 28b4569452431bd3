//! Requests of devices to services on running loops, with a double in the place of the services: the way
//! there, the answer back on any thread, and the bounds.

use crate::support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stadium_edge::requests::{Answer, DeviceRequest, Refused, Reply, RequestLimits, Requests, Services};
use stadium_edge::{Counts, Edge};
use stadium_mqtt::packet::*;
use support::{Client, Heard, open_edge_with, until};

/// `echo/Now` answers at once, `echo/Later` on request, `busy/...` is busy; nothing else is known.
#[derive(Default)]
struct Echo {
    held: Mutex<Vec<(Reply, Vec<u8>)>>,
    last: Mutex<Option<(String, Option<String>, Duration)>>,
    one_way: AtomicUsize,
}

impl Requests for Echo {
    fn request(&self, request: &DeviceRequest<'_>, reply: Reply) -> Result<(), Refused> {
        *self.last.lock().expect("no panic") =
            Some((request.client_id.to_owned(), request.user.map(str::to_owned), request.deadline));
        match (request.service(), request.method()) {
            ("echo", "Now") => reply.send(Answer::Ok(request.payload.to_vec())),
            ("echo", "Later") if reply.is_wanted() => {
                self.held.lock().expect("no panic").push((reply, request.payload.to_vec()));
            }
            ("echo", "Later") => {
                self.one_way.fetch_add(1, Ordering::Relaxed);
            }
            ("busy", _) => return Err(Refused::Busy { retry_after: Duration::from_millis(70) }),
            _ => return Err(Refused::NoSuchService),
        }
        Ok(())
    }
}

impl Echo {
    fn answer_held(&self) {
        let held: Vec<_> = self.held.lock().expect("no panic").drain(..).collect();
        for (reply, payload) in held {
            reply.send(Answer::Ok(payload));
        }
    }
}

fn edge(loops: usize, limits: RequestLimits) -> (Edge, Arc<Echo>) {
    let echo = Arc::new(Echo::default());
    let services = Services { requests: Arc::clone(&echo) as Arc<dyn Requests>, limits };
    let edge = open_edge_with(loops, |config| {
        config.services = Some(services);
        config.loop_settings.mailbox_messages_max = 4;
    });
    (edge, echo)
}

fn ask(client: &mut Client, topic: &str, qos: QoS, packet_id: u16, answer_to: Option<&str>) {
    client.send(&Packet::Publish(Publish {
        dup: false,
        qos,
        retain: false,
        topic,
        packet_id,
        properties: PublishProperties {
            response_topic: answer_to,
            correlation_data: Some(b"c-1"),
            ..PublishProperties::default()
        },
        payload: format!("{packet_id}").as_bytes(),
    }));
}

fn counts(edge: &Edge) -> Counts {
    let mut all = Counts::default();
    edge.handle().counts().iter().for_each(|counts| all.add(counts));
    all
}

fn answer(heard: Heard) -> (String, Vec<u8>) {
    match heard {
        Heard::Publish { topic, payload, .. } => (topic, payload),
        other => panic!("an answer and not {other:?}"),
    }
}

#[test]
fn a_device_asks_and_is_answered() {
    for loops in [1, 2] {
        let (edge, echo) = edge(loops, RequestLimits::default());
        let mut device = Client::device(&edge, "d1", &["inbox/d1/#"]);
        ask(&mut device, "rpc/echo/Now", QoS::AtLeastOnce, 7, Some("inbox/d1/answers"));
        assert_eq!(device.hear(), Heard::Puback(7));
        assert_eq!(answer(device.hear()), ("inbox/d1/answers".into(), b"7".to_vec()));
        let last = echo.last.lock().expect("no panic").take();
        assert_eq!(last, Some(("d1".into(), None, RequestLimits::default().deadline)));
        until("counted", || counts(&edge).answers == 1);
        let counts = counts(&edge);
        assert_eq!((counts.requests, counts.requests_refused, counts.requests_in_flight), (1, 0, 0));
        edge.stop();
    }
}

#[test]
fn answers_come_from_any_thread_and_none_is_lost_to_a_full_mailbox() {
    let limits = RequestLimits { per_device_max: 1_000, ..RequestLimits::default() };
    let (edge, echo) = edge(1, limits);
    let mut device = Client::device(&edge, "d1", &["inbox/d1"]);
    for number in 1..=500 {
        ask(&mut device, "rpc/echo/Later", QoS::AtMostOnce, number, Some("inbox/d1"));
    }
    until("all asked", || echo.held.lock().expect("no panic").len() == 500);
    assert_eq!(counts(&edge).requests_in_flight, 500);
    let held = std::mem::take(&mut *echo.held.lock().expect("no panic"));
    std::thread::scope(|scope| {
        let mut held = held.into_iter();
        for _ in 0..4 {
            let part: Vec<_> = held.by_ref().take(125).collect();
            scope.spawn(|| part.into_iter().for_each(|(reply, payload)| reply.send(Answer::Ok(payload))));
        }
    });
    for _ in 0..500 {
        answer(device.hear());
    }
    until("places given back", || counts(&edge).requests_in_flight == 0);
    edge.stop();
}

#[test]
fn what_is_over_a_bound_is_refused_and_room_is_made_by_answers() {
    let limits = RequestLimits { per_device_max: 2, in_flight_max: 3, ..RequestLimits::default() };
    let (edge, echo) = edge(1, limits);
    let mut greedy = Client::device(&edge, "greedy", &["inbox/greedy"]);
    for number in 1..=3 {
        ask(&mut greedy, "rpc/echo/Later", QoS::AtLeastOnce, number, Some("inbox/greedy"));
        assert_eq!(greedy.hear(), Heard::Puback(number));
    }
    until("the third refused", || counts(&edge).requests_refused == 1);
    let mut modest = Client::device(&edge, "modest", &["inbox/modest"]);
    for number in 1..=2 {
        ask(&mut modest, "rpc/echo/Later", QoS::AtLeastOnce, number, Some("inbox/modest"));
        assert_eq!(modest.hear(), Heard::Puback(number));
    }
    until("the loop is full", || counts(&edge).requests_refused == 2);
    echo.answer_held();
    until("room", || counts(&edge).requests_in_flight == 0);
    ask(&mut greedy, "rpc/echo/Now", QoS::AtMostOnce, 9, Some("inbox/greedy"));
    let answers: Vec<_> = (0..3).map(|_| answer(greedy.hear()).1).collect();
    assert_eq!(answers, [b"1", b"2", b"9"]);
    edge.stop();
}

#[test]
fn a_refused_request_without_acknowledgement_is_reported_by_an_answer() {
    let (edge, _echo) = edge(1, RequestLimits::default());
    let mut device = Client::device(&edge, "d1", &["inbox/d1"]);
    ask(&mut device, "rpc/busy/Any", QoS::AtMostOnce, 0, Some("inbox/d1"));
    assert_eq!(answer(device.hear()), ("inbox/d1".into(), Vec::new()));
    ask(&mut device, "rpc/unknown/Any", QoS::AtMostOnce, 0, Some("inbox/d1"));
    assert_eq!(answer(device.hear()), ("inbox/d1".into(), Vec::new()));
    until("counted", || counts(&edge).requests_refused == 2);
    edge.stop();
}

#[test]
fn a_request_without_response_topic_has_no_answer() {
    let (edge, echo) = edge(1, RequestLimits::default());
    let mut device = Client::device(&edge, "d1", &["inbox/d1"]);
    ask(&mut device, "rpc/echo/Later", QoS::AtLeastOnce, 3, None);
    assert_eq!(device.hear(), Heard::Puback(3));
    until("taken", || echo.one_way.load(Ordering::Relaxed) == 1);
    until("its place given back", || counts(&edge).requests_in_flight == 0);
    edge.stop();
}

#[test]
fn an_answer_for_a_device_that_has_gone_is_dropped_and_counted() {
    let (edge, echo) = edge(1, RequestLimits::default());
    let mut device = Client::device(&edge, "d1", &["inbox/d1"]);
    ask(&mut device, "rpc/echo/Later", QoS::AtMostOnce, 0, Some("inbox/d1"));
    until("asked", || !echo.held.lock().expect("no panic").is_empty());
    drop(device);
    until("gone", || counts(&edge).connected == 0);
    echo.answer_held();
    until("dropped", || counts(&edge).answers_dropped == 1);
    assert_eq!(counts(&edge).requests_in_flight, 0);
    edge.stop();
}

#[test]
fn the_message_expiry_is_the_deadline() {
    let (edge, echo) = edge(1, RequestLimits::default());
    let mut device = Client::device(&edge, "d1", &["inbox/d1"]);
    for (expiry_s, deadline_s) in [(3, 3), (4_000, 60)] {
        device.send(&Packet::Publish(Publish {
            dup: false,
            qos: QoS::AtMostOnce,
            retain: false,
            topic: "rpc/echo/Now",
            packet_id: 0,
            properties: PublishProperties {
                message_expiry_s: Some(expiry_s),
                response_topic: Some("inbox/d1"),
                ..PublishProperties::default()
            },
            payload: b"",
        }));
        answer(device.hear());
        let last = echo.last.lock().expect("no panic").take().expect("it was asked");
        assert_eq!(last.2, Duration::from_secs(deadline_s));
    }
    edge.stop();
}
