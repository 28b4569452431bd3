//! Sources over real sockets: one that counts its answers, one that is not there, one that asks for a key.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};

use super::*;

/// Answers each request with what `answer` returns for its number and its head.
fn serve(answer: impl Fn(u32, &str) -> String + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened at");
    let address = listener.local_addr().expect("it listens");
    std::thread::spawn(move || {
        for (number, stream) in (1..).zip(listener.incoming().flatten()) {
            let mut head = String::new();
            let mut reader = BufReader::new(&stream);
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
            let _ = (&stream).write_all(answer(number, &head).as_bytes());
        }
    });
    address
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn source(target: &str, address: SocketAddr) -> Source {
    Source { target: target.into(), url: format!("http://{address}/metrics"), headers: Vec::new() }
}

#[test]
fn each_target_is_asked_each_second_and_failures_are_complaints() {
    let (notify, asked) = mpsc::channel();
    let counting = serve(move |number, _| {
        let _ = notify.send(());
        ok(&format!("# TYPE asked counter\nasked_total {number}\nquiet 1\n"))
    });
    let locked = serve(|_, head| match head.to_ascii_lowercase().contains("authorization: bearer sk_1") {
        true => ok("open 1\n"),
        false => "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned(),
    });
    let gone =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("it was there");
    let with_key = Source {
        headers: vec![("Authorization".into(), "Bearer sk_1".into())],
        ..source("with key", locked)
    };
    let sources =
        vec![source("counting", counting), source("gone", gone), source("locked", locked), with_key];
    let scrape = Scrape::start(sources, Instant::now()).expect("threads can be had");
    for _ in 0..3 {
        asked.recv_timeout(Duration::from_secs(10)).expect("it is asked again");
    }
    let scrapes = scrape.finish();
    let find = |target: &str| scrapes.series.iter().find(|series| series.target == target);
    let counted = find("counting").expect("it was asked");
    assert!(counted.counter && counted.metric == "asked_total");
    let values: Vec<f64> = counted.points.iter().map(|point| point.1).collect();
    assert_eq!(values[..3], [1.0, 2.0, 3.0]);
    let gap = counted.points[2].0 - counted.points[1].0;
    assert!((0.5..1.5).contains(&gap), "about a second apart, not {gap}");
    assert!(find("with key").is_some() && find("locked").is_none());
    assert_eq!(scrapes.complaints.len(), 2, "{:?}", scrapes.complaints);
    assert!(scrapes.complaints[0].contains("gone") && scrapes.complaints[1].contains("status 401"));
}

#[test]
fn a_key_goes_to_the_targets_own_address_only() {
    let text = r#"
name = "keys"

[targets.own]
url = "http://127.0.0.1:8080"
headers = { authorization = "Bearer sk_1", accept = "text/plain" }
metrics = "http://127.0.0.1:8080/metrics"

[targets.elsewhere]
url = "http://127.0.0.1:8080"
headers = { authorization = "Bearer sk_1" }
metrics = "http://127.0.0.1:9090/metrics"

[targets.silent]
url = "http://127.0.0.1:8081"

[[phases]]
rate = 1
duration = "1s"

[[sessions]]
name = "one"
steps = [{ get = "/", target = "own" }, { get = "/", target = "elsewhere" }, { get = "/", target = "silent" }]
"#;
    let program =
        stadium_scenario::parse(text, &mut |_| Err("no file".to_owned())).expect("it is a scenario");
    let mut found = sources(&program);
    found.sort_by(|one, two| two.target.cmp(&one.target));
    let key = ("authorization".to_owned(), "Bearer sk_1".to_owned());
    let expected = [
        Source { target: "own".into(), url: "http://127.0.0.1:8080/metrics".into(), headers: vec![key] },
        Source {
            target: "elsewhere".into(),
            url: "http://127.0.0.1:9090/metrics".into(),
            headers: Vec::new(),
        },
    ];
    assert_eq!(found, expected);
}
