//! Hostile RSocket clients: a breach of the protocol ends its own connection with an ERROR, and
//! costs bounded memory.
//!
//! In each test a well-behaved client is connected before and is served afterwards on the same connection.

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use stadium_testing::interop::{Peer, ours, service};
use stadium_testing::rsocket::{
    Raw, code, flag, frame, kind, length, payload, request, request_stream, route, setup,
};

const MIB: u64 = 1024 * 1024;

/// A server, and a client that nobody may disturb.
struct Stage {
    server: Peer,
    neighbour: Raw,
    address: SocketAddr,
    resident: u64,
}

/// Plays a test on bare RSocket, and on a server of services.
fn on_both(test: impl Fn(Stage) -> Result<()>) -> Result<()> {
    test(Stage::with(ours()?, &[])?).context("on bare RSocket")?;
    test(Stage::with(service()?, &[])?).context("on a service")
}

impl Stage {
    fn with(program: Command, options: &[&str]) -> Result<Self> {
        let server = Peer::start(program, options)?;
        let address = server.address;
        let mut neighbour = Raw::set_up(address)?;
        neighbour.echo(1)?;
        let resident = server.process().resident_bytes()?;
        Ok(Self { server, neighbour, address, resident })
    }

    fn client(&self) -> Result<Raw> {
        let mut client = Raw::set_up(self.address)?;
        client.echo(1)?;
        Ok(client)
    }

    /// Bytes by which the server has grown.
    fn grown(&self) -> Result<u64> {
        Ok(self.server.process().resident_bytes()?.saturating_sub(self.resident))
    }

    fn must_not_grow_beyond(&self, bytes: u64) -> Result<()> {
        let grown = self.grown()?;
        ensure!(grown <= bytes, "the server grew by {grown} bytes, more than {bytes}");
        Ok(())
    }

    fn must_still_serve(mut self) -> Result<()> {
        self.neighbour.echo(3).context("the neighbour is no longer served")?;
        self.client().context("no new client is served")?;
        Ok(())
    }
}

#[test]
fn a_stranger_may_not_announce_a_long_first_frame() -> Result<()> {
    on_both(|stage| {
        for announced in [5_000, 100_000, 0xFF_FFFF] {
            let mut stranger = Raw::connect(stage.address)?;
            stranger.send(&length(announced))?;
            stranger.must_be_closed()?;
        }
        stage.must_still_serve()
    })
}

#[test]
fn a_long_frame_costs_nothing_before_it_comes() -> Result<()> {
    on_both(|stage| {
        let mut clients = Vec::new();
        for _ in 0..100 {
            let mut client = stage.client()?;
            client.send(&length(0xFF_FFFF))?;
            client.send(&[0; 5])?;
            clients.push(client);
        }
        // 100 announcements are 1.6 GB.
        stage.must_not_grow_beyond(64 * MIB)?;
        stage.must_still_serve()
    })
}

#[test]
fn a_first_frame_that_is_no_setup_ends_the_connection() -> Result<()> {
    on_both(|stage| {
        for first in [
            request(1, "interop/echo", b"early"),
            frame(0, kind::KEEPALIVE, flag::FOLLOWS, &[0; 8]),
            frame(0, 0x2A, 0, b"unknown"),
            frame(1, kind::SETUP, 0, &setup(1000, 1000)[9..]),
            frame(0, kind::SETUP, 0, &[0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, b'a', 1, b'a']),
        ] {
            let mut stranger = Raw::connect(stage.address)?;
            stranger.send(&first)?;
            stranger.must_fail_with(code::INVALID_SETUP)?;
        }
        // Frames that are too short to be any.
        for first in [length(0), [length(3), vec![0; 3]].concat(), frame(0, kind::SETUP, 0, &[0, 1])] {
            let mut stranger = Raw::connect(stage.address)?;
            stranger.send(&first)?;
            stranger.must_be_closed()?;
        }
        stage.must_still_serve()
    })
}

#[test]
fn a_setup_of_zero_times_is_refused() -> Result<()> {
    on_both(|stage| {
        for (keepalive_ms, lifetime_ms) in [(0, 1000), (1000, 0), (0, 0)] {
            let mut stranger = Raw::connect(stage.address)?;
            stranger.send(&setup(keepalive_ms, lifetime_ms))?;
            stranger.must_be_closed()?;
        }
        stage.must_still_serve()
    })
}

