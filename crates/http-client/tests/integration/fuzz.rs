//! The fuzz bodies of fuzz/, run on stable with a fixed seed. A failure prints what it ran.

use crate::http1_answer;
use crate::http2_answer;

/// SplitMix64: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }
}

const ANSWERS: [&str; 5] = [
    "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 12\r\n\r\nhello world!",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nT: u\r\n\r\n",
    "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nuntil the close",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nframes",
    "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
];

#[test]
fn damaged_answers_over_http_1_are_told_in_order_or_refused() {
    let mut random = Random(0x5374_6164_6975_6D01);
    let mut whole = 0;
    for _ in 0..100_000 {
        let mut data = vec![random.next() as u8, random.below(40) as u8];
        data.extend_from_slice(ANSWERS[random.below(ANSWERS.len())].as_bytes());
        for _ in 0..random.below(4) {
            let at = 2 + random.below(data.len() - 2);
            match random.below(4) {
                0 => data[at] = random.next() as u8,
                1 => data[at] = b"\r\n:; 0123,"[random.below(10)],
                2 => data.insert(at, b"\r\n:; 0123,"[random.below(10)]),
                _ => drop(data.remove(at)),
            }
        }
        let ok = std::panic::catch_unwind(|| http1_answer::http1_answer(&data));
        whole += usize::from(ok.unwrap_or_else(|_| panic!("answer: {:?}", String::from_utf8_lossy(&data))));
    }
    assert!((20_000..95_000).contains(&whole), "{whole}");
}

#[test]
fn any_script_over_http_2_leaves_every_stream_in_order() {
    let mut random = Random(0x5374_6164_6975_6D02);
    let mut answers = 0;
    for _ in 0..30_000 {
        let count = 20 + random.below(400);
        let mut script: Vec<u8> = (0..count).map(|_| random.next() as u8).collect();
        // Half of the bytes small, so that streams meet.
        for byte in &mut script {
            if random.next().is_multiple_of(2) {
                *byte %= 16;
            }
        }
        answers += std::panic::catch_unwind(|| http2_answer::http2_answer(&script))
            .unwrap_or_else(|_| panic!("script: {script:02x?}"));
    }
    assert!(answers > 1_000, "{answers}");
}
