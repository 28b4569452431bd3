//! Fuzz body: a memcached server answers anything, in any pieces. No operation is done twice, and the
//! results are the same however the bytes were cut.
//!
//! The first byte is the length of the pieces, the second the number of operations, each of a byte;
//! the rest is the server's. An ordinary function, so that the tests of crates/memcache run it as
//! well.

use stadium_memcache::protocol::{Answer, Expect, Limits, Pipeline, ProtocolError, Refusal, Sink, Verb};

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

/// Runs the body. Returns whether everything that the server sent was taken.
pub fn memcache_answers(data: &[u8]) -> bool {
    let [piece, count, rest @ ..] = data else { return false };
    let Some((operations, answers)) = rest.split_at_checked(*count as usize) else { return false };
    let whole = run(operations, answers, answers.len().max(1));
    let cut = run(operations, answers, (*piece as usize).max(1));
    // A longer piece shows an error of a line that a shorter one has not finished: the results before it are the same.
    assert_eq!(whole, cut);
    whole.1.is_ok()
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