#[test]
fn a_stranger_that_sends_nothing_or_little_is_closed() -> Result<()> {
    let stage = Stage::with(ours()?, &["setup=1500"])?;
    let since = Instant::now();
    let mut silent = Raw::connect(stage.address)?;
    let mut slow = Raw::connect(stage.address)?;
    let bytes = setup(1000, 1000);
    for byte in &bytes[..10] {
        slow.send(std::slice::from_ref(byte))?;
    }
    silent.must_be_closed()?;
    slow.must_be_closed()?;
    ensure!(since.elapsed() >= Duration::from_secs(1), "closed before its time");
    stage.must_still_serve()
}

#[test]
fn a_client_that_sends_a_frame_byte_by_byte_disturbs_nobody() -> Result<()> {
    on_both(|mut stage| {
        let mut slow = stage.client()?;
        let bytes = request(3, "interop/echo", b"slow");
        for (at, byte) in bytes.iter().enumerate() {
            slow.send(std::slice::from_ref(byte))?;
            let stream = u32::try_from(at * 2 + 3)?;
            stage.neighbour.echo(stream)?;
        }
        ensure!(slow.frame_of(3)?.body == b"slow");
        stage.client()?;
        Ok(())
    })
}

#[test]
fn an_unknown_type_ends_the_connection_unless_it_may_be_ignored() -> Result<()> {
    on_both(|stage| {
        for unknown in [0x00, 0x0F, 0x20, 0x3E] {
            let mut client = stage.client()?;
            client.send(&frame(0, unknown, flag::IGNORE, b"ignore me"))?;
            client.send(&frame(7, unknown, flag::IGNORE, b"me too"))?;
            client.echo(3)?;
            client.send(&frame(0, unknown, 0, b"do not"))?;
            client.must_fail_with(code::CONNECTION_ERROR)?;
        }
        let mut client = stage.client()?;
        client.send(&frame(0, kind::EXT, flag::IGNORE, &[0, 0, 0, 9]))?;
        client.echo(3)?;
        client.send(&frame(0, kind::EXT, 0, &[0, 0, 0, 9]))?;
        client.must_fail_with(code::CONNECTION_ERROR)?;
        stage.must_still_serve()
    })
}

#[test]
fn a_stream_id_serves_once() -> Result<()> {
    on_both(|stage| {
        // Answered already; still open; of the server's half.
        for (open, reused) in [(3, 1), (3, 3), (3, 2)] {
            let mut client = stage.client()?;
            client.send(&request_stream(open, "interop/endless", 1, b"reused"))?;
            client.frame_of(open)?;
            client.send(&request(reused, "interop/echo", b"again"))?;
            client.must_fail_with(code::CONNECTION_ERROR)?;
        }
        stage.must_still_serve()
    })
}

#[test]
fn frames_of_streams_that_are_not_there_are_ignored() -> Result<()> {
    on_both(|stage| {
        let mut client = stage.client()?;
        for stream in [1, 5, 0x7FFF_FFFF] {
            client.send(&frame(stream, kind::PAYLOAD, flag::NEXT, b"nobody asked"))?;
            client.send(&frame(stream, kind::CANCEL, 0, &[]))?;
            client.send(&frame(stream, kind::REQUEST_N, 0, &[0, 0, 0, 1]))?;
            client.send(&frame(stream, kind::ERROR, 0, &[0, 0, 2, 1]))?;
        }
        client.echo(7)?;
        stage.must_still_serve()
    })
}

#[test]
fn credit_beyond_its_bound_is_no_more_than_its_bound() -> Result<()> {
    on_both(|stage| {
        let mut client = stage.client()?;
        client.send(&request_stream(3, "interop/range", 1, b"2000 10"))?;
        for _ in 0..5 {
            client.send(&frame(3, kind::REQUEST_N, 0, &0x7FFF_FFFF_u32.to_be_bytes()))?;
        }
        let mut values = 0;
        loop {
            let came = client.frame_of(3)?;
            values += usize::from(came.flags & flag::NEXT != 0);
            if came.flags & flag::COMPLETE != 0 {
                break;
            }
        }
        ensure!(values == 2000, "{values} payloads");
        client.echo(5)?;
        stage.must_still_serve()
    })
}

#[test]
fn credit_of_nothing_or_of_a_reserved_bit_ends_the_connection() -> Result<()> {
    on_both(|stage| {
        for credit in [0, 0x8000_0000_u32, u32::MAX] {
            let mut client = stage.client()?;
            client.send(&request_stream(3, "interop/endless", 1, b"credit"))?;
            client.frame_of(3)?;
            client.send(&frame(3, kind::REQUEST_N, 0, &credit.to_be_bytes()))?;
            // It may fail the stream or the connection, and serve neither any further.
            match client.frame()?.context("closed without a word")? {
                came if came.kind == kind::ERROR => {}
                came => anyhow::bail!("{came:?} after a credit of {credit:#x}"),
            }
        }
        stage.must_still_serve()
    })
}

