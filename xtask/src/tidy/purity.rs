//! Crates that do no I/O, and crates that may hold `unsafe`.
//!
//! The no-I/O crates run in a simulation, under a fuzzer and in a property test exactly as in
//! production; one clock read would end that. Only code under `src/` is meant: a test may do as it
//! likes.

use super::Finding;
use super::source::Source;

/// Crates that take bytes or commands and the current time, and touch nothing else.
const NO_IO: &[&str] = &[
    "mqtt",
    "rsocket",
    "wheel",
    "table",
    "queue",
    "wallet",
    "registry",
    "push",
    "journal-log",
    "membership",
    "forward",
    "shard-wire",
    "http-client",
    "report",
    "metrics",
];

/// Folders of other crates that keep the same rule.
const NO_IO_FOLDERS: &[(&str, &str)] =
    &[("links/link", "crates/links/src/link/"), ("memcache/protocol", "crates/memcache/src/protocol/")];

/// Modules of `std` that reach outside the process or wait.
const OUTSIDE: &[&str] = &["fs", "net", "thread", "process", "env"];

/// Crates and calls that bring the outside in.
const OUTSIDE_WORDS: &[&str] =
    &["Instant::now", "SystemTime::now", "rand", "getrandom", "fastrand", "mio", "tokio", "socket2", "libc"];

/// What may hold `unsafe`: the crates of docs/architecture.md, the bench's raw epoll loop, and the
/// allocator that tests count with.
const UNSAFE: &[&str] =
    &["crates/reactor/", "crates/ffi/src/abi/", "crates/ffi/src/sys.rs", "bench/", "testing/counting.rs"];

/// Refuses sockets, files, threads, clocks and randomness in a no-I/O crate.
pub(crate) fn no_io(path: &str, source: &Source) -> Vec<Finding> {
    let of_crate = NO_IO.iter().find(|name| path.starts_with(&format!("crates/{name}/src/")));
    let of_folder = NO_IO_FOLDERS.iter().find(|(_, folder)| path.starts_with(folder)).map(|(name, _)| name);
    let Some(name) = of_crate.or(of_folder) else { return Vec::new() };
    let refuse = |line, word: &str| {
        Finding::new(
            path,
            line,
            format!("`{word}` in `{name}`, which does no I/O: let the driver pass it in"),
        )
    };
    let mut findings = Vec::new();
    for module in OUTSIDE {
        let word = format!("std::{module}");
        findings.extend(source.lines_with_word(&word).map(|line| refuse(line, &word)));
    }
    for (line, member) in source.group_members("std") {
        let first = member.split([':', ' ']).next().unwrap_or(&member);
        if OUTSIDE.contains(&first) {
            findings.push(refuse(line, &format!("std::{first}")));
        }
    }
    for word in OUTSIDE_WORDS {
        findings.extend(source.lines_with_word(word).map(|line| refuse(line, word)));
    }
    findings
}

/// Refuses `unsafe` outside of what may hold it.
pub(crate) fn unsafe_code(path: &str, source: &Source) -> Vec<Finding> {
    if UNSAFE.iter().any(|place| path.starts_with(place)) {
        return Vec::new();
    }
    source
        .lines_with_word("unsafe")
        .map(|line| {
            Finding::new(path, line, "`unsafe` outside the crates that may hold it (docs/architecture.md)")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::{no_io, unsafe_code};

    #[test]
    fn a_no_io_crate_may_not_reach_outside() {
        let found = |text: &str| no_io("crates/mqtt/src/a.rs", &Source::new(text)).len();
        for bad in [
            "use std::net::TcpStream;",
            "use std::{fmt, fs};",
            "use std::{fmt,\n thread::sleep};",
            "let now = Instant::now();",
            "let now = std::time::SystemTime::now();",
            "use mio::Poll;",
            "let x = rand::random();",
        ] {
            assert_eq!(found(bad), 1, "{bad}");
        }
        for good in [
            "use std::{fmt, collections::VecDeque};",
            "use core::net::SocketAddr;",
            "fn at(now: Instant) {}",
            "// std::fs\n",
            "#[cfg(test)]\nmod tests { use std::fs; }",
            "let operand = brand;",
        ] {
            assert_eq!(found(good), 0, "{good}");
        }
    }

    #[test]
    fn other_crates_and_tests_may_reach_outside() {
        let source = Source::new("use std::net::TcpStream;");
        assert!(no_io("crates/reactor/src/a.rs", &source).is_empty());
        assert!(no_io("crates/mqtt/tests/a.rs", &source).is_empty());
    }

    #[test]
    fn unsafe_lives_where_the_architecture_says() {
        let source = Source::new("let x = unsafe { f() };");
        assert_eq!(unsafe_code("crates/edge/src/a.rs", &source).len(), 1);
        assert_eq!(unsafe_code("crates/mqtt/tests/a.rs", &source).len(), 1);
        assert!(unsafe_code("crates/reactor/src/a.rs", &source).is_empty());
        assert!(unsafe_code("testing/counting.rs", &source).is_empty());
        assert_eq!(unsafe_code("testing/statements.rs", &source).len(), 1);
    }
}
