//! The cases that a client of crates/rpc plays against servers of other implementations.
//!
//! Each case has a client of its own, on its own thread and connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stadium_reactor::{Messages, WebSocketRequest};
use stadium_rpc::{CallError, CallOptions, Client, ClientConfig, ServiceClient};
use stadium_rsocket::metadata::authentication::{self, Authentication};
use stadium_rsocket::metadata::{Mime, write_entry};

use crate::routes::{
    Bare, CHANNEL, ECHO, ENDLESS, FAIL, FAIL_AFTER, METADATA, NEVER, NOTE, NOTES, RANGE, SUM, Unary,
};
use crate::{Options, Result};

/// How long a case waits for something that should come at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs the cases, and returns whether all held.
pub fn run(address: &str, cases: &str, options: &Options) -> bool {
    let mut all = true;
    for case in cases.split(',') {
        match play(address, case, options) {
            Ok(()) => println!("ok {case}"),
            Err(error) => {
                all = false;
                println!("FAILED {case}: {error}");
            }
        }
    }
    all
}

fn play(address: &str, case: &str, options: &Options) -> Result<()> {
    let mut config = ClientConfig::at(vec![address.parse()?]);
    config.deadline = PATIENCE;
    // Each request is sent once, so that what the peer saw is what the case sent.
    config.hedge = None;
    config.retry.attempts_max = 1;
    if let Some(fragment) = options.get("fragment").filter(|fragment| *fragment != "0") {
        config.fragment_bytes = fragment.parse()?;
    }
    if options.get("transport").is_some_and(|transport| transport == "ws") {
        config.websocket = Some(Arc::new(WebSocketRequest {
            host: address.to_owned(),
            path: "/".to_owned(),
            messages: Messages::LengthPrefixed24,
            ..WebSocketRequest::default()
        }));
    }
    if case == "frozen" {
        config.keepalive_interval = Duration::from_millis(100);
        config.keepalive_lifetime = Duration::from_secs(3);
    }
    let client = Client::start(config)?;
    let test = Behaviour { service: client.service("interop"), key: unique(case), options };
    match case {
        "echo" => equal(&test.ask(&ECHO, "hello")?, "hello"),
        "echo-large" => {
            let large: Vec<u8> = (0..100_000_u32).map(|at| (at * 31 + at / 256) as u8).collect();
            let answer = test.service.call(&ECHO, &Bare(large.clone())).wait()?;
            check(answer.0 == large, || format!("100 KB came back changed: {} bytes", answer.0.len()))
        }
        "metadata" => test.metadata(),
        "errors" => test.errors(),
        "note" => {
            let note = Bare::from(format!("{} first", test.key));
            test.service.one_way(&NOTE, &note, &CallOptions::default());
            test.until_noted("first")
        }
        "range" => test.range(10, 0, 1000),
        "range-large" => test.range(5, 100_000, 1000),
        "credit-one" => test.range(20, 0, 1),
        "cancel-stream" => {
            let request = Bare::from(test.key.clone());
            let mut stream = test.service.stream(&ENDLESS, &request, 3, &CallOptions::default());
            for number in 0..5 {
                let next = stream.next_within(PATIENCE)?.ok_or("an endless stream has ended")?;
                equal(&next.text(), &number.to_string())?;
            }
            drop(stream);
            test.until_noted("cancelled")
        }
        "cancel-response" => {
            let waiting = test.service.call(&NEVER, &Bare::from(test.key.clone()));
            equal(&test.ask(&ECHO, "fence")?, "fence")?;
            drop(waiting);
            test.until_noted("cancelled")
        }
        "fail-after" => test.fail_after(),
        "channel" => test.channel(&(0..50).map(|number| format!("word {number}")).collect::<Vec<_>>(), 3),
        "channel-large" => test
            .channel(&(0..5).map(|number| format!("{number}{}", "x".repeat(50_000))).collect::<Vec<_>>(), 1),
        "sum" => test.sum(),
        "frozen" => test.frozen(),
        _ => Err("no such case".into()),
    }
}

struct Behaviour<'a> {
    service: ServiceClient,
    /// A key that no other case and no other process uses.
    key: String,
    options: &'a Options,
}

