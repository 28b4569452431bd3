//! Fuzz body: a memcached server answers anything, in any pieces. No operation is done twice, and the
//! results are the same however the bytes were cut.
//!
//! Below 224 the first byte is the length of the pieces, the second the number of operations, each of
//! a byte; the rest is the server's. From 224 the rest are datagrams, each behind its length; from 240
//! a compressed value. An ordinary function, so that the tests of crates/memcache run it as well.

use std::collections::HashMap;

use stadium_memcache::protocol::{
    Answer, Datagram, Expect, LINE_BYTES_MAX, Limits, Pipeline, ProtocolError, Reassembly, Refusal, Sink,
    Verb, compress, decompress,
};

const LIMITS: Limits = Limits { value_bytes_max: 4_096 };

const KEYS: [&[u8]; 3] = [b"k0", b"k1", b"k2"];

/// The results of the operations.
#[derive(Debug, Default, PartialEq)]
struct Results {
    done: Vec<(u32, bool, Answer, Vec<u8>)>,
    statistics: Vec<(u32, Vec<u8>)>,
}

impl Sink for Results {
    fn key(&self, operation: u32) -> &[u8] {
        KEYS[operation as usize % KEYS.len()]
    }

    fn done(&mut self, operation: u32, answer: Result<Answer, Refusal<'_>>, value: &[u8]) {
        assert!(self.done.iter().all(|(done, ..)| *done != operation), "{operation} is done twice");
        assert!(value.len() <= LIMITS.value_bytes_max);
        self.done.push((operation, answer.is_ok(), answer.unwrap_or_default(), value.to_vec()));
    }

    fn statistic(&mut self, operation: u32, name: &[u8], _: &[u8]) {
        self.statistics.push((operation, name.to_vec()));
    }
}

/// The first byte of datagrams.
pub const DATAGRAMS: u8 = 224;

/// The first byte of a compressed value.
pub const COMPRESSED: u8 = 240;

/// Runs the body. Returns whether everything that the server sent was taken.
pub fn memcache_answers(data: &[u8]) -> bool {
    match data {
        [COMPRESSED..=u8::MAX, rest @ ..] => return compressed(rest),
        [DATAGRAMS..COMPRESSED, rest @ ..] => return datagrams(rest),
        _ => {}
    }
    let [piece, count, rest @ ..] = data else { return false };
    let Some((operations, answers)) = rest.split_at_checked(*count as usize) else { return false };
    let whole = run(operations, answers, answers.len().max(1));
    let cut = run(operations, answers, (*piece as usize).max(1));
    // A longer piece shows an error of a line that a shorter one has not finished: the results before it are the same.
    assert_eq!(whole, cut);
    whole.1.is_ok()
}

/// First inputs: answers of each kind, an answer in two datagrams, and a compressed value.
pub fn samples() -> Vec<Vec<u8>> {
    // The operations' kinds are in `expect`: a line of two gets, a quiet store, meta and classic ones.
    let answers = b"VALUE k1 7 2 9\r\nhi\r\nEND\r\nHD O3\r\nSTORED\r\nSTAT a b\r\nEND\r\nMN\r\n";
    let mut datagrams = vec![DATAGRAMS];
    for (at, text) in [(1, &b"hi\r\nEND\r\n"[..]), (0, b"VALUE k0 0 2\r\n")] {
        datagrams.push(8 + text.len() as u8);
        datagrams.extend([0, 7, 0, at, 0, 2, 0, 0]);
        datagrams.extend(text);
    }
    let stream = compress(&b"value ".repeat(9)).expect("it shrinks");
    vec![
        [&[5, 7, 0, 1, 3, 0x12, 0x13, 6, 0x84], &answers[..]].concat(),
        [&[9, 2, 4, 0x35], &b"VA 2 O0 f3 t-1 W\r\n12\r\nVA 1 O1\r\n5\r\n"[..]].concat(),
        datagrams,
        [&[COMPRESSED], &stream[..]].concat(),
    ]
}

