//! Fuzz body: a server of HTTP/1.1 sends anything, in any pieces. The events are in order, and the same however the
//! bytes were cut; so is the reason of a refusal, unless the connection closes before it is due.
//!
//! The first byte selects the request, the second the length of the pieces; the rest is the
//! server's. An ordinary function, so that the stable test `fuzz` of crates/http-client runs it as
//! well.

use stadium_http_client::{Asked, Event, H1, HEAD_BYTES_MAX, HEADERS_MAX, Malformed};

/// A head or trailer section up to this size is parsed whenever some of it came.
const SHORT_SECTION_BYTES: usize = 1024;

/// The answer as received, pieces of the body joined.
#[derive(Debug, Default, PartialEq)]
struct Received {
    heads: Vec<(u16, usize)>,
    body: Vec<u8>,
    trailers: usize,
    ended: bool,
    upgraded: bool,
}

impl Received {
    /// Panics on what is out of order.
    fn takes(&mut self, event: Event<'_>) {
        assert!(!self.ended && !self.upgraded, "nothing follows the end");
        match event {
            Event::Head(head) => {
                assert!(self.heads.is_empty(), "one head");
                assert!((200..=999).contains(&head.status) && head.headers.len() <= HEADERS_MAX);
                self.heads.push((head.status, head.headers.len()));
            }
            Event::Upgraded(head) => {
                assert!(self.heads.is_empty());
                self.heads.push((head.status, head.headers.len()));
                self.upgraded = true;
            }
            Event::Body(piece) => {
                assert!(self.heads.len() == 1 && self.trailers == 0 && !piece.is_empty());
                self.body.extend_from_slice(piece);
            }
            Event::Trailers(lines) => {
                assert!(self.heads.len() == 1 && self.trailers == 0 && !lines.is_empty());
                self.trailers = lines.len();
            }
            Event::End { .. } => {
                assert_eq!(self.heads.len(), 1);
                self.ended = true;
            }
            other => panic!("{other:?} is of HTTP/2"),
        }
    }
}

fn read(asked: Asked, bytes: &[u8], piece: usize) -> (Received, Result<(), Malformed>) {
    let (mut h1, mut received) = (H1::new(), Received::default());
    h1.begin(asked);
    let (mut used, mut there) = (0, 0);
    while there < bytes.len() && !h1.is_idle() && !h1.is_upgraded() {
        there = (there + piece).min(bytes.len());
        match h1.received(&bytes[used..there], &mut |event| received.takes(event)) {
            Ok(more) => used += more,
            Err(reason) => return (received, Err(reason)),
        }
        assert!(used <= there && there - used <= HEAD_BYTES_MAX || h1.is_idle() || h1.is_upgraded());
    }
    let ended = h1.ended(&mut |event| received.takes(event));
    assert!(ended.is_err() || received.ended || received.upgraded);
    (received, ended.map(|_| ()))
}

/// Reads `data` as an answer. Panics on a broken promise; returns whether a whole answer was in it.
pub fn http1_answer(data: &[u8]) -> bool {
    let [asked, piece, bytes @ ..] = data else { return false };
    let asked = [Asked::Answer, Asked::Head, Asked::Upgrade, Asked::Tunnel][usize::from(asked % 4)];
    let (whole, result) = read(asked, bytes, bytes.len().max(1));
    let (cut, cut_result) = read(asked, bytes, usize::from(*piece) + 1);
    assert_eq!(cut, whole);
    // A long section in pieces is not parsed at each piece. If the connection closes between two parses, a malformed
    // line at its end is not seen any more, and the section counts as truncated.
    let unseen = cut_result == Err(Malformed::Truncated)
        && bytes.len() > SHORT_SECTION_BYTES
        && matches!(result, Err(Malformed::StatusLine | Malformed::HeaderLine | Malformed::TooManyHeaders));
    assert!(cut_result == result || unseen, "{cut_result:?} in pieces, {result:?} at once");
    result.is_ok()
}