#[test]
fn metadata_longer_than_its_frame_is_no_request() -> Result<()> {
    on_both(|stage| {
        let mut client = stage.client()?;
        let body = [&length(1000)[..], b"short"].concat();
        client.send(&frame(3, kind::REQUEST_RESPONSE, flag::METADATA, &body))?;
        client.throw(&request(5, "interop/echo", b"after"));
        // Ignored (Metadata Optional Header), or an error of the stream or of the connection: never an answer to it.
        while let Some(came) = client.frame()? {
            ensure!(came.stream != 3 || came.kind == kind::ERROR, "{came:?}");
            if came.stream == 5 || came.stream == 0 {
                break;
            }
        }
        stage.must_still_serve()
    })
}

#[test]
fn metadata_that_cannot_be_read_fails_its_request_alone() -> Result<()> {
    on_both(|stage| {
        let mut client = stage.client()?;
        let bombs: [Vec<u8>; 5] = [
            vec![0xFE],
            [&[0xFE][..], &length(0xFF_FFFF)].concat(),
            [&[0xFE][..], &length(2), &[200, b'x']].concat(),
            vec![0x7F; 40],
            [&[0xFE][..], &length(3), &[2, 0xFF, 0xFE]].concat(),
        ];
        for (metadata, stream) in bombs.iter().zip((3..).step_by(2)) {
            client.send(&frame(stream, kind::REQUEST_RESPONSE, flag::METADATA, &payload(metadata, b"")))?;
            let answer = client.frame_of(stream)?;
            ensure!(answer.code() == Some(code::INVALID), "{answer:?}");
        }
        client.echo(101)?;
        stage.must_still_serve()
    })
}

#[test]
fn a_million_metadata_entries_take_a_short_time() -> Result<()> {
    on_both(|stage| {
        let mut client = stage.client()?;
        // Entries of nothing: an id and a length of zero.
        let mut metadata = [0x85, 0, 0, 0].repeat(1_000_000);
        metadata.extend(route("interop/echo"));
        let since = Instant::now();
        client.send(&frame(3, kind::REQUEST_RESPONSE, flag::METADATA, &payload(&metadata, b"deep")))?;
        client.frame_of(3)?;
        ensure!(since.elapsed() < Duration::from_secs(5), "took {:?}", since.elapsed());
        stage.must_not_grow_beyond(64 * MIB)?;
        stage.must_still_serve()
    })
}

#[test]
fn fragments_without_an_end_cost_bounded_memory() -> Result<()> {
    on_both(|stage| {
        let mut client = stage.client()?;
        let piece = vec![7; MIB as usize];
        client.send(&frame(
            3,
            kind::REQUEST_RESPONSE,
            flag::METADATA | flag::FOLLOWS,
            &payload(&route("interop/echo"), &piece),
        ))?;
        for _ in 0..64 {
            client.throw(&frame(3, kind::PAYLOAD, flag::NEXT | flag::FOLLOWS, &piece));
        }
        // 65 MiB were sent, 16 MiB are the bound.
        let answer = client.frame()?.context("closed without a word")?;
        ensure!(answer.kind == kind::ERROR, "{answer:?}");
        stage.must_not_grow_beyond(64 * MIB)?;
        stage.must_still_serve()
    })
}

#[test]
fn fragments_of_many_streams_share_one_bound() -> Result<()> {
    on_both(|stage| {
        let mut client = stage.client()?;
        let piece = vec![7; 64 * 1024];
        for stream in (3..2003).step_by(2) {
            let body = payload(&route("interop/echo"), &piece);
            client.throw(&frame(stream, kind::REQUEST_RESPONSE, flag::METADATA | flag::FOLLOWS, &body));
        }
        // 64 MiB were begun.
        let answer = client.frame()?.context("closed without a word")?;
        ensure!(answer.kind == kind::ERROR, "{answer:?}");
        stage.must_not_grow_beyond(64 * MIB)?;
        stage.must_still_serve()
    })
}

#[test]
fn streams_beyond_the_bound_are_rejected_one_by_one() -> Result<()> {
    on_both(|stage| {
        let mut client = stage.client()?;
        // 10,000 are the bound of the one and 100,000 of the other, whose admission refuses before.
        let flood: Vec<u8> =
            (0..12_000_u32).flat_map(|at| request(3 + at * 2, "interop/never", b"flood")).collect();
        client.send(&flood)?;
        let first = client.frame()?.context("closed without a word")?;
        ensure!(first.stream != 0 && first.code() == Some(code::REJECTED), "{first:?}");
        stage.must_not_grow_beyond(64 * MIB)?;
        // One that is cancelled makes room for another.
        client.send(&frame(3, kind::CANCEL, 0, &[]))?;
        client.echo(100_001)?;
        stage.must_still_serve()
    })
}

