//! A process without a free descriptor: peers wait in the kernel's queue, the loop does not spin, and
//! they are let in once there are descriptors again. Alone in its process, whose limit it lowers.
#![allow(unsafe_code)]

mod fixture;

use std::fs::File;
use std::io::{Read, Write};

use fixture::*;

#[test]
fn peers_wait_while_no_descriptor_is_free() {
    let server = start(Style::Echo, listener());
    let mut before = server.dial();
    server.wait_established();
    let limit = libc::rlimit { rlim_cur: 128, rlim_max: 128 };
    // SAFETY: the pointer is that of a live struct.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    let mut fillers = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        fillers.push(file);
    }
    assert!(fillers.pop().is_some());
    // The client takes the last descriptor, so the server finds none for it.
    let mut client = server.dial();
    let stats = server.handle.stats().clone();
    until("the loop misses a descriptor", || stats.accepts_starved.value() > 0);
    let (starved, turns) = (stats.accepts_starved.value(), stats.turns.value());
    for _ in 0..50 {
        before.write_all(b"still served").expect("the loop reads");
        before.read_exact(&mut [0; 12]).expect("the echo comes");
    }
    let (more, turned) = (stats.accepts_starved.value() - starved, stats.turns.value() - turns);
    assert!(more <= 20 && turned <= 250, "it rests between tries: {more} tries in {turned} turns");
    assert_eq!(stats.accepts.value(), 1);
    fillers.clear();
    client.write_all(b"hello").expect("the kernel takes it");
    client.read_exact(&mut [0; 5]).expect("it is served at last");
    assert_eq!(stats.accepts.value(), 2);
}
