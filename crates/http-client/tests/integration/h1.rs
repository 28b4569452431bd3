//! Answers in HTTP/1.1 as servers send them, whole, and with what must be refused. However an
//! answer is cut, its events are the same.

use proptest::prelude::*;
use stadium_http_client::{Asked, Event, H1, HEAD_BYTES_MAX, Malformed};

/// An event of an answer, in words.
fn describe(event: Event<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match event {
        Event::Head(head) => {
            let lines = head.headers.iter().map(|header| format!(" {}={}", header.name, text(header.value)));
            format!("{}{}", head.status, lines.collect::<String>())
        }
        Event::Upgraded(head) => format!("upgraded {}", head.status),
        Event::Body(piece) => format!("body {}", text(piece)),
        Event::Trailers(lines) => {
            lines.iter().map(|header| format!("trailer {}={}", header.name, text(header.value))).collect()
        }
        Event::End { reusable } => format!("end {}", if reusable { "reusable" } else { "closing" }),
        Event::Reset { .. } | Event::Malformed(_) | Event::GoAway { .. } => unreachable!("of HTTP/2"),
    }
}

/// The events of one answer, and the bytes that were left. A server that closes does so after them.
fn read(asked: Asked, bytes: &str, closes: bool) -> Result<(Vec<String>, String), Malformed> {
    let mut h1 = H1::new();
    h1.begin(asked);
    let mut events = Vec::new();
    let used = h1.received(bytes.as_bytes(), &mut |event| events.push(describe(event)))?;
    if closes {
        h1.ended(&mut |event| events.push(describe(event)))?;
    }
    Ok((events, bytes[used..].to_owned()))
}

#[track_caller]
fn reads(asked: Asked, bytes: &str, expected: &[&str], left: &str) {
    let (events, remained) = read(asked, bytes, false).expect("a well-formed answer");
    assert_eq!(events, expected);
    assert_eq!(remained, left);
}

#[track_caller]
fn refuses(bytes: &str, expected: Malformed) {
    assert_eq!(read(Asked::Answer, bytes, false), Err(expected), "{bytes:?}");
}

#[test]
fn a_counted_body_ends_at_its_length() {
    let bytes = "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Length: 5\r\n\r\nhelloHTTP";
    reads(Asked::Answer, bytes, &["200 Server=nginx Content-Length=5", "body hello", "end reusable"], "HTTP");
    let bytes = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
    reads(Asked::Answer, bytes, &["404 content-length=0", "end reusable"], "");
    let bytes = "HTTP/1.1 200\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nok";
    let (events, _) = read(Asked::Answer, bytes, false).expect("the same length three times");
    assert_eq!(events[1..], ["body ok", "end reusable"]);
}

#[test]
fn a_chunked_body_is_reported_by_its_chunks() {
    let bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                 5\r\nhello\r\n00A ;name=\"va;lue\"\r\n, stadium!\r\n0\r\n\r\nrest";
    let expected = ["200 Transfer-Encoding=chunked", "body hello", "body , stadium!", "end reusable"];
    reads(Asked::Answer, bytes, &expected, "rest");
}

#[test]
fn trailers_are_reported_before_the_end() {
    let bytes =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n1\r\na\r\n0;last\r\nSum: 7\r\n\r\n";
    let expected = ["200 Transfer-Encoding=gzip, Chunked", "body a", "trailer Sum=7", "end reusable"];
    reads(Asked::Answer, bytes, &expected, "");
}

#[test]
fn a_body_without_a_length_ends_with_the_connection() {
    let bytes = "HTTP/1.0 200 OK\r\n\r\nall of it";
    let (events, _) = read(Asked::Answer, bytes, true).expect("ended well");
    assert_eq!(events, ["200", "body all of it", "end closing"]);
    let bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nzipped";
    let (events, _) = read(Asked::Answer, bytes, true).expect("ended well");
    assert_eq!(events, ["200 Transfer-Encoding=gzip", "body zipped", "end closing"]);
}