#[test]
fn noise_is_closed() -> Result<()> {
    on_both(|stage| {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut noise = || {
            // xorshift64: the same noise in each run.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..300 {
            let mut client = Raw::connect(stage.address)?;
            let bytes: Vec<u8> = (0..64).flat_map(|_| noise().to_be_bytes()).collect();
            client.throw(&bytes);
        }
        // The same behind a SETUP, in frames of right lengths.
        for _ in 0..300 {
            let mut client = Raw::set_up(stage.address)?;
            for _ in 0..20 {
                let bytes = noise().to_be_bytes();
                let typed = u16::from_be_bytes([bytes[0], bytes[1]]);
                client.throw(&frame(
                    u32::from(bytes[2] % 8),
                    typed >> 10,
                    typed & 0x3FF,
                    &bytes[..usize::from(bytes[3] % 9)],
                ));
            }
        }
        stage.must_not_grow_beyond(64 * MIB)?;
        stage.must_still_serve()
    })
}

#[test]
fn a_client_that_reads_nothing_costs_bounded_memory() -> Result<()> {
    let stage = Stage::with(service()?, &[])?;
    let mut deaf = Vec::new();
    for _ in 0..4 {
        let mut client = stage.client()?;
        // 1 GB of answers each, that nobody reads.
        client.send(&request_stream(3, "interop/range", 0x7FFF_FFFF, b"100000 10000"))?;
        deaf.push(client);
    }
    // New requests are served all the while; a second of them is time enough for gigabytes.
    let mut busy = stage.client()?;
    let since = Instant::now();
    let mut stream = 3;
    while since.elapsed() < Duration::from_secs(1) {
        busy.echo(stream)?;
        stream += 2;
    }
    stage.must_not_grow_beyond(64 * MIB)?;
    // Nothing was lost to those that begin to read.
    for client in &mut deaf {
        for number in 0..1000_u32 {
            let next = client.frame_of(3)?;
            ensure!(next.body.starts_with(number.to_string().as_bytes()), "{number}: {:?}", &next.body[..4]);
        }
    }
    stage.must_still_serve()
}

#[test]
fn a_stream_of_large_messages_comes_whole_to_a_client_that_reads() -> Result<()> {
    let stage = Stage::with(service()?, &[])?;
    let mut client = stage.client()?;
    // 300 MB, with credit for all of it.
    client.send(&request_stream(3, "interop/range", 0x7FFF_FFFF, b"3000 100000"))?;
    let mut came = 0;
    while let Ok(frame) = client.frame_of(3) {
        came += frame.body.len();
        if frame.flags & flag::COMPLETE != 0 {
            break;
        }
    }
    ensure!(came >= 300_000_000, "only {came} bytes came");
    stage.must_still_serve()
}

#[test]
fn answers_to_requests_that_are_not_read_are_bounded() -> Result<()> {
    let stage = Stage::with(service()?, &[])?;
    let mut deaf = stage.client()?;
    let large = vec![b'x'; 100_000];
    // 400 MB of echoes; the server stops reading, or closes, long before.
    deaf.shorten_writes(Duration::from_secs(3))?;
    for stream in (3..8003).step_by(2) {
        if !deaf.try_send(&request(stream, "interop/echo", &large)) {
            break;
        }
    }
    stage.must_not_grow_beyond(96 * MIB)?;
    stage.must_still_serve()
}

#[test]
fn a_client_without_a_sign_of_life_is_given_up() -> Result<()> {
    on_both(|stage| {
        let mut silent = Raw::connect(stage.address)?;
        let since = Instant::now();
        silent.send(&setup(100, 800))?;
        silent.must_fail_with(code::CONNECTION_ERROR)?;
        let took = since.elapsed();
        ensure!((700..10_000).contains(&took.as_millis()), "given up after {took:?}, the lifetime is 800 ms");
        stage.must_still_serve()
    })
}

#[test]
fn keep_alives_whose_answers_are_not_read_are_bounded() -> Result<()> {
    let stage = Stage::with(service()?, &[])?;
    let mut deaf = stage.client()?;
    deaf.shorten_writes(Duration::from_secs(3))?;
    let ping = frame(0, kind::KEEPALIVE, flag::FOLLOWS, &[&[0; 8][..], &[7; 4096]].concat()).repeat(256);
    // 256 MB of them; the server stops reading, or closes, long before.
    for _ in 0..256 {
        if !deaf.try_send(&ping) {
            break;
        }
    }
    stage.must_not_grow_beyond(96 * MIB)?;
    stage.must_still_serve()
}
