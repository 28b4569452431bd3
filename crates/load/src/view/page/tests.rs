//! The page over real sockets, read as any client of server-sent events reads it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use super::*;
use crate::view::sample;

fn ask(page: &Page, path: &str, host: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(page.address).expect("the page listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit is valid");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
        .expect("the page reads");
    BufReader::new(stream)
}

/// Reads events until one with this name; gives its data and the names before it.
fn until(stream: &mut BufReader<TcpStream>, wanted: &str) -> (serde_json::Value, Vec<String>) {
    let (mut name, mut before, mut line) = (String::new(), Vec::new(), String::new());
    loop {
        line.clear();
        assert!(stream.read_line(&mut line).expect("the stream goes on") > 0, "no {wanted}, only {before:?}");
        if let Some(text) = line.strip_prefix("event: ") {
            name = text.trim().to_owned();
        } else if let Some(data) = line.strip_prefix("data: ") {
            if name == wanted {
                return (serde_json::from_str(data).expect("data is JSON"), before);
            }
            before.push(name.clone());
        }
    }
}

fn open() -> Page {
    Page::open(([127, 0, 0, 1], 0).into()).expect("loopback can be listened at")
}

fn show(page: &mut Page, seconds: std::ops::RangeInclusive<u32>) {
    let result = sample::result(*seconds.end());
    for second in seconds {
        page.show(&sample::progress(&result, Some(&result.series[second as usize - 1])));
    }
}

#[test]
fn who_comes_late_gets_the_whole_series_and_then_each_point() {
    let mut page = open();
    show(&mut page, 1..=20);
    let mut stream = ask(&page, "/events", "127.0.0.1");
    let (plan, _) = until(&mut stream, "plan");
    assert_eq!(plan["name"], "voting night");
    let (series, _) = until(&mut stream, "series");
    assert_eq!(series.as_array().map(Vec::len), Some(20));
    assert_eq!(series[19]["response"]["p99"], 12.0);
    let (now, _) = until(&mut stream, "now");
    assert_eq!(now["steps"][1]["name"], "vote");
    assert_eq!(now["errors"][0], serde_json::json!(["timeout", 60]));
    show(&mut page, 21..=21);
    let (point, _) = until(&mut stream, "point");
    assert_eq!((&point["at_s"], &point["answered"]), (&serde_json::json!(21.0), &serde_json::json!(997.0)));
}

#[test]
fn who_falls_behind_gets_the_series_again_instead_of_a_backlog() {
    let mut page = open();
    show(&mut page, 1..=1);
    let shared = Arc::clone(&page.shared);
    let mut place = Place {
        updates: shared.updates.subscribe(),
        shared,
        sent: None,
        planned: false,
        ended: false,
        waiting: VecDeque::new(),
    };
    place.fill();
    assert_eq!(place.waiting.len(), 3, "plan, series, now");
    place.waiting.clear();
    show(&mut page, 1..=RECENT_POINTS as u32);
    place.fill();
    assert_eq!(place.waiting.len(), RECENT_POINTS + 1, "each point, and how it stands");
    place.waiting.clear();
    show(&mut page, 1..=RECENT_POINTS as u32 + 1);
    place.fill();
    assert_eq!(place.waiting.len(), 2, "series, now");
}

#[test]
fn the_end_reaches_open_pages_and_closes_their_streams() {
    let mut page = open();
    show(&mut page, 1..=3);
    let mut stream = ask(&page, "/events", "localhost:80");
    until(&mut stream, "now");
    let address = page.address;
    let mut result = sample::result(3);
    result.outcome = Outcome::Interrupted;
    page.end(&result);
    let (end, _) = until(&mut stream, "end");
    assert_eq!((&end["outcome"], &end["passed"]), (&"interrupted".into(), &false.into()));
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("the stream ends in order");
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn the_document_loads_nothing_from_elsewhere_and_strangers_get_nothing() {
    let page = open();
    let mut text = String::new();
    ask(&page, "/", "127.0.0.1:1234").read_to_string(&mut text).expect("the page answers");
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("default-src 'none'"), "{}", &text[..300]);
    assert!(!text.contains("https://") && !text.contains("src=\""), "the page is whole in itself");
    assert!(text.trim_end().ends_with("</html>"));
    for path in ["/", "/events"] {
        let mut text = String::new();
        ask(&page, path, "evil.example").read_to_string(&mut text).expect("the page answers");
        assert!(text.starts_with("HTTP/1.1 421") && !text.contains("<html"), "{text}");
    }
}
