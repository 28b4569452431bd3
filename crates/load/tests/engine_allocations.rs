//! A warm loop allocates nothing for a request, its answer, what is taken from it and what is checked: counted, not believed.
//!
//! The allocator counts what every thread does that has not been marked as the test's, which leaves
//! the engine's loop. Each second the loop reports what it counted, and that may allocate.

#[path = "../../../testing/counting.rs"]
mod counting;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use counting::Counting;
use stadium_load::run::{Run, RunOptions};

#[global_allocator]
static ALLOCATOR: Counting = Counting::all_threads_but();

/// Allocations a second that the tally of a loop may cost.
const TALLY_MAX: u64 = 200;
/// Requests a second that make such a number small.
const REQUESTS_MIN: u64 = 2_000;

const SCENARIO: &str = r#"
name = "warm"
[targets.api]
url = "http://127.0.0.1:PORT"
[[phases]]
duration = "5s"
users = 4
[[sessions]]
name = "s"
[[sessions.steps]]
repeat = "forever"
[[sessions.steps.steps]]
name = "log in"
post = "/login?user=${user()}"
json = { user = "user-${user()}" }
extract = { token = "$.token" }
check = { status = 200, json = { "$.ok" = true } }
[[sessions.steps.steps]]
name = "look"
get = "/"
headers = { authorization = "Bearer ${token}" }
check = [{ status = 200 }, { holds = "token == 'abc'" }]
[[sessions.steps.steps]]
name = "fixed"
get = "/fixed"
"#;

/// Answers every request with a token and a cookie.
fn serve(stream: TcpStream) -> std::io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    loop {
        let mut length = 0;
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line.trim_end().is_empty() {
                break;
            }
        }
        reader.read_exact(&mut vec![0; length])?;
        writer.write_all(
            b"HTTP/1.1 200 OK\r\nSet-Cookie: id=7; Path=/nowhere\r\nContent-Length: 25\r\n\r\n{\"ok\":true,\"token\":\"abc\"}",
        )?;
    }
}

#[test]
fn a_warm_loop_allocates_nothing_for_a_request() {
    counting::name(true);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        counting::name(true);
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                counting::name(true);
                serve(stream)
            });
        }
    });
    let text = SCENARIO.replace("PORT", &port.to_string());
    let program = stadium_scenario::parse(&text, &mut |_| Err(String::new())).expect("the scenario is good");
    let mut seconds = Vec::new();
    let options = RunOptions { loops: 1, ..RunOptions::default() };
    let result = Run::start(program, &options)
        .expect("the run starts")
        .wait(&mut |progress| {
            if let Some(interval) = progress.interval {
                seconds.push((counting::allocations(), interval.answered));
            }
        })
        .expect("the run ends");
    assert!(result.total.errors.is_empty(), "{:?}", result.total.errors);
    // The first two warm it up, the last ends it.
    for pair in seconds[1..4].windows(2) {
        let (allocations, answered) = (pair[1].0 - pair[0].0, pair[1].1);
        assert!(answered >= REQUESTS_MIN, "{answered} requests in a second");
        assert!(allocations <= TALLY_MAX, "{allocations} allocations for {answered} requests: {seconds:?}");
    }
}