#[test]
fn answers_without_a_body_end_with_their_head() {
    let counted = "Content-Length: 5\r\n\r\n";
    reads(
        Asked::Head,
        &format!("HTTP/1.1 200 OK\r\n{counted}"),
        &["200 Content-Length=5", "end reusable"],
        "",
    );
    reads(
        Asked::Answer,
        &format!("HTTP/1.1 304 x\r\n{counted}"),
        &["304 Content-Length=5", "end reusable"],
        "",
    );
    reads(Asked::Answer, "HTTP/1.1 204 No Content\r\n\r\nHTTP", &["204", "end reusable"], "HTTP");
}

#[test]
fn the_connection_lives_on_unless_one_side_closes_it() {
    for (head, expected) in [
        ("HTTP/1.1 200 OK\r\n", "end reusable"),
        ("HTTP/1.1 200 OK\r\nConnection: upgrade, Close\r\n", "end closing"),
        ("HTTP/1.0 200 OK\r\n", "end closing"),
        ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n", "end reusable"),
    ] {
        let bytes = format!("{head}Content-Length: 1\r\n\r\n.");
        let (events, _) = read(Asked::Answer, &bytes, false).expect("well-formed");
        assert_eq!(events.last().map(String::as_str), Some(expected), "{head:?}");
    }
}

#[test]
fn informational_answers_are_skipped() {
    let bytes = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
                 HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    reads(Asked::Answer, bytes, &["200 Content-Length=2", "body ok", "end reusable"], "");
}

