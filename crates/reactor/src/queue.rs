//! What waits for a slow reader. It exists only while something is unsent.
//!
//! Pieces are either bytes of the queue's own, joined up to a size, or shared payloads of which only
//! a reference is kept. The bound is the connection's `write_queue_bytes_max`, held by the caller.

use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::Arc;

use crate::sys;

/// Own bytes are joined in pieces up to this size, so that small deliveries cost one allocation together.
const PIECE_BYTES: usize = 64 * 1024;

enum Piece {
    Own(Vec<u8>),
    Shared(Arc<[u8]>),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Piece::Own(bytes) => bytes,
            Piece::Shared(bytes) => bytes,
        }
    }
}

/// Unsent bytes in order.
#[derive(Default)]
pub(crate) struct WriteQueue {
    pieces: VecDeque<Piece>,
    /// How much of the first piece has been sent.
    sent: usize,
    bytes: usize,
}

impl WriteQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Bytes unsent.
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.bytes += bytes.len();
        if let Some(Piece::Own(last)) = self.pieces.back_mut()
            && last.len() + bytes.len() <= PIECE_BYTES
        {
            last.extend_from_slice(bytes);
            return;
        }
        self.pieces.push_back(Piece::Own(bytes.to_vec()));
    }

    /// Adds a shared payload without its first `skip` bytes.
    pub(crate) fn push_shared(&mut self, bytes: &Arc<[u8]>, skip: usize) {
        if skip >= bytes.len() {
            return;
        }
        if self.pieces.is_empty() {
            self.sent = skip;
            self.bytes += bytes.len() - skip;
            self.pieces.push_back(Piece::Shared(bytes.clone()));
        } else if skip == 0 {
            self.bytes += bytes.len();
            self.pieces.push_back(Piece::Shared(bytes.clone()));
        } else {
            self.push(&bytes[skip..]);
        }
    }

    /// Writes what the kernel takes. Returns the bytes written; the queue is empty when all were.
    #[allow(unsafe_code)]
    pub(crate) fn write_to(&mut self, fd: RawFd) -> sys::Call<usize> {
        let mut written = 0;
        while self.bytes > 0 {
            let mut slices = [const { sys::Slice::EMPTY }; 64];
            let mut wanted = 0;
            for (place, (piece, slice)) in self.pieces.iter().zip(&mut slices).enumerate() {
                let bytes = if place == 0 { &piece.bytes()[self.sent..] } else { piece.bytes() };
                wanted += bytes.len();
                *slice = sys::Slice::new(bytes);
            }
            let used = self.pieces.len().min(slices.len());
            // SAFETY: the slices were made just above of pieces that this queue owns and does not touch until then.
            let count = match unsafe { sys::send_slices(fd, &slices[..used]) } {
                Ok(count) => count,
                Err(libc::EAGAIN) => break,
                Err(error) => return Err(error),
            };
            written += count;
            self.advance(count);
            if count < wanted {
                break;
            }
        }
        Ok(written)
    }

    fn advance(&mut self, mut count: usize) {
        self.bytes -= count;
        while count > 0 {
            let left = self.pieces.front().map_or(0, |piece| piece.bytes().len() - self.sent);
            if count < left {
                self.sent += count;
                return;
            }
            count -= left;
            self.sent = 0;
            self.pieces.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn pieces_leave_in_order_whatever_the_kernel_takes() {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        let shared: Arc<[u8]> = (0..200_000u32).map(|n| n as u8).collect::<Vec<_>>().into();
        let mut queue = WriteQueue::default();
        let mut expected = Vec::new();
        queue.push_shared(&shared, 7);
        expected.extend_from_slice(&shared[7..]);
        for round in 0..100u8 {
            queue.push(&[round; 1_000]);
            expected.extend_from_slice(&[round; 1_000]);
            queue.push_shared(&shared, 0);
            expected.extend_from_slice(&shared);
        }
        assert_eq!(queue.len(), expected.len());
        let mut got = Vec::new();
        let mut buffer = vec![0; 300_000];
        while got.len() < expected.len() {
            queue.write_to(ours.as_raw_fd()).expect("the peer is there");
            let count = theirs.read(&mut buffer).expect("bytes wait");
            got.extend_from_slice(&buffer[..count]);
        }
        assert!(queue.is_empty());
        assert!(got == expected, "the bytes arrived as they were pushed");
    }
}