impl Behaviour<'_> {
    fn ask(&self, method: &Unary, data: &str) -> Result<String, CallError> {
        Ok(self.service.call(method, &Bare::from(data.to_owned())).wait()?.text())
    }

    fn metadata(&self) -> Result<()> {
        let mut simple = Vec::new();
        authentication::write(
            &mut simple,
            Authentication::Simple { username: "user", password: "pass:word" },
        );
        write_entry(&mut simple, Mime::Named(b"message/x.custom"), b"text");
        let options = CallOptions { metadata: &simple, ..CallOptions::default() };
        let answer = self.service.call_with(&METADATA, &Bare::default(), &options).wait()?.text();
        // The deadline is there too; its bytes are no text.
        let lines: Vec<&str> = answer.lines().filter(|line| !line.contains("deadline")).collect();
        check(answer.contains("message/x.stadium.deadline.v1"), || format!("no deadline in {answer}"))?;
        for expected in ["route interop/metadata", "simple user:pass:word", "message/x.custom text"] {
            check(lines.contains(&expected), || format!("no {expected} in {answer}"))?;
        }
        Ok(())
    }

    fn errors(&self) -> Result<()> {
        for (sent, expected) in [
            (
                "513 GEO-001: not there",
                CallError::Rejected { code: "GEO-001".to_owned(), reason: "not there".to_owned() },
            ),
            (
                "514 BUSY retry_after_ms=120: queue is full",
                CallError::Busy {
                    retry_after: Duration::from_millis(120),
                    reason: "queue is full".to_owned(),
                },
            ),
        ] {
            let error = self.ask(&FAIL, sent).err();
            check(error.as_ref() == Some(&expected), || format!("expected {expected:?}, got {error:?}"))?;
        }
        equal(&self.ask(&ECHO, "still here")?, "still here")
    }

    fn range(&self, count: u64, size: usize, credit: u32) -> Result<()> {
        let request = Bare::from(format!("{count} {size}"));
        let mut stream = self.service.stream(&RANGE, &request, credit, &CallOptions::default());
        for number in 0..count {
            let next = stream.next_within(PATIENCE)?.ok_or("the stream has ended early")?.text();
            let digits = number.to_string();
            let right = next.len() == size.max(digits.len()) && next.starts_with(&digits);
            check(right, || format!("{number} came as {} bytes", next.len()))?;
        }
        let last = stream.next_within(PATIENCE)?;
        check(last.is_none(), || "one payload too many".to_owned())
    }

    fn fail_after(&self) -> Result<()> {
        let request = Bare::from("3 513 GEO-002: half way".to_owned());
        let mut stream = self.service.stream(&FAIL_AFTER, &request, 100, &CallOptions::default());
        for number in 0..3 {
            let next = stream.next_within(PATIENCE)?.ok_or("the stream has ended early")?;
            equal(&next.text(), &number.to_string())?;
        }
        let expected = CallError::Rejected { code: "GEO-002".to_owned(), reason: "half way".to_owned() };
        match stream.next_within(PATIENCE) {
            Err(error) => check(error == expected, || format!("failed with {error:?}")),
            Ok(next) => Err(format!("an error was promised, there is {next:?}").into()),
        }
    }

    fn channel(&self, words: &[String], credit: u32) -> Result<()> {
        let first = Bare::from(words[0].clone());
        let (sender, mut echoes) = self.service.channel(&CHANNEL, &first, credit, &CallOptions::default());
        for word in &words[1..] {
            sender.send(&Bare::from(word.clone()))?;
        }
        drop(sender);
        for word in words {
            let echo = echoes.next_within(PATIENCE)?.ok_or("the channel has ended early")?;
            check(echo.text() == format!("echo {word}"), || format!("an echo of {} bytes", echo.0.len()))?;
        }
        let last = echoes.next_within(PATIENCE)?;
        check(last.is_none(), || "one echo too many".to_owned())
    }

    fn sum(&self) -> Result<()> {
        let first = Bare::from("1".to_owned());
        let (sender, mut sums) = self.service.channel(&SUM, &first, 10, &CallOptions::default());
        for number in 2..=100 {
            sender.send(&Bare::from(number.to_string()))?;
        }
        drop(sender);
        equal(&sums.next_within(PATIENCE)?.ok_or("the channel has ended early")?.text(), "5050")
    }

    /// The server's process is stopped: a call ends by its deadline, and once it goes on the client comes back.
    fn frozen(&self) -> Result<()> {
        let pid = self.options.get("pid").ok_or("the server's pid is needed")?;
        equal(&self.ask(&ECHO, "before")?, "before")?;
        stop(pid)?;
        let short = CallOptions { deadline: Some(Duration::from_millis(300)), ..CallOptions::default() };
        let since = Instant::now();
        let error = self.service.call_with(&ECHO, &Bare::from("late".to_owned()), &short).wait().err();
        let took = since.elapsed();
        // The connection is given up before the process goes on.
        let lost = self.service.call(&ECHO, &Bare::from("lost".to_owned())).wait().err();
        signal("CONT", pid)?;
        check(error == Some(CallError::Deadline), || format!("the call ended with {error:?}"))?;
        check(took < Duration::from_secs(5), || format!("a deadline of 300 ms took {took:?}"))?;
        check(lost.is_some(), || "a stopped process has answered".to_owned())?;
        let until = Instant::now() + PATIENCE;
        loop {
            match self.ask(&ECHO, "after") {
                Ok(answer) => return equal(&answer, "after"),
                Err(error) => check(Instant::now() < until, || format!("it does not come back: {error}"))?,
            }
        }
    }

    fn until_noted(&self, expected: &str) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let there = self.ask(&NOTES, &self.key)?;
            if there == expected {
                return Ok(());
            }
            check(Instant::now() < until, || format!("waited for the note {expected}, there is {there}"))?;
        }
    }
}

/// Stops the process: when this returns all its threads stand. The signal alone is on its way to them, and one that
/// runs meanwhile still answers.
fn stop(pid: &str) -> Result<()> {
    signal("STOP", pid)?;
    let until = Instant::now() + PATIENCE;
    while !stands(pid)? {
        check(Instant::now() < until, || format!("the process {pid} does not stop"))?;
        std::thread::yield_now();
    }
    Ok(())
}

/// Whether all threads of the process are stopped, as far as it can be read.
fn stands(pid: &str) -> Result<bool> {
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // The state stands behind the name, which is in parentheses. A thread that is gone by now has no file.
        let stat = std::fs::read_to_string(thread?.path().join("stat")).unwrap_or_default();
        if !stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn signal(name: &str, pid: &str) -> Result<()> {
    let status = std::process::Command::new("kill").args([&format!("-{name}"), pid]).status()?;
    check(status.success(), || format!("cannot signal {pid}"))
}

fn unique(case: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{case}-{}-{}", std::process::id(), now.as_nanos())
}

fn equal(got: &str, expected: &str) -> Result<()> {
    check(got == expected, || format!("expected {expected}, got {got}"))
}

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(otherwise().into()) }
}