#[test]
fn an_upgrade_leaves_the_rest_to_the_other_protocol() {
    let switched = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\u{1}frame";
    reads(Asked::Upgrade, switched, &["upgraded 101"], "\u{1}frame");
    reads(
        Asked::Upgrade,
        "HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n",
        &["400 Content-Length=0", "end reusable"],
        "",
    );
    reads(Asked::Tunnel, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbytes", &["upgraded 200"], "bytes");
    refuses(switched, Malformed::UnaskedUpgrade);
}

#[test]
fn one_connection_takes_one_request_after_the_other() {
    let mut h1 = H1::new();
    let mut events = Vec::new();
    for round in 0..3 {
        assert!(h1.is_idle());
        h1.begin(Asked::by("GET"));
        let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{round}");
        let used =
            h1.received(bytes.as_bytes(), &mut |event| events.push(describe(event))).expect("well-formed");
        assert_eq!(used, bytes.len());
    }
    let ends = events.iter().filter(|event| *event == "end reusable").count();
    assert_eq!((ends, events.len()), (3, 9));
    assert_eq!(h1.received(b"HTTP/1.1 408 Late\r\n\r\n", &mut |_| ()), Err(Malformed::Unasked));
    assert_eq!(h1.ended(&mut |_| ()), Ok(false));
}

#[test]
fn a_close_in_the_midst_is_distinguished_from_one_before_the_answer() {
    let closed = |bytes: &str| read(Asked::Answer, bytes, true).expect_err("too early");
    assert_eq!(closed(""), Malformed::NoAnswer);
    assert_eq!(closed("HTTP/1."), Malformed::Truncated);
    assert_eq!(closed("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"), Malformed::Truncated);
    assert_eq!(closed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"), Malformed::Truncated);
}

#[test]
fn what_breaks_the_rules_is_refused_with_its_reason() {
    let head = |lines: &str| format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
    let chunk = |chunk: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
    refuses("SSH-2.0-OpenSSH_9.2\r\n", Malformed::StatusLine);
    refuses("HTTP/2.0 200 OK\r\n\r\n", Malformed::StatusLine);
    refuses("HTTP/1.1 20x OK\r\n\r\n", Malformed::StatusLine);
    refuses("HTTP/1.1 099 OK\r\n\r\n", Malformed::StatusLine);
    refuses(&head("no colon\r\n"), Malformed::HeaderLine);
    refuses(&head("Blank : before the colon\r\n"), Malformed::HeaderLine);
    refuses(&head("A: folded\r\n line\r\n"), Malformed::HeaderLine);
    refuses(&head("A: z\0ro\r\n"), Malformed::HeaderLine);
    refuses(&head("Content-Length: -1\r\n"), Malformed::ContentLength);
    refuses(&head("Content-Length: +1\r\n"), Malformed::ContentLength);
    refuses(&head("Content-Length: \r\n"), Malformed::ContentLength);
    refuses(&head("Content-Length: 18446744073709551616\r\n"), Malformed::ContentLength);
    refuses(&head("Content-Length: 5\r\nContent-Length: 6\r\n"), Malformed::ContentLengthDiffers);
    refuses(&head("Content-Length: 5, 6\r\n"), Malformed::ContentLengthDiffers);
    refuses(&head("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), Malformed::BothLengths);
    refuses(&head("Transfer-Encoding: chunked, chunked\r\n"), Malformed::TransferEncoding);
    refuses(&head("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n"), Malformed::TransferEncoding);
    refuses("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Malformed::TransferEncoding);
    for bad in
        ["\r\n", ";x\r\n", "x\r\n", "-1\r\n", "1\n", "1;a\nb", "1\rx", "1\r\nab", "10000000000000000\r\n"]
    {
        refuses(&chunk(bad), Malformed::Chunk);
    }
    refuses(&chunk(&format!("1;{}", "x".repeat(5000))), Malformed::Chunk);
    refuses(&chunk("0\r\nno colon\r\n\r\n"), Malformed::HeaderLine);
}

#[test]
fn long_heads_are_refused_however_they_come() {
    let long = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(HEAD_BYTES_MAX + 9000));
    refuses(&long, Malformed::HeadTooLong);
    refuses(&long[..HEAD_BYTES_MAX + 1], Malformed::HeadTooLong);
    let lines = |count: usize| format!("HTTP/1.1 204 OK\r\n{}\r\n", "A: b\r\n".repeat(count));
    refuses(&lines(257), Malformed::TooManyHeaders);
    assert!(read(Asked::Answer, &lines(256), false).is_ok());
    // In small pieces, too: and the caller never holds more than the bound.
    for step in [100, 1460, 9000] {
        let mut h1 = H1::new();
        h1.begin(Asked::Answer);
        let mut there = 0;
        let refused = loop {
            there += step;
            match h1.received(&long.as_bytes()[..there], &mut |_| panic!("no event")) {
                Ok(used) => assert_eq!(used, 0),
                Err(error) => break error,
            }
        };
        assert_eq!(refused, Malformed::HeadTooLong);
        assert!(there > HEAD_BYTES_MAX && there <= HEAD_BYTES_MAX + step, "{there}");
    }
}

/// The bytes that were there at the refusal, and its reason, when they come in steps of this length.
fn refused_in_steps(bytes: &[u8], step: usize) -> (usize, Malformed) {
    let mut h1 = H1::new();
    h1.begin(Asked::Answer);
    let (mut used, mut there) = (0, 0);
    while there < bytes.len() {
        there = (there + step).min(bytes.len());
        match h1.received(&bytes[used..there], &mut |_| ()) {
            Ok(more) => used += more,
            Err(reason) => return (there, reason),
        }
    }
    (there, h1.ended(&mut |_| ()).expect_err("it is malformed"))
}

#[test]
fn a_malformed_line_of_a_long_section_is_refused_for_the_same_reason_however_it_comes() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
    for before in ["HTTP/1.1 200 OK\r\n", chunked] {
        // The last two: a parse at 32 KiB finds nothing, and the next one is due at the limit.
        for good in [500, 1100, 3000, 20_000, 40_000, HEAD_BYTES_MAX - 200] {
            let line = format!("{before}A: {}\r\nno colon\r\n", "x".repeat(good));
            let bytes = format!("{line}B: {}", "y".repeat(2 * HEAD_BYTES_MAX));
            for step in [7, 148, 1460, 9000, bytes.len()] {
                let (there, reason) = refused_in_steps(bytes.as_bytes(), step);
                assert_eq!(reason, Malformed::HeaderLine, "{good} good bytes, steps of {step}");
                assert!(step == bytes.len() || there <= 2 * line.len() + step, "{there} of {}", line.len());
            }
        }
        // Behind the limit nothing counts, whatever else came with it.
        let bytes = format!("{before}A: {}\r\nno colon\r\n\r\n", "x".repeat(HEAD_BYTES_MAX + 50));
        for step in [148, 9000, bytes.len()] {
            let (_, reason) = refused_in_steps(bytes.as_bytes(), step);
            assert_eq!(reason, Malformed::HeadTooLong, "steps of {step}");
        }
    }
}

#[test]
fn a_long_head_that_trickles_in_is_whole_at_its_last_byte() {
    let head = format!("HTTP/1.1 200 OK\r\nA: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(3000));
    let mut h1 = H1::new();
    h1.begin(Asked::Answer);
    let mut ends = 0;
    for there in 1..=head.len() {
        let used = h1.received(&head.as_bytes()[..there], &mut |event| {
            ends += usize::from(matches!(event, Event::End { reusable: true }));
        });
        assert_eq!(used, Ok(if there == head.len() { there } else { 0 }));
    }
    assert_eq!(ends, 1);
}

/// One answer in pieces that end at `ends`; pieces of the body that follow each other are reported
/// as one.
fn read_cut(bytes: &[u8], ends: &[usize]) -> Result<(Vec<String>, usize), Malformed> {
    let mut h1 = H1::new();
    h1.begin(Asked::Answer);
    let mut events: Vec<String> = Vec::new();
    let mut used = 0;
    let mut sink = |event: Event<'_>| match (event, events.last_mut()) {
        (Event::Body(piece), Some(last)) if last.starts_with("body ") => {
            last.push_str(std::str::from_utf8(piece).expect("ASCII"));
        }
        (event, _) => events.push(describe(event)),
    };
    for &end in ends {
        if used > 0 && h1.is_idle() {
            break;
        }
        used += h1.received(&bytes[used..end], &mut sink)?;
    }
    if !h1.is_idle() {
        h1.ended(&mut sink)?;
    }
    Ok((events, used))
}

fn answers() -> impl Strategy<Value = String> {
    let chunk = ("[a-z]{1,20}", "(|;x|;x=\"y\"| )")
        .prop_map(|(data, extension)| format!("{:x}{extension}\r\n{data}\r\n", data.len()));
    let chunked = (proptest::collection::vec(chunk, 0..4), "(|T: u\r\n)").prop_map(|(chunks, trailers)| {
        format!("Transfer-Encoding: chunked\r\n\r\n{}0\r\n{trailers}\r\n", chunks.concat())
    });
    let counted = "[a-z]{0,40}".prop_map(|body| format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    let closed = "[a-z]{0,40}".prop_map(|body| format!("\r\n{body}"));
    let head = "(HTTP/1[.]1 10[023] x\r\nA: b\r\n\r\n){0,2}HTTP/1[.][01] [2345]0[0-9] OK\r\n(X: y\r\n){0,3}";
    // Some of it damaged.
    (head, prop_oneof![chunked, counted, closed], any::<prop::sample::Index>(), "(|||\n|\r|:|x)").prop_map(
        |(head, rest, at, damage)| {
            let mut answer = head + &rest;
            answer.insert_str(at.index(answer.len() + 1), &damage);
            answer
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn cuts_change_nothing(
        answer in answers(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let bytes = answer.as_bytes();
        let whole = read_cut(bytes, &[bytes.len()]);
        let every: Vec<usize> = (1..=bytes.len()).collect();
        prop_assert_eq!(&read_cut(bytes, &every), &whole);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        ends.push(bytes.len());
        ends.sort_unstable();
        prop_assert_eq!(&read_cut(bytes, &ends), &whole);
    }
}
