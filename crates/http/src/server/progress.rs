//! A stream whose peer must read: a write that makes no progress for too long ends the connection.
//!
//! A peer that pipelines requests and reads no answer would otherwise hold its place for ever: the
//! time limits of heads and requests do not run while an answer waits to be written.
//!
//! A peer that is answered in the middle of its body is still writing. The stream then ends its own
//! direction and reads on for a bounded time, because a system resets a connection that is closed
//! with unread bytes, and a reset takes the answer from the peer (RFC 9112, section 9.6).

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use crate::server::tls::stream::TlsStream;

/// Time in which a peer that was answered early may end its body and read the answer.
const LINGER: Duration = Duration::from_secs(2);

/// Bytes of such a body that are read and dropped.
const LINGER_BYTES: u64 = 64 << 20;

/// A stream that can be reset, so that the system forgets its unsent bytes too.
pub(crate) trait Reset: AsyncRead + AsyncWrite + Unpin {
    /// Has the drop of the stream reset the connection.
    fn reset_on_drop(&self);
}

impl Reset for TcpStream {
    fn reset_on_drop(&self) {
        // A socket that refuses the option is gone already.
        let _ = self.set_zero_linger();
    }
}

impl Reset for TlsStream {
    fn reset_on_drop(&self) {
        self.socket().reset_on_drop();
    }
}

/// The stream. Reads pass through.
pub(crate) struct Progress<S> {
    stream: S,
    /// Time that one write may wait.
    limit: Duration,
    /// The end of that time; made with the first write that waits, and used again.
    deadline: Option<Pin<Box<Sleep>>>,
    waits: bool,
    /// Whether the connection ends in the middle of a request's body.
    unread: Arc<AtomicBool>,
    lingering: Option<Lingering>,
}

/// The rest of a body on its way to nowhere.
struct Lingering {
    until: Pin<Box<Sleep>>,
    bytes_left: u64,
}

impl<S: Reset> Progress<S> {
    /// `unread` is set while a request's body is left alone before its end.
    pub(crate) fn new(stream: S, limit: Duration, unread: Arc<AtomicBool>) -> Self {
        Self { stream, limit, deadline: None, waits: false, unread, lingering: None }
    }

    /// The outcome of a write, or the error of one that has waited too long.
    fn watch<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waits = false;
            return written;
        }
        let limit = self.limit;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        if !self.waits {
            self.waits = true;
            deadline.as_mut().reset(Instant::now() + limit);
        }
        if deadline.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.stream.reset_on_drop();
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read")))
    }

    /// Reads and drops until the peer ends, or a bound is reached.
    fn linger(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let lingering = self.lingering.get_or_insert_with(|| Lingering {
            until: Box::pin(tokio::time::sleep(LINGER)),
            bytes_left: LINGER_BYTES,
        });
        let mut space = [0; 16 * 1024];
        loop {
            let mut buffer = ReadBuf::new(&mut space);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
                Poll::Pending => return lingering.until.as_mut().poll(cx).map(Ok),
                // The peer is gone: it has the answer or does not want it.
                Poll::Ready(Err(_)) => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(())) => {
                    let read = buffer.filled().len() as u64;
                    lingering.bytes_left = lingering.bytes_left.saturating_sub(read);
                    if read == 0 || lingering.bytes_left == 0 {
                        return Poll::Ready(Ok(()));
                    }
                }
            }
        }
    }
}

impl<S: Reset> AsyncRead for Progress<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: Reset> AsyncWrite for Progress<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
            let shut = self.watch(cx, shut);
            if !matches!(shut, Poll::Ready(Ok(()))) || !self.unread.load(Ordering::Relaxed) {
                return shut;
            }
        }
        self.linger(cx)
    }
}