/// Reads a value that claims to be compressed, and compresses it as one that is not.
fn compressed(data: &[u8]) -> bool {
    if let Some(stream) = compress(data) {
        assert!(stream.len() < data.len());
        assert_eq!(decompress(&stream, data.len()).as_deref(), Ok(data));
    }
    let read = decompress(data, LIMITS.value_bytes_max);
    assert!(read.as_ref().is_ok_and(|value| value.len() <= LIMITS.value_bytes_max) || read.is_err());
    if let Ok(value) = &read {
        assert_eq!(decompress(data, value.len()).as_ref(), Ok(value));
        assert!(value.is_empty() || decompress(data, value.len() - 1).is_err());
    }
    read.is_ok()
}

/// An answer so far: as the client has it, its parts, and their number.
type Partial<'a> = (Reassembly, HashMap<u16, &'a [u8]>, u16);

/// Puts answers together. Each is what its datagrams say, in their order, whatever came between.
fn datagrams(mut data: &[u8]) -> bool {
    let mut answers: HashMap<u16, Partial<'_>> = HashMap::new();
    let mut is_whole = false;
    while let [length, rest @ ..] = data {
        let Some((bytes, rest)) = rest.split_at_checked(*length as usize) else { return false };
        data = rest;
        let Some(datagram) = Datagram::read(bytes) else { continue };
        let (reassembly, parts, total) = answers.entry(datagram.request).or_default();
        // Short datagrams are below every bound on bytes.
        if parts.is_empty() && *total == 0 && usize::from(datagram.total) <= 17 {
            *total = datagram.total;
        }
        let is_taken = datagram.total == *total && !parts.contains_key(&datagram.sequence);
        if is_taken {
            parts.insert(datagram.sequence, datagram.text);
        }
        let whole = reassembly.add(datagram, LIMITS.value_bytes_max);
        let is_all = is_taken && parts.len() == usize::from(*total);
        assert_eq!(whole.is_some(), is_all);
        if let Some(whole) = whole {
            let expected: Vec<u8> =
                (0..*total).flat_map(|at| parts.get(&at).copied().unwrap_or_default()).copied().collect();
            assert_eq!(whole, expected);
            assert!(whole.len() <= LIMITS.value_bytes_max + 2 * LINE_BYTES_MAX);
            let mut results = Results::default();
            let mut pipeline = Pipeline::default();
            pipeline.push(Expect::Get { operation: 0, is_last: true });
            is_whole |= pipeline.receive(&whole, LIMITS, &mut results).is_ok();
            answers.remove(&datagram.request);
        }
    }
    is_whole
}

fn run(operations: &[u8], answers: &[u8], piece: usize) -> (Results, Result<(), ProtocolError>) {
    let mut pipeline = Pipeline::default();
    for (at, operation) in operations.iter().enumerate() {
        pipeline.push(expect(at as u32, *operation));
    }
    let sent = pipeline.len();
    let mut results = Results::default();
    let mut received = Vec::new();
    for piece in answers.chunks(piece) {
        received.extend_from_slice(piece);
        match pipeline.receive(&received, LIMITS, &mut results) {
            Ok(taken) => drop(received.drain(..taken)),
            Err(error) => return (results, Err(error)),
        }
    }
    assert!(results.done.len() + pipeline.len() <= sent + 1, "a key that matched waits for its END");
    (results, Ok(()))
}

fn expect(operation: u32, byte: u8) -> Expect {
    const VERBS: [Verb; 6] =
        [Verb::Read, Verb::Store, Verb::Delete, Verb::Arithmetic, Verb::Touch, Verb::Version];
    let verb = VERBS[(byte >> 4) as usize % VERBS.len()];
    match byte % 7 {
        0 => Expect::Get { operation, is_last: false },
        1 | 2 => Expect::Get { operation, is_last: true },
        3 => Expect::Quiet { operation },
        4 => Expect::Meta { operation, opaque: operation, verb },
        5 => Expect::Classic { operation, verb },
        _ if byte > 127 => Expect::Noop,
        _ => Expect::Statistics { operation },
    }
}
