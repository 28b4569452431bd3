//! Payloads that are never in memory whole: what a function receives of an upload, and sends of a download.
//!
//! A piece is as many bytes as came, or go, in one frame; where one ends means nothing. A caller that sends faster
//! than the function takes is not read, and a function that sends faster than the caller reads waits.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Poll, Waker};

use super::sender::Disconnected;

/// Bytes that may have come before the function takes them; beyond it the caller's connection is not read, with
/// all that is on it. What the kernel holds comes on top.
const BEHIND_BYTES_MAX: usize = 1024 * 1024;
/// Bytes that a function may send before the loop has taken them; then it waits.
const AHEAD_BYTES_MAX: usize = 256 * 1024;
/// The longest piece that leaves in one frame, in bytes.
const PIECE_BYTES_MAX: usize = 32 * 1024;

#[derive(Debug, Default)]
struct State {
    pieces: VecDeque<Vec<u8>>,
    bytes: usize,
    waker: Option<Waker>,
    ended: bool,
    /// The caller's connection is not read because of it.
    heavy: bool,
}

impl State {
    fn push(&mut self, piece: &[u8]) {
        if !piece.is_empty() {
            self.bytes += piece.len();
            self.pieces.push_back(piece.to_vec());
        }
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        let piece = self.pieces.pop_front()?;
        self.bytes -= piece.len();
        Some(piece)
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// The loop's and the function's handle to an upload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Upload(Rc<RefCell<State>>);

impl Upload {
    /// A piece came. Whether the function has just fallen too far behind.
    pub(crate) fn push(&self, piece: &[u8]) -> bool {
        let mut state = self.0.borrow_mut();
        state.push(piece);
        state.wake();
        let falls_behind = !state.heavy && state.bytes > BEHIND_BYTES_MAX;
        state.heavy |= falls_behind;
        falls_behind
    }

    /// The last piece has come.
    pub(crate) fn end(&self) {
        let mut state = self.0.borrow_mut();
        state.ended = true;
        state.wake();
    }

    /// Whether the function has just caught up.
    pub(crate) fn catches_up(&self) -> bool {
        let mut state = self.0.borrow_mut();
        let catches_up = state.heavy && state.bytes < BEHIND_BYTES_MAX / 2;
        state.heavy &= !catches_up;
        catches_up
    }

    /// Nobody will take the rest. Whether the caller's connection was not read because of it.
    pub(crate) fn abandon(&self) -> bool {
        std::mem::take(&mut self.0.borrow_mut().heavy)
    }
}

/// The pieces of an upload, in their order.
#[derive(Debug)]
pub struct PieceReceiver(Upload);

impl PieceReceiver {
    pub(crate) fn new(upload: Upload) -> Self {
        Self(upload)
    }

    /// The next piece, which is not empty; `None` after the last. Where the caller cancels or goes, the future
    /// that waits here is dropped.
    pub async fn next(&self) -> Option<Vec<u8>> {
        std::future::poll_fn(|context| {
            let mut state = self.0.0.borrow_mut();
            if let Some(piece) = state.take() {
                return Poll::Ready(Some(piece));
            }
            if state.ended {
                return Poll::Ready(None);
            }
            state.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

/// The loop's and the function's handle to a download.
#[derive(Clone, Debug, Default)]
pub(crate) struct Download(Rc<RefCell<State>>);

impl Download {
    /// The next piece to send.
    pub(crate) fn take(&self) -> Option<Vec<u8>> {
        let mut state = self.0.borrow_mut();
        let piece = state.take();
        if piece.is_some() {
            state.wake();
        }
        piece
    }

    /// The caller has gone.
    pub(crate) fn disconnect(&self) {
        let mut state = self.0.borrow_mut();
        (state.ended, state.bytes) = (true, 0);
        state.pieces.clear();
        state.wake();
    }
}

/// Sends a download.
#[derive(Debug)]
pub struct PieceSender(Download);

impl PieceSender {
    pub(crate) fn new(download: Download) -> Self {
        Self(download)
    }

    /// Sends bytes, as fast as the caller reads: they are copied, in parts, once there is room for them.
    ///
    /// # Errors
    /// The caller has gone. As a rule the future that sends is dropped before it sees that.
    pub async fn send(&self, mut bytes: &[u8]) -> Result<(), Disconnected> {
        std::future::poll_fn(|context| {
            let mut state = self.0.0.borrow_mut();
            loop {
                if state.ended {
                    return Poll::Ready(Err(Disconnected));
                }
                if bytes.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                if state.bytes >= AHEAD_BYTES_MAX {
                    state.waker = Some(context.waker().clone());
                    return Poll::Pending;
                }
                let (piece, rest) = bytes.split_at(bytes.len().min(PIECE_BYTES_MAX));
                state.push(piece);
                bytes = rest;
            }
        })
        .await
    }
}
