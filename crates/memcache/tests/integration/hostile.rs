//! Anything that a server may send, in any pieces: the fuzz body, with seeds of its own.

use proptest::prelude::*;

#[path = "../../../../fuzz/src/memcache_answers.rs"]
mod memcache_answers;

/// Pieces of answers, so that random sequences come far.
const PIECES: &[&str] = &[
    "HD\r\n",
    "HD O1\r\n",
    "HD O2 c5\r\n",
    "VA 2 O1 f3\r\nhi\r\n",
    "VA 2 O4 t-1 W\r\n12\r\n",
    "EN\r\n",
    "EN O1\r\n",
    "NS O2\r\n",
    "EX O2\r\n",
    "NF O3\r\n",
    "MN\r\n",
    "VALUE k0 0 2\r\nhi\r\n",
    "VALUE k1 7 0 9\r\n\r\n",
    "VALUE k2 0 3\r\nabc\r\n",
    "END\r\n",
    "STORED\r\n",
    "NOT_STORED\r\n",
    "DELETED\r\n",
    "TOUCHED\r\n",
    "5\r\n",
    "STAT a b\r\n",
    "VERSION 1.6\r\n",
    "ERROR\r\n",
    "CLIENT_ERROR bad\r\n",
    "SERVER_ERROR out of memory\r\n",
    "VA 99999999999999999999\r\n",
    "VALUE k0 0 1048577\r\n",
    "\r\n",
    "VA 2\r\nhixx",
    "HD O99999999999999999999\r\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hostile_answers_never_panic_and_cuts_do_not_matter(
        operations in proptest::collection::vec(any::<u8>(), 0..12),
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..16),
        damage in proptest::option::of((any::<prop::sample::Index>(), any::<u8>())),
        cut in 1_u8..20,
    ) {
        let mut answers = pieces.concat().into_bytes();
        if let Some((at, byte)) = damage && !answers.is_empty() {
            let at = at.index(answers.len());
            answers[at] = byte;
        }
        let mut data = vec![cut, operations.len() as u8];
        data.extend(operations);
        data.extend(answers);
        memcache_answers::memcache_answers(&data);
    }

    #[test]
    fn hostile_datagrams_and_streams_never_panic(
        texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..12), 0..12),
        places in proptest::collection::vec((0_u8..3, 0_u8..4, 0_u8..5), 12),
        stream in proptest::collection::vec(any::<u8>(), 0..100),
        damage in (any::<prop::sample::Index>(), any::<u8>()),
    ) {
        let mut data = vec![memcache_answers::DATAGRAMS];
        for (text, (request, sequence, total)) in texts.iter().zip(places) {
            data.push(8 + text.len() as u8);
            data.extend([0, request, 0, sequence, 0, total, 0, 0]);
            data.extend(text);
        }
        memcache_answers::memcache_answers(&data);
        let value = stream.repeat(3);
        let mut data = vec![memcache_answers::COMPRESSED];
        data.extend(stadium_memcache::protocol::compress(&value).unwrap_or(value));
        memcache_answers::memcache_answers(&data);
        let at = 1 + damage.0.index(data.len().max(2) - 1);
        if let Some(byte) = data.get_mut(at) {
            *byte = damage.1;
        }
        memcache_answers::memcache_answers(&data);
    }
}

#[test]
fn the_first_inputs_of_the_fuzzer_are_taken() {
    for sample in memcache_answers::samples() {
        assert!(memcache_answers::memcache_answers(&sample), "{sample:?}");
    }
}
