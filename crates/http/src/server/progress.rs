//! A stream whose peer must read: a write that makes no progress for too long ends the connection.
//!
//! A peer that pipelines requests and reads no answer would otherwise hold its place for ever: the
//! time limits of heads and requests do not run while an answer waits to be written.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use tokio_rustls::server::TlsStream;

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

impl Reset for TlsStream<TcpStream> {
    fn reset_on_drop(&self) {
        self.get_ref().0.reset_on_drop();
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
}

impl<S: Reset> Progress<S> {
    pub(crate) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, deadline: None, waits: false }
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
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.watch(cx, shut)
    }
}
