//! Event streams: the examples of WHATWG HTML, 9.2, and streams cut anywhere.

use proptest::prelude::*;
use stadium_http_client::sse::{EventStream, EventTooLong, ServerEvent};

/// An event in words: type, data, id.
fn describe(event: ServerEvent<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}|{}|{}", text(event.event), text(event.data), text(event.id))
}

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut stream = EventStream::default();
    let mut events = Vec::new();
    for piece in pieces {
        stream.received(piece, &mut |event| events.push(describe(event))).expect("short");
    }
    events
}

/// 9.2.6 has these as examples.
#[test]
fn the_examples_of_the_standard_read_as_it_states() {
    let stock = "data: YHOO\ndata: +2\ndata: 10\n\n";
    assert_eq!(read([stock.as_bytes()]), ["message|YHOO\n+2\n10|"]);
    let blocks = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n";
    assert_eq!(read([blocks.as_bytes()]), ["message|first event|1", "message|second event|"]);
    let empty = "data\n\ndata\ndata\n\ndata:";
    assert_eq!(read([empty.as_bytes()]), ["message||", "message|\n|"]);
    assert_eq!(read([&b"data:test\n\ndata: test\n\n"[..]]), ["message|test|", "message|test|"]);
}

#[test]
fn fields_that_mean_nothing_are_ignored() {
    let stream = "\u{feff}event: vote\nDATA: no\ndata : no\nunknown: x\n:data: no\nid: a\0b\ndata: yes\n\n\
                  event: without data\n\ndata: \u{feff}kept\n\n";
    assert_eq!(read([stream.as_bytes()]), ["vote|yes|", "message|\u{feff}kept|"]);
}

#[test]
fn the_waiting_time_and_the_last_id_outlive_the_connection() {
    let mut stream = EventStream::default();
    let mut retries = Vec::new();
    stream
        .received(b"retry: 2500\nid: 7\ndata: a\n\nretry: 1s\nid: 8\ndata: b\n", &mut |event| {
            retries.push(event.retry_ms)
        })
        .expect("short");
    assert_eq!((retries.as_slice(), stream.retry_ms()), (&[Some(2500)][..], Some(2500)));
    // Event 8 was cut off: the server is to send it again.
    stream.reconnected();
    assert_eq!(stream.last_id(), b"7");
    stream
        .received(b"\ndata: c\n\n", &mut |event| assert_eq!(describe(event), "message|c|7"))
        .expect("short");
}

#[test]
fn an_event_beyond_the_bound_is_refused_and_one_at_it_is_not() {
    let too_long = Err(EventTooLong { bytes_max: 20 });
    let taken = |bytes: &[u8]| EventStream::new(20).received(bytes, &mut |_| ());
    assert_eq!(taken(b"data: 90123456789012\n\ndata: 90123456789012\n\n"), Ok(()));
    assert_eq!(taken(b"data: 901234567890123\n\n"), too_long);
    assert_eq!(taken(b"endless line, with no end"), too_long);
    let many = "data: x\n".repeat(20);
    assert_eq!(taken(many.as_bytes()), too_long);
}

proptest! {
    #[test]
    fn cuts_change_nothing(
        lines in proptest::collection::vec("(data|event|id|retry|:|x)?:? ?[a-z0-9]{0,4}(\n|\r|\r\n)", 0..30),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let bytes = lines.concat().into_bytes();
        let whole = read([&bytes[..]]);
        prop_assert_eq!(&read(bytes.chunks(1)), &whole);
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        prop_assert_eq!(&read(at.windows(2).map(|pair| &bytes[pair[0]..pair[1]])), &whole);
        // Whichever line ends a server likes, the events are the same.
        let feeds = String::from_utf8(bytes).unwrap().replace("\r\n", "\n").replace('\r', "\n");
        prop_assert_eq!(&read([feeds.as_bytes()]), &whole);
    }
}
